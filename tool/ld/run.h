/* run.h - runs another program, as if it ran in place of this one. */
#ifndef STACKPACK_LD_RUN_H
#define STACKPACK_LD_RUN_H

#include "tool/image/problem.h"

#include <signal.h>

/* Makes signals wait that end a program. *before is what they were before: sigprocmask. */
void run_hold_signals(sigset_t *before);

/* Runs a program with arguments (argv[0] first, NULL after the last) and waits for it. Signals are
 * held; for the program they are as they were before. One that ends a program, and came since then,
 * is passed on to it. *status is as waitpid has it. */
bool run(const char *path, char *const *argv, const sigset_t *before, int *status,
         struct problem *problem);

/* Ends this program as the other one ended: by the same signal, or with the same exit status. */
_Noreturn void run_end_as(int status);

#endif
