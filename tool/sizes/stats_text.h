/* stats_text.h - a survey, or the growth between two, as tables for people. */
#ifndef STACKPACK_STATS_TEXT_H
#define STACKPACK_STATS_TEXT_H

#include "tool/sizes/growth.h"

/* Print a survey, and a growth. `top`: so many functions and units are listed, and the sum of the
 * others. */
void stats_text(const struct survey *survey, uint32_t top);
void stats_text_growth(const struct survey *before, const struct survey *after,
                       const struct growth *growth, uint32_t top);

#endif
