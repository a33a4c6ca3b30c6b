/* heap_allocate.S - where managed code enters the collector: see enter.inc.
 *
 * reference heap_allocate(uint64_t data_bytes, uint64_t references);
 * void *heap_allocate_for_frame(uint64_t data_bytes, uint64_t references, uintptr_t return_address,
 *                               uintptr_t stack_pointer, uintptr_t frame_pointer);
 */
#include "enter.inc"

	ENTER heap_allocate, heap_allocate_for_frame, ARGUMENT_2, ARGUMENT_3, ARGUMENT_4
