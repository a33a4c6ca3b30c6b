/* machine.h - the differences between the machines that are supported. One file a machine.
 *
 * LLVM writes the same kind of section for every machine, and a linked file has the same structure
 * on all of them. The differences are numbers and a few bytes of code: the numbers of relocations,
 * the largest page, DWARF's names of registers, and the bytes of a call. Each machine's file fills
 * one structure with these, and all other code is the same for every machine.
 *
 * A statepoint follows a call: its address is the one that the call returns to. So the bytes before
 * it must end a call. This is read backwards, with the starts of instructions unknown: the answer
 * "yes" means that a call may end there, "no" that none does.
 */
#ifndef STACKPACK_MACHINE_H
#define STACKPACK_MACHINE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The types of relocations that stack maps have: dynamic ones in a linked file (elf_image.c), and
 * those of the objects that are split (tool/split/maps.c). The tables of all other types are in
 * tool/objects/relocate.c, for an object's data, and in tool/code/code_NAME.c, for the call
 * graph. */
struct machine_relocations {
  uint32_t none;
  uint32_t relative; /* the addend, relative to where the file is loaded */
  uint32_t absolute; /* a symbol's address plus the addend, 64 bits */
};

enum { MACHINE_REGISTER_NAME_SIZE = 6 };

struct frame_facts;

struct machine {
  uint16_t elf_number; /* e_machine, EM_* */
  const char *name;
  struct machine_relocations relocations;
  bool linker_moves_code; /* within a section: only symbols mark the functions' starts */
  uint16_t stack_pointer, frame_pointer, return_address; /* DWARF's numbers */
  bool maps_have_frame_pointer; /* functions with a stack map or patch point (LLVM's hasFP) */
  uint16_t pushed_by_call; /* bytes: the return address's, or 0 where it is left in a register */
  uint16_t register_count;
  const char (*register_names)[MACHINE_REGISTER_NAME_SIZE]; /* by number; "" for none */
  /* Of the code in end[-size..0): whether an instruction that calls may end at `end`. */
  bool (*ends_call)(const uint8_t *end, size_t size);
  /* And whether a nop may end there: a statepoint with patch bytes has nops in the call's place
   * (LLVM, "Garbage Collection Safepoints", gc.statepoint). */
  bool (*ends_nop)(const uint8_t *end, size_t size);
  /* The code of a function up to its unwind table's first row with a frame is end[-size..0).
   * Where its last instruction, apart from room made on the stack, saves the return address, or
   * calls code that does: adds the other registers that are saved then. Unwind tables leave out the
   * ones that the function keeps unchanged; but it loads them again before it returns, so that
   * their places count. NULL: this machine has no such instruction. */
  void (*save_more)(struct frame_facts *facts, const uint8_t *end, size_t size);
};

/* The machine with this number in ELF; NULL if it is unknown. */
const struct machine *machine_find(uint16_t elf_number);

/* A register's name; NULL if it has none. */
static inline const char *machine_register_name(const struct machine *machine, unsigned number) {
  return number < machine->register_count && machine->register_names[number][0] != 0
             ? machine->register_names[number]
             : NULL;
}

extern const struct machine machine_x86_64, machine_aarch64, machine_riscv64;

#endif
