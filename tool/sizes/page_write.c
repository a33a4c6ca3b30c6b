/* page_write.c - see page_write.h. */
#include "tool/sizes/page_write.h"

#include "tool/image/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names ---- */

void page_name(FILE *page, const char *name) {
  char *clean = names_clean(name);
  for (const char *c = clean; c != NULL && *c != 0; c++) {
    const char *entity = *c == '&'    ? "&amp;"
                         : *c == '<'  ? "&lt;"
                         : *c == '>'  ? "&gt;"
                         : *c == '"'  ? "&quot;"
                         : *c == '\'' ? "&#39;"
                                      : NULL;
    if (entity != NULL)
      fputs(entity, page);
    else
      putc(*c, page);
  }
  free(clean);
}

/* ---- Numbers ---- */

void page_number(FILE *page, uint64_t number) {
  char digits[24];
  const int length = snprintf(digits, sizeof digits, "%" PRIu64, number);
  for (int i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0)
      putc(',', page);
    putc(digits[i], page);
  }
}

void page_size(FILE *page, uint64_t bits) {
  if (bits % 8 == 0 || bits >= 8 * 100)
    page_number(page, (bits + 4) / 8);
  else
    fprintf(page, "%.1f", (double)bits / 8);
}

void page_change(FILE *page, uint64_t before, uint64_t after) {
  if (before == after) {
    putc('0', page);
    return;
  }
  fputs(after > before ? "+" : "−", page);
  page_size(page, after > before ? after - before : before - after);
}

void page_change_percent(FILE *page, uint64_t before, uint64_t after) {
  if (before == 0 || before == after)
    return;
  fputs(after > before ? "+" : "−", page);
  page_percent(page, after > before ? after - before : before - after, before);
}

void page_short_size(FILE *page, uint64_t bytes) {
  static const char *const units[] = {"bytes", "KB", "MB", "GB", "TB"};
  double size = (double)bytes;
  unsigned unit = 0;
  for (; size >= 1000 && unit + 1 < sizeof units / sizeof *units; unit++)
    size /= 1000;
  fprintf(page, unit == 0 || size >= 100 ? "%.0f&nbsp;%s" : "%.1f&nbsp;%s", size, units[unit]);
}

void page_percent(FILE *page, uint64_t part, uint64_t whole) {
  fprintf(page, "%.1f&nbsp;%%", whole == 0 ? 0 : 100.0 * (double)part / (double)whole);
}

/* ---- Templates ---- */

void page_template(FILE *page, const char *text, page_filler *fill, void *context) {
  for (;;) {
    const char *open = strstr(text, "{{"), *close = open == NULL ? NULL : strstr(open, "}}");
    if (close == NULL)
      break;
    char name[32];
    fwrite(text, 1, (size_t)(open - text), page);
    snprintf(name, sizeof name, "%.*s", (int)(close - open - 2), open + 2);
    fill(page, name, context);
    text = close + 2;
  }
  fputs(text, page);
}
