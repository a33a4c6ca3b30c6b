/* readable.c - whether memory is readable, by the kernel's answer. */
#include "runtime/internal.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The kernel reads a mask of signals there, before it rejects the operation on it. */
bool memory_is_readable(uintptr_t address) {
  enum { NO_OPERATION = -1, MASK = 8 };
  const int saved = errno;
  const bool is =
      syscall(SYS_rt_sigprocmask, NO_OPERATION, address, NULL, MASK) == 0 || errno == EINVAL;
  errno = saved;
  return is;
}
