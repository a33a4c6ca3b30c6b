/* heap.h - references and the allocator, as managed code sees them.
 *
 * A reference is a pointer into a heap whose objects move. The compiler lists references in the
 * stack map, and after each call that may collect it uses the value that the collector has written.
 * In LLVM IR, pointers of address space 1 are references, and pointers of address space 0 are
 * plain. Clang has an attribute for the address space, so the workload can be C instead of a
 * compiler's IR.
 *
 * LLVM's way of tracking references sets limits:
 *
 * - References live only in local variables and heap objects. A stack map omits global variables,
 *   and local ones whose address is taken.
 * - They are never cast to an integer or a plain pointer and back: the collector would miss such a
 *   copy. Subtracting two references is a cast in disguise; comparing them is safe.
 * - A reference into the middle of an object (a derived reference: an element of an array, a field)
 *   stays within one function. LLVM finds its base by following its computation back, and takes
 *   every parameter, call result and loaded value for a base.
 *
 * check-references.awk reads the optimised IR and enforces the first two. Only the collector can
 * check the third: it reports a base without an object header.
 *
 * PLAIN_HEAP removes the address space: the program is then plain C with calloc, and the other
 * builds must print the same. Compilers other than clang get plain pointers, too. They can compile
 * the runtime's native code, which only passes references on and needs no stack map.
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

/* Returns a new object, all zero: first data_bytes of data (rounded up to 8), then the given number
 * of references. May collect, and move every object. */
reference heap_allocate(uint64_t data_bytes, uint64_t references);

#ifdef __cplusplus
}
#endif

#endif
