/* stackmap_v3.h - reads LLVM's stack maps, version 3, as a linker leaves them.
 *
 * LLVM writes one stack map for each object file, and a linker puts them one after another, each at
 * a multiple of 8, with zeros between and after:
 *
 *   map      u8 version = 3, u8 and u16 reserved, u32 functions, u32 constants, u32 records
 *            function[]   u64 address, u64 frame size (all ones: unknown), u64 record count
 *            constant[]   u64
 *            record[]     the first function's records, then the second one's, ...
 *   record   u64 id, u32 offset from the function's address, u16 reserved, u16 locations
 *            location[]   u8 kind, u8 reserved, u16 size, u16 register, u16 reserved, i32 value
 *            padding to 8, u16 padding, u16 live-outs
 *            live_out[]   u16 register, u8 reserved, u8 size
 *            padding to 8
 *
 * (LLVM: "Stack maps and patch points in LLVM", "Stack Map Format".) Only a read of a record gives
 * its length, and so the start of the next map: all is read in sequence. The reader owns nothing,
 * allocates nothing, and checks every length before it uses it.
 *
 * A reader goes: stackmap_v3_next_map, then for each of its functions in order
 * stackmap_v3_next_function, then stackmap_v3_next_record as often as the function says.
 */
#ifndef STACKPACK_STACKMAP_V3_H
#define STACKPACK_STACKMAP_V3_H

#include "runtime/stackpack.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STACKMAP_V3_FRAME_SIZE_UNKNOWN UINT64_MAX
/* In bytes; a map's, a record's and the live-outs' own, without their items. */
enum {
  STACKMAP_V3_MAP_SIZE = 16,
  STACKMAP_V3_FUNCTION_SIZE = 24,
  STACKMAP_V3_CONSTANT_SIZE = 8,
  STACKMAP_V3_RECORD_SIZE = 16,
  STACKMAP_V3_LOCATION_SIZE = 12,
  STACKMAP_V3_LIVE_OUTS_SIZE = 4,
  STACKMAP_V3_LIVE_OUT_SIZE = 4
};

struct stackmap_v3_reader {
  const uint8_t *bytes;
  size_t size;
  size_t position; /* of the next item */

  /* The current map. */
  uint8_t version; /* as its header says; 0: none was read yet */
  size_t functions_position, constants_position;
  uint32_t functions, constants;
  uint32_t next_function;
  uint64_t records_left; /* of the header's count */

  const char *error; /* NULL, or the fault (static storage), near error_position */
  size_t error_position;
};

struct stackmap_v3_function {
  uint64_t address;
  uint64_t frame_size;
  uint64_t records;
  size_t position; /* of these three in the section: where a relocation for the address applies */
};

struct stackmap_v3_record {
  uint64_t id;
  uint32_t offset;
  uint16_t locations;
  uint16_t live_outs;
  size_t locations_position, live_outs_position;
};

struct stackmap_v3_reader stackmap_v3_open(const void *bytes, size_t size);

/* Each moves to the next item. False: there is none, or the section is broken and reader->error
 * set. */
bool stackmap_v3_next_map(struct stackmap_v3_reader *reader);
bool stackmap_v3_next_function(struct stackmap_v3_reader *reader,
                               struct stackmap_v3_function *function);
bool stackmap_v3_next_record(struct stackmap_v3_reader *reader, struct stackmap_v3_record *record);

/* Adds a distance to the address of each function in bytes[0..size), up to an unreadable part. At
 * address 0 is a function that the linker discarded, if `has_discarded`: it stays there. */
void stackmap_v3_move(uint8_t *bytes, size_t size, uint64_t distance, bool has_discarded);

/* Location n < record->locations; false (and reader->error) for an unknown kind or constant. */
bool stackmap_v3_location(struct stackmap_v3_reader *reader,
                          const struct stackmap_v3_record *record, unsigned n,
                          struct stackpack_location *location);
/* Live-out n < record->live_outs. */
struct stackpack_live_out stackmap_v3_live_out(const struct stackmap_v3_reader *reader,
                                               const struct stackmap_v3_record *record, unsigned n);

#endif
