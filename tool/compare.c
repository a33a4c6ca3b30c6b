/* compare.c - see compare.h.
 *
 * Interned numbers mean nothing outside their table, so contents are compared by value. As contents
 * repeat, the pairs of numbers that were found equal are remembered: nearly all comparisons end
 * there.
 */
#include "compare.h"

#include "../format/bits.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void differ(struct differences *differences, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void differ(struct differences *differences, const char *format, ...) {
  if (differences->count++ > 0)
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(differences->first, sizeof differences->first, format, arguments);
  va_end(arguments);
}

/* Two tables, and for each sequence of a the one of b that it was last found equal to, plus 1. */
struct comparison {
  const struct safepoints *a, *b;
  uint32_t *live, *lists;
};

static bool same_location(const struct comparison *comparison, uint32_t a, uint32_t b) {
  return safepoint_location_compare(safepoints_location(comparison->a, a),
                                    safepoints_location(comparison->b, b)) == 0;
}

static bool same_locations(const struct comparison *comparison, uint32_t a, uint32_t b) {
  if (comparison->lists[a] == b + 1)
    return true;
  const struct intern_sequence x = intern_get(&comparison->a->lists, a);
  const struct intern_sequence y = intern_get(&comparison->b->lists, b);
  if (x.count != y.count)
    return false;
  for (uint64_t i = 0; i < x.count; i++)
    if (!same_location(comparison, (uint32_t)x.words[i], (uint32_t)y.words[i]))
      return false;
  comparison->lists[a] = b + 1;
  return true;
}

static bool same_live_outs(const struct comparison *comparison, uint32_t a, uint32_t b) {
  const struct intern_sequence x = intern_get(&comparison->a->lists, a);
  const struct intern_sequence y = intern_get(&comparison->b->lists, b);
  return x.count == y.count &&
         (x.count == 0 || memcmp(x.words, y.words, x.count * sizeof *x.words) == 0);
}

static bool same_item(const struct comparison *comparison, uint64_t a, uint64_t b) {
  if (a >> 62 != b >> 62 && (safepoint_item_is_list(a) || safepoint_item_is_list(b)))
    return false;
  if (safepoint_item_is_list(a))
    return same_locations(comparison, safepoint_item_list(a), safepoint_item_list(b));
  return same_location(comparison, safepoint_item_base(a), safepoint_item_base(b)) &&
         same_location(comparison, safepoint_item_derived(a), safepoint_item_derived(b));
}

static bool same_live(const struct comparison *comparison, uint32_t a, uint32_t b) {
  if (comparison->live[a] == b + 1)
    return true;
  const struct intern_sequence x = intern_get(&comparison->a->live, a);
  const struct intern_sequence y = intern_get(&comparison->b->live, b);
  if (x.count != y.count)
    return false;
  for (uint64_t i = 0; i < x.count; i++)
    if (!same_item(comparison, x.words[i], y.words[i]))
      return false;
  comparison->live[a] = b + 1;
  return true;
}

/* What differs between two records, or NULL. */
static const char *record_difference(const struct comparison *comparison, const struct safepoint *a,
                                     const struct safepoint *b) {
  const struct safepoint_function *f = &comparison->a->functions[a->function];
  const struct safepoint_function *g = &comparison->b->functions[b->function];
  if (f->address != g->address)
    return "the function";
  if (f->frame_size != g->frame_size)
    return "the frame size";
  if (a->id != b->id)
    return "the ID";
  if (!same_live(comparison, a->live, b->live))
    return "the live locations";
  if (a->calling_convention != b->calling_convention)
    return "the calling convention";
  if (a->flags != b->flags)
    return "the flags";
  if (!same_locations(comparison, a->deopt, b->deopt))
    return "the deopt state";
  if (!same_live_outs(comparison, a->live_outs, b->live_outs))
    return "the live-outs";
  return NULL;
}

static void compare_functions(const struct comparison *comparison,
                              struct differences *differences) {
  const struct safepoints *a = comparison->a, *b = comparison->b;
  if (a->function_count != b->function_count) {
    differ(differences, "%" PRIu32 " functions, not %" PRIu32, b->function_count,
           a->function_count);
    return;
  }
  for (uint32_t i = 0; i < a->function_count; i++)
    if (a->functions[i].address != b->functions[i].address ||
        a->functions[i].frame_size != b->functions[i].frame_size)
      differ(differences, "the function at 0x%" PRIx64 " differs", a->functions[i].address);
}

static void compare_records(const struct comparison *comparison, struct differences *differences) {
  const struct safepoints *a = comparison->a, *b = comparison->b;
  uint32_t i = 0, k = 0;
  while (i < a->record_count || k < b->record_count) {
    const bool only_a = k == b->record_count ||
                        (i < a->record_count && a->records[i].address < b->records[k].address);
    const bool only_b =
        !only_a && (i == a->record_count || b->records[k].address < a->records[i].address);
    if (only_a) {
      differ(differences, "the record at 0x%" PRIx64 " is missing", a->records[i++].address);
    } else if (only_b) {
      differ(differences, "there is a record too many at 0x%" PRIx64, b->records[k++].address);
    } else {
      const char *what = record_difference(comparison, &a->records[i], &b->records[k]);
      if (what != NULL)
        differ(differences, "%s of the record at 0x%" PRIx64 " differs", what,
               a->records[i].address);
      i++;
      k++;
    }
  }
}

static void compare_global_roots(const struct comparison *comparison,
                                 struct differences *differences) {
  const struct safepoints *a = comparison->a, *b = comparison->b;
  if (a->global_root_count != b->global_root_count) {
    differ(differences, "%" PRIu32 " global roots, not %" PRIu32, b->global_root_count,
           a->global_root_count);
    return;
  }
  for (uint32_t i = 0; i < a->global_root_count; i++)
    if (a->global_roots[i] != b->global_roots[i])
      differ(differences, "the global root at 0x%" PRIx64 " differs", a->global_roots[i]);
}

static bool comparison_open(struct comparison *comparison, const struct safepoints *a,
                            const struct safepoints *b) {
  *comparison = (struct comparison){
      .a = a,
      .b = b,
      .live = calloc((size_t)a->live.count + 1, sizeof(uint32_t)),
      .lists = calloc((size_t)a->lists.count + 1, sizeof(uint32_t)),
  };
  return comparison->live != NULL && comparison->lists != NULL;
}

void compare_tables(const struct safepoints *a, const struct safepoints *b,
                    struct differences *differences) {
  struct comparison comparison;
  if (comparison_open(&comparison, a, b)) {
    compare_functions(&comparison, differences);
    compare_records(&comparison, differences);
    compare_global_roots(&comparison, differences);
  } else {
    differ(differences, "not enough memory to compare");
  }
  free(comparison.live);
  free(comparison.lists);
}

/* ---- Answers ---- */

/* The pairs of a live set, taken from a look-up, must be those of the record in some order. Sets
 * are compared by a sum over their members: order doesn't matter to it, and a wrong member changes
 * it. */
static uint64_t location_hash(struct location location) {
  uint64_t hash = (uint64_t)location.value * 0x9e3779b97f4a7c15u;
  hash ^= (uint64_t)location.kind << 32 | (uint64_t)location.reg << 16 | location.size;
  hash *= 0xbf58476d1ce4e5b9u;
  return hash ^ hash >> 29;
}

/* Of the hashes of two locations. */
static uint64_t pair_hash(uint64_t base, uint64_t derived) {
  const uint64_t hash = base * 3 + derived;
  return (hash ^ hash >> 31) * 0x94d049bb133111ebu;
}

struct set_sum {
  uint64_t members, sum;
};

static void sum_add(struct set_sum *sum, uint64_t base, uint64_t derived) {
  sum->members++;
  sum->sum += pair_hash(base, derived);
}

/* What answers are compared with. What is asked for again and again is computed once. */
struct answers {
  const struct safepoints *expected;
  const struct packed_table *packed;
  struct differences *differences;
  struct set_sum *sums; /* by live set of the expected table */
  uint64_t *hashes;     /* of the packed table's first locations, by number */
  uint32_t hash_count;
};

static struct set_sum expected_sum(const struct safepoints *table, uint32_t live) {
  const struct intern_sequence items = intern_get(&table->live, live);
  struct set_sum sum = {0};
  for (uint64_t i = 0; i < items.count; i++) {
    const uint64_t item = items.words[i];
    if (!safepoint_item_is_list(item))
      sum_add(&sum, location_hash(safepoints_location(table, safepoint_item_base(item))),
              location_hash(safepoints_location(table, safepoint_item_derived(item))));
  }
  return sum;
}

static bool answers_open(struct answers *answers) {
  enum { HASHES_MAX = 1 << 16 }; /* in a broken table, a class of any size may be named */
  const struct safepoints *expected = answers->expected;
  const uint32_t locations = answers->packed->location_count;
  answers->hash_count = locations < HASHES_MAX ? locations : HASHES_MAX;
  answers->sums = malloc(((size_t)expected->live.count + 1) * sizeof *answers->sums);
  answers->hashes = malloc(((size_t)answers->hash_count + 1) * sizeof *answers->hashes);
  if (answers->sums == NULL || answers->hashes == NULL)
    return false;
  for (uint32_t i = 0; i < expected->live.count; i++)
    answers->sums[i] = expected_sum(expected, i);
  for (uint32_t i = 0; i < answers->hash_count; i++)
    answers->hashes[i] = location_hash(packed_location(answers->packed, i));
  return true;
}

static uint64_t found_hash(const struct answers *answers, uint32_t number) {
  return number < answers->hash_count ? answers->hashes[number]
                                      : location_hash(packed_location(answers->packed, number));
}

/* The pairs that the short cut for common layouts finds, which is what a collector will see. */
static struct set_sum slots_sum(const struct answers *answers, const struct packed_slots *slots) {
  struct set_sum sum = {0};
  for (uint64_t left = slots->selves; left != 0; left &= left - 1) {
    const uint64_t hash = found_hash(answers, slots->first + (uint32_t)__builtin_ctzll(left));
    sum_add(&sum, hash, hash);
  }
  for (uint32_t i = 0; i < slots->pair_count; i++)
    sum_add(&sum, found_hash(answers, slots->first + slots->pairs[i].base),
            found_hash(answers, slots->first + slots->pairs[i].derived));
  return sum;
}

static struct set_sum found_sum(const struct answers *answers, const struct packed_record *record) {
  struct packed_items items;
  struct packed_item item;
  struct packed_steps steps[PACKED_SLOTS_PAIRS_MAX];
  struct packed_slots slots = {.pairs = steps};
  struct set_sum sum = {0};
  if (packed_slots(record, &slots))
    return slots_sum(answers, &slots);
  packed_items(&items, record);
  while (packed_items_next(&items, &item))
    if (item.kind == PACKED_PAIR)
      sum_add(&sum, found_hash(answers, item.base), found_hash(answers, item.derived));
  return sum;
}

static void check_record(const struct answers *answers, uint32_t index) {
  const struct packed_table *packed = answers->packed;
  const struct safepoint *record = &answers->expected->records[index];
  const struct safepoint_function *function = &answers->expected->functions[record->function];
  struct packed_record found;
  if (packed_find(packed, record->address, &found) != PACKED_FOUND) {
    differ(answers->differences, "a look-up of 0x%" PRIx64 " doesn't find its record",
           record->address);
    return;
  }
  /* Of several records at one address, a look-up finds the first. */
  while (found.index < index && found.address == record->address)
    if (packed_record_at(packed, found.index + 1, &found) != PACKED_FOUND)
      break;
  const struct set_sum a = answers->sums[record->live], b = found_sum(answers, &found);
  if (found.index != index || found.address != record->address ||
      packed_record_function(&found) != record->function ||
      packed_frame_size(packed, found.layout) != function->frame_size || a.sum != b.sum ||
      a.members != b.members)
    differ(answers->differences, "a look-up of 0x%" PRIx64 " finds another record",
           record->address);
}

/* ---- Functions ---- */

/* Up to where a function's addresses are managed: to the furthest end of the code up to it, but not
 * beyond the next function's start; or to the last record up to there. */
static uint64_t expected_end(const struct safepoints *expected, uint32_t function, uint64_t reach,
                             uint32_t records) {
  const uint64_t start = expected->functions[function].address;
  const uint64_t next = function + 1 < expected->function_count
                            ? expected->functions[function + 1].address
                            : UINT64_MAX;
  const uint64_t last = records > 0 ? expected->records[records - 1].address : 0;
  const uint64_t known = last > start ? last : start, code = reach < next ? reach : next;
  return code > known ? code : known;
}

/* Asks for each function by its number. */
static void check_functions(const struct answers *answers) {
  const struct safepoints *expected = answers->expected;
  uint32_t records = 0; /* up to the next function's start */
  uint64_t reach = 0;
  for (uint32_t i = 0; i < expected->function_count; i++) {
    const struct safepoint_function *function = &expected->functions[i];
    reach = function->end > reach ? function->end : reach;
    while (records < expected->record_count &&
           (i + 1 == expected->function_count ||
            expected->records[records].address <= function[1].address))
      records++;
    if (packed_function_address(answers->packed, i) != function->address ||
        packed_function_end(answers->packed, i) != expected_end(expected, i, reach, records))
      differ(answers->differences, "the function at 0x%" PRIx64 " starts or ends elsewhere",
             function->address);
  }
}

/* ---- Addresses without a record ---- */

/* What is expected of addresses without a record, asked in ascending order. */
struct miss_checker {
  const struct safepoints *expected;
  const struct packed_table *packed;
  struct differences *differences;
  uint32_t function, record; /* the first of each behind the address */
  uint64_t reach;            /* up to where the functions before it have code or records */
};

/* An address is managed if a function that starts at or before it ends behind it. A function's end
 * is that of its code, or its last record before the next function where that is further. */
static bool is_managed(struct miss_checker *checker, uint64_t address) {
  const struct safepoints *expected = checker->expected;
  while (checker->function < expected->function_count &&
         expected->functions[checker->function].address <= address) {
    const struct safepoint_function *function = &expected->functions[checker->function++];
    checker->reach = function->end > checker->reach ? function->end : checker->reach;
  }
  if (checker->function == 0)
    return false;
  if (address < checker->reach)
    return true;
  const uint64_t next = checker->function < expected->function_count
                            ? expected->functions[checker->function].address
                            : UINT64_MAX;
  return checker->record < expected->record_count &&
         expected->records[checker->record].address <= next;
}

static void check_miss(struct miss_checker *checker, uint64_t address) {
  const struct safepoints *expected = checker->expected;
  struct packed_record found;
  while (checker->record < expected->record_count &&
         expected->records[checker->record].address < address)
    checker->record++;
  if (checker->record < expected->record_count &&
      expected->records[checker->record].address == address)
    return;
  const enum packed_answer right =
      is_managed(checker, address) ? PACKED_NOT_SAFEPOINT : PACKED_NOT_MANAGED;
  if (packed_find(checker->packed, address, &found) != right)
    differ(checker->differences, "a look-up of 0x%" PRIx64 " doesn't say that it's %s", address,
           right == PACKED_NOT_MANAGED ? "not managed" : "not a safepoint");
}

/* The addresses that are asked for: few are out of order, if any. */
struct miss_addresses {
  uint64_t *items;
  size_t count;
  bool are_sorted;
};

/* Where functions meet, the end of one and the start of the next ask for the same. */
static void add_address(struct miss_addresses *addresses, uint64_t address) {
  const uint64_t *end = addresses->items + addresses->count;
  if ((addresses->count > 0 && end[-1] == address) || (addresses->count > 1 && end[-2] == address))
    return;
  if (addresses->count > 0 && address < end[-1])
    addresses->are_sorted = false;
  addresses->items[addresses->count++] = address;
}

/* Asks for what is behind the last record before a function, or before the text's end, where code
 * isn't known to go so far. */
static void add_last_record(struct miss_addresses *addresses, const struct safepoints *expected,
                            uint32_t record, uint64_t reach) {
  if (record > 0 && expected->records[record - 1].address >= reach)
    add_address(addresses, expected->records[record - 1].address + 1);
}

/* Between a function's start, its records and its end, the answers hold from one of these to the
 * next: so in each such range one address is asked for, of those between records the first; and
 * both sides of the function's ends. */
static void add_function(struct miss_addresses *addresses, const struct safepoints *expected,
                         const struct safepoint_function *function, bool has_record_at_start) {
  add_address(addresses, function->address - 1);
  add_address(addresses, function->address);
  if (has_record_at_start)
    add_address(addresses, function->address + 1);
  if (function->records > 1)
    add_address(addresses, expected->records[function->first_record].address + 1);
  add_address(addresses, function->end - 1);
  add_address(addresses, function->end);
}

static void collect_addresses(struct miss_addresses *addresses, const struct safepoints *expected) {
  uint32_t record = 0; /* the first one that isn't before the function */
  uint64_t reach = 0;
  for (uint32_t i = 0; i < expected->function_count; i++) {
    const struct safepoint_function *function = &expected->functions[i];
    while (record < expected->record_count && expected->records[record].address < function->address)
      record++;
    add_last_record(addresses, expected, record, reach);
    add_function(addresses, expected, function,
                 record < expected->record_count &&
                     expected->records[record].address == function->address);
    reach = function->end > reach ? function->end : reach;
  }
  add_last_record(addresses, expected, expected->record_count, reach);
}

static void check_misses(const struct answers *answers) {
  enum { ADDRESSES_PER_FUNCTION = 7 };
  const struct safepoints *expected = answers->expected;
  struct miss_addresses addresses = {.are_sorted = true};
  const size_t capacity = (size_t)expected->function_count * ADDRESSES_PER_FUNCTION + 1;
  addresses.items = malloc(capacity * sizeof *addresses.items);
  if (addresses.items == NULL) {
    differ(answers->differences, "not enough memory to compare");
    return;
  }
  collect_addresses(&addresses, expected);
  if (!addresses.are_sorted)
    qsort(addresses.items, addresses.count, sizeof *addresses.items, bits_compare_words);
  struct miss_checker checker = {
      .expected = expected, .packed = answers->packed, .differences = answers->differences};
  for (size_t i = 0; i < addresses.count; i++)
    if (i == 0 || addresses.items[i] != addresses.items[i - 1])
      check_miss(&checker, addresses.items[i]);
  free(addresses.items);
}

void compare_answers(const struct safepoints *expected, const struct packed_table *packed,
                     struct differences *differences) {
  struct answers answers = {.expected = expected, .packed = packed, .differences = differences};
  if (answers_open(&answers)) {
    for (uint32_t i = 0; i < expected->record_count; i++)
      check_record(&answers, i);
    check_functions(&answers);
    check_misses(&answers);
  } else {
    differ(differences, "not enough memory to compare");
  }
  free(answers.sums);
  free(answers.hashes);
}

void compare_dropped(const struct safepoints *expected, const struct packed_table *packed,
                     const uint64_t *addresses, size_t count, struct differences *differences) {
  struct packed_record found;
  for (size_t i = 0; i < count; i++)
    if (!safepoints_has_record(expected, addresses[i]) &&
        packed_find(packed, addresses[i], &found) != PACKED_NOT_SAFEPOINT)
      differ(differences, "a look-up of 0x%" PRIx64 ", which was dropped, finds something",
             addresses[i]);
}
