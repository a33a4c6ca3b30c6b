/* v3_writer.c - see v3_writer.h. */
#include "v3_writer.h"

void v3_map(struct bytes *bytes, uint32_t functions, uint32_t constants, uint32_t records) {
  bytes_u8(bytes, 3);
  bytes_zeros(bytes, 3);
  bytes_u32(bytes, functions);
  bytes_u32(bytes, constants);
  bytes_u32(bytes, records);
}

void v3_function(struct bytes *bytes, uint64_t address, uint64_t frame_size, uint64_t records) {
  bytes_u64(bytes, address);
  bytes_u64(bytes, frame_size);
  bytes_u64(bytes, records);
}

void v3_constant(struct bytes *bytes, uint64_t value) { bytes_u64(bytes, value); }

void v3_record(struct bytes *bytes, uint64_t id, uint32_t offset, uint16_t locations) {
  bytes_u64(bytes, id);
  bytes_u32(bytes, offset);
  bytes_u16(bytes, 0);
  bytes_u16(bytes, locations);
}

void v3_location(struct bytes *bytes, uint8_t kind, uint16_t size, uint16_t reg, int32_t value) {
  bytes_u8(bytes, kind);
  bytes_u8(bytes, 0);
  bytes_u16(bytes, size);
  bytes_u16(bytes, reg);
  bytes_u16(bytes, 0);
  bytes_u32(bytes, (uint32_t)value);
}

void v3_live_outs(struct bytes *bytes, uint16_t count) {
  bytes_align(bytes, 8);
  bytes_u16(bytes, 0);
  bytes_u16(bytes, count);
}

void v3_live_out(struct bytes *bytes, uint16_t reg, uint8_t size) {
  bytes_u16(bytes, reg);
  bytes_u8(bytes, 0);
  bytes_u8(bytes, size);
}

void v3_end_record(struct bytes *bytes) { bytes_align(bytes, 8); }
