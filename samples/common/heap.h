/* heap.h - references and the allocator, as managed code sees them.
 *
 * A reference is a pointer into a heap whose objects move. The compiler must know which pointers
 * those are: it lists them in the stack map, and after each call that may collect it goes on with
 * the value that the collector left behind. In LLVM IR the address space tells. Numbered 1, a
 * pointer is a reference; numbered 0, it is a plain one. Clang writes the same as an attribute in
 * C, so the workload can stay in C where a real compiler would have emitted IR.
 *
 * What a reference may not do follows from how LLVM tracks it:
 *
 * - It lives in local variables and in heap objects only. A global variable, or a local one whose
 *   address is taken, is memory that no stack map describes.
 * - It is not cast to an integer or to a plain pointer and back: such a copy would not be updated.
 *   Subtracting two references is a cast in disguise; comparing them is not.
 * - A reference into the middle of an object (a derived reference: an element of an array, a field)
 *   stays within one function. LLVM finds the base of each by looking back at how it was computed,
 * and takes what comes from a parameter, a call or a load to be a base already.
 *
 * check-references.awk reads the optimised IR and refuses the first two. The third nobody sees
 * before the collector does: it finds no object header in front of what it was given, and says so.
 *
 * With PLAIN_HEAP defined the address space vanishes: then this is C with calloc and nothing
 * else, and its output is what the other builds are compared with. It vanishes for compilers that
 * don't know address spaces, too. They can compile the native code of the runtime, where a
 * reference is only passed on and a stack map has nothing to say.
 */
#ifndef SAMPLES_HEAP_H
#define SAMPLES_HEAP_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined PLAIN_HEAP || !defined __clang__
#define REF
#else
#define REF __attribute__((address_space(1)))
#endif

typedef void REF *reference;

/* Returns a new object, all zero: first data_bytes of data (rounded up to 8), then so many
 * references. May collect: then every object has moved. */
reference heap_allocate(uint64_t data_bytes, uint64_t references);

#ifdef __cplusplus
}
#endif

#endif
