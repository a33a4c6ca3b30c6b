/* vm.h - the heap and its collector, and the way from managed code into C++. */
#ifndef HANDLES_VM_H
#define HANDLES_VM_H

#include "handle.h"
#include "row.h"

#include <cstdint>
#include <cstdio>

/* Notes the calling frame in the youngest row (row.h) for the duration of a call of C++ by managed
 * code. A function that managed code calls has one as its first local variable, made of the numbers
 * from its stub (see entries.S). */
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

/* A new object, all zero, as heap_allocate of heap.h makes it, but for C++. vm_make puts the
 * reference into a handle at once. */
void *vm_allocate(uint64_t data_bytes, uint64_t references);
template <class T> Handle<T> vm_make(uint64_t data_bytes, uint64_t references) {
  return Handle<T>((T REF *)vm_allocate(data_bytes, references));
}

/* Writes the collections' figures, one a line. */
void vm_report(FILE *file);

#endif
