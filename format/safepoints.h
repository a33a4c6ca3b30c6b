/* safepoints.h - all records of one program, sorted, each thing said once: the encoder's input.
 *
 * LLVM's stack maps and the packed table are two spellings of the same facts. This is the form
 * between them, in memory: functions by address, records by address, and repeated parts (locations,
 * sets of live references, deopt states) as numbers of interned sequences. A reader fills it
 * (safepoints_add_v3, packed_unpack in packed_write.h), safepoints_finish puts it in order, the
 * encoder writes it, and tools print and compare it.
 *
 * A record keeps its address, ID, calling convention, flags, deopt state and live-outs in order; a
 * statepoint its (base, derived) pairs as a set and its allocas in order; any other record its
 * locations in order. Records that agree in all of this and in their function are one record:
 * identical code folding repeats them. Functions at address 0 were discarded by the linker
 * (--gc-sections, COMDAT), and are left out, too. Both are counted.
 */
#ifndef STACKPACK_SAFEPOINTS_H
#define STACKPACK_SAFEPOINTS_H

#include "format/code_ranges.h"
#include "format/frames.h"
#include "format/sources.h"
#include "runtime/stackpack.h"

#define SAFEPOINT_FRAME_SIZE_UNKNOWN UINT64_MAX

/* The rule that distinguishes a statepoint's record from a stack map's or patch point's, as it has
 * no mark of its own. */
enum statepoint_rule {
  /* By its form: constants that make sense, then pairs, then direct locations. By its ID: one that
   * the program lists, or LLVM's of statepoints; and where it lists none, any other one, if the
   * record has no live-outs, a call may return to its address, and its operands leave no doubt. */
  STATEPOINTS_AUTO,
  STATEPOINTS_ALL,
  STATEPOINTS_NONE,
};

/* The IDs of statepoints, as ranges: by statepoint_ids_sort in order, and each `last` is the
 * highest one so far. */
struct statepoint_ids {
  struct statepoint_range {
    uint64_t first, last;
  } * items; /* to be freed */
  size_t count, capacity;
};
bool statepoint_ids_add(struct statepoint_ids *ids, uint64_t first, uint64_t last);
void statepoint_ids_sort(struct statepoint_ids *ids);

struct statepoint_signs {
  enum statepoint_rule rule;
  bool (*may_return_to)(const void *code, uint64_t address); /* NULL: the form alone counts */
  const void *code;
  const struct statepoint_ids *ids; /* NULL, or none: the program lists no IDs */
  /* The stack pointer's number, where functions with a stack map always have a frame pointer
   * (is_doubtful in safepoints_v3.c); else 0. */
  uint16_t stack_pointer;
};
#define SAFEPOINT_USUAL_ID 0xabcdef00u /* LLVM's, of statepoints that have none of their own */

enum safepoint_kind { SAFEPOINT_STATEPOINT, SAFEPOINT_STACKMAP };

struct safepoint_function {
  uint64_t address;
  uint64_t end; /* of its code; 0 while unknown */
  uint64_t frame_size;
  uint32_t first_record; /* its records, before and after sorting: see safepoints_finish */
  uint32_t records;
  uint64_t unlike; /* address of a record in a statepoint's form that is none: no call may return
                      there; 0: there is none */
};

struct safepoint {
  uint64_t address;
  uint64_t id;
  int32_t calling_convention; /* this and flags: 0 where kind is SAFEPOINT_STACKMAP */
  int32_t flags;
  uint32_t function;  /* index into functions */
  uint32_t live;      /* sequence of items in `live` */
  uint32_t deopt;     /* sequence of locations' numbers in `lists` */
  uint32_t live_outs; /* sequence of register << 8 | size in `lists` */
  uint32_t frame;     /* 1 + sequence of facts in `frames` (frames.h); 0: they are unknown */
  uint32_t source;    /* its innermost place in `sources`; 0: its position is unknown */
};

/* An item of a live set: a pair (the numbers of two locations), or a whole list: the allocas of a
 * statepoint, or the locations of a record that is none. Pairs come first, in the order of
 * safepoint_location_compare, and there is at most one list. */
#define SAFEPOINT_ITEM_LIST ((uint64_t)1 << 63)
#define SAFEPOINT_ITEM_LOCATIONS ((uint64_t)1 << 62)
static inline bool safepoint_item_is_list(uint64_t item) { return item >> 63 != 0; }
static inline bool safepoint_item_is_locations(uint64_t item) { return item >> 62 == 3; }
static inline uint32_t safepoint_item_base(uint64_t item) { return (uint32_t)(item >> 32); }
static inline uint32_t safepoint_item_derived(uint64_t item) { return (uint32_t)item; }
static inline uint32_t safepoint_item_list(uint64_t item) { return (uint32_t)item; }

/* The number of locations that are found before a look into the set of all: programs have a few
 * hundred. */
enum { SAFEPOINT_RECENT_SHIFT = 9, SAFEPOINT_RECENT = 1 << SAFEPOINT_RECENT_SHIFT };

struct safepoints {
  struct safepoint_function *functions; /* by address, then frame size */
  struct safepoint *records;            /* by address, then function, then content */
  uint32_t function_count, record_count;
  size_t function_capacity, record_capacity;

  uint16_t machine;  /* e_machine of its ELF file; 0: unknown */
  uint64_t code_end; /* the end of its executable segments; 0: unknown */

  uint64_t *global_roots; /* addresses of variables that hold references: sorted, none twice */
  uint32_t global_root_count;

  struct intern locations;                     /* two words each: see safepoints_location */
  uint32_t recent_locations[SAFEPOINT_RECENT]; /* 1 + the number of one that was added, or 0 */
  struct intern lists;  /* of locations' numbers, or live-outs; number 0 is the empty list */
  struct intern live;   /* of items: safepoints_add_live */
  struct intern frames; /* see eh_frame_tell_frames */
  struct frame_machine frame_machine;
  struct sources sources;
  bool has_stackmaps; /* some live set is of a record that is no statepoint */

  /* Counts of the maps that were read, and of the items that were left out. */
  uint32_t maps;
  uint32_t functions_discarded, records_discarded; /* at address 0 */
  uint32_t records_repeated;
  uint32_t records_doubtful; /* perhaps statepoints; kept as stack maps, with all locations */

  const char *error; /* NULL, or the fault of the section (static storage) */
  uint64_t error_position;
  uint8_t error_version; /* in the header of a stack map with a fault; 0: the fault isn't there */
  bool no_memory;
};

/* An empty table is all zeros. */
void safepoints_free(struct safepoints *table);

/* Adds all records of a section of LLVM stack maps; its addresses are already the linked file's. */
bool safepoints_add_v3(struct safepoints *table, const void *bytes, size_t size,
                       const struct statepoint_signs *signs);

/* Makes copies of addresses[0..count), in any order, the table's global roots. False if memory runs
 * out. */
bool safepoints_set_global_roots(struct safepoints *table, const uint64_t *addresses, size_t count);

/* For readers: add a function, then its records; the empty list before all. Each returns false if
 * memory runs out. */
bool safepoints_add_function(struct safepoints *table, struct safepoint_function function);
bool safepoints_add_record(struct safepoints *table, struct safepoint record);
/* Each of these returns a number; INTERN_FAILED if memory runs out, and table->no_memory is set. */
uint32_t safepoints_add_location(struct safepoints *table, struct stackpack_location location);
uint32_t safepoints_add_list(struct safepoints *table, const uint64_t *words, uint64_t count);
/* Sorts items[0..pairs) and interns them, followed by the list item, unless that is 0: the array
 * has room for it. INTERN_FAILED if memory runs out. */
uint32_t safepoints_add_live(struct safepoints *table, uint64_t *items, unsigned pairs,
                             uint64_t list_item);

/* Sorts, merges functions and records that are equal. Afterwards records[].function and
 * functions[].records hold, and first_record is the first of the function's records; these are
 * consecutive unless functions overlap or meet (see the encoder). */
bool safepoints_finish(struct safepoints *table);

/* For assertions: whether functions, none of them twice, and records are in order. */
bool safepoints_are_finished(const struct safepoints *table);

/* Gives each function of a finished table that lacks an end the end of the range (they are sorted
 * by start) that contains its start. */
void safepoints_set_ends(struct safepoints *table, const struct code_range *ranges, size_t count);

/* Lets code go on to the next multiple of the functions' alignment (at most 16 bytes): the bytes
 * between are padding, if none of the sorted ranges starts there. (The return address of a noreturn
 * call at a function's end is in this padding, too.) */
void safepoints_close_gaps(struct safepoints *table, const struct code_ranges *unwound,
                           const struct code_ranges *named);

/* Takes records out of a finished table: the ones with is_removed, by record. Functions stay, and
 * so do their extents: the addresses of removed records remain inside. */
void safepoints_remove(struct safepoints *table, const bool *is_removed);

/* The number of a finished table's first function at an address; function_count if there is
 * none. */
uint32_t safepoints_find_function(const struct safepoints *table, uint64_t address);

/* The number of a finished table's first record at or after an address; record_count if there is
 * none. */
uint32_t safepoints_first_record(const struct safepoints *table, uint64_t address);
bool safepoints_has_record(const struct safepoints *table, uint64_t address);

struct stackpack_location safepoints_location(const struct safepoints *table, uint32_t number);
/* The order of records of one table by their contents without address, function and frame: 0, if
 * these are the same. */
int safepoint_compare_contents(const struct safepoint *x, const struct safepoint *y);
int safepoint_location_compare(struct stackpack_location a, struct stackpack_location b);
enum safepoint_kind safepoints_kind(const struct safepoints *table, const struct safepoint *record);
/* An address in the instruction that a record is about. A statepoint's address is the return
 * address, after the call; a stack map's is the instruction's own. */
uint64_t safepoints_instruction(const struct safepoints *table, const struct safepoint *record);

#endif
