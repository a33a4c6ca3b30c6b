/* plt.c - the stubs through which a program calls its shared libraries.
 *
 * A signal may come in one of these, and then it is a frame. GNU ld and gold write unwind tables for
 * them; lld and mold don't. But a stub does next to nothing: it jumps on to the function, or, as long
 * as the function hasn't been looked up, pushes one or two words and jumps to the dynamic linker. So
 * the return address is where the call left it, at the stack pointer or below so many words; no
 * register that a call preserves has been touched; and the code, which is the same in every program
 * but for addresses, says which stub it is. All of them are aligned to 16 bytes.
 */
#include "runtime/unwind/unwinder.h"

#include <dlfcn.h>

enum { STUB = 16, INSTRUCTIONS = 4, END = 0xff };

#define A 256 /* any byte: of an address or a number */

static const struct stub {
  uint16_t code[STUB];
  struct {
    uint8_t offset, words; /* at this instruction, the return address is below so many words */
  } instructions[INSTRUCTIONS];
} stubs[] = {
    /* jmp *slot; push $number; jmp header */
    {{0xff, 0x25, A, A, A, A, 0x68, A, A, A, A, 0xe9, A, A, A, A},
     {{0, 0}, {6, 0}, {11, 1}, {END, 0}}},
    /* the header: push module; jmp *resolver */
    {{0xff, 0x35, A, A, A, A, 0xff, 0x25, A, A, A, A, A, A, A, A}, {{0, 1}, {6, 2}, {END, 0}}},
    /* endbr64; push $number; jmp header */
    {{0xf3, 0x0f, 0x1e, 0xfa, 0x68, A, A, A, A, 0xe9, A, A, A, A, A, A},
     {{0, 0}, {4, 0}, {9, 1}, {END, 0}}},
    /* endbr64; push $number; bnd jmp header */
    {{0xf3, 0x0f, 0x1e, 0xfa, 0x68, A, A, A, A, 0xf2, 0xe9, A, A, A, A, A},
     {{0, 0}, {4, 0}, {9, 1}, {END, 0}}},
    /* endbr64; jmp *slot */
    {{0xf3, 0x0f, 0x1e, 0xfa, 0xff, 0x25, A, A, A, A, A, A, A, A, A, A},
     {{0, 0}, {4, 0}, {END, 0}}},
    /* endbr64; bnd jmp *slot */
    {{0xf3, 0x0f, 0x1e, 0xfa, 0xf2, 0xff, 0x25, A, A, A, A, A, A, A, A, A},
     {{0, 0}, {4, 0}, {END, 0}}},
    /* mold's: endbr64; mov $number, %r11d; jmp *slot */
    {{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0xbb, A, A, A, A, 0xff, 0x25, A, A, A, A},
     {{0, 0}, {4, 0}, {10, 0}, {END, 0}}},
    /* and its header: endbr64; push %r11; push module; jmp *resolver */
    {{0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x53, 0xff, 0x35, A, A, A, A, 0xff, 0x25, A, A},
     {{0, 0}, {4, 0}, {6, 1}, {12, 2}}},
};

static bool is_code(const uint8_t *bytes, const uint16_t *code) {
  for (unsigned i = 0; i < STUB; i++)
    if (code[i] != A && code[i] != bytes[i])
      return false;
  return true;
}

/* How many words are above the return address at this instruction; or END. */
static uint8_t words_at(const struct stub *stub, uintptr_t offset) {
  for (unsigned i = 0; i < INSTRUCTIONS && stub->instructions[i].offset != END; i++)
    if (stub->instructions[i].offset == offset)
      return stub->instructions[i].words;
  return END;
}

bool plt_return_address(const struct target *target, uintptr_t *place) {
  const struct stackpack_context *context = target->context;
  const uintptr_t start = context->pc / STUB * STUB;
  struct dl_find_object found;
  if (context->is_exact == 0 || _dl_find_object((void *)start, &found) != 0 ||
      (uintptr_t)found.dlfo_map_end - start < STUB)
    return false;
  for (unsigned i = 0; i < sizeof stubs / sizeof *stubs; i++)
    if (is_code((const uint8_t *)start, stubs[i].code)) {
      const uint8_t words = words_at(&stubs[i], context->pc - start);
      *place = context->stack_pointer + WORD * words;
      return words != END && target_has_word(target, *place);
    }
  return false;
}
