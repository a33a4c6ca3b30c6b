/* run.c - see run.h.
 *
 * While the other program runs, this one waits for signals, the child's end (SIGCHLD) among them.
 * So they only come at this moment, and handlers and global variables are needless. The child
 * starts with the original mask of signals.
 */
#include "tool/ld/run.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t awaited_signals(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGHUP);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGQUIT);
  sigaddset(&set, SIGTERM);
  return set;
}

static int spawn(const char *path, char *const *argv, const sigset_t *mask, pid_t *child) {
  posix_spawnattr_t attributes;
  int error = posix_spawnattr_init(&attributes);
  if (error != 0)
    return error;
  posix_spawnattr_setsigmask(&attributes, mask);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  error = posix_spawn(child, path, NULL, &attributes, argv, environ);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/* Waits for the child's end. False on an error. */
static bool await(pid_t child, const sigset_t *signals, int *status) {
  for (;;) {
    siginfo_t info;
    const int number = sigwaitinfo(signals, &info);
    if (number > 0 && number != SIGCHLD) {
      kill(child, number);
      continue;
    }
    const pid_t ended = waitpid(child, status, WNOHANG);
    if (ended == child)
      return true;
    if (ended < 0 && errno != EINTR)
      return false;
  }
}

void run_hold_signals(sigset_t *before) {
  const sigset_t signals = awaited_signals();
  signal(SIGCHLD, SIG_DFL); /* if it were ignored, the status would be lost */
  sigprocmask(SIG_BLOCK, &signals, before);
}

bool run(const char *path, char *const *argv, const sigset_t *before, int *status,
         struct problem *problem) {
  const sigset_t signals = awaited_signals();
  pid_t child;
  const int error = spawn(path, argv, before, &child);
  const bool ok = error == 0 && await(child, &signals, status);
  return ok || problem_set(problem, "can't run %s: %s", path, strerror(error != 0 ? error : errno));
}

void run_end_as(int status) {
  if (!WIFSIGNALED(status))
    exit(WEXITSTATUS(status));
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none); /* the other one has left a core already */
  signal(WTERMSIG(status), SIG_DFL);
  raise(WTERMSIG(status));
  exit(128 + WTERMSIG(status)); /* as a shell has it, where the signal is blocked */
}
