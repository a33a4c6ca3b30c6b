/* clean.c - see clean.h. */
#include "tool/image/clean.h"

#include <stdlib.h>
#include <string.h>

/* The length of the character that a text starts with, if that is well-formed UTF-8 (Unicode,
 * "Table 3-7. Well-Formed UTF-8 Byte Sequences") other than a control character; else 0. */
static unsigned character_length(const unsigned char *text) {
  static const struct {
    unsigned char first_from, first_to, second_from, second_to, length;
  } forms[] = {
      {0x20, 0x7e, 0, 0, 1},       {0xc2, 0xc2, 0xa0, 0xbf, 2}, /* below are controls */
      {0xc3, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
      {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
      {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
  };
  for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
    if (text[0] < forms[i].first_from || text[0] > forms[i].first_to)
      continue;
    if (forms[i].length > 1 && (text[1] < forms[i].second_from || text[1] > forms[i].second_to))
      return 0;
    for (unsigned k = 2; k < forms[i].length; k++)
      if (text[k] < 0x80 || text[k] > 0xbf)
        return 0;
    return forms[i].length;
  }
  return 0;
}

char *clean_text(const char *text) {
  char *clean = malloc(strlen(text) * 4 + 1), *out = clean;
  while (*text != 0) {
    const unsigned length = character_length((const unsigned char *)text);
    if (length == 0) {
      out += sprintf(out, "\\x%02x", (unsigned char)*text++);
      continue;
    }
    memcpy(out, text, length);
    out += length;
    text += length;
  }
  *out = 0;
  return clean;
}

void clean_print(FILE *stream, const char *text) {
  char *clean = clean_text(text);
  fputs(clean, stream);
  free(clean);
}

void clean_print_quoted(const char *text, const char *special, char escape) {
  char *clean = clean_text(text);
  putchar('"');
  for (const char *c = clean; *c != 0; c++) {
    if (strchr(special, *c) != NULL)
      putchar(escape);
    putchar(*c);
  }
  putchar('"');
  free(clean);
}

void clean_print_path(FILE *stream, const char *path) {
  clean_print(stream, *path == 0 ? "''" : path);
  fputs(": ", stream);
}
