/* machine_aarch64.c - AArch64, as its ABI has it (ELF for the Arm 64-bit Architecture; DWARF for
 * the Arm 64-bit Architecture).
 *
 * All instructions have 4 bytes. Calls are BL, with a distance in its lowest 26 bits; BLR, to the
 * address in a register; and BLR's forms that check a signed address first: BLRAA, BLRAB, BLRAAZ
 * and BLRABZ (Arm Architecture Reference Manual, C4.1, "Branches"). The return address is left in
 * x30.
 */
#include "elf/machine.h"

#include "format/bits.h"

/* "DWARF register names"; SVE's z registers lie over the v registers, with numbers of their own. */
static const char register_names[][MACHINE_REGISTER_NAME_SIZE] = {
    "x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",        "x7",  "x8",  "x9",  "x10", "x11", "x12",
    "x13", "x14", "x15", "x16", "x17", "x18", "x19",       "x20", "x21", "x22", "x23", "x24", "x25",
    "x26", "x27", "x28", "x29", "x30", "sp",  [64] = "v0", "v1",  "v2",  "v3",  "v4",  "v5",  "v6",
    "v7",  "v8",  "v9",  "v10", "v11", "v12", "v13",       "v14", "v15", "v16", "v17", "v18", "v19",
    "v20", "v21", "v22", "v23", "v24", "v25", "v26",       "v27", "v28", "v29", "v30", "v31",
};

static uint32_t word_before(const uint8_t *end, size_t size) {
  return size < 4 ? 0 : bits_load32(end - 4);
}

static bool ends_call(const uint8_t *end, size_t size) {
  const uint32_t word = word_before(end, size);
  return word >> 26 == 0x25                    /* BL */
         || (word & 0xfffffc1f) == 0xd63f0000  /* BLR */
         || (word & 0xfffff81f) == 0xd63f081f  /* BLRAAZ, BLRABZ */
         || (word & 0xfffff800) == 0xd73f0800; /* BLRAA, BLRAB */
}

static bool ends_nop(const uint8_t *end, size_t size) {
  return word_before(end, size) == 0xd503201f;
}

const struct machine machine_aarch64 = {
    .elf_number = EM_AARCH64,
    .name = "AArch64",
    .relocations = {.none = R_AARCH64_NONE,
                    .relative = R_AARCH64_RELATIVE,
                    .absolute = R_AARCH64_ABS64},
    .maps_have_frame_pointer = true,
    .stack_pointer = 31,
    .frame_pointer = 29,
    .return_address = 30,
    .register_count = sizeof register_names / sizeof *register_names,
    .register_names = register_names,
    .ends_call = ends_call,
    .ends_nop = ends_nop,
};
