/* map_entries.h - leaves out of a raw program's stack maps the entries that describe code outside
 * the program.
 *
 * LLVM relocates a stack map to the function's symbol. Where several object files bring a function
 * (a COMDAT, as C++'s inline functions and templates are) the linker keeps one body, but the maps
 * of all of them, and all have the kept body's address; where it folds functions of identical code,
 * their live sets may still differ. So one function may have several, different entries. Only the
 * code itself shows the right ones:
 *
 *   - a call returns to a statepoint's address: a call, or the bytes that a patchable statepoint
 *     has in its place, ends there, inside the function;
 *   - the unwind table's frame there has the entry's size, or is larger by whole words (by pushed
 *     arguments).
 *
 *        kept:   f: push  call g  ... ret          f+6 follows a call: right
 *     dropped:   f: sub $24,%rsp  call g ... ret   f+9 is not: this entry is of another body
 *
 * An entry that contradicts the code is left out. If none of a function's is left, it stays without
 * records: its addresses are no safepoints. Of the entries that are left, and of doubtful ones,
 * only records that are alike in all are kept; addresses at which they differ are in conflict, and
 * get no record. So each kept live set is right; the caller decides on files with conflicts.
 *
 * LLVM also writes records that hold by registers that the call doesn't preserve: see
 * check_calls. These get no record, either. */
#ifndef STACKPACK_MAP_ENTRIES_H
#define STACKPACK_MAP_ENTRIES_H

#include "elf/eh_frame.h"
#include "elf/machine.h"

/* A file's code, and the extents of its functions. */
struct code {
  const struct machine *machine; /* NULL: the code is unknown */
  struct section_bytes *parts;   /* sorted by code_sort; owned: code_free */
  size_t count, capacity;
  struct code_ranges unwound, named; /* sorted; owned: code_free */
};
void code_free(struct code *code);
/* Adds bytes[0..size), which stay in place. False if memory runs out. */
bool code_add(struct code *code, uint64_t address, const uint8_t *bytes, uint64_t size);
/* Sorts parts and names, after the last one is added. */
void code_sort(struct code *code);

/* The part that an address is in; NULL: there is none. */
const struct section_bytes *code_part(const struct code *code, uint64_t address);
/* The end of *size bytes of code that end at an address; NULL: there is none. */
const uint8_t *code_before(const struct code *code, uint64_t address, uint64_t *size);

/* For struct statepoint_signs: whether a call, or bytes that are to be patched, may end at an
 * address; true where the code is unknown. The context is a struct code. */
bool code_may_return_to(const void *code, uint64_t address);

/* An entry that was left out, and the reason. */
struct map_entries_left_out {
  uint64_t function;
  uint32_t records;
  uint64_t address; /* of the first record that shows it */
  const char *reason;
};

/* An address at which entries are in conflict, or where one is doubtful. */
struct map_entries_conflict {
  uint64_t function, address;
  const char *reason;
  bool is_of_call; /* not of copies: the call's convention is the reason */
};

struct map_entries {
  struct map_entries_left_out *left_out;  /* by function; owned */
  struct map_entries_conflict *conflicts; /* by address; owned */
  size_t left_out_count, left_out_capacity, conflict_count, conflict_capacity;
};
void map_entries_free(struct map_entries *entries);

/* Takes all that out of an unfinished table, whose records have their frames already
 * (eh_frame_tell_frames); then finishes it, and sets the functions' ends, first by the unwind
 * table, then by the symbols: they reach beyond the addresses in conflict. False if memory runs
 * out. */
bool map_entries_finish(struct safepoints *table, const struct code *code,
                        struct map_entries *entries);

#endif
