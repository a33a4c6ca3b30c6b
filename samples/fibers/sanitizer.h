/* sanitizer.h - tells AddressSanitizer that the stack is about to change.
 *
 * It must know the bounds of the stack that runs, or it takes what happens there for an overflow.
 * In a program without it, nothing is done here. The two calls belong around a switch, one on
 * either stack. Managed code doesn't know of them; so both are made before the switch, with nothing
 * in between that would notice.
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

/* From now on the stack is low[0..size). Keeps what AddressSanitizer has beside the stack that is
 * left in *left, and takes up again what it kept for the other one. If previous isn't NULL, the
 * bounds of the stack that is left are written there. */
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
