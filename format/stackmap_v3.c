/* stackmap_v3.c - see stackmap_v3.h for the layout. */
#include "format/stackmap_v3.h"

#include "format/bits.h"

#include <assert.h>

enum { VERSION = 3 };

struct stackmap_v3_reader stackmap_v3_open(const void *bytes, size_t size) {
  return (struct stackmap_v3_reader){.bytes = bytes, .size = size};
}

static bool fail(struct stackmap_v3_reader *reader, const char *error, size_t position) {
  if (reader->error == NULL) {
    reader->error = error;
    reader->error_position = position;
  }
  return false;
}

/* Steps over `count` items of `item_size` bytes; *start gets their place. */
static bool take(struct stackmap_v3_reader *reader, uint64_t count, size_t item_size, size_t *start,
                 const char *error) {
  assert(reader->position <= reader->size);
  if (count > (reader->size - reader->position) / item_size)
    return fail(reader, error, reader->position);
  *start = reader->position;
  reader->position += (size_t)count * item_size;
  return true;
}

static bool align(struct stackmap_v3_reader *reader, const char *error) {
  const size_t padding = -reader->position & 7;
  if (padding > reader->size - reader->position)
    return fail(reader, error, reader->position);
  reader->position += padding;
  return true;
}

/* Linkers fill the gaps between maps with zeros. They align maps to 8 bytes at least. */
static bool skip_padding(struct stackmap_v3_reader *reader) {
  while (reader->position < reader->size && reader->bytes[reader->position] == 0)
    reader->position++;
  if (reader->position == reader->size)
    return false;
  if (reader->position % 8 != 0)
    return fail(reader, "bytes between stack maps that aren't 0", reader->position);
  return true;
}

bool stackmap_v3_next_map(struct stackmap_v3_reader *reader) {
  if (reader->error != NULL)
    return false;
  if (reader->records_left != 0)
    return fail(reader, "a stack map header that counts more records than its functions have",
                reader->position);
  if (!skip_padding(reader))
    return false;
  reader->version = reader->bytes[reader->position];
  if (reader->version != VERSION)
    return fail(reader, "stack maps are read in LLVM's version 3 only", reader->position);
  size_t header;
  if (!take(reader, 1, STACKMAP_V3_MAP_SIZE, &header, "a truncated stack map header"))
    return false;
  reader->functions = bits_load32(reader->bytes + header + 4);
  reader->constants = bits_load32(reader->bytes + header + 8);
  reader->records_left = bits_load32(reader->bytes + header + 12);
  reader->next_function = 0;
  return take(reader, reader->functions, STACKMAP_V3_FUNCTION_SIZE, &reader->functions_position,
              "a stack map with more functions than the section has room for") &&
         take(reader, reader->constants, STACKMAP_V3_CONSTANT_SIZE, &reader->constants_position,
              "a stack map with more constants than the section has room for");
}

bool stackmap_v3_next_function(struct stackmap_v3_reader *reader,
                               struct stackmap_v3_function *function) {
  if (reader->error != NULL || reader->next_function == reader->functions)
    return false;
  const size_t position =
      reader->functions_position + (size_t)reader->next_function++ * STACKMAP_V3_FUNCTION_SIZE;
  const uint8_t *bytes = reader->bytes + position;
  *function = (struct stackmap_v3_function){bits_load64(bytes), bits_load64(bytes + 8),
                                            bits_load64(bytes + 16), position};
  if (function->records > reader->records_left)
    return fail(reader, "a function with more records than its stack map", position);
  return true;
}

bool stackmap_v3_next_record(struct stackmap_v3_reader *reader, struct stackmap_v3_record *record) {
  if (reader->error != NULL)
    return false;
  size_t header, live_outs;
  if (!take(reader, 1, STACKMAP_V3_RECORD_SIZE, &header, "a truncated record"))
    return false;
  const uint8_t *bytes = reader->bytes + header;
  record->id = bits_load64(bytes);
  record->offset = bits_load32(bytes + 8);
  record->locations = bits_load16(bytes + 14);
  if (!take(reader, record->locations, STACKMAP_V3_LOCATION_SIZE, &record->locations_position,
            "a record with more locations than the section has room for") ||
      !align(reader, "a truncated record") ||
      !take(reader, 1, STACKMAP_V3_LIVE_OUTS_SIZE, &live_outs, "a record without its live-outs"))
    return false;
  record->live_outs = bits_load16(reader->bytes + live_outs + 2);
  if (!take(reader, record->live_outs, STACKMAP_V3_LIVE_OUT_SIZE, &record->live_outs_position,
            "a record with more live-outs than the section has room for") ||
      !align(reader, "a record without its padding"))
    return false;
  if (reader->records_left == 0)
    return fail(reader, "more records than the stack map's header says", header);
  reader->records_left--;
  return true;
}

bool stackmap_v3_location(struct stackmap_v3_reader *reader,
                          const struct stackmap_v3_record *record, unsigned n,
                          struct stackpack_location *location) {
  assert(n < record->locations);
  const size_t position = record->locations_position + (size_t)n * STACKMAP_V3_LOCATION_SIZE;
  const uint8_t *bytes = reader->bytes + position;
  const int32_t value = (int32_t)bits_load32(bytes + 8);
  *location =
      (struct stackpack_location){bytes[0], bits_load16(bytes + 2), bits_load16(bytes + 4), value};
  switch (location->kind) {
  case STACKPACK_REGISTER:
  case STACKPACK_DIRECT:
  case STACKPACK_INDIRECT:
    return true;
  case STACKPACK_CONSTANT:
    location->reg = 0;
    return true;
  case STACKPACK_LARGE_CONSTANT:
    if ((uint32_t)value >= reader->constants)
      return fail(reader, "a location with the index of a constant that is not there", position);
    location->reg = 0;
    location->value = (int64_t)bits_load64(reader->bytes + reader->constants_position +
                                           (size_t)(uint32_t)value * STACKMAP_V3_CONSTANT_SIZE);
    /* LLVM pools only values beyond 32 bits; another producer's small value is the same
     * constant. */
    if (location->value >= 0 && location->value <= INT32_MAX)
      location->kind = STACKPACK_CONSTANT;
    return true;
  default:
    return fail(reader, "a location of an unknown kind", position);
  }
}

struct stackpack_live_out stackmap_v3_live_out(const struct stackmap_v3_reader *reader,
                                               const struct stackmap_v3_record *record,
                                               unsigned n) {
  assert(n < record->live_outs);
  const uint8_t *bytes =
      reader->bytes + record->live_outs_position + (size_t)n * STACKMAP_V3_LIVE_OUT_SIZE;
  return (struct stackpack_live_out){bits_load16(bytes), bytes[3]};
}

void stackmap_v3_move(uint8_t *bytes, size_t size, uint64_t distance, bool has_discarded) {
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes, size);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  while (stackmap_v3_next_map(&reader))
    while (stackmap_v3_next_function(&reader, &function)) {
      const uint64_t address = function.address + distance;
      if (function.address != 0 || !has_discarded)
        memcpy(bytes + function.position, &address, sizeof address);
      for (uint64_t i = 0; i < function.records && stackmap_v3_next_record(&reader, &record); i++)
        ;
    }
}
