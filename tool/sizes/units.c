/* units.c - see units.h. */
#include "tool/sizes/units.h"

#include "format/array.h"
#include "tool/source/debug_file.h"

#include <stdlib.h>
#include <string.h>

bool units_add_range(struct unit_ranges *ranges, uint64_t start, uint64_t end, uint32_t unit) {
  if (!array_make_room((void **)&ranges->items, &ranges->capacity, ranges->count + 1,
                       sizeof *ranges->items))
    return false;
  ranges->items[ranges->count++] = (struct unit_range){start, end, unit};
  return true;
}

bool units_add_name(struct units *units, char *name) {
  if (name != NULL && array_make_room((void **)&units->names, &units->capacity, units->count + 1,
                                      sizeof *units->names)) {
    units->names[units->count++] = name;
    return true;
  }
  free(name);
  return false;
}

/* ---- Symbols ---- */

struct symbol_reader {
  struct units *units;
  uint32_t file; /* that the local symbols are of that come now */
  bool failed;
};

static void read_symbol(void *context, const char *name, const GElf_Sym *symbol) {
  struct symbol_reader *reader = context;
  const unsigned type = GELF_ST_TYPE(symbol->st_info);
  if (GELF_ST_BIND(symbol->st_info) != STB_LOCAL) {
    reader->file = UNITS_NONE;
  } else if (type == STT_FILE) {
    reader->file = *name == 0 ? (uint32_t)UNITS_NONE : (uint32_t)reader->units->count;
    reader->failed |= *name != 0 && !units_add_name(reader->units, strdup(name));
  } else if (type == STT_FUNC && reader->file != (uint32_t)UNITS_NONE) {
    reader->failed |=
        !units_add_range(&reader->units->symbols, symbol->st_value, symbol->st_value, reader->file);
  }
}

/* ---- The whole ---- */

static int compare_ranges(const void *a, const void *b) {
  const struct unit_range *x = a, *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->unit < y->unit ? -1 : x->unit > y->unit;
}

static void sort_ranges(struct unit_ranges *ranges) {
  if (ranges->count > 0)
    qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
}

bool units_open(struct units *units, const char *path, const struct image *image,
                struct problem *problem) {
  struct symbol_reader reader = {.units = units, .file = UNITS_NONE};
  const struct debug_folders folders = {0};
  struct problem none = {0};
  char *debug_path = debug_file_find(image, path, &folders, &none);
  *units = (struct units){0};
  const bool is_read = debug_path == NULL || units_read_debug(units, debug_path, problem);
  free(debug_path);
  if (!is_read) {
    units_close(units);
    return false;
  }
  image_symbols(image, read_symbol, &reader);
  if (reader.failed) {
    units_close(units);
    return problem_set(problem, "not enough memory");
  }
  sort_ranges(&units->lines);
  sort_ranges(&units->symbols);
  return true;
}

void units_close(struct units *units) {
  for (size_t i = 0; i < units->count; i++)
    free(units->names[i]);
  free(units->names);
  free(units->lines.items);
  free(units->symbols.items);
  *units = (struct units){0};
}

/* The number of ranges that start at or before an address. */
static size_t ranges_up_to(const struct unit_ranges *ranges, uint64_t address) {
  size_t from = 0, to = ranges->count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (ranges->items[middle].start <= address)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

uint32_t units_find(const struct units *units, uint64_t address) {
  const struct unit_range *lines = units->lines.items, *symbols = units->symbols.items;
  const size_t line = ranges_up_to(&units->lines, address);
  if (line > 0 && address < lines[line - 1].end)
    return lines[line - 1].unit;
  const size_t symbol = ranges_up_to(&units->symbols, address);
  if (symbol == 0)
    return UNITS_NONE;
  const bool is_this = symbols[symbol - 1].start == address;
  const bool is_between =
      symbol < units->symbols.count &&
      strcmp(units->names[symbols[symbol - 1].unit], units->names[symbols[symbol].unit]) == 0;
  return is_this || is_between ? symbols[symbol - 1].unit : (uint32_t)UNITS_NONE;
}
