/* readable.c - whether memory is readable, by the kernel's answer. */
#include "runtime/internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel compares the word there with a number, and wakes no thread either way (futex(2)).
 * Valgrind does the same silently. */
bool memory_is_readable(uintptr_t address) {
  enum { CMP_REQUEUE_PRIVATE = 4 | 128, ALIGNMENT = sizeof(uint32_t) };
  const int saved = errno;
  const uintptr_t word = address - address % ALIGNMENT;
  const bool is =
      syscall(SYS_futex, word, (long)CMP_REQUEUE_PRIVATE, 0L, 0L, word, 0L) == 0 || errno == EAGAIN;
  errno = saved;
  return is;
}
