/* units.c - see units.h. */
#include "tool/sizes/units.h"

#include "format/array.h"
#include "format/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Keeps a name, once. */
static const char *keep_name(struct units *units, const char *name) {
  uint32_t number; /* from 1 on; 0: it is empty, or memory runs out */
  if (!sources_add_name(&units->numbers, name, &number) || number == 0)
    return "";
  assert(number <= units->count + 1);
  if (number > units->count)
    (void)ARRAY_ADD(units->names, units->count, units->capacity, strdup(name));
  return units->names[number - 1];
}

/* ---- Symbols ---- */

static void read_symbols(struct units *units, const struct image *image) {
  const char *file = NULL; /* that the local symbols are of that come now; NULL: none */
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    if (GELF_ST_BIND(at.symbol.st_info) != STB_LOCAL)
      file = NULL;
    else if (type == STT_FILE)
      file = *at.name == 0 ? NULL : keep_name(units, at.name);
    else if (type == STT_FUNC && file != NULL)
      (void)ARRAY_ADD(units->symbols, units->symbol_count, units->symbol_capacity,
                      (struct unit_symbol){at.symbol.st_value, file});
  }
}

static int compare_symbols(const void *a, const void *b) {
  const struct unit_symbol *x = a, *y = b;
  ORDER_BY(x, y, address)
  return strcmp(x->unit, y->unit);
}

static const char *find_by_symbols(const struct units *units, uint64_t address) {
  const struct unit_symbol *symbols = units->symbols;
  const size_t from = SEARCH_UP_TO(symbols, units->symbol_count, address, address);
  if (from == 0)
    return NULL;
  const bool is_this = symbols[from - 1].address == address;
  const bool is_between =
      from < units->symbol_count && strcmp(symbols[from - 1].unit, symbols[from].unit) == 0;
  return is_this || is_between ? symbols[from - 1].unit : NULL;
}

/* ---- The whole ---- */

void units_open(struct units *units, const char *path, const struct image *image) {
  const struct debug_folders folders = {0};
  struct problem absent = {0};
  *units = (struct units){0};
  units->source = source_open(image, path, &folders, &absent, &units->problem);
  read_symbols(units, image);
  array_sort(units->symbols, units->symbol_count, sizeof *units->symbols, compare_symbols);
}

void units_close(struct units *units) {
  source_close(units->source);
  for (size_t i = 0; i < units->count; i++)
    free(units->names[i]);
  free(units->names);
  sources_free(&units->numbers);
  free(units->symbols);
  *units = (struct units){0};
}

const char *units_find(struct units *units, uint64_t address, const char *told) {
  const char *unit = source_find_unit(units->source, address);
  (void)source_check(units->source, &units->problem);
  if (unit == NULL)
    unit = told;
  if (unit != NULL)
    return keep_name(units, unit);
  return find_by_symbols(units, address);
}
