/* units.c - see units.h.
 *
 * libdwarf's opening call lost a parameter, and its closing one another: see lines.c.
 */
#include "units.h"

#include "array.h"

#include <dwarf.h>
#include <errno.h>
#include <fcntl.h>
#include <libdwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool add_range(struct unit_ranges *ranges, uint64_t start, uint64_t end, uint32_t unit) {
  if (!array_make_room((void **)&ranges->items, &ranges->capacity, ranges->count + 1,
                       sizeof *ranges->items))
    return false;
  ranges->items[ranges->count++] = (struct unit_range){start, end, unit};
  return true;
}

/* Takes a name, which free() gives back. */
static bool add_name(struct units *units, char *name) {
  if (name != NULL && array_make_room((void **)&units->names, &units->capacity, units->count + 1,
                                      sizeof *units->names)) {
    units->names[units->count++] = name;
    return true;
  }
  free(name);
  return false;
}

/* ---- Names ---- */

/* Takes "." and empty parts, and "name/..", out of a path. */
static void normalize(char *path) {
  char *const start = path + (*path == '/');
  char *out = start, *root = start; /* root: behind the "..", which can't be taken out */
  for (const char *in = start; *in != 0;) {
    const size_t length = strcspn(in, "/");
    const bool is_up = length == 2 && in[0] == '.' && in[1] == '.';
    if (is_up && out > root) {
      do
        out--;
      while (out > root && *out != '/');
    } else if (length > 0 && !(length == 1 && *in == '.') && !(is_up && start > path)) {
      if (out > start)
        *out++ = '/';
      memmove(out, in, length);
      out += length;
      root = is_up ? out : root;
    }
    in += length;
    in += *in == '/';
  }
  *out = 0;
}

/* The name of a unit: of its folder and its own. NULL without memory. */
static char *join(const char *folder, const char *name) {
  const bool use_folder = folder != NULL && *folder != 0 && *name != '/';
  const size_t folder_size = use_folder ? strlen(folder) : 0;
  char *path = malloc(folder_size + strlen(name) + 2);
  if (path == NULL)
    return NULL;
  sprintf(path, "%.*s%s%s", (int)folder_size, use_folder ? folder : "", use_folder ? "/" : "",
          name);
  normalize(path);
  return path;
}

/* ---- Debug information ---- */

static int open_debug(int file, Dwarf_Debug *debug) {
#ifdef DW_LIBDWARF_VERSION
  return dwarf_init_b(file, DW_GROUPNUMBER_ANY, NULL, NULL, debug, NULL);
#else
  return dwarf_init_b(file, DW_DLC_READ, DW_GROUPNUMBER_ANY, NULL, NULL, debug, NULL);
#endif
}

static void close_debug(Dwarf_Debug debug) {
#ifdef DW_LIBDWARF_VERSION
  dwarf_finish(debug);
#else
  dwarf_finish(debug, NULL);
#endif
}

/* The name of a compilation unit; one without (of split debug information) has that of its first
 * line's file. NULL without memory. */
static char *unit_name(Dwarf_Debug debug, Dwarf_Die unit, Dwarf_Line *lines, Dwarf_Signed count) {
  char *name = NULL, *folder = NULL, *source = NULL;
  Dwarf_Attribute attribute;
  if (dwarf_attr(unit, DW_AT_comp_dir, &attribute, NULL) == DW_DLV_OK) {
    if (dwarf_formstring(attribute, &folder, NULL) != DW_DLV_OK)
      folder = NULL;
    dwarf_dealloc(debug, attribute, DW_DLA_ATTR);
  }
  if (dwarf_diename(unit, &name, NULL) != DW_DLV_OK || *name == 0)
    name = NULL;
  if (name == NULL && count > 0 && dwarf_linesrc(lines[0], &source, NULL) != DW_DLV_OK)
    source = NULL;
  char *path = join(folder, name != NULL ? name : source != NULL ? source : "(no name)");
  if (source != NULL)
    dwarf_dealloc(debug, source, DW_DLA_STRING);
  return path;
}

/* Adds the sequences of a unit's lines: from the first address to the one that ends it. Linkers give
 * discarded code the address 0. */
static bool add_sequences(struct units *units, Dwarf_Line *lines, Dwarf_Signed count) {
  Dwarf_Addr start = 0;
  bool inside = false;
  for (Dwarf_Signed i = 0; i < count; i++) {
    Dwarf_Addr address;
    Dwarf_Bool ends = 0;
    if (dwarf_lineaddr(lines[i], &address, NULL) != DW_DLV_OK ||
        dwarf_lineendsequence(lines[i], &ends, NULL) != DW_DLV_OK)
      continue;
    if (!inside)
      start = address;
    inside = !ends;
    if (ends && start != 0 && start < address &&
        !add_range(&units->lines, start, address, (uint32_t)units->count))
      return false;
  }
  return true;
}

/* Adds the compilation unit whose header was read last, if it has code. */
static bool add_unit(struct units *units, Dwarf_Debug debug) {
  Dwarf_Die unit;
  Dwarf_Unsigned version;
  Dwarf_Small tables;
  Dwarf_Line_Context context;
  Dwarf_Line *lines;
  Dwarf_Signed count;
  bool ok = true;
  if (dwarf_siblingof_b(debug, NULL, 1, &unit, NULL) != DW_DLV_OK)
    return true;
  if (dwarf_srclines_b(unit, &version, &tables, &context, NULL) == DW_DLV_OK) {
    if (dwarf_srclines_from_linecontext(context, &lines, &count, NULL) == DW_DLV_OK)
      ok = add_sequences(units, lines, count) &&
           add_name(units, unit_name(debug, unit, lines, count));
    dwarf_srclines_dealloc_b(context);
  }
  dwarf_dealloc(debug, unit, DW_DLA_DIE);
  return ok;
}

static bool add_units(struct units *units, Dwarf_Debug debug) {
  for (;;) {
    Dwarf_Unsigned header_length, type_offset, next;
    Dwarf_Half version, address_size, length_size, extension_size, type;
    Dwarf_Off abbreviations;
    Dwarf_Sig8 signature;
    if (dwarf_next_cu_header_d(debug, 1, &header_length, &version, &abbreviations, &address_size,
                               &length_size, &extension_size, &signature, &type_offset, &next,
                               &type, NULL) != DW_DLV_OK)
      return true;
    if (!add_unit(units, debug))
      return false;
  }
}

static bool read_debug(struct units *units, const char *path, struct problem *problem) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return problem_set_errno(problem, "can't be opened");
  Dwarf_Debug debug;
  bool ok = true;
  if (open_debug(file, &debug) == DW_DLV_OK) {
    ok = add_units(units, debug);
    close_debug(debug);
  }
  close(file);
  return ok || problem_set(problem, "not enough memory");
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
    reader->failed |= *name != 0 && !add_name(reader->units, strdup(name));
  } else if (type == STT_FUNC && reader->file != (uint32_t)UNITS_NONE) {
    reader->failed |=
        !add_range(&reader->units->symbols, symbol->st_value, symbol->st_value, reader->file);
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
  *units = (struct units){0};
  if (!read_debug(units, path, problem)) {
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
