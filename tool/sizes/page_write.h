/* page_write.h - writes pieces of an HTML page: texts that can't be anything else, and numbers.
 *
 * Names come from a file, and may hold anything. In a page they are text, whatever they hold: what
 * means something to HTML is escaped, and what can't be shown is written as names_clean does.
 */
#ifndef STACKPACK_PAGE_WRITE_H
#define STACKPACK_PAGE_WRITE_H

#include <stdint.h>
#include <stdio.h>

/* Writes a name as HTML text, also for an attribute's value. */
void page_name(FILE *page, const char *name);

/* 1,234,567 */
void page_number(FILE *page, uint64_t number);
/* The same of bytes; with a fraction, where there are few, and bits. */
void page_size(FILE *page, uint64_t bits);
/* The same of what changed, with its sign. */
void page_change(FILE *page, uint64_t before, uint64_t after);
/* +12.3 %, of what there was before. */
void page_change_percent(FILE *page, uint64_t before, uint64_t after);
/* Bytes, in the unit that suits them: 5.6 MB. */
void page_short_size(FILE *page, uint64_t bytes);
/* 12.3 % */
void page_percent(FILE *page, uint64_t part, uint64_t whole);

/* Writes a template: each {{name}} in it is what `fill` writes for that name. */
typedef void page_filler(FILE *page, const char *name, void *context);
void page_template(FILE *page, const char *text, page_filler *fill, void *context);

#endif
