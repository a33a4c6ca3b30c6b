/* exception.S - where managed code throws: see enter.inc.
 *
 * void exception_throw(const char *message);
 * void exception_throw_at(const char *message, uintptr_t return_address, uintptr_t stack_pointer,
 *                         uintptr_t frame_pointer);
 */
#include "enter.inc"

	ENTER exception_throw, exception_throw_at, ARGUMENT_1, ARGUMENT_2, ARGUMENT_3
