/* code.c - see machine.h: recognizes code by its instructions. */
#include "runtime/internal.h"
#include "runtime/unwind/machine.h"

#include <assert.h>
#include <string.h>

/* The dynamic linker has a module's bounds, but there may be holes within; and it has no bounds for
 * the code of an emulator. */
bool machine_can_read(uintptr_t start, size_t size) {
  assert(size > 0);
  return memory_is_readable(start) && memory_is_readable(start + size - 1);
}

static size_t size_of(const struct machine_code *code, unsigned count) {
  size_t size = 0;
  for (unsigned i = 0; i < count; i++)
    size += code->instructions[i].size;
  return size;
}

static bool is_code(const struct machine_code *code, uintptr_t start) {
  for (unsigned i = 0; i < MACHINE_CODE_MAX; i++) {
    const struct machine_instruction *instruction = &code->instructions[i];
    uint64_t bytes = 0;
    memcpy(&bytes, (const void *)start, instruction->size);
    if ((bytes & instruction->mask) != instruction->bits)
      return false;
    start += instruction->size;
  }
  return true;
}

bool machine_is_at(const struct machine_code *code, uintptr_t pc, unsigned *at) {
  const size_t size = size_of(code, MACHINE_CODE_MAX);
  for (*at = 0; *at < MACHINE_CODE_MAX && code->instructions[*at].size != 0; ++*at) {
    const uintptr_t start = pc - size_of(code, *at);
    if (machine_can_read(start, size) && is_code(code, start))
      return true;
  }
  return false;
}

bool machine_is_behind(const struct machine_code *code, uintptr_t start, uintptr_t pc) {
  enum { FUNCTION_MAX = 1024 }; /* swapcontext is shorter */
  const size_t size = size_of(code, MACHINE_CODE_MAX);
  if (size == 0 || pc - start < size || pc - start > FUNCTION_MAX ||
      !machine_can_read(start, pc - start))
    return false;
  while (start <= pc - size && !is_code(code, start))
    start++;
  return start <= pc - size;
}
