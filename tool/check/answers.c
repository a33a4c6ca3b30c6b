/* answers.c - see answers.h.
 *
 * Between a function's start, its records and its end, the answers hold from one of these to the
 * next. So few addresses without a record have to be asked for to know the answers for all.
 */
#include "tool/check/answers.h"

#include "format/bits.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Sets ---- */

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

struct answers {
  const struct safepoints *expected;
  const struct packed_table *packed;
  /* What is asked for again and again is computed once. */
  struct set_sum *sums; /* by live set of the expected table */
  uint64_t *hashes;     /* of the packed table's first locations, by number */
  uint64_t *reaches;    /* by function: up to where the code of those before it goes */
  uint32_t *stretches;  /* by function: the packed table's; UINT32_MAX: it has none */
  uint32_t hash_count;
  struct differences *differences; /* the caller's */
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

static uint64_t found_hash(const struct answers *answers, uint32_t number) {
  return number < answers->hash_count ? answers->hashes[number]
                                      : location_hash(packed_location(answers->packed, number));
}

/* The pairs that a look-up finds. */
static struct set_sum found_sum(const struct answers *answers, const struct packed_record *record) {
  struct packed_pairs pairs;
  struct packed_pair pair;
  struct set_sum sum = {0};
  packed_pairs(&pairs, record->table, record->layout, record->position);
  while (packed_pairs_next(&pairs, &pair))
    sum_add(&sum, found_hash(answers, pair.base), found_hash(answers, pair.derived));
  return sum;
}

/* ---- Records ---- */

static void check_record(const struct answers *answers, uint32_t index) {
  const struct packed_table *packed = answers->packed;
  const struct safepoint *record = &answers->expected->records[index];
  const struct safepoint_function *function = &answers->expected->functions[record->function];
  struct packed_record found;
  if (packed_find(packed, record->address, &found) != PACKED_FOUND) {
    differences_add(answers->differences, "a look-up of 0x%" PRIx64 " doesn't find its record",
                    record->address);
    return;
  }
  /* Of several records at one address, a look-up finds the first. */
  while (found.index < index && found.address == record->address)
    if (packed_record_at(packed, found.index + 1, &found) != PACKED_FOUND)
      break;
  const struct set_sum a = answers->sums[record->live], b = found_sum(answers, &found);
  if (found.index != index || found.address != record->address ||
      found.stretch != answers->stretches[record->function] ||
      packed_frame_size(packed, found.layout) != function->frame_size || a.sum != b.sum ||
      a.members != b.members)
    differences_add(answers->differences, "a look-up of 0x%" PRIx64 " finds another record",
                    record->address);
}

/* ---- Functions ---- */

/* The start of the function behind one; none is above UINT64_MAX. */
static uint64_t next_start(const struct safepoints *expected, uint32_t function) {
  return function + 1 < expected->function_count ? expected->functions[function + 1].address
                                                 : UINT64_MAX;
}

/* Up to where a function's addresses are managed: to the furthest end of the code up to it, but not
 * beyond the next function's start; or to the last record up to there, of which there are
 * `records`. */
static uint64_t expected_end(const struct answers *answers, uint32_t function, uint32_t records) {
  const struct safepoints *expected = answers->expected;
  const uint64_t start = expected->functions[function].address;
  const uint64_t next = next_start(expected, function);
  const uint64_t reach = answers->reaches[function + 1];
  const uint64_t last = records > 0 ? expected->records[records - 1].address : 0;
  const uint64_t known = last > start ? last : start, code = reach < next ? reach : next;
  return code > known ? code : known;
}

/* Asks for each function by its number. */
static void check_functions(const struct answers *answers) {
  const struct safepoints *expected = answers->expected;
  uint32_t records = 0; /* up to the next function's start */
  for (uint32_t i = 0; i < expected->function_count; i++) {
    const uint64_t address = expected->functions[i].address, next = next_start(expected, i);
    while (records < expected->record_count && expected->records[records].address <= next)
      records++;
    struct packed_stretch stretch;
    if (!packed_stretch(answers->packed, answers->stretches[i], &stretch) ||
        stretch.start != address || stretch.end != expected_end(answers, i, records))
      differences_add(answers->differences,
                      "the function at 0x%" PRIx64 " starts or ends elsewhere", address);
  }
}

/* ---- Addresses without a record ---- */

/* Addresses that are asked for, in ascending order, and where they are in the expected table. */
struct miss_checker {
  const struct answers *answers;
  uint32_t function; /* the first one that starts behind the address */
  uint32_t record;   /* the first one that isn't before it */
};

/* An address is managed if a function that starts at or before it ends behind it. A function's end
 * is that of its code, or its last record before the next function where that is further. */
static bool is_managed(const struct miss_checker *checker, uint64_t address) {
  const struct safepoints *expected = checker->answers->expected;
  if (checker->function == 0)
    return false;
  return address < checker->answers->reaches[checker->function] ||
         (checker->record < expected->record_count &&
          expected->records[checker->record].address <=
              next_start(expected, checker->function - 1));
}

static void check_miss(struct miss_checker *checker, uint64_t address) {
  const struct safepoints *expected = checker->answers->expected;
  struct packed_record found;
  while (checker->record < expected->record_count &&
         expected->records[checker->record].address < address)
    checker->record++;
  if (checker->record < expected->record_count &&
      expected->records[checker->record].address == address)
    return;
  while (checker->function < expected->function_count &&
         expected->functions[checker->function].address <= address)
    checker->function++;
  const enum packed_answer right =
      is_managed(checker, address) ? PACKED_NOT_SAFEPOINT : PACKED_NOT_MANAGED;
  if (packed_find(checker->answers->packed, address, &found) != right)
    differences_add(checker->answers->differences,
                    "a look-up of 0x%" PRIx64 " doesn't say that it's %s", address,
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

/* Asks for one address of each range in which the answer is the same, of those between records in
 * the first; and on both sides of the function's ends. */
static void add_function(struct miss_addresses *addresses, const struct safepoints *expected,
                         const struct safepoint_function *function, bool has_record_at_start) {
  add_address(addresses, function->address - 1);
  add_address(addresses, function->address);
  if (has_record_at_start)
    add_address(addresses, function->address + 1);
  if (function->records > 1)
    add_address(addresses, expected->records[function->first_record].address + 1);
  if (function->end > function->address) {
    add_address(addresses, function->end - 1);
    add_address(addresses, function->end);
  }
}

static void collect_addresses(const struct answers *answers, struct miss_addresses *addresses) {
  const struct safepoints *expected = answers->expected;
  const uint64_t *reaches = answers->reaches;
  uint32_t record = 0; /* the first one that isn't before the function */
  for (uint32_t i = 0; i < expected->function_count; i++) {
    const struct safepoint_function *function = &expected->functions[i];
    while (record < expected->record_count && expected->records[record].address < function->address)
      record++;
    add_last_record(addresses, expected, record, reaches[i]);
    add_function(addresses, expected, function,
                 record < expected->record_count &&
                     expected->records[record].address == function->address);
  }
  add_last_record(addresses, expected, expected->record_count, reaches[expected->function_count]);
  if (!addresses->are_sorted)
    qsort(addresses->items, addresses->count, sizeof *addresses->items, bits_compare_words);
}

static void check_misses(const struct answers *answers) {
  enum { ADDRESSES_PER_FUNCTION = 7 };
  struct miss_addresses addresses = {.are_sorted = true};
  const size_t functions = answers->expected->function_count;
  addresses.items = malloc((functions * ADDRESSES_PER_FUNCTION + 1) * sizeof *addresses.items);
  if (addresses.items == NULL) {
    differences_add(answers->differences, "not enough memory to compare");
    return;
  }
  collect_addresses(answers, &addresses);
  struct miss_checker checker = {.answers = answers};
  for (size_t i = 0; i < addresses.count; i++)
    if (i == 0 || addresses.items[i] != addresses.items[i - 1])
      check_miss(&checker, addresses.items[i]);
  free(addresses.items);
}

/* ---- All ---- */

static bool compute(struct answers *answers) {
  enum { HASHES = 1 << 10 }; /* more than most programs have */
  const struct safepoints *expected = answers->expected;
  const uint32_t stretches = answers->packed->stretch_count;
  answers->hash_count = HASHES;
  answers->sums = malloc(((size_t)expected->live.count + 1) * sizeof *answers->sums);
  answers->hashes = malloc(((size_t)answers->hash_count + 1) * sizeof *answers->hashes);
  answers->reaches = malloc(((size_t)expected->function_count + 1) * sizeof *answers->reaches);
  answers->stretches = malloc(((size_t)expected->function_count + 1) * sizeof *answers->stretches);
  if (answers->sums == NULL || answers->hashes == NULL || answers->reaches == NULL ||
      answers->stretches == NULL)
    return false;
  memset(answers->stretches, 0xff, (size_t)expected->function_count * sizeof *answers->stretches);
  for (uint32_t i = 0, function = 0; i < stretches && function < expected->function_count; i++) {
    struct packed_stretch stretch;
    if (packed_stretch(answers->packed, i, &stretch) && !stretch.is_gap)
      answers->stretches[function++] = i;
  }
  for (uint32_t i = 0; i < expected->live.count; i++)
    answers->sums[i] = expected_sum(expected, i);
  for (uint32_t i = 0; i < answers->hash_count; i++)
    answers->hashes[i] = location_hash(packed_location(answers->packed, i));
  answers->reaches[0] = 0;
  for (uint32_t i = 0; i < expected->function_count; i++) {
    const uint64_t reach = answers->reaches[i], end = expected->functions[i].end;
    answers->reaches[i + 1] = end > reach ? end : reach;
  }
  return true;
}

void answers_all(const struct safepoints *expected, const struct packed_table *packed,
                 struct differences *differences) {
  struct answers answers = {.expected = expected, .packed = packed, .differences = differences};
  if (compute(&answers)) {
    for (uint32_t i = 0; i < expected->record_count; i++)
      check_record(&answers, i);
    check_functions(&answers);
    check_misses(&answers);
  } else {
    differences_add(differences, "not enough memory to compare");
  }
  free(answers.sums);
  free(answers.hashes);
  free(answers.reaches);
  free(answers.stretches);
}

void answers_dropped(const struct safepoints *expected, const struct packed_table *packed,
                     const uint64_t *addresses, size_t count, struct differences *differences) {
  struct packed_record found;
  for (size_t i = 0; i < count; i++)
    if (!safepoints_has_record(expected, addresses[i]) &&
        packed_find(packed, addresses[i], &found) != PACKED_NOT_SAFEPOINT)
      differences_add(differences, "a look-up of 0x%" PRIx64 ", which was dropped, finds something",
                      addresses[i]);
}
