/* entries.S - where managed code calls native code: see enter.inc. heap_allocate is in common.
 *
 * void safepoint_wait(void);
 * void native_nap(void);
 * void native_wait_for_end(void);
 *
 * Each jumps to a C function in native.c, with the frame as arguments.
 */
#include "enter.inc"

	ENTER safepoint_wait, safepoint_wait_for_frame, ARGUMENT_0, ARGUMENT_1, ARGUMENT_2
	ENTER native_nap, native_nap_for_frame, ARGUMENT_0, ARGUMENT_1, ARGUMENT_2
	ENTER native_wait_for_end, native_wait_for_end_for_frame, ARGUMENT_0, ARGUMENT_1, ARGUMENT_2
