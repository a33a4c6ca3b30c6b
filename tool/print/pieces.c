/* pieces.c - see pieces.h. */
#include "tool/print/pieces.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/image/clean.h"
#include "tool/print/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct piece *pieces_find(const struct pieces *pieces, uint64_t address) {
  const size_t from = SEARCH_UP_TO(pieces->items, pieces->count, address, address);
  const struct piece *piece = from == 0 ? NULL : &pieces->items[from - 1];
  return piece != NULL && address - piece->address <= piece->size ? piece : NULL;
}

void piece_print(const struct piece *piece, uint64_t address) {
  if (piece != NULL && piece->member != NULL) {
    clean_print(stdout, piece->member);
    putchar(':');
  }
  if (piece != NULL)
    clean_print(stdout, piece->section);
  printf("%s0x%" PRIx64, piece == NULL ? "" : "+", piece_offset(piece, address));
}

void piece_print_json(const struct piece *piece) {
  if (piece == NULL)
    return;
  printf(",\"section\":");
  json_print_text(piece->section);
  if (piece->member == NULL)
    return;
  printf(",\"member\":");
  json_print_text(piece->member);
}

/* ---- Searching ---- */

static int compare_names(const void *a, const void *b) {
  const struct piece_name *x = a, *y = b;
  const int order = strcmp(x->text, y->text);
  if (order != 0)
    return order;
  ORDER_BY(x, y, address)
  return 0;
}

static void list_names(struct pieces *pieces, const struct names *names) {
  for (size_t i = 0; i < pieces->count; i++)
    ARRAY_ADD(pieces->names, pieces->name_count, pieces->name_capacity,
              (struct piece_name){pieces->items[i].section, pieces->items[i].address});
  for (size_t i = 0; i < names->count; i++)
    ARRAY_ADD(pieces->names, pieces->name_count, pieces->name_capacity,
              (struct piece_name){names->items[i].text, names->items[i].address});
  qsort(pieces->names, pieces->name_count, sizeof *pieces->names, compare_names);
}

/* The first name that isn't less than a text. */
static size_t first_name(const struct pieces *pieces, const char *text) {
  size_t from = 0, to = pieces->name_count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (strcmp(pieces->names[middle].text, text) < 0)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* member: of `length` letters; NULL: any. */
static void find_named(struct pieces *pieces, const char *member, size_t length, const char *text,
                       uint64_t offset) {
  for (size_t i = first_name(pieces, text);
       i < pieces->name_count && strcmp(pieces->names[i].text, text) == 0; i++) {
    const struct piece_name *name = &pieces->names[i];
    const struct piece *piece = pieces_find(pieces, name->address);
    if (piece != NULL && offset <= piece->size - (name->address - piece->address) &&
        (member == NULL || (piece->member != NULL && strlen(piece->member) == length &&
                            memcmp(piece->member, member, length) == 0)))
      integers_add(&pieces->found, name->address + offset);
  }
}

bool pieces_search(struct pieces *pieces, const struct names *names, const char *word,
                   struct problem *problem) {
  uint64_t offset = 0;
  const char *plus = strrchr(word, '+');
  char *end = NULL;
  errno = 0;
  if (plus != NULL && plus[1] >= '0' && plus[1] <= '9')
    offset = strtoull(plus + 1, &end, 16);
  if (end == NULL || *end != 0 || errno != 0)
    return problem_set(problem,
                       "'%.100s' is no place in an object: SECTION+0x12 or FUNCTION+0x12 is", word);
  if (pieces->names == NULL)
    list_names(pieces, names);
  char *name = strndup(word, (size_t)(plus - word));
  pieces->found.count = 0;
  find_named(pieces, NULL, 0, name, offset);
  for (const char *colon = name; (colon = strchr(colon, ':')) != NULL; colon++)
    find_named(pieces, name, (size_t)(colon - name), colon + 1, offset);
  free(name);
  return pieces->found.count > 0 ||
         problem_set(problem, "no section or function has the place '%.100s'", word);
}

void pieces_close(struct pieces *pieces) {
  free(pieces->items);
  free(pieces->names);
  free(pieces->found.items);
  *pieces = (struct pieces){0};
}
