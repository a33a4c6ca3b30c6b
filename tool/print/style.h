/* style.h - colours for people: only at a terminal, unless it is dumb or NO_COLOR has a value
 * (no-color.org). */
#ifndef STACKPACK_STYLE_H
#define STACKPACK_STYLE_H

#include <stdbool.h>

/* The values of --color, by the number of their word. */
#define STYLE_WORDS "auto|always|never"
enum style_use { STYLE_AUTO, STYLE_ALWAYS, STYLE_NEVER };

/* Whether standard output is to be coloured. */
bool style_wanted(enum style_use use);

/* The columns of the terminal that standard output is; 0 for other outputs. */
unsigned style_columns(void);

enum style { STYLE_NAME, STYLE_PLACE, STYLE_REFERENCE, STYLE_DERIVED, STYLE_SOURCE };

/* From here on, and up to here; only if `is_wanted`. */
void style_begin(bool is_wanted, enum style style);
void style_end(bool is_wanted);

#endif
