/* clean.h - texts from files, made safe to print.
 *
 * A file's name, and the names in it, may hold any bytes, such as commands to move a terminal's
 * cursor or to change its title.
 */
#ifndef STACKPACK_CLEAN_H
#define STACKPACK_CLEAN_H

#include <stdint.h>
#include <stdio.h>

/* A copy of a text as UTF-8, to be freed: control characters, and bytes outside UTF-8, become \x
 * and two digits. */
char *clean_text(const char *text);

void clean_print(FILE *stream, const char *text);

/* Prints a text in quotation marks on standard output, with `escape` before each character of
 * `special`. */
void clean_print_quoted(const char *text, const char *special, char escape);

/* Prints the start of a line about a file: its path, and a colon. */
void clean_print_path(FILE *stream, const char *path);

/* The ending of a counted noun: 1 record, 2 records. */
static inline const char *plural(uint64_t count) { return count == 1 ? "" : "s"; }

#endif
