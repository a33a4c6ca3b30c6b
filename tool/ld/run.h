/* run.h - running another program in one's place. */
#ifndef STACKPACK_LD_RUN_H
#define STACKPACK_LD_RUN_H

#include "tool/image/problem.h"

/* Runs a program with arguments (argv[0] first, NULL behind the last) and waits for it. Signals
 * that end a program, and come meanwhile, are passed on to it. *status is as waitpid has it. */
bool run(const char *path, char *const *argv, int *status, struct problem *problem);

/* Ends this program as the other one ended: by the same signal, or with the same exit status. */
_Noreturn void run_end_as(int status);

#endif
