/* clean.h - texts of files, as they can be shown.
 *
 * A file's name, and the names in it, may hold any bytes: those that move a terminal's cursor, or change
 * its title, too.
 */
#ifndef STACKPACK_CLEAN_H
#define STACKPACK_CLEAN_H

#include <stdio.h>

/* A text as UTF-8: control characters, and bytes that aren't UTF-8, are \x and two digits. To be freed;
 * NULL without memory. */
char *clean_text(const char *text);

void clean_print(FILE *stream, const char *text);

#endif
