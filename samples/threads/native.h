/* native.h - the native side of native_wait_for_end. managed.h declares the functions for managed
 * code: that one, a nap, and the board for references. */
#ifndef THREADS_NATIVE_H
#define THREADS_NATIVE_H

/* Wait until a thread is in native_wait_for_end, and let it return. */
void native_await_waiter(void);
void native_end(void);

#endif
