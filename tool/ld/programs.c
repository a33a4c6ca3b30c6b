/* programs.c - see programs.h.
 *
 * A compiler runs a program named like the linker from a folder of its options, and that folder may
 * also be in PATH: then the first `ld` there is stackpack-ld again, perhaps a link of another name.
 * So files are compared, and the search passes over the running program.
 */
#include "tool/ld/programs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

/* This program's path: without /proc, its name in the command line. */
static const char *self(void) {
  static const char link[] = "/proc/self/exe";
  return access(link, F_OK) == 0 ? link : (const char *)getauxval(AT_EXECFN);
}

static bool is_program(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static bool is_self(const char *path) {
  struct stat here, there;
  return stat(self(), &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

/* Looks for a program in PATH, as a shell does: an empty folder is the current one. */
static bool find_in_path(const char *name, char path[PATH_MAX]) {
  const char *folders = getenv("PATH");
  char standard[PATH_MAX];
  if (folders == NULL && confstr(_CS_PATH, standard, sizeof standard) > 0)
    folders = standard;
  for (const char *at = folders; at != NULL;) {
    const char *end = strchrnul(at, ':');
    const int length = (int)(end - at);
    if (end - at < PATH_MAX &&
        snprintf(path, PATH_MAX, "%.*s/%s", length == 0 ? 1 : length, length == 0 ? "." : at,
                 name) < PATH_MAX &&
        is_program(path) && !is_self(path))
      return true;
    at = *end == 0 ? NULL : end + 1;
  }
  return false;
}

static bool find_named(const char *name, char path[PATH_MAX], struct problem *problem) {
  if (strchr(name, '/') == NULL)
    return find_in_path(name, path) || problem_set(problem, "no linker '%s' in PATH", name);
  if (!is_program(name))
    return problem_set(problem, "no linker '%s'", name);
  if (is_self(name))
    return problem_set(problem, "'%s' is no other linker, but stackpack-ld itself", name);
  return snprintf(path, PATH_MAX, "%s", name) < PATH_MAX ||
         problem_set(problem, "the linker's path is too long");
}

bool programs_find_linker(const char *called, const char *name, char path[PATH_MAX],
                          struct problem *problem) {
  if (name != NULL)
    return find_named(name, path, problem);
  called = basename(called);
  if (strcmp(called, "ld") == 0 || strncmp(called, "ld.", 3) == 0)
    return find_named(called, path, problem);
  return find_in_path("ld.lld", path) || find_in_path("ld", path) ||
         problem_set(problem, "neither ld.lld nor ld in PATH");
}

bool programs_find_stackpack(char path[PATH_MAX], struct problem *problem) {
  static const char name[] = "stackpack";
  if (realpath(self(), path) != NULL) {
    char *file = strrchr(path, '/') + 1;
    if (file + sizeof name <= path + PATH_MAX) {
      memcpy(file, name, sizeof name);
      if (is_program(path))
        return true;
    }
  }
  return find_in_path(name, path) ||
         problem_set(problem, "no stackpack beside stackpack-ld, nor in PATH");
}
