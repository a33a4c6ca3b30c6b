/* page_data.h - the numbers for a report's map, as JSON. */
#ifndef STACKPACK_PAGE_DATA_H
#define STACKPACK_PAGE_DATA_H

#include "tool/sizes/survey.h"

#include <stdio.h>

/* Writes {"name", "hasRaw", "units": [[PATH (or null), [[NAME, RECORDS, RAW, PACKED, COUNT], ...]], ...],
 * "rest": [RAW, PACKED]}: raw sizes in bytes, packed ones in bits. The smallest functions of a very
 * large program are one for each unit. False without memory. */
bool page_data(FILE *page, const struct survey *survey, const char *name);

#endif
