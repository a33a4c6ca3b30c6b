/* record_sources.c - source positions: stackpack.h onto format/sources.h. */
#include "format/sources.h"
#include "runtime/internal.h"

static bool open_part(const struct packed_table *table, struct sources_part *part) {
  return sources_open(part, table->sources, table->sources_size, table->stretch_count);
}

size_t stackpack_sources_space(const struct stackpack_table *table) {
  const struct packed_table *packed = const_table_of(table);
  struct sources_part part;
  return packed->sources_size > 0 && open_part(packed, &part) ? sources_space(&part) : 0;
}

enum stackpack_source_answer stackpack_record_sources(const struct stackpack_record *record,
                                                      void *space, size_t size,
                                                      struct stackpack_sources *sources) {
  const struct packed_record *packed = record_of(record);
  const struct packed_table *table = packed->table;
  struct sources_part part;
  if (table->sources_size == 0)
    return table->is_raw ? STACKPACK_SOURCE_RAW : STACKPACK_SOURCE_NONE;
  return open_part(table, &part)
             ? sources_read(&part, packed->stretch, packed->position, space, size, sources)
             : STACKPACK_SOURCE_CORRUPT;
}
