/* run.h - runs another program, as if it ran in place of this one. */
#ifndef STACKPACK_LD_RUN_H
#define STACKPACK_LD_RUN_H

#include "tool/image/problem.h"

#include <signal.h>

/* Blocks the signals that end a program. *before is the mask before that, as of sigprocmask. */
void run_hold_signals(sigset_t *before);

/* Runs a program with arguments (argv[0] first, NULL after the last) and waits for it. Signals must
 * be blocked; the program starts with the mask `before`. A signal that ends a program is passed on
 * to it, also if it came before the program started. *status is waitpid's. */
bool run(const char *path, char *const *argv, const sigset_t *before, int *status,
         struct problem *problem);

/* Ends this program as the other one ended: by the same signal, or with the same exit status. */
_Noreturn void run_end_as(int status);

#endif
