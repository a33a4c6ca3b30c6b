/* die.h - the one way in which a sample gives up.
 *
 * A collector that doesn't know a root must not go on: it would leave a reference behind that
 * points at nothing, and the program would fail much later, somewhere else.
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
