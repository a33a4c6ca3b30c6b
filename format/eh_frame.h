/* eh_frame.h - where functions start and end, as unwind tables say it.
 *
 * A stack map knows where a function starts, but not where it ends; and without its end, an address
 * behind its last safepoint can't be told from one in the next, unmanaged function. `.eh_frame`
 * knows both, stays in a stripped file, and is in memory at run time. Each of its entries is a CIE,
 * which says how addresses are encoded, or an FDE, which refers to a CIE and starts with a
 * function's address and length. (Linux Standard Base, "Exception Frames"; DWARF 5, 6.4.1)
 */
#ifndef STACKPACK_EH_FRAME_H
#define STACKPACK_EH_FRAME_H

#include "safepoints.h"

/* Code ranges that are being collected. All zeros is empty. */
struct code_ranges {
  struct code_range *items; /* owned: code_ranges_free */
  size_t count, capacity;
};
void code_ranges_free(struct code_ranges *ranges);
/* False without memory. Empty ranges are not added. */
bool code_ranges_add(struct code_ranges *ranges, uint64_t start, uint64_t end);
void code_ranges_sort(struct code_ranges *ranges);

/* Adds the functions in an .eh_frame section at bytes[0..size), which has `address` in the address
 * space of the functions. What it can't read, it passes over: then a function's end isn't known.
 * False without memory. */
bool eh_frame_add(struct code_ranges *ranges, const uint8_t *bytes, size_t size, uint64_t address);

/* Adds the functions that the section's CIEs name as personality routines, each as a range of one
 * byte: the unwinder calls them. Those named by way of a word in memory are left out. False without
 * memory. */
bool eh_frame_add_personalities(struct code_ranges *ranges, const uint8_t *bytes, size_t size,
                                uint64_t address);

#endif
