/* page_plots.c - see page_plots.h.
 *
 * A plot is about as wide as a phone's page, and there are as many beside one another as fit: so its
 * letters have the same size everywhere. Distributions have long tails. Where there are too many
 * values for a bar each, bars are for powers of two: 1, 2, up to 4, up to 8, and so on.
 */
#include "tool/sizes/page_plots.h"

#include "tool/sizes/page_write.h"

#include <inttypes.h>
#include <string.h>

enum { BARS_MAX = 66, SINGLE_MAX = 24 };

struct bars {
  uint64_t least[BARS_MAX], most[BARS_MAX], counts[BARS_MAX];
  unsigned count;
};

static unsigned bar_of(uint64_t value) {
  return value <= 1 ? (unsigned)value : 65 - (unsigned)__builtin_clzll(value - 1);
}

static uint64_t least_of(unsigned bar) {
  return bar <= 2 ? bar : bar > 65 ? 0 /* 2^64 and more */ : ((uint64_t)1 << (bar - 2)) + 1;
}

/* Bars from the first value's to the last one's, empty ones between them, too. */
static void make_bars(struct bars *bars, const struct survey_distribution *distribution) {
  const uint64_t first = distribution->items[0].value;
  const uint64_t last = distribution->items[distribution->count - 1].value;
  const bool single = last - first <= SINGLE_MAX;
  bars->count = single ? (unsigned)(last - first) + 1 : bar_of(last) - bar_of(first) + 1;
  memset(bars->counts, 0, sizeof bars->counts);
  for (unsigned i = 0; i < bars->count; i++) {
    bars->least[i] = single ? first + i : least_of(bar_of(first) + i);
    bars->most[i] = single ? first + i : least_of(bar_of(first) + i + 1) - 1;
  }
  for (size_t i = 0; i < distribution->count; i++) {
    const uint64_t value = distribution->items[i].value;
    bars->counts[single ? value - first : bar_of(value) - bar_of(first)] +=
        distribution->items[i].count;
  }
}

/* A step for three or four ticks: 1, 2 or 5 times a power of ten. */
static uint64_t tick_step(uint64_t most) {
  uint64_t step = 1;
  while (step * 4 < most && step < UINT64_MAX / 100) {
    if (step * 8 >= most)
      return step * 2;
    if (step * 20 >= most)
      return step * 5;
    step *= 10;
  }
  return step;
}

enum { WIDTH = 340, HEIGHT = 180, LEFT = 58, RIGHT = 8, TOP = 10, BOTTOM = 40 };

static void draw_ticks(FILE *page, uint64_t most, uint64_t top) {
  const uint64_t step = tick_step(most);
  for (uint64_t value = 0; value <= top; value += step) {
    const double y = TOP + (HEIGHT - TOP - BOTTOM) * (1 - (double)value / (double)top);
    fprintf(page, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT,
            WIDTH - RIGHT, y, y);
    fprintf(page, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, y + 4);
    page_number(page, value);
    fputs("</text>\n", page);
  }
}

static void write_range(FILE *page, const struct bars *bars, unsigned bar) {
  page_number(page, bars->least[bar]);
  if (bars->least[bar] != bars->most[bar]) {
    fputs("–", page);
    page_number(page, bars->most[bar]);
  }
}

static void draw_bars(FILE *page, const struct bars *bars, uint64_t top, const char *of) {
  const double width = (double)(WIDTH - LEFT - RIGHT) / bars->count;
  const unsigned every = (bars->count + 8) / 9; /* that has a label */
  for (unsigned i = 0; i < bars->count; i++) {
    const double x = LEFT + width * i;
    const double height = (HEIGHT - TOP - BOTTOM) * ((double)bars->counts[i] / (double)top);
    fprintf(page,
            "<rect class=\"bar\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>",
            x + width * 0.08, HEIGHT - BOTTOM - height, width * 0.84, height);
    write_range(page, bars, i);
    fputs(": ", page);
    page_number(page, bars->counts[i]);
    fprintf(page, " %ss</title></rect>\n", of);
    if (i % every != 0)
      continue;
    fprintf(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", x + width / 2,
            HEIGHT - BOTTOM + 14);
    if (bars->most[i] >= 10000)
      fprintf(page, "%" PRIu64 "K", bars->most[i] / 1024);
    else
      fprintf(page, "%" PRIu64, bars->most[i]);
    fputs("</text>\n", page);
  }
}

static void draw_axes(FILE *page, const struct survey_distribution *distribution, bool ranges) {
  const bool is_size = strcmp(distribution->name, "frame size") == 0;
  fprintf(page, "<line class=\"axis\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT,
          WIDTH - RIGHT, HEIGHT - BOTTOM, HEIGHT - BOTTOM);
  fprintf(page, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s%s%s</text>\n",
          (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 6, distribution->name, is_size ? " in bytes" : "",
          ranges ? " (up to)" : "");
  fprintf(page,
          "<text transform=\"translate(10 %d) rotate(-90)\" text-anchor=\"middle\">%ss</text>\n",
          (TOP + HEIGHT - BOTTOM) / 2, distribution->of);
}

static void write_caption(FILE *page, const struct survey_distribution *distribution) {
  fputs("<figcaption>Median ", page);
  page_number(page, survey_quantile(distribution, 0.5));
  fprintf(page, ", mean %.1f; 90&nbsp;%% have at most ", survey_mean(distribution));
  page_number(page, survey_quantile(distribution, 0.9));
  fputs(", 99&nbsp;% at most ", page);
  page_number(page, survey_quantile(distribution, 0.99));
  fputs(", and none more than ", page);
  page_number(page, survey_quantile(distribution, 1));
  fputs(".</figcaption>", page);
}

void page_plot(FILE *page, const struct survey_distribution *distribution, unsigned number) {
  struct bars bars;
  uint64_t most = 1;
  if (distribution->count == 0)
    return;
  make_bars(&bars, distribution);
  for (unsigned i = 0; i < bars.count; i++)
    most = bars.counts[i] > most ? bars.counts[i] : most;
  const uint64_t step = tick_step(most), top = (most + step - 1) / step * step;
  fprintf(page,
          "<figure><h3>%c%s of a %s</h3>\n"
          "<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"plot-%u\">"
          "<title id=\"plot-%u\">How many %ss have which %s</title>\n",
          distribution->name[0] - 'a' + 'A', distribution->name + 1, distribution->of, WIDTH,
          HEIGHT, number, number, distribution->of, distribution->name);
  draw_ticks(page, most, top);
  draw_bars(page, &bars, top, distribution->of);
  draw_axes(page, distribution, bars.least[bars.count - 1] != bars.most[bars.count - 1]);
  fputs("</svg>\n", page);
  write_caption(page, distribution);
  fputs("</figure>\n", page);
}

/* ---- Strips ---- */

void page_colours(const struct page_share *shares, unsigned count, unsigned colours[]) {
  for (unsigned i = 0; i < count; i++) {
    unsigned larger = 0;
    for (unsigned k = 0; k < count; k++)
      larger += shares[k].size > shares[i].size || (k < i && shares[k].size == shares[i].size);
    colours[i] = larger < PAGE_COLOURS - 1 ? larger : PAGE_COLOURS - 1;
  }
}

void page_strip(FILE *page, const struct page_share *shares, unsigned count, const char *what) {
  enum { UNITS = 10000 };
  unsigned colours[PAGE_SHARES_MAX];
  uint64_t total = 0, before = 0;
  page_colours(shares, count, colours);
  for (unsigned i = 0; i < count; i++)
    total += shares[i].size;
  fprintf(page,
          "<svg class=\"strip\" viewBox=\"0 0 %d 28\" preserveAspectRatio=\"none\" role=\"img\" "
          "aria-label=\"%s; the table has the numbers\">",
          UNITS, what);
  for (unsigned i = 0; i < count; i++) {
    const double from = UNITS * (double)before / (double)(total == 0 ? 1 : total);
    before += shares[i].size;
    const double to = UNITS * (double)before / (double)(total == 0 ? 1 : total);
    if (shares[i].size > 0)
      fprintf(page, "<rect class=\"p%u\" x=\"%.1f\" y=\"0\" width=\"%.1f\" height=\"28\"/>",
              colours[i], from, to - from > 30 ? to - from - 15 : to - from);
  }
  fputs("</svg>\n", page);
}

void page_swatch(FILE *page, unsigned colour) {
  fprintf(page,
          "<svg class=\"swatch\" viewBox=\"0 0 12 12\" aria-hidden=\"true\">"
          "<rect class=\"p%u\" x=\"0\" y=\"0\" width=\"12\" height=\"12\"/></svg>",
          colour);
}
