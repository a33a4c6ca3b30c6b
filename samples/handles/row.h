/* row.h - a row of managed frames: C++ called the oldest, and the youngest runs or calls C++.
 *
 * Between the rows of a stack are frames of C++, without stack maps. A walk gets from row to
 * row by this chain, the youngest first. Each row notes its end, the stack pointer at which C++
 * called managed code, and its waiting frame while managed code waits for C++.
 */
#ifndef HANDLES_ROW_H
#define HANDLES_ROW_H

#include "frame.h"
#include "managed_call.h"

class Row {
public:
  enum { ARGUMENTS_MAX = 4 };

  Row();
  ~Row();
  Row(const Row &) = delete;
  Row &operator=(const Row &) = delete;

  /* Calls managed code: once. */
  uint64_t run(managed_function *function, const uint64_t (&arguments)[ARGUMENTS_MAX]) {
    return managed_call(function, &end, arguments[0], arguments[1], arguments[2], arguments[3]);
  }

  uintptr_t end = 0;
  waiting_frame frame = {}; /* no return address: the youngest frame runs */
  Row *const outer;
};

#endif
