/* json.c - see json.h. */
#include "tool/print/json.h"

#include "tool/image/clean.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

json_t *json_text(const char *text) {
  json_t *string = text == NULL ? json_null() : json_string(text);
  if (string != NULL)
    return string;
  char *clean = clean_text(text);
  string = json_string(clean);
  free(clean);
  return string;
}

void json_print(json_t *object) {
  json_dumpf(object, stdout, JSON_COMPACT);
  json_decref(object);
  putchar('\n');
}

void json_print_text(const char *text) {
  json_t *string = json_text(text);
  char *encoded = json_dumps(string, JSON_ENCODE_ANY);
  fputs(encoded, stdout);
  free(encoded);
  json_decref(string);
}

void json_print_number(uint64_t number, bool is_known) {
  if (is_known)
    printf("%" PRIu64, number);
  else
    printf("null");
}
