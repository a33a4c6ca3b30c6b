/* fuzz_v3.c - attacks the reader of LLVM's stack maps with sections that no compiler wrote.
 *
 * The input is a section `.llvm_stackmaps`. It is read under each of the three rules for
 * statepoints. Findings: a read outside the section, an error that says nothing, a section that is
 * read, but comes out of the packed table as another one, and one that is read otherwise in two
 * parts. Where it is split depends on its last byte.
 */
#include "fuzz.h"
#include "tool/check/compare.h"

#include <stdlib.h>

static void one_by_one(work_piece *piece, void *one, work_piece *other_piece, void *other) {
  piece(one);
  other_piece(other);
}

static void check_parts(const uint8_t *section, size_t size, enum statepoint_rule rule) {
  struct safepoints whole = {0}, joined = {0};
  struct differences differences = {0};
  const size_t split = size == 0 ? 0 : size * section[size - 1] / UINT8_MAX;
  const bool ok = safepoints_add_v3(&whole, section, size, rule);
  if (safepoints_add_v3_by(one_by_one, split, &joined, section, size, rule) != ok ||
      joined.error != whole.error || joined.error_position != whole.error_position)
    finding("what is wrong with a section is wrong with its parts", joined.error);
  if (ok && safepoints_finish(&whole) && safepoints_finish(&joined))
    compare_tables(&whole, &joined, &differences);
  if (differences.count > 0)
    finding("two parts say what the whole says", differences.first);
  safepoints_free(&whole);
  safepoints_free(&joined);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *section = exact_block(data, size, size);
  check_round_trip(section, size, STATEPOINTS_AUTO);
  check_round_trip(section, size, STATEPOINTS_ALL);
  check_round_trip(section, size, STATEPOINTS_NONE);
  check_parts(section, size, STATEPOINTS_AUTO);
  check_parts(section, size, STATEPOINTS_ALL);
  free(section);
  return 0;
}
