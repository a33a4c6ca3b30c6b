/* stats_print.h - a survey, or the growth between two, as tables for people (stats_text.c), and as
 * CSV (stats_csv.c).
 */
#ifndef STACKPACK_STATS_PRINT_H
#define STACKPACK_STATS_PRINT_H

#include "tool/sizes/growth.h"

/* Print a survey, and a growth. `top`: so many functions and units are listed, and the sum of the
 * others; `nested`: functions below their units. */
void stats_text(const struct survey *survey, uint32_t top, bool nested);
void stats_text_growth(const struct survey *before, const struct survey *after,
                       const struct growth *growth, uint32_t top);

/* A table of several files: its titles, a row for each, added to the sums, and their row. */
enum stats_size { STATS_RECORDS, STATS_RAW, STATS_PACKED, STATS_FILE, STATS_TEXT, STATS_SIZES };
void stats_text_titles(void);
void stats_text_file(const struct survey *survey, uint64_t sums[STATS_SIZES]);
void stats_text_sums(const uint64_t sums[STATS_SIZES]);

/* Print a line for each of the first functions. Lines of several surveys follow one line of
 * titles. */
void stats_csv_titles(void);
void stats_csv(const struct survey *survey, uint32_t top);
void stats_csv_growth(const struct growth *growth, uint32_t top);

#endif
