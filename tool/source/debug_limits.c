/* debug_limits.c - see debug_limits.h. */
#include "tool/source/debug_limits.h"

#include "format/bits.h"

#include <string.h>

struct debug_limits debug_limits_of(uint64_t size, struct problem *problem) {
  return (struct debug_limits){budget_open("ranges in debug information", size),
                               budget_open("tables of lines in debug information", size),
                               budget_open("files' folders in debug information", size),
                               budget_open("abbreviations in debug information", size),
                               {0},
                               problem};
}

void debug_limits_add(struct debug_limits *limits, uint64_t size) {
  limits->ranges.size += size;
  limits->lines.size += size;
  limits->folders.size += size;
  limits->abbreviations.size += size;
}

/* ---- Abbreviations ---- */

enum {
  ATTRIBUTES_MOST = 64, /* of an entry: compilers have up to 30 */
  UNITS_OF_A_TABLE = 4 /* LLVM's link-time optimisation makes one table for all units of a module */
};

/* The bytes of a table; the first one that is too much ends it, as it may be a part of many. */
static uint64_t size_of_table(struct debug_limits *limits, Dwarf_Debug dwarf, uint64_t offset) {
  uint64_t size = 0;
  Dwarf_Unsigned length, attributes, code = 1;
  Dwarf_Abbrev abbreviation;
  while (code != 0 && dwarf_get_abbrev(dwarf, offset + size, &abbreviation, &length, &attributes,
                                       NULL) == DW_DLV_OK) {
    if (dwarf_get_abbrev_code(abbreviation, &code, NULL) != DW_DLV_OK)
      code = 0;
    dwarf_dealloc(dwarf, abbreviation, DW_DLA_ABBREV);
    if (attributes > ATTRIBUTES_MOST)
      problem_set(limits->problem, "an entry in debug information with %d attributes, or more",
                  ATTRIBUTES_MOST);
    size += length;
    if (attributes > ATTRIBUTES_MOST ||
        !budget_take(&limits->abbreviations, length, limits->problem))
      break;
  }
  return size;
}

bool debug_limits_abbreviations(struct debug_limits *limits, Dwarf_Debug dwarf, uint64_t offset) {
  struct debug_table *last = &limits->last;
  if (last->dwarf == dwarf && last->offset == offset)
    return budget_take(&limits->abbreviations, last->size / UNITS_OF_A_TABLE, limits->problem);
  *last = (struct debug_table){dwarf, offset, size_of_table(limits, dwarf, offset)};
  return *limits->problem->text == 0;
}

/* ---- Lines ---- */

bool debug_limits_lines(struct debug_limits *limits, const struct debug_object *object,
                        uint64_t offset) {
  uint64_t length = 0;
  if (offset < object->lines_size && object->lines_size - offset >= 12) {
    length = bits_load32(object->lines + offset);
    if (length == UINT32_MAX) /* the table's own length has 64 bits (DWARF 5, 7.4) */
      length = bits_load64(object->lines + offset + 4);
  }
  return budget_take(&limits->lines, length, limits->problem);
}

/* Long names of folders are counted for each file: mostly it has its own. */
bool debug_limits_folders(struct debug_limits *limits, Dwarf_Line_Context context) {
  enum { LONG = 1 << 10 };
  Dwarf_Signed folders = 0, first, count = 0, end;
  const char *name;
  size_t longest = 0;
  if (dwarf_srclines_comp_dir(context, &name, NULL) == DW_DLV_OK && name != NULL)
    longest = strlen(name);
  dwarf_srclines_include_dir_count(context, &folders, NULL);
  for (Dwarf_Signed i = 0; i <= folders; i++)
    if (dwarf_srclines_include_dir_data(context, i, &name, NULL) == DW_DLV_OK && name != NULL &&
        strlen(name) > longest)
      longest = strlen(name);
  return longest < LONG ||
         dwarf_srclines_files_indexes(context, &first, &count, &end, NULL) != DW_DLV_OK ||
         budget_take(&limits->folders, (uint64_t)count * longest, limits->problem);
}
