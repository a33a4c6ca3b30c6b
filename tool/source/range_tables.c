/* range_tables.c - see range_tables.h. */
#include "tool/source/range_tables.h"

#include "format/search.h"

#include <dwarf.h>
#include <stdlib.h>

static bool read_table(Dwarf_Debug dwarf, uint64_t number, struct range_table *table) {
  Dwarf_Unsigned header, entries, array, start, end;
  Dwarf_Small offset_size, extension_size, address_size, segment_size;
  unsigned version;
  if (dwarf_get_rnglist_context_basics(dwarf, number, &header, &offset_size, &extension_size,
                                       &version, &address_size, &segment_size, &entries, &array,
                                       &start, &end, NULL) != DW_DLV_OK)
    return false;
  *table = (struct range_table){array, start, end};
  return true;
}

struct range_tables range_tables_read(Dwarf_Debug dwarf) {
  struct range_tables tables = {.dwarf = dwarf};
  Dwarf_Unsigned count;
  if (dwarf_load_rnglists(dwarf, &count, NULL) != DW_DLV_OK)
    return tables;
  tables.items = calloc(count + 1, sizeof *tables.items);
  while (tables.count < count && read_table(dwarf, tables.count, &tables.items[tables.count]))
    tables.count++;
  return tables;
}

void range_tables_free(struct range_tables *tables) {
  free(tables->items);
  *tables = (struct range_tables){0};
}

bool range_list_at(const struct range_tables *tables, uint64_t offset, struct range_list *list) {
  const size_t count = SEARCH_UP_TO(tables->items, tables->count, start, offset);
  *list = (struct range_list){count - 1, offset};
  return count > 0 && offset < tables->items[count - 1].end;
}

bool range_list_numbered(const struct range_tables *tables, uint64_t base, uint64_t number,
                         struct range_list *list) {
  const size_t table = SEARCH_BELOW(tables->items, tables->count, array, base);
  Dwarf_Unsigned in_array, in_section;
  if (table == tables->count || tables->items[table].array != base ||
      dwarf_get_rnglist_offset_index_value(tables->dwarf, table, number, &in_array, &in_section,
                                           NULL) != DW_DLV_OK)
    return false;
  *list = (struct range_list){table, base + in_array};
  return list->at < tables->items[table].end;
}

bool range_list_next(const struct range_tables *tables, struct range_list *list,
                     struct range_entry *entry) {
  const uint64_t end = tables->items[list->table].end;
  Dwarf_Unsigned a = 0, b = 0;
  Dwarf_Error error = NULL;
  unsigned length = 0;
  const int result = list->at >= end
                         ? DW_DLV_NO_ENTRY
                         : dwarf_get_rnglist_rle(tables->dwarf, list->table, list->at, end, &length,
                                                 &entry->kind, &a, &b, &error);
  if (result == DW_DLV_ERROR)
    dwarf_dealloc_error(tables->dwarf, error);
  if (result != DW_DLV_OK || length == 0 || entry->kind == DW_RLE_end_of_list)
    return false;
  list->at += length;
  entry->a = a;
  entry->b = b;
  return true;
}
