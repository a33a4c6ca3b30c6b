/* json.c - see json.h. */
#include "tool/print/json.h"

#include "tool/image/clean.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

void json_print_text(const char *text) {
  json_t *string = text == NULL ? NULL : json_string(text);
  char *clean = text == NULL || string != NULL ? NULL : clean_text(text);
  if (clean != NULL)
    string = json_string(clean);
  char *encoded = string == NULL ? NULL : json_dumps(string, JSON_ENCODE_ANY);
  fputs(encoded == NULL ? "null" : encoded, stdout);
  free(encoded);
  free(clean);
  json_decref(string);
}

void json_print_number(uint64_t number, bool is_known) {
  if (is_known)
    printf("%" PRIu64, number);
  else
    printf("null");
}
