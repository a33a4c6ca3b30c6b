/* vm.h - the heap and its collector, and the way from managed code into C++. */
#ifndef HANDLES_VM_H
#define HANDLES_VM_H

#include "handle.h"
#include "row.h"

#include <cstdint>
#include <cstdio>

/* A call of C++ by managed code that hasn't returned yet: it notes in the youngest row (row.h) that
 * the calling frame waits. A function that is called by managed code has one as its first local
 * variable, made of the numbers that its stub has handed it (see entries.S). */
class Transition {
public:
  explicit Transition(waiting_frame frame);
  ~Transition();
  Transition(const Transition &) = delete;
  Transition &operator=(const Transition &) = delete;
};

/* heap_bytes: the size of each space of the heap. stress: collect at every allocation. */
void vm_open(size_t heap_bytes, bool stress);
void vm_close();

/* A new object, all zero, as heap_allocate of heap.h gives it; but it is called by C++, and vm_make
 * puts the reference into a handle at once. */
void *vm_allocate(uint64_t data_bytes, uint64_t references);
template <class T> Handle<T> vm_make(uint64_t data_bytes, uint64_t references) {
  return Handle<T>((T REF *)vm_allocate(data_bytes, references));
}

/* Writes what the collections did, a line for each figure. */
void vm_report(FILE *file);

#endif
