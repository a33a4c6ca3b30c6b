/* bounds.c - see bounds.h. */
#include "bounds.h"

#include "die.h"

#include <pthread.h>

struct stackpack_stack bounds_of_thread(void) {
  pthread_attr_t attributes;
  void *lowest;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0)
    die("cannot tell where the stack is");
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  return (struct stackpack_stack){(uintptr_t)lowest, (uintptr_t)lowest + size};
}
