/* drop.h - drops the records that are needless for all collections, and reports the reasons. */
#ifndef STACKPACK_DROP_H
#define STACKPACK_DROP_H

#include "tool/calls/analysis.h"
#include "tool/image/load.h"

#include <stdio.h>

/* How often a name was the reason. */
struct drop_count {
  const char *name; /* in the image; NULL for a nameless */
  uint64_t address; /* but is a function at this address */
  uint32_t node, records;
};

struct drop {
  uint64_t *addresses; /* of the dropped records, ascending: to be freed by drop_close */
  uint32_t dropped, records;
  uint32_t verdicts[VERDICTS];
  struct drop_count *pointers; /* functions whose indirect calls keep records, most first */
  struct drop_count *outside;  /* symbols that keep records, most first */
  uint32_t pointer_count, outside_count;
  bool has_handlers; /* see analysis_has_handlers */
};

/* Why a record is kept or dropped, to be printed after the number of such records. */
const char *drop_reason(enum verdict verdict);

/* Takes the records out of the loaded table that the policy lets go. */
void drop_records(struct loaded *loaded, const struct analysis *analysis,
                  const struct policy *policy, struct drop *drop);
void drop_close(struct drop *drop);

/* A policy applies to raw stack maps: packing already dropped the records, or kept them. False if
 * this policy is for packed ones. */
bool drop_check(const char *path, const struct loaded *loaded, const struct policy *policy,
                struct problem *problem);

/* Warns of a policy that fits the file `path` badly. */
void drop_warn(const struct analysis *analysis, const char *path);

/* Reads the call graph of an image, and takes out those records; all stay if the policy is empty.
 * Prints warnings about the file `path`, and a report to a stream, if there is one. */
bool drop_by_policy(const char *path, const struct image *image, struct loaded *loaded,
                    const struct policy *policy, FILE *report, struct drop *drop,
                    struct problem *problem);

#endif
