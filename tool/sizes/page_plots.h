/* page_plots.h - drawings of a page, in SVG. */
#ifndef STACKPACK_PAGE_PLOTS_H
#define STACKPACK_PAGE_PLOTS_H

#include "tool/sizes/survey.h"

#include <stdio.h>

/* A distribution as bars, with axes and a caption. `number` tells plots of one page apart. */
void page_plot(FILE *page, const struct survey_distribution *distribution, unsigned number);

/* A strip that is divided among parts, as many colours as there are, with a table of them. */
struct page_share {
  const char *name;
  uint64_t size;
};
void page_strip(FILE *page, const struct page_share *shares, unsigned count, const char *what);

/* The colour of each share, as a number: the largest get the first ones, and the last is for all
 * others. */
enum { PAGE_COLOURS = 8, PAGE_SHARES_MAX = 20 };
void page_colours(const struct page_share *shares, unsigned count, unsigned colours[]);

/* A sample of a colour, for a table. */
void page_swatch(FILE *page, unsigned colour);

#endif
