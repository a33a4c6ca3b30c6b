/* die.h - ends a sample after an error.
 *
 * A collector that misses a root must stop: the program would use a stale reference, and fail much
 * later, somewhere else.
 */
#ifndef SAMPLES_DIE_H
#define SAMPLES_DIE_H

#ifdef __cplusplus
extern "C" {
#endif

/* Prints one line on stderr and aborts. */
__attribute__((format(printf, 1, 2), noreturn)) void die(const char *format, ...);

#ifdef __cplusplus
}
#endif
#endif
