/* v3_writer.h - assembles LLVM stack maps of version 3, an item at a time, as LLVM's document
 * "Stack maps and patch points in LLVM" draws them. The caller keeps the order and the counts, and
 * so can get them wrong on purpose.
 */
#ifndef STACKPACK_TEST_V3_WRITER_H
#define STACKPACK_TEST_V3_WRITER_H

#include "bytes.h"

/* A location's kinds as v3 numbers them. */
enum { V3_REGISTER = 1, V3_DIRECT, V3_INDIRECT, V3_CONSTANT, V3_CONSTANT_INDEX };

enum { V3_MAP_SIZE = 16, V3_FUNCTION_SIZE = 24, V3_RECORD_SIZE = 16, V3_LOCATION_SIZE = 12 };

void v3_map(struct bytes *bytes, uint32_t functions, uint32_t constants, uint32_t records);
void v3_function(struct bytes *bytes, uint64_t address, uint64_t frame_size, uint64_t records);
void v3_constant(struct bytes *bytes, uint64_t value);
void v3_record(struct bytes *bytes, uint64_t id, uint32_t offset, uint16_t locations);
void v3_location(struct bytes *bytes, uint8_t kind, uint16_t size, uint16_t reg, int32_t value);
/* After a record's locations: padding and the count of its live-outs. */
void v3_live_outs(struct bytes *bytes, uint16_t count);
void v3_live_out(struct bytes *bytes, uint16_t reg, uint8_t size);
void v3_end_record(struct bytes *bytes);

#endif
