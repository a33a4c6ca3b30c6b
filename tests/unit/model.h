/* model.h - stack maps as plain arrays: a test's input, and so the expected output.
 *
 * A test adds functions and their records, has them written as an LLVM stack map (version 3), and
 * later asks the model for a look-up's expected answer. The answers are computed from the arrays by
 * sorting and searching; it is independent of the library.
 */
#ifndef STACKPACK_TEST_MODEL_H
#define STACKPACK_TEST_MODEL_H

#include "bytes.h"
#include "runtime/stackpack.h"

#define MODEL_DEFAULT_ID 0xABCDEF00u /* LLVM's, of statepoints that lack one */

struct model_list {
  struct stackpack_location *items; /* owned by the model */
  size_t count, capacity;
};

struct model_record {
  uint64_t address;
  uint32_t function; /* index in functions */
  uint32_t offset;
  uint64_t id;
  bool statepoint;
  int32_t calling_convention, flags; /* of a statepoint, as its deopt state and pairs */
  struct model_list deopt;
  struct model_list pairs;     /* base, derived, base, derived ...; in written order */
  struct model_list set;       /* the same, sorted and once each: see model_finish */
  struct model_list locations; /* the allocas of a statepoint; of other records, all */
  struct stackpack_live_out *live_outs;
  uint32_t live_out_count, live_out_capacity;
};

struct model_function {
  uint64_t address, frame_size;
  uint64_t end; /* of its code; 0: unknown */
  uint32_t first_record, records;
};

/* Empty is all zeros. */
struct model {
  uint64_t seed;                    /* of a random one, for messages */
  struct model_function *functions; /* in the order of the stack map */
  struct model_record *records;     /* the first function's, the second one's, ... */
  uint32_t *maps;                   /* the first function of each map after the first */
  uint32_t function_count, record_count, map_count;
  uint32_t function_capacity, record_capacity, map_capacity;

  /* By model_finish. Functions at address 0 and their records are not among them. */
  struct model_function *sorted_functions; /* by address, then frame size; none twice */
  uint64_t *reach;                         /* the furthest end of a function up to this one */
  struct model_record **sorted_records;    /* by address, then function; none twice */
  uint32_t sorted_function_count, sorted_record_count;
  uint32_t discarded_functions, discarded_records, repeated_records;
};

void model_free(struct model *model);

/* The functions that follow are in a new map. */
void model_add_map(struct model *model);
void model_add_function(struct model *model, uint64_t address, uint64_t frame_size, uint64_t end);
/* A record of the last function: an empty statepoint. Valid until the next one. */
struct model_record *model_add_record(struct model *model, uint32_t offset);

struct stackpack_location model_location(uint8_t kind, uint16_t size, uint16_t reg, int64_t value);
/* A spill slot of a reference: 8 bytes, indirect, from the stack pointer of x86-64. */
struct stackpack_location model_slot(int32_t offset);
/* The reading of a large constant of v3's pool: that, or, if 31 bits hold it, a constant. */
struct stackpack_location model_constant(uint64_t value);
void model_list_add(struct model_list *list, struct stackpack_location location);
void model_add_pair(struct model_record *record, struct stackpack_location base,
                    struct stackpack_location derived);
/* A pair of a slot with itself. */
void model_add_self(struct model_record *record, int32_t offset);
void model_add_live_out(struct model_record *record, uint16_t reg, uint8_t size);

/* Computes the answers below; the model is complete by then. */
void model_finish(struct model *model);

/* Writes all as v3 stack maps. */
void model_write(const struct model *model, struct bytes *bytes);

/* The expected answer to a look-up of this address. */
enum stackpack_answer model_answer(const struct model *model, uint64_t address);

/* The first of sorted_records at or after an address. */
uint32_t model_find(const struct model *model, uint64_t address);

int model_compare_locations(struct stackpack_location a, struct stackpack_location b);
bool model_same_list(const struct model_list *a, const struct model_list *b);
/* Sorts pairs, and leaves out repeated ones. */
void model_sort_pairs(struct model_list *pairs);

#endif
