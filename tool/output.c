/* output.c - see output.h.
 *
 * The new file is written without a name (O_TMPFILE) where the file system can do that, and gets
 * one only when it is complete: so a command that is killed leaves nothing behind.
 */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct output {
  char target[PATH_MAX];
  char temporary[PATH_MAX + 32]; /* in the same folder */
  int file;
  bool named; /* the temporary file has its name */
};

/* Finds out where a path really leads, for a file that may not be there yet. */
static bool resolve(struct output *output, const char *path, struct problem *problem) {
  if (realpath(path, output->target) == NULL) {
    if (errno != ENOENT || strlen(path) >= sizeof output->target)
      return problem_set_errno(problem, "can't be written");
    strcpy(output->target, path);
  }
  const char *slash = strrchr(output->target, '/');
  const int folder = slash == NULL ? 0 : (int)(slash - output->target) + 1;
  snprintf(output->temporary, sizeof output->temporary, "%.*s.stackpack-%ld", folder,
           output->target, (long)getpid());
  return true;
}

static bool create(struct output *output, struct problem *problem) {
  char folder[PATH_MAX + 32];
  strcpy(folder, output->temporary);
  char *slash = strrchr(folder, '/');
  strcpy(slash == NULL ? folder : slash + 1, ".");
  output->file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (output->file >= 0)
    return true;
  output->file = open(output->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
  output->named = output->file >= 0;
  return output->named || problem_set_errno(problem, "can't be written");
}

static bool write_all(int file, const uint8_t *bytes, size_t size, struct problem *problem) {
  while (size > 0) {
    const ssize_t written = write(file, bytes, size);
    if (written < 0 && errno == EINTR)
      continue;
    if (written <= 0)
      return problem_set_errno(problem, "can't be written");
    bytes += written;
    size -= (size_t)written;
  }
  return fsync(file) == 0 || errno == EINVAL || errno == EROFS ||
         problem_set_errno(problem, "can't be written");
}

/* Owner first: changing it clears the set-user-ID bit. Only root can give files away; that the
 * owner stays another one is no reason to fail. */
static bool copy_status(int file, const char *like, struct problem *problem) {
  struct stat status;
  if (stat(like, &status) != 0)
    return problem_set_errno(problem, "can't be read");
  mode_t mode = status.st_mode & 07777;
  if (fchown(file, status.st_uid, status.st_gid) != 0)
    mode &= (mode_t) ~(S_ISUID | S_ISGID);
  return fchmod(file, mode) == 0 || problem_set_errno(problem, "can't be given its mode");
}

static bool give_name(struct output *output, struct problem *problem) {
  if (!output->named) {
    char descriptor[64];
    snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", output->file);
    unlink(output->temporary);
    if (linkat(AT_FDCWD, descriptor, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) != 0)
      return problem_set_errno(problem, "can't be written");
    output->named = true;
  }
  if (rename(output->temporary, output->target) != 0)
    return problem_set_errno(problem, "can't be replaced");
  output->named = false;
  return true;
}

/* What isn't a regular file (a pipe, /dev/full) can't be replaced: it is written to. */
static bool write_through(const char *path, const uint8_t *bytes, size_t size,
                          struct problem *problem) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return problem_set_errno(problem, "can't be written");
  const bool ok = write_all(file, bytes, size, problem);
  return (close(file) == 0 || problem_set_errno(problem, "can't be written")) && ok;
}

static bool replace(const char *path, const char *like, const uint8_t *bytes, size_t size,
                    struct problem *problem) {
  struct output output = {.file = -1};
  struct stat status;
  if (stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return write_through(path, bytes, size, problem);
  if (!resolve(&output, path, problem) || !create(&output, problem))
    return false;
  const bool ok = write_all(output.file, bytes, size, problem) &&
                  copy_status(output.file, like, problem) && give_name(&output, problem);
  if (output.named)
    unlink(output.temporary);
  close(output.file);
  return ok;
}

bool output_replace(const char *path, const char *like, const uint8_t *bytes, size_t size,
                    struct problem *problem) {
  if (replace(path, like, bytes, size, problem))
    return true;
  problem->file = path;
  return false;
}
