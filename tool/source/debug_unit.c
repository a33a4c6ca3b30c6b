/* debug_unit.c - see debug_unit.h. */
#include "tool/source/debug_unit.h"

#include "format/array.h"
#include "tool/source/line_rows.h"

#include <assert.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

/* ---- Files ---- */

/* Files count from 1 in a table of version 4 or less, from 0 since then (DWARF 5, 6.2.4). */
static void read_files(struct debug_files *files, Dwarf_Debug dwarf, Dwarf_Die die,
                       Dwarf_Unsigned version) {
  char **paths;
  Dwarf_Signed count;
  if (dwarf_srcfiles(die, &paths, &count, NULL) != DW_DLV_OK)
    return;
  const size_t first = version < 5;
  files->count = first + (size_t)count;
  files->paths = calloc(files->count + 1, sizeof *files->paths);
  for (size_t i = first; i < files->count; i++) {
    files->paths[i] = strdup(paths[i - first]);
    dwarf_dealloc(dwarf, paths[i - first], DW_DLA_STRING);
  }
  dwarf_dealloc(dwarf, paths, DW_DLA_LIST);
}

static const char *file_of(const struct debug_files *files, uint64_t number) {
  return number < files->count ? files->paths[number] : NULL;
}

/* ---- Lines ---- */

enum { FIRST_FILE = 1 }; /* of a sequence */

/* A row of a table of lines, and whether its sequence ends there. Of a row where an epilogue
 * begins, libdwarf (2021) says that the sequence ends, too. */
static bool read_row(const struct debug_files *files, Dwarf_Line line, bool has_first_file,
                     Dwarf_Addr *address, struct source_frame *place, bool *ends) {
  Dwarf_Unsigned number, file, column, set, discriminator;
  Dwarf_Bool is_end, prologue_ends, epilogue_begins;
  if (dwarf_lineaddr(line, address, NULL) != DW_DLV_OK ||
      dwarf_lineno(line, &number, NULL) != DW_DLV_OK ||
      dwarf_line_srcfileno(line, &file, NULL) != DW_DLV_OK ||
      dwarf_lineoff_b(line, &column, NULL) != DW_DLV_OK ||
      dwarf_lineendsequence(line, &is_end, NULL) != DW_DLV_OK ||
      dwarf_prologue_end_etc(line, &prologue_ends, &epilogue_begins, &set, &discriminator, NULL) !=
          DW_DLV_OK)
    return false;
  *place = (struct source_frame){NULL, file_of(files, has_first_file ? FIRST_FILE : file), number,
                                 column};
  *ends = is_end && !epilogue_begins;
  return true;
}

/* Each row is about the addresses up to the next one of its sequence. A table has the rows of a
 * sequence by address; a sequence out of order is ignored. */
static void read_rows(struct debug_unit *unit, struct line_rows rows, Dwarf_Line *lines,
                      Dwarf_Signed count) {
  struct source_frame place;
  Dwarf_Addr address, last = 0;
  bool ends, is_inside = false;
  assert(unit->row_count == 0);
  for (Dwarf_Signed i = 0; i < count; i++, is_inside = !ends, last = address) {
    if (!read_row(&unit->files, lines[i], line_rows_next(&rows), &address, &place, &ends) ||
        (is_inside && address < last))
      return;
    assert(!is_inside || unit->row_count > 0);
    if (is_inside)
      spans_add(&unit->row_spans, last, address, (uint32_t)unit->row_count - 1);
    if (!ends)
      (void)ARRAY_ADD(unit->rows, unit->row_count, unit->row_capacity, place);
  }
}

void debug_unit_read_lines(struct debug_unit *unit, const struct debug_object *object,
                           struct debug_limits *limits) {
  const Dwarf_Die die = unit->die;
  uint64_t start;
  Dwarf_Unsigned version, offset;
  Dwarf_Small tables;
  Dwarf_Line_Context context;
  Dwarf_Line *lines;
  Dwarf_Signed count;
  if (!debug_entry_number(die, DW_AT_stmt_list, &start) ||
      !debug_limits_lines(limits, object, start) ||
      dwarf_srclines_b(die, &version, &tables, &context, NULL) != DW_DLV_OK)
    return;
  if (debug_limits_folders(limits, context))
    read_files(&unit->files, object->dwarf, die, version);
  if (dwarf_srclines_from_linecontext(context, &lines, &count, NULL) == DW_DLV_OK &&
      dwarf_srclines_table_offset(context, &offset, NULL) == DW_DLV_OK) {
    read_rows(unit, line_rows_of(object->lines, object->lines_size, offset), lines, count);
  }
  spans_sort(&unit->row_spans);
  dwarf_srclines_dealloc_b(context);
}

/* ---- Functions ---- */

/* Of entries in entries: more than a compiler makes, less than a stack has. */
enum { DEPTH_MOST = 512 };

/* Adds a scope inside another one. Returns its number. */
static uint32_t add_scope(struct debug_unit *unit, const struct debug_context *context,
                          Dwarf_Die die, uint32_t parent) {
  struct debug_scope scope = {.parent = parent};
  const uint32_t number = (uint32_t)unit->scope_count;
  assert(parent == SPANS_NONE || parent < number); /* so that the way out ends */
  Dwarf_Off entry;
  uint64_t file;
  if (context->names->is_closed)
    scope.name = entry_name_of(context->names, die);
  else if (dwarf_dieoffset(die, &entry, NULL) == DW_DLV_OK)
    scope.entry = entry;
  if (debug_entry_number(die, DW_AT_call_file, &file))
    scope.call.file =
        file_of(unit->split_files.count > 0 ? &unit->split_files : &unit->files, file);
  debug_entry_number(die, DW_AT_call_line, &scope.call.line);
  debug_entry_number(die, DW_AT_call_column, &scope.call.column);
  debug_entry_spans(context, die, &unit->scope_spans, number);
  (void)ARRAY_ADD(unit->scopes, unit->scope_count, unit->scope_capacity, scope);
  return number;
}

/* Whether an entry has an attribute about code. */
static bool has_code(Dwarf_Die die) {
  Dwarf_Bool has_low = 0, has_ranges = 0;
  dwarf_hasattr(die, DW_AT_low_pc, &has_low, NULL);
  dwarf_hasattr(die, DW_AT_ranges, &has_ranges, NULL);
  return has_low || has_ranges;
}

/* Moves to the next entry beside one, and frees that. NULL after the last one. */
static Dwarf_Die next_of(Dwarf_Debug dwarf, Dwarf_Die die) {
  Dwarf_Die next;
  Dwarf_Off here = 0, there = 0;
  const int found = dwarf_siblingof_b(dwarf, die, 1, &next, NULL);
  dwarf_dieoffset(die, &here, NULL);
  dwarf_dealloc_die(die);
  if (found != DW_DLV_OK)
    return NULL;
  dwarf_dieoffset(next, &there, NULL);
  if (there > here)
    return next;
  dwarf_dealloc_die(next); /* it would go on for ever */
  return NULL;
}

/* Reads the functions in an entry, which may be one itself. */
static void read_entry(struct debug_unit *unit, const struct debug_context *context, Dwarf_Die die,
                       uint32_t scope, unsigned depth) {
  Dwarf_Half tag;
  Dwarf_Die child;
  if (dwarf_tag(die, &tag, NULL) != DW_DLV_OK)
    return;
  /* A function that is only declared, or inlined everywhere, lacks code, and so do the entries in
   * it. */
  if (tag == DW_TAG_subprogram && !has_code(die))
    return;
  if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
    scope = add_scope(unit, context, die, tag == DW_TAG_subprogram ? SPANS_NONE : scope);
  if (depth == DEPTH_MOST || dwarf_child(die, &child, NULL) != DW_DLV_OK)
    return;
  for (; child != NULL; child = next_of(context->entries, child))
    read_entry(unit, context, child, scope, depth + 1);
}

void debug_unit_read_scopes(struct debug_unit *unit, const struct debug_context *context,
                            Dwarf_Die die) {
  assert(unit->scope_count == 0);
  if (context->entries != context->dwarf)
    read_files(&unit->split_files, context->entries, die, context->version);
  read_entry(unit, context, die, SPANS_NONE, 0);
  spans_sort(&unit->scope_spans);
}
