/* stats_json.h - a survey, or what grew between two, as a JSON object on stdout. */
#ifndef STACKPACK_STATS_JSON_H
#define STACKPACK_STATS_JSON_H

#include "tool/sizes/growth.h"

/* At most `top` functions and units are listed; the others are one row. */
bool stats_json_print(const struct survey *survey, uint32_t top, struct problem *problem);
bool stats_json_print_growth(const struct survey *before, const struct survey *after,
                             const struct growth *growth, uint32_t top, struct problem *problem);

#endif
