/* code.c - see machine.h: recognizes code by its instructions. */
#include "runtime/unwind/machine.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether the 8 bytes at an address are readable: the kernel reads a mask of signals there, before
 * it rejects the operation on it. (The dynamic linker has a module's bounds, but there may be holes
 * within; and it has no bounds for the code of an emulator.) */
static bool kernel_can_read(uintptr_t address) {
  enum { NO_OPERATION = -1, MASK = 8 };
  return syscall(SYS_rt_sigprocmask, NO_OPERATION, address, NULL, MASK) == 0 || errno == EINVAL;
}

bool machine_can_read(uintptr_t start, size_t size) {
  const int saved = errno;
  const bool can = kernel_can_read(start) && kernel_can_read(start + size - sizeof(uint64_t));
  errno = saved;
  return can;
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
