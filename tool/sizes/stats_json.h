/* stats_json.h - a survey, or the growth between two, as one JSON object. `stats --format=json`
 * prints it, and the page of `report` draws itself from it.
 */
#ifndef STACKPACK_STATS_JSON_H
#define STACKPACK_STATS_JSON_H

#include "tool/sizes/growth.h"

#include <jansson.h>

/* Members may be added to an object; a member keeps its meaning while the version stays. */
enum { STATS_JSON_VERSION = 1 };

/* New objects, to be given back with json_decref. `top`: so many functions and units are listed;
 * the sum of the others is, too. */
json_t *stats_json(const struct survey *survey, uint32_t top);
json_t *stats_json_growth(const struct survey *before, const struct survey *after,
                          const struct growth *growth, uint32_t top);

#endif
