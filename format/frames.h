/* frames.h - facts about a frame that waits at a call: its end, and the saved places of its
 * caller's registers.
 *
 * A stack map has a frame's references, and LLVM's size of the frame: one number for all of a
 * function. It leaves out arguments that are pushed for a call and the places of saved registers,
 * and is unknown where the function allocates on the stack by a variable amount. After linking,
 * unwind tables have all of it for each address (elf/eh_frame.h). Their rules come to this: the
 * canonical frame address (CFA), the caller's stack pointer, is a register and an offset; and each
 * register of the caller, the return address among them, still has its value, or is in memory at an
 * offset from the CFA. For a function that began with `push %rbp; push %rbx; sub $24, %rsp`, on
 * x86-64:
 *
 *   CFA = %rsp + 48; return address at CFA - 8, %rbp at CFA - 16, %rbx at CFA - 24
 *
 * The packed table has this in a separate part (frames_read.c): it names records and functions by
 * number only.
 *
 * Registers are DWARF's numbers of the machine. The ones from 32 on are left out: on the supported
 * machines they hold no references. So a return address has one below 32, as on all of these.
 */
#ifndef STACKPACK_FRAMES_H
#define STACKPACK_FRAMES_H

#include "format/bits.h"
#include "format/intern.h"

enum {
  FRAME_REGISTERS = 32,    /* with facts */
  FRAME_NO_REGISTER = 255, /* the CFA is unknown */
};

/* It has no gaps, and missing facts are 0: so equal facts have equal bytes. */
struct frame_facts {
  uint8_t cfa_register;
  uint8_t return_register; /* its value at the function's start is the return address */
  bool is_signed;          /* AArch64: the saved return address has a signature */
  uint8_t unused;
  int32_t cfa_offset;
  uint32_t saved; /* bit n: register n is in memory at the CFA plus offsets[n] */
  uint32_t lost;  /* bit n: register n has neither its value nor such a place */
  int32_t offsets[FRAME_REGISTERS];
};

_Static_assert(sizeof(struct frame_facts) == 16 + FRAME_REGISTERS * sizeof(int32_t),
               "there are no gaps");

/* Facts in a set, numbered from 1 on. frame_facts_add returns 0 if memory runs out. */
static inline uint32_t frame_facts_add(struct intern *set, const struct frame_facts *facts) {
  uint64_t words[sizeof *facts / sizeof(uint64_t)];
  memcpy(words, facts, sizeof words);
  return 1 + intern_add(set, words, sizeof words / sizeof *words);
}
static inline struct frame_facts frame_facts_get(const struct intern *set, uint32_t number) {
  struct frame_facts facts;
  memcpy(&facts, intern_get(set, number - 1).words, sizeof facts);
  return facts;
}

/* The numbers that differ between machines, in bytes: see elf/machine.h. */
struct frame_machine {
  uint8_t stack_pointer, return_register;
  uint8_t pushed_by_call; /* from the end of the frame, as LLVM counts it, to the CFA */
};

/* ---- Reading: frames_read.c ---- */

enum { FRAMES_NOTED_SHAPES = 16 };

/* A part that is open. */
struct frames_part {
  const uint8_t *shapes, *tags, *samples, *others, *starts, *numbers, *exceptions;
  uint32_t shapes_size, function_count, record_count, other_count, exception_count;
  uint32_t sample_mask; /* of the widths below */
  uint16_t other_mask;
  uint8_t tag_mask;
  struct frame_machine machine;
  uint8_t tag_width, other_width, shape_width, extra_width;
  uint8_t start_width, exception_width, sample_width; /* these and the rest follow */
  uint8_t noted_shapes;                               /* of so many, the first ones: */
  uint8_t shape_places[FRAMES_NOTED_SHAPES];
};

/* Opens bytes[0..size), followed by 16 readable bytes, for so many functions and records. False:
 * they are broken. Reads the first bytes only. */
bool frames_open(struct frames_part *part, const uint8_t *bytes, uint64_t size,
                 uint32_t function_count, uint32_t record_count);

/* A frame's facts, in place in a part. */
struct frame_view {
  bool is_known; /* else the other members are unused */
  bool is_signed;
  uint8_t cfa_register;
  uint8_t place_count;
  int64_t cfa_offset;
  uint32_t lost;
  const uint8_t *places; /* of each word below the CFA, from the highest: the register saved
                            there; FRAME_NO_REGISTER: none */
};

/* The bytes by which the record's frame exceeds LLVM's size. */
uint64_t frames_extra(const struct frames_part *part, uint32_t record);

/* Whether the part's exceptions are in order, as its writer puts them. Only sorted ones can be
 * found. Linear in their number. */
bool frames_are_in_order(const struct frames_part *part);

/* The same facts in the other form. */
struct frame_facts frames_facts(const struct frames_part *part, const struct frame_view *view);

/* ---- Writing: frames_write.c ---- */

/* The input: for each record its function, the number of its facts in a set plus 1 (0: unknown);
 * for each function the size of its frames. */
struct frames_input {
  struct frame_machine machine;
  uint32_t function_count, record_count;
  const uint32_t *functions, *numbers; /* by record */
  const uint64_t *sizes;               /* by function; UINT64_MAX: unknown */
  const struct intern *set;
};

/* Whether the form has room for facts: offsets in words, places below the CFA. Others are written
 * as unknown. `size` is the size of the function's frames. */
bool frames_has_room(const struct frame_machine *machine, uint64_t size,
                     const struct frame_facts *facts);

/* Makes a part in the empty *out; no bytes if all frames are unknown. Sets varies[n] for each
 * function of a known size that frames_extra of some record exceeds. False if memory runs out. */
bool frames_write(const struct frames_input *input, bool *varies, struct bit_writer *out);

#endif
