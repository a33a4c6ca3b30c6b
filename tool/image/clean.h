/* clean.h - texts of files, as they can be shown.
 *
 * A file's name, and the names in it, may hold any bytes: those that move a terminal's cursor, or
 * change its title, too.
 */
#ifndef STACKPACK_CLEAN_H
#define STACKPACK_CLEAN_H

#include <stdint.h>
#include <stdio.h>

/* A text as UTF-8: control characters, and bytes that aren't UTF-8, are \x and two digits. To be
 * freed. */
char *clean_text(const char *text);

void clean_print(FILE *stream, const char *text);

/* What a line about a file starts with: its path, and a colon. */
void clean_print_path(FILE *stream, const char *path);

/* The ending of a counted noun: 1 record, 2 records. */
static inline const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

#endif
