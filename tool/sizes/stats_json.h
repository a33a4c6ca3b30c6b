/* stats_json.h - a survey, or what grew between two, as one JSON object: what `stats --format=json`
 * prints, and what the page of `report` is drawn from.
 */
#ifndef STACKPACK_STATS_JSON_H
#define STACKPACK_STATS_JSON_H

#include "tool/sizes/growth.h"

#include <jansson.h>

/* Members may come to an object; one that is there keeps its meaning while the version stays. */
enum { STATS_JSON_VERSION = 1 };

/* New objects, to be given back with json_decref. `top`: so many functions and units are listed, the
 * others summed up. */
json_t *stats_json(const struct survey *survey, uint32_t top);
json_t *stats_json_growth(const struct survey *before, const struct survey *after,
                          const struct growth *growth, uint32_t top);

#endif
