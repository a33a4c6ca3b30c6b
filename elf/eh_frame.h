/* eh_frame.h - the functions of a program and facts about their frames, from unwind tables.
 *
 * A stack map has a function's start, and lacks its end; without that, an address after its last
 * safepoint may as well be in the next, unmanaged function. `.eh_frame` has both, stays in a
 * stripped file, and is in memory at run time. Each of its entries is a CIE, with the encoding of
 * addresses, or an FDE, which refers to a CIE and starts with a function's address and length.
 * (Linux Standard Base, "Exception Frames"; DWARF 5, 6.4.1)
 *
 * After that, both have instructions of a small machine. It goes through the function's code, and
 * computes for each place the stack pointer before the function's call and the places of the
 * caller's registers: the facts that format/frames.h explains. (DWARF 5, 6.4.2)
 */
#ifndef STACKPACK_EH_FRAME_H
#define STACKPACK_EH_FRAME_H

#include "elf/machine.h"
#include "format/safepoints.h"

struct code; /* map_entries.h */

/* The size of a section whose end is unknown, up to its first terminator; it is at most `size`. (A
 * terminator may be in the middle, too: the functions below read on after it.) */
size_t eh_frame_size(const uint8_t *bytes, size_t size);

/* Bytes of a file or of memory: a section's, or other ones. */
struct section_bytes {
  const uint8_t *bytes;
  size_t size;
  uint64_t address; /* in the address space of the functions */
};

/* Adds the functions in an .eh_frame section, and sorts the ranges. It passes over unreadable
 * entries: their functions' ends stay unknown. False if memory runs out. */
bool eh_frame_add(struct code_ranges *ranges, const struct section_bytes *frames);

/* Adds the functions that the section's CIEs name as personality routines, each as a range of one
 * byte: the unwinder calls them. Personality routines named through a word in memory are left out.
 * False if memory runs out. */
bool eh_frame_add_personalities(struct code_ranges *ranges, const struct section_bytes *frames);

#define LANDING_UNKNOWN UINT64_MAX

/* Calls `visit` for each range of calls that have a landing pad, where the unwinder lets a function
 * go on after an exception; with LANDING_UNKNOWN for functions whose language-specific data are
 * unreadable. `frames` is .eh_frame, `tables` is .gcc_except_table, or empty. Each function has its
 * own data: false where these would be read several times over, in time by the square of the file's
 * size. */
typedef void landing_visitor(void *context, struct code_range function, struct code_range calls,
                             uint64_t landing);
bool eh_frame_landings(const struct section_bytes *frames, const struct section_bytes *tables,
                       landing_visitor *visit, void *context);

/* The numbers of a machine that format/frames.h needs. */
static inline struct frame_machine eh_frame_machine(const struct machine *machine) {
  return (struct frame_machine){(uint8_t)machine->stack_pointer, (uint8_t)machine->return_address,
                                (uint8_t)machine->pushed_by_call};
}

/* Finds the facts of the frame at each of the sorted addresses[0..count) in an .eh_frame section as
 * above: numbers[n], 0 before, becomes the number in *set of the facts (frame_facts_add), or
 * stays 0 where they are unknown. They are unknown where overlapping FDEs differ, and from the
 * place on where an FDE is unreadable. It takes time in proportion to the section's size and to
 * count, for any bytes: where FDEs mostly repeat each other, all facts are unknown. `code` may be
 * NULL, or may show more (machine.h, save_more). False if memory runs out. */
bool eh_frame_facts(struct intern *set, uint32_t *numbers, const uint64_t *addresses, size_t count,
                    const struct code *code, const struct section_bytes *frames);

/* The same for all records of a table; all are unknown where the code's machine is. */
bool eh_frame_tell_frames(struct safepoints *table, const struct code *code,
                          const struct section_bytes *frames);

#endif
