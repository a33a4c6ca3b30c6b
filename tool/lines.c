/* lines.c - collects the line tables of all compilation units through libdwarf.
 *
 * libdwarf's opening call lost a parameter, and its closing one another, when it began to carry a
 * version number (0.2 of 2021); both forms are in use by distributions.
 */
#include "lines.h"

#include "array.h"

#include <errno.h>
#include <fcntl.h>
#include <libdwarf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Keeps a file's name; neighbouring lines mostly have the same one. NULL without memory. */
static const char *keep_file(struct lines *lines, const char *name) {
  if (lines->file_count > 0 && strcmp(lines->files[lines->file_count - 1], name) == 0)
    return lines->files[lines->file_count - 1];
  if (!array_make_room((void **)&lines->files, &lines->file_capacity, lines->file_count + 1,
                       sizeof *lines->files))
    return NULL;
  char *copy = strdup(name);
  if (copy != NULL)
    lines->files[lines->file_count++] = copy;
  return copy;
}

static bool add_line(struct lines *lines, Dwarf_Debug debug, Dwarf_Line source) {
  struct line line = {0};
  Dwarf_Addr address;
  Dwarf_Unsigned number;
  Dwarf_Bool ends = 0;
  char *name;
  if (dwarf_lineaddr(source, &address, NULL) != DW_DLV_OK ||
      dwarf_lineendsequence(source, &ends, NULL) != DW_DLV_OK ||
      dwarf_lineno(source, &number, NULL) != DW_DLV_OK)
    return true;
  line.address = address;
  line.number = number;
  if (!ends && dwarf_linesrc(source, &name, NULL) == DW_DLV_OK) {
    line.file = keep_file(lines, name);
    dwarf_dealloc(debug, name, DW_DLA_STRING);
    if (line.file == NULL)
      return false;
  }
  if (!array_make_room((void **)&lines->items, &lines->capacity, lines->count + 1,
                       sizeof *lines->items))
    return false;
  lines->items[lines->count++] = line;
  return true;
}

/* Adds the line table of the compilation unit whose header was read last. */
static bool add_unit(struct lines *lines, Dwarf_Debug debug) {
  Dwarf_Die unit;
  Dwarf_Unsigned version;
  Dwarf_Small tables;
  Dwarf_Line_Context context;
  Dwarf_Line *source;
  Dwarf_Signed count;
  bool ok = true;
  if (dwarf_siblingof_b(debug, NULL, 1, &unit, NULL) != DW_DLV_OK)
    return true;
  if (dwarf_srclines_b(unit, &version, &tables, &context, NULL) == DW_DLV_OK) {
    if (dwarf_srclines_from_linecontext(context, &source, &count, NULL) == DW_DLV_OK)
      for (Dwarf_Signed i = 0; i < count && ok; i++)
        ok = add_line(lines, debug, source[i]);
    dwarf_srclines_dealloc_b(context);
  }
  dwarf_dealloc(debug, unit, DW_DLA_DIE);
  return ok;
}

static bool add_units(struct lines *lines, Dwarf_Debug debug) {
  for (;;) {
    Dwarf_Unsigned header_length, type_offset, next;
    Dwarf_Half version, address_size, length_size, extension_size, type;
    Dwarf_Off abbreviations;
    Dwarf_Sig8 signature;
    if (dwarf_next_cu_header_d(debug, 1, &header_length, &version, &abbreviations, &address_size,
                               &length_size, &extension_size, &signature, &type_offset, &next,
                               &type, NULL) != DW_DLV_OK)
      return true;
    if (!add_unit(lines, debug))
      return false;
  }
}

/* Where one sequence ends and another starts, the start counts: it comes later. */
static int compare_lines(const void *a, const void *b) {
  const struct line *x = a, *y = b;
  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  if ((x->file == NULL) != (y->file == NULL))
    return x->file == NULL ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

bool lines_open(struct lines *lines, const char *path, struct problem *problem) {
  *lines = (struct lines){0};
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return problem_set_errno(problem, "can't be opened");
  Dwarf_Debug debug;
  bool ok = true;
  if (open_debug(file, &debug) == DW_DLV_OK) {
    ok = add_units(lines, debug);
    close_debug(debug);
  }
  close(file);
  if (lines->count > 0)
    qsort(lines->items, lines->count, sizeof *lines->items, compare_lines);
  if (ok)
    return true;
  lines_close(lines);
  return problem_set(problem, "not enough memory");
}

void lines_close(struct lines *lines) {
  for (size_t i = 0; i < lines->file_count; i++)
    free(lines->files[i]);
  free(lines->files);
  free(lines->items);
  *lines = (struct lines){0};
}

const struct line *lines_find(const struct lines *lines, uint64_t address) {
  size_t from = 0, to = lines->count;
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (lines->items[middle].address <= address)
      from = middle + 1;
    else
      to = middle;
  }
  if (from == 0 || lines->items[from - 1].file == NULL || lines->items[from - 1].number == 0)
    return NULL;
  return &lines->items[from - 1];
}
