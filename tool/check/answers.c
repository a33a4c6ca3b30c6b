/* answers.c - see answers.h.
 *
 * Every record was read back already, by its number (compare.h). So a look-up is right if its
 * answer is the record of that number, at the record's place in the layouts.
 *
 * Between a function's start, its records and its end, the answers hold from one of these to the
 * next. So a few addresses without a record are enough to check all.
 */
#include "tool/check/answers.h"

#include "format/search.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

struct answers {
  const struct safepoints *expected;
  const struct packed_table *packed;
  uint64_t *reaches; /* by function: the furthest end of the code of the functions before it */
  struct differences *differences;
};

/* ---- The right answers ---- */

/* The start of the next function; UINT64_MAX after the last one. */
static uint64_t next_start(const struct safepoints *expected, size_t function) {
  return function + 1 < expected->function_count ? expected->functions[function + 1].address
                                                 : UINT64_MAX;
}

/* Where a function's managed addresses end: at the furthest end of its code and of the code before
 * it, and before the next function's start; or at its last record before that, where this is
 * further. */
static uint64_t expected_end(const struct answers *answers, uint32_t function) {
  const struct safepoints *expected = answers->expected;
  const uint64_t start = expected->functions[function].address;
  const uint64_t next = next_start(expected, function), reach = answers->reaches[function + 1];
  const size_t records = SEARCH_UP_TO(expected->records, expected->record_count, address, next);
  const uint64_t last = records > 0 ? expected->records[records - 1].address : 0;
  const uint64_t known = last > start ? last : start, code = reach < next ? reach : next;
  return code > known ? code : known;
}

/* An address is managed if a function starts at or before it, and ends after it. */
static enum stackpack_answer expected_answer(const struct answers *answers, uint64_t address) {
  const struct safepoints *expected = answers->expected;
  const size_t started =
      SEARCH_UP_TO(expected->functions, expected->function_count, address, address);
  const uint32_t record = safepoints_first_record(expected, address);
  const uint64_t next =
      record < expected->record_count ? expected->records[record].address : UINT64_MAX;
  if (record < expected->record_count && next == address)
    return STACKPACK_FOUND;
  if (started > 0 &&
      (address < answers->reaches[started] ||
       (record < expected->record_count && next <= next_start(expected, started - 1))))
    return STACKPACK_NOT_SAFEPOINT;
  return STACKPACK_NOT_MANAGED;
}

/* ---- Asking ---- */

/* Asks for record `index`, by its number and by its address. Of several at one address, a look-up
 * finds the first. */
static void ask_record(const struct answers *answers, uint32_t index) {
  const struct safepoint *record = &answers->expected->records[index];
  const uint64_t frame_size = answers->expected->functions[record->function].frame_size;
  const bool is_first = index == 0 || record[-1].address != record->address;
  struct packed_record read, found;
  if (packed_record_at(answers->packed, index, &read) != STACKPACK_FOUND ||
      packed_find(answers->packed, record->address, &found) != STACKPACK_FOUND ||
      found.address != record->address || read.address != record->address ||
      (is_first && (found.index != index || found.stretch != read.stretch ||
                    found.layout != read.layout || found.position != read.position)) ||
      packed_frame_size(answers->packed, read.layout) != frame_size)
    differences_add(answers->differences, "a look-up of 0x%" PRIx64 " doesn't find its record",
                    record->address);
}

static void ask(const struct answers *answers, uint64_t address) {
  const enum stackpack_answer right = expected_answer(answers, address);
  struct packed_record found;
  if (packed_find(answers->packed, address, &found) != right)
    differences_add(answers->differences, "a look-up of 0x%" PRIx64 " doesn't say that it's %s",
                    address,
                    right == STACKPACK_FOUND           ? "a safepoint"
                    : right == STACKPACK_NOT_SAFEPOINT ? "not a safepoint"
                                                       : "not managed");
}

static void ask_around(const struct answers *answers, uint64_t address) {
  ask(answers, address - 1);
  ask(answers, address);
  ask(answers, address + 1);
}

/* Asks for each function by its number, and for addresses around its start and its end. */
static void check_functions(const struct answers *answers) {
  const struct safepoints *expected = answers->expected;
  uint32_t number = 0; /* of a stretch */
  for (uint32_t i = 0; i < expected->function_count; i++, number++) {
    const uint64_t start = expected->functions[i].address, end = expected_end(answers, i);
    struct packed_stretch stretch = {.is_gap = true};
    while (packed_stretch(answers->packed, number, &stretch) && stretch.is_gap)
      number++;
    if (stretch.is_gap || stretch.start != start || stretch.end != end)
      differences_add(answers->differences,
                      "the function at 0x%" PRIx64 " starts or ends elsewhere", start);
    ask_around(answers, start);
    ask_around(answers, end);
    ask_around(answers, expected->functions[i].end);
    if (expected->functions[i].records > 0)
      ask(answers, expected->records[expected->functions[i].first_record].address + 1);
  }
}

static void ask_dropped(const struct answers *answers, const uint64_t *addresses, size_t count) {
  struct packed_record found;
  for (size_t i = 0; i < count; i++)
    if (!safepoints_has_record(answers->expected, addresses[i]) &&
        packed_find(answers->packed, addresses[i], &found) != STACKPACK_NOT_SAFEPOINT)
      differences_add(answers->differences,
                      "a look-up of 0x%" PRIx64 ", which was dropped, finds something",
                      addresses[i]);
}

void answers_all(const struct safepoints *expected, const struct packed_table *packed,
                 const uint64_t *dropped, size_t count, struct differences *differences) {
  const struct answers answers = {expected, packed,
                                  malloc(((size_t)expected->function_count + 1) * sizeof(uint64_t)),
                                  differences};
  assert(safepoints_are_finished(expected));
  answers.reaches[0] = 0;
  for (uint32_t i = 0; i < expected->function_count; i++) {
    const uint64_t reach = answers.reaches[i], end = expected->functions[i].end;
    answers.reaches[i + 1] = end > reach ? end : reach;
  }
  check_functions(&answers);
  for (uint32_t i = 0; i < expected->record_count; i++)
    ask_record(&answers, i);
  ask_dropped(&answers, dropped, count);
  free(answers.reaches);
}
