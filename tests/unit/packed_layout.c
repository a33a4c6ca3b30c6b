/* packed_layout.c - tests how layouts are read: packed_items, which reads any, packed_slots, the short
 * cut for the common ones, and packed_wide, which is for those of more locations.
 *
 * The layouts are written here, bit by bit as FORMAT.md says, and not by the library: so their forms
 * aren't those that its writer finds best. What must be read is what they were drawn as: for each
 * set the state of each location.
 */
#include "bytes.h"
#include "numbers.h"
#include "runtime/internal.h"
#include "suite.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
  LOCATIONS_MAX = 270,
  BASES_MAX = 80,
  SETS_MAX = 200,
  RECORDS_MAX = 30,
  PAIRS_MAX = LOCATIONS_MAX + 1,
  SHORT_LOCATIONS_MAX =
      PACKED_SLOTS_PAIRS_MAX, /* what the short cut must take: see packed_slots.c */
  SHORT_BASES_MAX = 56,
  SHORT_MAP_MAX = 112,
  SHORT_STEPS_MAX = 255,
  SHORT_HIGH_MAX = 16 + 510, /* of a number, without the lowest bits */
  SHORT_TAIL = 800,          /* bytes: enough behind a layout */
  WIDE_BASES_MAX = 56,       /* of one location: what packed_wide must take */
};

/* How a layout is to be. */
struct plan {
  unsigned locations, sets, records;
  unsigned form;    /* enum packed_location_form */
  unsigned spread;  /* between locations, at most */
  unsigned selves;  /* percent: of locations that can be ordinary references */
  unsigned derived; /* percent: of locations that have bases */
  unsigned bases;   /* of one location, at most */
  unsigned live;    /* percent: of locations in a set */
  unsigned changes; /* percent: of locations that change from a set to the next */
  bool has_changes, are_numbers;
  unsigned depth; /* of parents, at most */
  unsigned lists; /* of the layout; NO_LISTS: the table has none */
  unsigned tail;  /* bytes behind it */
  uint32_t frame; /* number */
  unsigned frame_parameter, sets_parameter, locations_parameter, first_parameter;
  unsigned location_width;
  uint32_t first_class_count;
};

enum { NO_LISTS = 1000 };

struct location_plan {
  uint32_t number;
  bool self;
  unsigned bases;
  uint8_t base[BASES_MAX]; /* indices: below 256 */
};

struct subject {
  struct packed_table table;
  struct location_plan locations[LOCATIONS_MAX + 1]; /* the last one: the lists */
  uint32_t lists[8];                                 /* kind and number, as written */
  uint8_t states[SETS_MAX][LOCATIONS_MAX + 1];
  uint32_t parents[SETS_MAX]; /* 1 + a set's number; 0: none */
  unsigned set_of[RECORDS_MAX];
  unsigned all; /* locations, and one more if there are lists */
  uint8_t *block, *classes;
  size_t size;
  uint64_t start; /* of the layout, in bits */
};

static unsigned states_of(const struct subject *subject, const struct plan *plan, unsigned index) {
  const struct location_plan *location = &subject->locations[index];
  return index == plan->locations ? plan->lists : location->self + location->bases;
}

static unsigned width_of(unsigned states) {
  unsigned width = 1;
  while (states >> width != 0)
    width++;
  return width;
}

/* ---- Drawing ---- */

static void draw_locations(struct subject *subject, const struct plan *plan,
                           struct numbers *numbers) {
  uint32_t number = (uint32_t)numbers_below(numbers, 20);
  for (unsigned i = 0; i < plan->locations; i++) {
    struct location_plan *location = &subject->locations[i];
    location->number = number;
    number += plan->form == PACKED_CONTIGUOUS
                  ? 1
                  : 1 + (uint32_t)numbers_below(numbers, (uint64_t)plan->spread + 1);
    location->self = numbers_chance(numbers, plan->selves);
    location->bases = numbers_chance(numbers, plan->derived)
                          ? (unsigned)numbers_between(numbers, 1, plan->bases)
                          : 0;
    location->self |= location->bases == 0;
  }
}

/* How many locations before one can be ordinary references. */
static unsigned selves_before(const struct subject *subject, unsigned index) {
  unsigned count = 0;
  for (unsigned i = 0; i < index; i++)
    count += subject->locations[i].self;
  return count;
}

/* Bases are locations that can be ordinary references; so there is at least one of these. */
static void draw_bases(struct subject *subject, const struct plan *plan, struct numbers *numbers) {
  const unsigned most = plan->locations < 256 ? plan->locations : 256;
  if (most > 0 && selves_before(subject, most) == 0)
    subject->locations[numbers_below(numbers, most)].self = true;
  for (unsigned i = 0; i < plan->locations; i++)
    for (unsigned k = 0; k < subject->locations[i].bases; k++) {
      unsigned base = (unsigned)numbers_below(numbers, most);
      while (!subject->locations[base].self)
        base = (base + 1) % most;
      subject->locations[i].base[k] = (uint8_t)base;
    }
}

static uint8_t draw_state(unsigned states, unsigned live, struct numbers *numbers) {
  return states == 0 || !numbers_chance(numbers, live)
             ? 0
             : (uint8_t)numbers_between(numbers, 1, states);
}

/* Draws the sets in any order: each may be changed from any that was drawn before. */
static void draw_sets(struct subject *subject, const struct plan *plan, struct numbers *numbers) {
  unsigned order[SETS_MAX], depths[SETS_MAX];
  for (unsigned i = 0; i < plan->sets; i++) {
    const unsigned other = (unsigned)numbers_below(numbers, i + 1);
    order[i] = order[other];
    order[other] = i;
  }
  for (unsigned i = 0; i < plan->sets; i++) {
    const unsigned set = order[i];
    const unsigned parent = i == 0 ? 0 : order[numbers_below(numbers, i)];
    const bool changes = i > 0 && depths[parent] < plan->depth && numbers_chance(numbers, 85);
    depths[set] = changes ? depths[parent] + 1 : 0;
    subject->parents[set] = changes ? parent + 1 : 0;
    for (unsigned k = 0; k < subject->all; k++) {
      const unsigned states = states_of(subject, plan, k);
      const bool keeps = changes && !numbers_chance(numbers, plan->changes);
      subject->states[set][k] = keeps             ? subject->states[parent][k]
                                : plan->sets == 1 ? states > 0
                                                  : draw_state(states, plan->live, numbers);
    }
  }
  for (unsigned i = 0; i < plan->records; i++)
    subject->set_of[i] = (unsigned)numbers_below(numbers, i < plan->sets ? i + 1 : plan->sets);
}

/* ---- Writing ---- */

static void put_locations(const struct subject *subject, const struct plan *plan,
                          struct bit_writer *bits) {
  const uint32_t first = subject->locations[0].number;
  const uint32_t run = subject->locations[plan->locations - 1].number - first + 1;
  bit_writer_small(bits, first, plan->first_parameter);
  bit_writer_put(bits, plan->form != PACKED_CONTIGUOUS, 1);
  if (plan->form != PACKED_CONTIGUOUS)
    bit_writer_put(bits, plan->form == PACKED_LIST, 1);
  if (plan->form == PACKED_BIT_MAP) {
    bit_writer_gamma(bits, run - plan->locations);
    for (unsigned i = 0, k = 0; k < run; k++) {
      const bool is_one = subject->locations[i].number - first == k;
      bit_writer_put(bits, is_one, 1);
      i += is_one;
    }
  }
  if (plan->form == PACKED_LIST)
    for (unsigned i = 1; i < plan->locations; i++)
      bit_writer_put(bits, subject->locations[i].number, plan->location_width);
}

static void put_states(const struct subject *subject, const struct plan *plan,
                       struct bit_writer *bits) {
  const unsigned width = bits_for_count(selves_before(subject, plan->locations));
  for (unsigned i = 0; i < plan->locations; i++)
    bit_writer_put(bits, subject->locations[i].self, 1);
  for (unsigned i = 0; i < plan->locations; i++) {
    for (unsigned k = 1; k < states_of(subject, plan, i); k++)
      bit_writer_put(bits, 1, 1);
    bit_writer_put(bits, 0, 1);
  }
  for (unsigned i = 0; i < plan->locations; i++)
    for (unsigned k = 0; k < subject->locations[i].bases; k++)
      bit_writer_put(bits, selves_before(subject, subject->locations[i].base[k]), width);
}

static void put_row(const struct subject *subject, const struct plan *plan, unsigned set,
                    struct bit_writer *bits) {
  for (unsigned plane = 0; plane < 8; plane++)
    for (unsigned i = 0; i < subject->all; i++)
      if (width_of(states_of(subject, plan, i)) > plane)
        bit_writer_put(bits, subject->states[set][i] >> plane & 1, 1);
}

static void put_changes(const struct subject *subject, const struct plan *plan, unsigned set,
                        struct bit_writer *bits) {
  const uint8_t *states = subject->states[set];
  const uint8_t *before = subject->states[subject->parents[set] - 1];
  unsigned count = 0;
  for (unsigned i = 0; i < subject->all; i++) {
    count += states[i] != before[i];
    if (!plan->are_numbers)
      bit_writer_put(bits, states[i] != before[i], 1);
  }
  if (plan->are_numbers)
    bit_writer_gamma(bits, count);
  for (unsigned i = 0; i < subject->all; i++)
    if (plan->are_numbers && states[i] != before[i])
      bit_writer_put(bits, i, bits_for_count(subject->all));
  for (unsigned i = 0; i < subject->all; i++) {
    const unsigned count_of = states_of(subject, plan, i);
    if (states[i] != before[i] && count_of > 1)
      bit_writer_put(bits, states[i], width_of(count_of));
  }
}

/* Puts the sets, and before them their directory. */
static void put_tree(const struct subject *subject, const struct plan *plan,
                     struct bit_writer *bits) {
  enum { EACH = 2 };
  struct bit_writer sets = {0};
  uint64_t starts[SETS_MAX + 1];
  for (unsigned i = 0; i < plan->sets; i++) {
    starts[i] = sets.size;
    bit_writer_put(&sets, subject->parents[i], bits_for_count((uint64_t)plan->sets + 1));
    if (subject->parents[i] == 0)
      put_row(subject, plan, i, &sets);
    else
      put_changes(subject, plan, i, &sets);
  }
  const unsigned width = bits_for_count(sets.size + 1);
  bit_writer_put(bits, plan->are_numbers, 1);
  bit_writer_put(bits, width, 6);
  for (unsigned i = EACH; i < plan->sets; i += EACH)
    bit_writer_put(bits, starts[i], width);
  bit_writer_put(bits, sets.size, width);
  bit_writer_copy(bits, sets.bytes, 0, sets.size);
  bits->failed |= sets.failed;
  bit_writer_free(&sets);
}

static void put_layout(const struct subject *subject, const struct plan *plan,
                       struct bit_writer *bits) {
  bool any_derived = false;
  for (unsigned i = 0; i < plan->locations; i++)
    any_derived |= subject->locations[i].bases > 0;
  bit_writer_small(bits, plan->frame, plan->frame_parameter);
  bit_writer_small(bits, plan->sets - 1, plan->sets_parameter);
  bit_writer_small(bits, plan->locations, plan->locations_parameter);
  if (plan->locations > 0) {
    bit_writer_put(bits, any_derived, 1);
    put_locations(subject, plan, bits);
  }
  if (any_derived)
    put_states(subject, plan, bits);
  if (plan->lists != NO_LISTS)
    bit_writer_gamma(bits, plan->lists);
  for (unsigned i = 0; i < plan->lists && plan->lists != NO_LISTS; i++)
    bit_writer_put(bits, subject->lists[i], 1 + subject->table.list_width);
  if (plan->sets == 1)
    return;
  bit_writer_put(bits, plan->has_changes, 1);
  if (plan->has_changes)
    put_tree(subject, plan, bits);
  for (unsigned i = 0; i < plan->sets && !plan->has_changes; i++)
    put_row(subject, plan, i, bits);
  for (unsigned i = 0; i < plan->records; i++) {
    const unsigned up_to = bits_for_count(i + 1), all = bits_for_count(plan->sets);
    bit_writer_put(bits, subject->set_of[i], up_to < all ? up_to : all);
  }
}

static void put_class(struct bytes *bytes, uint32_t first_number, int64_t value) {
  bytes_u16(bytes, 8);
  bytes_u16(bytes, 7);
  bytes_u32(bytes, STACKPACK_INDIRECT);
  bytes_u32(bytes, first_number);
  bytes_u32(bytes, 8);
  bytes_u64(bytes, (uint64_t)value);
}

static void open_table(struct subject *subject, const struct plan *plan) {
  struct packed_table *table = &subject->table;
  struct bytes classes = {0};
  put_class(&classes, 0, -80);
  put_class(&classes, plan->first_class_count, 100000);
  subject->classes = bytes_exact(classes.data, classes.size);
  bytes_free(&classes);
  table->frame_parameter = (uint8_t)plan->frame_parameter;
  table->sets_parameter = (uint8_t)plan->sets_parameter;
  table->locations_parameter = (uint8_t)plan->locations_parameter;
  table->first_parameter = (uint8_t)plan->first_parameter;
  table->location_width = (uint8_t)plan->location_width;
  table->list_count = plan->lists == NO_LISTS ? 0 : 8;
  table->list_width = plan->lists == NO_LISTS ? 0 : 3;
  table->classes = subject->classes;
  table->location_classes = 2;
  table->location_count = (uint32_t)1 << plan->location_width;
  table->first_class = (struct location){STACKPACK_INDIRECT, 8, 7, -80};
  table->first_class_count = plan->first_class_count;
  table->first_class_step = 8;
  table->quick = bits_processor_is_quick();
}

/* There is one at a time: it is large. */
static struct subject *new_subject(void) {
  static struct subject subject;
  memset(&subject, 0, sizeof subject);
  return &subject;
}

static struct subject *make(const struct plan *plan, uint64_t seed) {
  struct numbers numbers = {seed};
  struct subject *subject = new_subject();
  struct bit_writer bits = {0};
  struct bytes bytes = {0};
  subject->all = plan->locations + (plan->lists > 0 && plan->lists != NO_LISTS);
  open_table(subject, plan);
  draw_locations(subject, plan, &numbers);
  draw_bases(subject, plan, &numbers);
  for (unsigned i = 0; i < 8; i++)
    subject->lists[i] = (uint32_t)numbers_below(&numbers, 16);
  draw_sets(subject, plan, &numbers);
  for (uint64_t i = numbers_below(&numbers, 12); i > 0; i--)
    bit_writer_put(&bits, numbers_next(&numbers), 8);
  subject->start = bits.size;
  put_layout(subject, plan, &bits);
  bit_writer_align(&bits);
  for (unsigned i = 0; i < plan->tail; i++)
    bit_writer_put(&bits, numbers_next(&numbers), 8);
  ck_assert(!bits.failed);
  bytes_add(&bytes, bits.bytes, bits.size / 8);
  bytes_zeros(&bytes, BITS_PADDING);
  subject->block = bytes_exact(bytes.data, bytes.size);
  subject->size = bits.size / 8;
  subject->table.layouts = (struct bit_array){subject->block, bits.size};
  subject->table.readable = bits.size;
  bytes_free(&bytes);
  bit_writer_free(&bits);
  return subject;
}

static void subject_free(struct subject *subject) {
  free(subject->block);
  free(subject->classes);
}

/* ---- Reading ---- */

/* Pairs as words that can be sorted: derived and base; and what else there is. */
struct found {
  uint64_t pairs[PAIRS_MAX];
  unsigned count;
};

static void add(struct found *found, uint32_t base, uint32_t derived) {
  if (found->count == PAIRS_MAX) /* an assertion takes as long as a system call */
    ck_abort_msg("more pairs than locations");
  found->pairs[found->count++] = (uint64_t)derived << 32 | base;
}

static bool same(struct found *a, struct found *b) {
  qsort(a->pairs, a->count, sizeof *a->pairs, bits_compare_words);
  qsort(b->pairs, b->count, sizeof *b->pairs, bits_compare_words);
  return a->count == b->count && memcmp(a->pairs, b->pairs, a->count * sizeof *a->pairs) == 0;
}

static struct found expected_of(const struct subject *subject, const struct plan *plan,
                                unsigned set) {
  struct found found = {.count = 0};
  for (unsigned i = 0; i < plan->locations; i++) {
    const struct location_plan *location = &subject->locations[i];
    const unsigned state = subject->states[set][i];
    if (state == 0)
      continue;
    if (location->self && state == 1)
      add(&found, location->number, location->number);
    else
      add(&found, subject->locations[location->base[state - 1 - location->self]].number,
          location->number);
  }
  return found;
}

static struct packed_record record_at(const struct subject *subject, unsigned position) {
  return (struct packed_record){
      .table = &subject->table, .layout = subject->start, .position = position};
}

static void check_items(const struct subject *subject, const struct plan *plan, unsigned position) {
  const struct packed_record record = record_at(subject, position);
  const unsigned set = subject->set_of[position];
  const unsigned list = subject->all > plan->locations ? subject->states[set][plan->locations] : 0;
  struct found expected = expected_of(subject, plan, set), found = {.count = 0};
  struct packed_items items;
  struct packed_item item;
  unsigned lists = 0;
  packed_items(&items, &record);
  while (packed_items_next(&items, &item)) {
    if (item.kind == PACKED_PAIR) {
      add(&found, item.base, item.derived);
      continue;
    }
    lists++;
    ck_assert_uint_gt(list, 0);
    ck_assert_uint_eq(item.kind,
                      subject->lists[list - 1] % 2 == 1 ? PACKED_LOCATIONS : PACKED_ALLOCAS);
    ck_assert_uint_eq(item.base, subject->lists[list - 1] / 2);
  }
  ck_assert(!items.bad);
  ck_assert_uint_eq(lists, list > 0);
  if (!same(&expected, &found))
    ck_abort_msg("record %u: %u items, not %u, or others", position, found.count, expected.count);
}

/* Whether the short cut must take a record. */
static bool is_short(const struct subject *subject, const struct plan *plan,
                     const struct found *expected) {
  const uint32_t first = subject->locations[0].number;
  if (plan->lists != NO_LISTS || plan->tail < SHORT_TAIL ||
      plan->frame >> plan->frame_parameter > SHORT_HIGH_MAX)
    return false;
  if (plan->locations == 0)
    return plan->sets == 1;
  const uint32_t last = subject->locations[plan->locations - 1].number;
  bool is_short = plan->locations <= SHORT_LOCATIONS_MAX && last < plan->first_class_count &&
                  (plan->form != PACKED_BIT_MAP || last - first < SHORT_MAP_MAX);
  for (unsigned i = 0; i < plan->locations; i++)
    is_short &= subject->locations[i].bases <= SHORT_BASES_MAX;
  for (unsigned i = 0; i < expected->count; i++)
    is_short &= (expected->pairs[i] >> 32) - first <= SHORT_STEPS_MAX &&
                (uint32_t)expected->pairs[i] - first <= SHORT_STEPS_MAX;
  return is_short;
}

/* How many records the short cut took. */
static unsigned check_slots(const struct subject *subject, const struct plan *plan,
                            unsigned position) {
  const struct packed_record record = record_at(subject, position);
  struct found expected = expected_of(subject, plan, subject->set_of[position]);
  struct found found = {.count = 0};
  struct packed_slots slots = {.pairs =
                                   test_allocate(PACKED_SLOTS_PAIRS_MAX * sizeof *slots.pairs)};
  const bool ok = packed_slots(&record, &slots);
  if (!ok && is_short(subject, plan, &expected))
    ck_abort_msg("record %u isn't taken by the short cut", position);
  if (ok) {
    for (unsigned i = 0; i < 64; i++)
      if ((slots.selves >> i & 1) != 0)
        add(&found, slots.first + i, slots.first + i);
    for (unsigned i = 0; i < slots.pair_count; i++)
      add(&found, slots.first + slots.pairs[i].base, slots.first + slots.pairs[i].derived);
    if (!same(&expected, &found))
      ck_abort_msg("record %u: the short cut finds %u pairs, not %u, or others", position,
                   found.count, expected.count);
  }
  free(slots.pairs);
  return ok;
}

/* Whether packed_wide must take a layout. */
static bool is_wide(const struct subject *subject, const struct plan *plan) {
  if (plan->locations > PACKED_WIDE_MAX || (plan->lists > 0 && plan->lists != NO_LISTS))
    return false;
  bool is_wide = plan->locations == 0 ||
                 subject->locations[plan->locations - 1].number - subject->locations[0].number <
                     PACKED_WIDE_MAX;
  for (unsigned i = 0; i < plan->locations; i++)
    is_wide &= subject->locations[i].bases <= WIDE_BASES_MAX;
  return is_wide;
}

static void check_wide(const struct subject *subject, const struct plan *plan, unsigned position) {
  const struct packed_record record = record_at(subject, position);
  struct found expected = expected_of(subject, plan, subject->set_of[position]);
  struct found found = {.count = 0};
  struct packed_wide wide = {.pairs = test_allocate(PACKED_WIDE_MAX * sizeof *wide.pairs)};
  struct packed_items items;
  packed_items(&items, &record);
  const bool ok = packed_wide(&items, &wide);
  if (!ok && is_wide(subject, plan))
    ck_abort_msg("record %u of a wide layout isn't taken", position);
  if (ok) {
    for (unsigned i = 0; i < wide.count; i++) {
      const uint32_t derived = wide.first + wide.pairs[i].derived;
      if (derived > wide.last || (i > 0 && wide.pairs[i].derived >= wide.pairs[i - 1].derived))
        ck_abort_msg("record %u of a wide layout: pair %u isn't in order", position, i);
      add(&found, wide.first + wide.pairs[i].base, derived);
    }
    if (!same(&expected, &found))
      ck_abort_msg("record %u of a wide layout: %u pairs, not %u, or others", position, found.count,
                   expected.count);
  }
  free(wide.pairs);
}

/* A location by its value, which tells all of them apart. */
static uint32_t number_of(const struct plan *plan, struct stackpack_location location) {
  ck_assert_uint_eq(location.kind, STACKPACK_INDIRECT);
  return location.value >= 100000
             ? plan->first_class_count + (uint32_t)(location.value - 100000) / 8
             : (uint32_t)(location.value + 80) / 8;
}

static void check_public(const struct subject *subject, const struct plan *plan,
                         unsigned position) {
  const struct packed_record packed = record_at(subject, position);
  struct found expected = expected_of(subject, plan, subject->set_of[position]);
  struct found found = {.count = 0};
  struct stackpack_record record = {0};
  struct stackpack_location base, derived;
  memcpy(&record, &packed, sizeof packed);
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  while (stackpack_pairs_next(&pairs, &base, &derived))
    add(&found, number_of(plan, base), number_of(plan, derived));
  ck_assert(!stackpack_pairs_corrupt(&pairs));
  if (!same(&expected, &found))
    ck_abort_msg("record %u: %u pairs, not %u, or others", position, found.count, expected.count);
}

/* How many records the short cut took. */
static unsigned check_plan(const struct plan *plan, uint64_t seed) {
  struct subject *subject = make(plan, seed);
  const bool quick = subject->table.quick;
  unsigned taken = 0;
  for (unsigned i = 0; i < plan->records; i++) {
    check_items(subject, plan, i);
    for (unsigned round = 0; round < 2; round++) {
      subject->table.quick = quick && round == 0;
      taken += check_slots(subject, plan, i);
      check_wide(subject, plan, i);
      check_public(subject, plan, i);
    }
  }
  subject_free(subject);
  return taken;
}

/* ---- Tests ---- */

static const struct plan common = {.locations = 10,
                                   .sets = 6,
                                   .records = 12,
                                   .spread = 2,
                                   .selves = 90,
                                   .bases = 3,
                                   .live = 50,
                                   .changes = 20,
                                   .depth = PACKED_DEPTH_MAX,
                                   .lists = NO_LISTS,
                                   .tail = SHORT_TAIL,
                                   .frame = 9,
                                   .frame_parameter = 2,
                                   .sets_parameter = 1,
                                   .locations_parameter = 2,
                                   .location_width = 10,
                                   .first_class_count = 1000};

static struct plan draw_plan(struct numbers *numbers) {
  static const unsigned percents[] = {0, 3, 10, 50, 90, 100};
  static const unsigned bases[] = {1, 1, 2, 3, 4, 6, 7, 8, 9, 30, 56, 57, 70};
  static const unsigned sets[] = {1, 1, 2, 3, 7, 8, 9, 16, 17, 40, 200};
  static const unsigned spreads[] = {0, 1, 1, 2, 3, 10};
  static const unsigned parameters[] = {0, 1, 2, 3, 8, 20, 31};
  struct plan plan = common;
  const bool is_wide = numbers_chance(numbers, 8);
  plan.locations = (unsigned)numbers_below(numbers, is_wide ? LOCATIONS_MAX - 5 : 61);
  plan.sets = sets[numbers_below(numbers, 11)];
  plan.records = (unsigned)numbers_between(numbers, 1, RECORDS_MAX);
  plan.form = (unsigned)numbers_below(numbers, 3);
  plan.spread = spreads[numbers_below(numbers, is_wide ? 4 : 6)];
  plan.selves = percents[numbers_below(numbers, 6)];
  plan.derived = numbers_chance(numbers, 40) ? 0 : percents[numbers_below(numbers, 6)];
  plan.bases = bases[numbers_below(numbers, 13)];
  plan.live = percents[numbers_below(numbers, 6)];
  plan.changes = percents[numbers_below(numbers, 5)];
  plan.has_changes = numbers_chance(numbers, 60);
  plan.are_numbers = numbers_chance(numbers, 50);
  plan.depth = (unsigned)numbers_below(numbers, PACKED_DEPTH_MAX + 1);
  plan.lists = numbers_chance(numbers, 15) ? (unsigned)numbers_below(numbers, 8) : NO_LISTS;
  plan.tail = numbers_chance(numbers, 70) ? SHORT_TAIL : (unsigned)numbers_below(numbers, 200);
  plan.frame = (uint32_t)numbers_of_bits(numbers, 28);
  plan.frame_parameter = parameters[numbers_below(numbers, 7)];
  plan.sets_parameter = parameters[numbers_below(numbers, 7)];
  plan.locations_parameter = parameters[numbers_below(numbers, 7)];
  plan.first_parameter = parameters[numbers_below(numbers, 7)];
  plan.location_width = (unsigned)numbers_between(numbers, 10, 20);
  plan.first_class_count =
      numbers_chance(numbers, 80) ? 1000 : (uint32_t)numbers_below(numbers, 80);
  return plan;
}

START_TEST(layouts_of_any_shape) {
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct numbers numbers = {seed};
    const struct plan plan = draw_plan(&numbers);
    check_plan(&plan, seed);
  }
}
END_TEST

START_TEST(every_number_of_locations) {
  for (unsigned locations = 0; locations <= LOCATIONS_MAX - 5; locations += locations < 70    ? 1
                                                                            : locations < 250 ? 17
                                                                                              : 3)
    for (unsigned form = PACKED_CONTIGUOUS; form <= PACKED_LIST; form++)
      for (unsigned kind = 0; kind < 4; kind++) {
        struct plan plan = common;
        plan.locations = locations;
        plan.form = form;
        plan.spread = 1;
        plan.selves = kind % 2 == 0 ? 100 : 60;
        plan.derived = kind < 2 ? 0 : 30;
        plan.sets = locations == 0 ? 1 : 6;
        const unsigned taken = check_plan(&plan, locations * 16 + form * 4 + kind);
        if (locations <= SHORT_LOCATIONS_MAX)
          ck_assert_uint_eq(taken, 2 * plan.records);
      }
}
END_TEST

/* Maps around the places where they are divided, and where they get too long. */
START_TEST(maps_of_any_length) {
  for (unsigned locations = 1; locations <= SHORT_LOCATIONS_MAX; locations += 5)
    for (unsigned spread = 0; spread <= 8; spread++) {
      struct plan plan = common;
      plan.locations = locations;
      plan.form = PACKED_BIT_MAP;
      plan.spread = spread;
      plan.derived = 20;
      for (uint64_t seed = 1; seed <= 4; seed++)
        check_plan(&plan, seed);
    }
}
END_TEST

/* The numbers of bases take as many bits as a word has, one less, one more; and numbers of states
 * that take another bit. */
START_TEST(words_of_bases) {
  for (unsigned bases = 1; bases <= 70; bases += bases < 16 || bases > 52 ? 1 : 6)
    for (unsigned locations = 1; locations <= 24; locations += 1 + locations / 4) {
      struct plan plan = common;
      plan.locations = locations;
      plan.bases = bases;
      plan.derived = 100;
      plan.live = 90;
      for (unsigned selves = 0; selves <= 100; selves += 50) {
        plan.selves = selves;
        plan.has_changes = selves == 50;
        check_plan(&plan, bases * 100 + locations);
      }
    }
}
END_TEST

START_TEST(one_location_of_many_bases) {
  struct plan plan = common;
  plan.locations = 1;
  plan.sets = 80;
  plan.records = RECORDS_MAX;
  plan.derived = 100;
  for (plan.bases = 1; plan.bases < BASES_MAX; plan.bases++)
    for (unsigned tail = 0; tail <= SHORT_TAIL; tail += SHORT_TAIL) {
      plan.selves = plan.bases % 2 * 100;
      plan.tail = tail;
      check_plan(&plan, plan.bases);
    }
}
END_TEST

START_TEST(one_set) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct numbers numbers = {seed};
    struct plan plan = draw_plan(&numbers);
    plan.sets = 1;
    check_plan(&plan, seed);
  }
}
END_TEST

START_TEST(chains_of_changes) {
  for (uint64_t seed = 1; seed <= 200; seed++) {
    struct numbers numbers = {seed};
    struct plan plan = draw_plan(&numbers);
    plan.sets = (unsigned)numbers_between(&numbers, 2, SETS_MAX);
    plan.has_changes = true;
    plan.depth = (unsigned)(seed % (PACKED_DEPTH_MAX + 1));
    plan.lists = NO_LISTS;
    plan.tail = SHORT_TAIL;
    plan.records = RECORDS_MAX;
    check_plan(&plan, seed);
  }
}
END_TEST

/* A chain that is one too long, and one that has no end. */
START_TEST(chains_that_are_too_long) {
  struct plan plan = common;
  plan.has_changes = true;
  plan.depth = PACKED_DEPTH_MAX + 1;
  plan.changes = 100;
  plan.sets = 60;
  plan.records = RECORDS_MAX;
  unsigned refused = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct subject *subject = make(&plan, seed);
    for (unsigned i = 0; i < plan.records; i++) {
      const struct packed_record record = record_at(subject, i);
      unsigned depth = 0;
      for (uint32_t set = subject->set_of[i]; subject->parents[set] != 0; depth++)
        set = subject->parents[set] - 1;
      struct packed_steps pairs[PACKED_SLOTS_PAIRS_MAX];
      struct packed_slots slots = {.pairs = pairs};
      struct packed_items items;
      packed_items(&items, &record);
      ck_assert_int_eq(items.bad, depth > PACKED_DEPTH_MAX);
      ck_assert_int_eq(packed_slots(&record, &slots), depth <= PACKED_DEPTH_MAX);
      refused += items.bad;
    }
    subject_free(subject);
  }
  ck_assert_uint_gt(refused, 0);
}
END_TEST

START_TEST(at_the_very_end) {
  for (uint64_t seed = 1; seed <= 400; seed++) {
    struct numbers numbers = {seed};
    struct plan plan = draw_plan(&numbers);
    plan.tail = seed % 2 == 0 ? 0 : (unsigned)(seed % 300);
    check_plan(&plan, seed);
  }
}
END_TEST

/* ---- Hostile bytes ---- */

static void read_all(const struct subject *subject, unsigned position) {
  const struct packed_record packed = record_at(subject, position);
  struct packed_slots slots = {.pairs =
                                   test_allocate(PACKED_SLOTS_PAIRS_MAX * sizeof *slots.pairs)};
  struct packed_items items;
  struct packed_item item;
  unsigned count = 0;
  packed_items(&items, &packed);
  while (packed_items_next(&items, &item))
    count++;
  ck_assert_uint_le(count, PACKED_LIVE_ITEMS_MAX);
  if (packed_slots(&packed, &slots))
    ck_assert_uint_le(slots.pair_count, PACKED_SLOTS_PAIRS_MAX);
  free(slots.pairs);
  struct packed_wide wide = {.pairs = test_allocate(PACKED_WIDE_MAX * sizeof *wide.pairs)};
  packed_items(&items, &packed);
  if (packed_wide(&items, &wide))
    ck_assert_uint_le(wide.count, PACKED_WIDE_MAX);
  free(wide.pairs);
  struct stackpack_record record = {0};
  struct stackpack_location base, derived;
  memcpy(&record, &packed, sizeof packed);
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  for (count = 0; stackpack_pairs_next(&pairs, &base, &derived);)
    count++;
  ck_assert_uint_le(count, PACKED_LIVE_ITEMS_MAX);
}

static void damage(struct subject *subject, struct numbers *numbers) {
  const uint64_t at = numbers_below(numbers, subject->size);
  const uint64_t how = numbers_below(numbers, 3);
  if (how == 0)
    subject->block[at] ^= (uint8_t)(1 << numbers_below(numbers, 8));
  else if (how == 1)
    subject->block[at] = (uint8_t)numbers_next(numbers);
  else
    memset(subject->block + at, numbers_chance(numbers, 50) ? 0xff : 0,
           numbers_between(numbers, 1, subject->size - at < 9 ? subject->size - at : 9));
}

START_TEST(damaged_layouts) {
  for (uint64_t seed = 1; seed <= 300; seed++) {
    struct numbers numbers = {seed * 7919};
    struct plan plan = draw_plan(&numbers);
    plan.tail %= 30;
    struct subject *subject = make(&plan, seed);
    const bool quick = subject->table.quick;
    for (unsigned round = 0; round < 12; round++) {
      damage(subject, &numbers);
      subject->table.quick = quick && round % 2 == 0;
      read_all(subject, (unsigned)numbers_below(&numbers, plan.records));
      read_all(subject, (uint32_t)numbers_of_bits(&numbers, 32));
    }
    subject_free(subject);
  }
}
END_TEST

/* Set 8 is changes that stand where the records' sets do, at the very end of the table: the new states
 * would be behind it. */
START_TEST(states_behind_the_end) {
  enum { LOCATIONS = 20, SETS = 16, BASES = 40, STATE = 6, PARENT = 5, ROWS = 8, POSITION = 12 };
  const unsigned rows = ROWS * (PARENT + LOCATIONS * STATE);
  const struct plan plan = {.lists = NO_LISTS, .location_width = 10, .first_class_count = 1000};
  struct subject *subject = new_subject();
  struct bit_writer bits = {0};
  struct bytes bytes = {0};
  open_table(subject, &plan);
  bit_writer_small(&bits, 0, 0); /* frame size */
  bit_writer_small(&bits, SETS - 1, 0);
  bit_writer_small(&bits, LOCATIONS, 0);
  bit_writer_put(&bits, 1, 1);                  /* some are derived */
  bit_writer_small(&bits, 0, 0);                /* the first location */
  bit_writer_put(&bits, 0, 1);                  /* the others follow it */
  bit_writer_put(&bits, UINT64_MAX, LOCATIONS); /* all can be ordinary references */
  for (unsigned i = 0; i < LOCATIONS; i++)
    bit_writer_put(&bits, bits_low_mask(BASES), BASES + 1);
  for (unsigned i = 0; i < LOCATIONS * BASES; i++)
    bit_writer_put(&bits, 0, bits_for_count(LOCATIONS));
  bit_writer_put(&bits, PACKED_SET_CHANGES, 1);
  bit_writer_put(&bits, 1, 1);  /* numbers of changed locations */
  bit_writer_put(&bits, 10, 6); /* bits of a field of the directory */
  for (unsigned i = 2; i <= SETS; i += 2)
    bit_writer_put(&bits, i < 8 ? 0 : rows, 10);
  for (unsigned i = 0; i < rows; i++)
    bit_writer_put(&bits, 0, 1);
  /* Behind the rows, where the sets' numbers start, is set 8. That of position 12 is said by bits 12 *
   * 4 - 15 to 36: of the numbers of changed locations, and it is set 8, too. */
  bit_writer_put(&bits, ROWS, PARENT);
  bit_writer_gamma(&bits, LOCATIONS);
  for (unsigned i = 0; i < LOCATIONS; i++)
    bit_writer_put(&bits, i, bits_for_count(LOCATIONS));
  bit_writer_align(&bits);
  bytes_add(&bytes, bits.bytes, bits.size / 8);
  bytes_zeros(&bytes, BITS_PADDING);
  subject->block = bytes_exact(bytes.data, bytes.size);
  subject->table.layouts = (struct bit_array){subject->block, bits.size};
  subject->table.readable = bits.size;
  const struct packed_record record = record_at(subject, POSITION);
  struct packed_items items;
  struct packed_item item;
  packed_items(&items, &record);
  ck_assert(!items.bad);
  ck_assert_uint_eq(items.depth, 2);
  while (packed_items_next(&items, &item))
    continue;
  ck_assert(items.bad);
  read_all(subject, POSITION);
  bytes_free(&bytes);
  bit_writer_free(&bits);
  subject_free(subject);
}
END_TEST

/* From many bits on, to the last one: nothing of this is a layout. */
START_TEST(layouts_anywhere) {
  for (uint64_t seed = 1; seed <= 25; seed++) {
    struct numbers numbers = {seed * 104729};
    struct plan plan = draw_plan(&numbers);
    struct subject *subject = make(&plan, seed);
    const uint64_t step = 1 + subject->table.layouts.size / 400;
    for (uint64_t bit = 0; bit < subject->table.layouts.size; bit += step + bit % 3) {
      subject->start = bit;
      read_all(subject, (unsigned)numbers_below(&numbers, 40));
    }
    subject_free(subject);
  }
}
END_TEST

SUITE("packed_layout", layouts_of_any_shape, every_number_of_locations, maps_of_any_length,
      words_of_bases, one_location_of_many_bases, one_set, chains_of_changes,
      chains_that_are_too_long, at_the_very_end, damaged_layouts, states_behind_the_end,
      layouts_anywhere)
