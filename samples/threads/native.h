/* native.h - what native code of the sample adds to the runtime: a board for references, and a
 * function that waits for the other threads to end. What managed code sees of it is in
 * managed.h. */
#ifndef THREADS_NATIVE_H
#define THREADS_NATIVE_H

/* Waits until a thread is in native_wait_for_end; and lets it go on. */
void native_await_waiter(void);
void native_end(void);

#endif
