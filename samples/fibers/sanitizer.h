/* sanitizer.h - announces a change of stacks to AddressSanitizer.
 *
 * AddressSanitizer needs the bounds of the running stack, or it reports an overflow. In a program
 * without it, this does nothing. Its two functions are meant for the two sides of a switch, one on
 * either stack. Managed code can't call the second one, so both are called before the switch, with
 * no code in between that AddressSanitizer checks.
 */
#ifndef FIBERS_SANITIZER_H
#define FIBERS_SANITIZER_H

#include <stddef.h>

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ADDRESS_SANITIZER
#endif
#elif defined __SANITIZE_ADDRESS__
#define HAS_ADDRESS_SANITIZER
#endif

#ifdef HAS_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif

/* From now on the stack is low[0..size). Saves AddressSanitizer's fake stack of the old stack in
 * *left, and restores the new stack's from `taken`. Writes the old stack's bounds to *previous_low
 * and *previous_size, unless these are NULL. */
static inline void sanitizer_switch(void **left, void *taken, const void *low, size_t size,
                                    const void **previous_low, size_t *previous_size) {
#ifdef HAS_ADDRESS_SANITIZER
  __sanitizer_start_switch_fiber(left, low, size);
  __sanitizer_finish_switch_fiber(taken, previous_low, previous_size);
#else
  (void)left, (void)taken, (void)low, (void)size, (void)previous_low, (void)previous_size;
#endif
}

#endif
