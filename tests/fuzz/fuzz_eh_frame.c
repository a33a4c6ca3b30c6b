/* fuzz_eh_frame.c - attacks the reader of unwind tables with made-up sections.
 *
 * The input is a section `.eh_frame`. Findings: a read outside it, a range that is empty or out of
 * order, and a frame rule for an address outside all functions.
 */
#include "fuzz.h"

#include "elf/eh_frame.h"

#include <stdlib.h>
#include <string.h>

enum { SECTION_ADDRESS = 0x400000 };

static int compare_addresses(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return x < y ? -1 : x > y;
}

static bool is_in(const struct code_ranges *ranges, uint64_t address) {
  for (size_t i = 0; i < ranges->count; i++)
    if (address >= ranges->items[i].start && address < ranges->items[i].end)
      return true;
  return false;
}

/* Facts are in a set once; and a register is either saved or lost. */
static void check_facts(struct intern *set) {
  for (uint32_t i = 1; i <= set->count; i++) {
    const struct frame_facts facts = frame_facts_get(set, i);
    if (frame_facts_add(set, &facts) != i)
      finding("facts are in a set once", NULL);
    if ((facts.saved & facts.lost) != 0)
      finding("no register is both saved and lost", NULL);
  }
}

/* Asks for the facts at each function's ends, just outside, and inside. */
static void ask_for_facts(const struct code_ranges *ranges, const struct section_bytes *frames) {
  enum { PER_RANGE = 6 };
  const size_t count = ranges->count * PER_RANGE;
  uint64_t *addresses = calloc(count + 1, sizeof *addresses);
  uint32_t *numbers = calloc(count + 1, sizeof *numbers);
  struct intern set = {0};
  if (addresses == NULL || numbers == NULL)
    finding("there is memory for a few addresses", NULL);
  for (size_t i = 0; i < ranges->count; i++) {
    const struct code_range range = ranges->items[i];
    const uint64_t asked[PER_RANGE] = {range.start - 1, range.start,
                                       range.start + 1, range.start + (range.end - range.start) / 2,
                                       range.end - 1,   range.end};
    for (size_t n = 0; n < PER_RANGE; n++)
      addresses[i * PER_RANGE + n] = asked[n];
  }
  qsort(addresses, count, sizeof *addresses, compare_addresses);
  if (!eh_frame_facts(&set, numbers, addresses, count, NULL, frames))
    finding("there is memory for a few facts", NULL);
  for (size_t i = 0; i < count; i++)
    if (numbers[i] != 0 && !is_in(ranges, addresses[i]))
      finding("only a function's addresses have facts", NULL);
  check_facts(&set);
  intern_free(&set);
  free(numbers);
  free(addresses);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct code_ranges ranges = {0};
  uint8_t *section = exact_block(data, size, size);
  const struct section_bytes frames = {section, size, SECTION_ADDRESS};
  if (!eh_frame_add(&ranges, &frames))
    finding("there is memory for a small section", NULL);
  if (ranges.count > size / 8)
    finding("there are no more ranges than entries", NULL);
  for (size_t i = 0; i < ranges.count; i++) {
    if (ranges.items[i].end <= ranges.items[i].start)
      finding("no range is empty", NULL);
    if (i > 0 && ranges.items[i].start < ranges.items[i - 1].start)
      finding("ranges are sorted by start", NULL);
  }
  ask_for_facts(&ranges, &frames);
  code_ranges_free(&ranges);
  free(section);
  return 0;
}
