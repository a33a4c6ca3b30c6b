/* json.h - parts of JSON texts on standard output, for listings with an object on each line. */
#ifndef STACKPACK_JSON_H
#define STACKPACK_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* A text, or null: a new object. Bytes outside UTF-8 are escaped: see clean_text. */
json_t *json_text(const char *text);
/* Prints an object on a line, and gives it back. */
void json_print(json_t *object);
void json_print_text(const char *text);

/* A number, or null for an unknown one. */
void json_print_number(uint64_t number, bool is_known);

#endif
