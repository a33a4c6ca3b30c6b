/* fuzz_eh_frame.c - attacks the reader of unwind tables with sections that no assembler wrote.
 *
 * The input is a section `.eh_frame`. Findings: a read outside it, and a range that is empty or out
 * of order.
 */
#include "fuzz.h"

#include "../../format/eh_frame.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct code_ranges ranges = {0};
  uint8_t *section = exact_block(data, size, size);
  if (!eh_frame_add(&ranges, section, size, 0x400000))
    finding("there is memory for a small section", NULL);
  if (ranges.count > size / 8)
    finding("there are no more ranges than entries", NULL);
  code_ranges_sort(&ranges);
  for (size_t i = 0; i < ranges.count; i++) {
    if (ranges.items[i].end <= ranges.items[i].start)
      finding("no range is empty", NULL);
    if (i > 0 && ranges.items[i].start < ranges.items[i - 1].start)
      finding("ranges are sorted by start", NULL);
  }
  code_ranges_free(&ranges);
  free(section);
  return 0;
}
