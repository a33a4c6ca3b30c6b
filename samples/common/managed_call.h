/* managed_call.h - the way from native code into managed code.
 *
 * A walk is complete when it gets to the stack pointer of the call of managed code. C has no access
 * to that number, so managed_call.S stores it.
 */
#ifndef COMMON_MANAGED_CALL_H
#define COMMON_MANAGED_CALL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void managed_function(void); /* of any type: up to four arguments, all in registers */

/* Returns function(a, b, c, d). Before it calls, it writes the stack pointer of the call to *end:
 * the `end` of struct stackpack_stack. */
uint64_t managed_call(managed_function *function, uintptr_t *end, uint64_t a, uint64_t b,
                      uint64_t c, uint64_t d);

#ifdef __cplusplus
}
#endif

#endif
