/* growth.h - the growth between two builds, by function and by compilation unit.
 *
 * Packed sizes are compared, also of a raw file (survey.h). Functions of one name are the same; if
 * there are several, those of one unit are paired in the order of their addresses.
 */
#ifndef STACKPACK_GROWTH_H
#define STACKPACK_GROWTH_H

#include "tool/sizes/survey.h"

enum growth_kind { GROWTH_NEW, GROWTH_GROWN, GROWTH_SHRUNK, GROWTH_GONE, GROWTH_KINDS };
extern const char *const growth_kinds[GROWTH_KINDS]; /* their names */

struct growth_row {
  const struct survey_row *row; /* of the build that has it, the later one if both do */
  enum growth_kind kind;
  uint64_t before, after; /* bits, packed */
};

/* The rows whose size changed, by the change, the largest first. */
struct growth_rows {
  struct growth_row *items; /* owned */
  uint32_t count;
  uint32_t counts[GROWTH_KINDS];
  uint32_t same; /* how many kept it */
};

struct growth {
  struct growth_rows functions, units;
  double percent; /* of the packed size */
};

/* The surveys must outlive it. */
void growth_open(struct growth *growth, const struct survey *before, const struct survey *after);
void growth_close(struct growth *growth);

#endif
