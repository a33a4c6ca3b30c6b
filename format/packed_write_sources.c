/* packed_write_sources.c - writes a table with source positions. A table that stays in memory has
 * none: so this is apart from packed_write.c. */
#include "format/packed_encoder.h"

static bool write_sources(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint32_t *places = encoder_array(encoder, table->record_count, sizeof *places);
  bool is_too_large;
  if (encoder->error != NULL)
    return false;
  for (uint32_t i = 0; i < table->record_count; i++)
    places[i] = table->records[i].source;
  const struct sources_input input = {
      &table->sources, table->record_count,       encoder->header.stretches,
      places,          encoder->record_stretches, encoder->positions,
  };
  const bool ok = sources_write(&input, &encoder->parts[PACKED_SOURCES], &is_too_large);
  return ok || (is_too_large && encoder_too_many(encoder));
}

const char *packed_write(const struct safepoints *table, uint64_t address,
                         packed_compress *compress, uint8_t **bytes, size_t *size) {
  struct encoder encoder = {
      .table = table, .compress = compress, .address = address, .write_sources = write_sources};
  return packed_write_with(&encoder, bytes, size);
}
