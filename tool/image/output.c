/* output.c - see output.h.
 *
 * A new file is written without a name (O_TMPFILE) where the file system can do that, and gets one
 * only when it is complete: so a command that is killed leaves no file. Between the new file's
 * getting its name and taking the old one's place, signals that end the command have to wait.
 *
 * Of several files, all but the last change places with the old ones (RENAME_EXCHANGE), so that
 * they can change back if the last one can't be put in its place.
 */
#include "tool/image/output.h"

#include "elf/elf_file.h"
#include "tool/image/input.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct output {
  const struct new_file *new_file;
  char target[PATH_MAX];
  char temporary[PATH_MAX + 48]; /* in the same folder */
  int file;                      /* -1: the target isn't a regular file */
  bool named;                    /* there is a file of the temporary name */
  /* How the replacement is taken back: not at all, by removing it, or by exchanging it with the old
   * file. */
  enum { FINAL, NEW, EXCHANGED } state;
};

/* Replaces the path of a symbolic link by the link's target, which may not be there; false if it is
 * no link. */
static bool follow(char path[PATH_MAX]) {
  char link[PATH_MAX];
  const ssize_t length = readlink(path, link, sizeof link);
  const char *slash = strrchr(path, '/');
  const size_t folder =
      length <= 0 || link[0] == '/' || slash == NULL ? 0 : (size_t)(slash - path) + 1;
  if (length <= 0 || folder + (size_t)length >= PATH_MAX)
    return false;
  memcpy(path + folder, link, (size_t)length);
  path[folder + (size_t)length] = 0;
  return true;
}

/* Finds the absolute path of the file that a path leads to; it may not be there yet. (The kernel
 * follows forty links at most, too.) */
static bool find_target(const char *path, char target[PATH_MAX]) {
  enum { LINKS_MAX = 40 };
  char text[PATH_MAX];
  if (realpath(path, target) != NULL)
    return true;
  if (errno != ENOENT || strlen(path) >= sizeof text)
    return false;
  strcpy(text, path);
  for (int i = 0; i < LINKS_MAX && follow(text); i++)
    ;
  char *slash = strrchr(text, '/');
  const char *name = slash == NULL ? text : slash + 1;
  const char *folder = slash == NULL ? "." : slash == text ? "/" : text;
  if (slash != NULL)
    *slash = 0;
  if (realpath(folder, target) == NULL || strlen(target) + strlen(name) + 2 > PATH_MAX)
    return false;
  strcat(strcat(target, "/"), name);
  return true;
}

bool output_same(const char *a, const char *b) {
  char one[PATH_MAX], other[PATH_MAX];
  struct stat x, y;
  if (stat(a, &x) == 0 && stat(b, &y) == 0) /* two names of one file, too */
    return x.st_dev == y.st_dev && x.st_ino == y.st_ino;
  return find_target(a, one) && find_target(b, other) && strcmp(one, other) == 0;
}

/* Makes a file in the target's folder. */
static bool create(struct output *output, unsigned number, struct problem *problem) {
  const int folder = (int)(strrchr(output->target, '/') - output->target) + 1;
  snprintf(output->temporary, sizeof output->temporary, "%.*s.", folder, output->target);
  output->file = open(output->temporary, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  snprintf(output->temporary, sizeof output->temporary, "%.*s.stackpack-%ld-%u", folder,
           output->target, (long)gettid(), number);
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
  return true;
}

static bool write_to_disk(int file, struct problem *problem) {
  return fsync(file) == 0 || errno == EINVAL || errno == EROFS ||
         problem_set_errno(problem, "can't be written");
}

/* Blocks of zeros become holes in a new file, as linkers leave them between segments that are far
 * apart; but not the last bytes, which make the file as long as it is. */
enum { BLOCK = 4096 };
static bool is_hole(const uint8_t *bytes, size_t left) {
  static const uint8_t zeros[BLOCK];
  return left > BLOCK && memcmp(bytes, zeros, BLOCK) == 0;
}

static bool write_new(int file, const uint8_t *bytes, size_t size, struct problem *problem) {
  for (size_t at = 0, end = 0; at < size; at = end) {
    while (end < size && !is_hole(bytes + end, size - end))
      end += size - end > BLOCK ? BLOCK : size - end;
    if (!write_all(file, bytes + at, end - at, problem))
      return false;
    while (end < size && is_hole(bytes + end, size - end))
      end += BLOCK;
    if (lseek(file, (off_t)end, SEEK_SET) < 0)
      return problem_set_errno(problem, "can't be written");
  }
  return write_to_disk(file, problem);
}

/* Gives a file an attribute of another one, unless it has it already. Only root can give a
 * capability, and a user that counts on one must know that it is gone. */
static void copy_attribute(int from, int to, const char *path, const char *name) {
  char value[XATTR_SIZE_MAX], own[XATTR_SIZE_MAX];
  const ssize_t size = fgetxattr(from, name, value, sizeof value);
  const ssize_t own_size = fgetxattr(to, name, own, sizeof own);
  if (size >= 0 && (size == own_size && memcmp(value, own, (size_t)size) == 0))
    return;
  if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) != 0)
    problem_warn(path, "the extended attribute %s isn't kept: %s", name, strerror(errno));
}

static void copy_attributes(int file, const struct new_file *new_file) {
  char names[XATTR_LIST_MAX];
  const int from = open(new_file->like, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t size = from < 0 ? 0 : flistxattr(from, names, sizeof names);
  for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
    copy_attribute(from, file, new_file->path, names + at);
  if (from >= 0)
    close(from);
}

/* Owner first: changing it clears the set-user-ID bit. Only root can give files away; that the
 * owner stays another one is no reason to fail. */
static bool copy_status(int file, const struct new_file *new_file, struct problem *problem) {
  struct stat status;
  if (stat(new_file->like, &status) != 0)
    return problem_set_errno(problem, "can't be read");
  mode_t mode = status.st_mode & (new_file->is_data ? 0666 : 07777);
  if (fchown(file, status.st_uid, status.st_gid) != 0)
    mode &= (mode_t) ~(S_ISUID | S_ISGID);
  if (fchmod(file, mode) != 0)
    return problem_set_errno(problem, "can't be given its mode");
  if (!new_file->is_data)
    copy_attributes(file, new_file);
  return true;
}

static bool give_temporary_name(struct output *output, struct problem *problem) {
  char descriptor[64];
  if (output->named)
    return true;
  snprintf(descriptor, sizeof descriptor, "/proc/self/fd/%d", output->file);
  unlink(output->temporary);
  output->named = linkat(AT_FDCWD, descriptor, AT_FDCWD, output->temporary, AT_SYMLINK_FOLLOW) == 0;
  return output->named || problem_set_errno(problem, "can't be written");
}

/* Writes to a file that isn't a regular one (a pipe, /dev/full), as it can't be replaced. */
static bool write_through(const struct new_file *new_file, struct problem *problem) {
  const int file = open(new_file->path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return problem_set_errno(problem, "can't be written");
  const bool ok =
      write_all(file, new_file->bytes, new_file->size, problem) && write_to_disk(file, problem);
  return (close(file) == 0 || problem_set_errno(problem, "can't be written")) && ok;
}

/* Makes the new file, which may not have a name yet. */
static bool prepare(struct output *output, const struct new_file *new_file, unsigned number,
                    struct problem *problem) {
  struct stat status;
  *output = (struct output){.new_file = new_file, .file = -1};
  const bool exists = stat(new_file->path, &status) == 0;
  if (new_file->path[0] == 0 || (exists && S_ISDIR(status.st_mode))) {
    errno = exists ? EISDIR : ENOENT;
    return problem_set_errno(problem, "can't be replaced");
  }
  if (exists && !S_ISREG(status.st_mode))
    return true;
  if (!find_target(new_file->path, output->target))
    return problem_set_errno(problem, "can't be written");
  return create(output, number, problem) &&
         write_new(output->file, new_file->bytes, new_file->size, problem) &&
         copy_status(output->file, new_file, problem);
}

static bool exchange(const struct output *output) {
  return renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->target, RENAME_EXCHANGE) == 0;
}

/* Puts the new file into the old one's place. */
static bool put(struct output *output, bool is_last, struct problem *problem) {
  if (!is_last && exchange(output)) {
    output->state = EXCHANGED;
    return true;
  }
  const bool is_new = access(output->target, F_OK) != 0;
  if (rename(output->temporary, output->target) != 0)
    return problem_set_errno(problem, "can't be replaced");
  output->named = false;
  output->state = is_new ? NEW : FINAL;
  return true;
}

static void take_back(struct output *output) {
  if (output->state == EXCHANGED)
    exchange(output);
  else if (output->state == NEW)
    unlink(output->target);
}

static void close_output(struct output *output) {
  if (output->named)
    unlink(output->temporary);
  if (output->file >= 0)
    close(output->file);
}

static bool fail(const struct new_file *file, struct problem *problem) {
  problem->file = file->path;
  return false;
}

/* Whether no other process has changed the file in the meantime, or has written the same bytes. */
static bool check_unchanged(const struct new_file *file, struct problem *problem) {
  struct stat status;
  struct problem ignored = {0};
  struct input now;
  if (file->was == NULL ||
      (stat(file->like, &status) == 0 && elf_file_is_unchanged(file->was, &status)))
    return true;
  if (input_open(&now, file->like, &ignored)) {
    const bool same = now.size == file->size && memcmp(now.bytes, file->bytes, now.size) == 0;
    input_close(&now);
    if (same)
      return true;
  }
  problem->file = file->like;
  return problem_set(problem, "it was changed in the meantime");
}

static bool put_all(struct output *outputs, size_t count, struct problem *problem) {
  for (size_t i = 0; i < count; i++)
    if (outputs[i].file >= 0 && !give_temporary_name(&outputs[i], problem))
      return fail(outputs[i].new_file, problem);
  for (size_t i = 0; i < count; i++)
    if (!check_unchanged(outputs[i].new_file, problem))
      return false;
  for (size_t i = 0; i < count; i++) {
    if (outputs[i].file < 0 || put(&outputs[i], i == count - 1, problem))
      continue;
    fail(outputs[i].new_file, problem);
    while (i-- > 0)
      take_back(&outputs[i]);
    return false;
  }
  return true;
}

/* Blocks the signals by which people and systems end a command. */
static void hold_signals(sigset_t *before) {
  sigset_t held;
  sigemptyset(&held);
  sigaddset(&held, SIGINT);
  sigaddset(&held, SIGTERM);
  sigaddset(&held, SIGHUP);
  sigaddset(&held, SIGQUIT);
  pthread_sigmask(SIG_BLOCK, &held, before);
}

/* Whether standard output leads to a file. */
static bool is_standard_output(const struct new_file *file) {
  struct stat one, other;
  return stat(file->path, &one) == 0 && fstat(STDOUT_FILENO, &other) == 0 &&
         one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

static bool say(const struct new_file *files, size_t count, struct message *message,
                struct problem *problem) {
  bool instead = false;
  for (size_t i = 0; i < count; i++)
    instead |= is_standard_output(&files[i]);
  return message == NULL || message_say(message, instead, problem);
}

/* Writes to the files that aren't replaced. A pipe may take any time. */
static bool write_all_through(const struct output *outputs, size_t count, struct problem *problem) {
  for (size_t i = 0; i < count; i++)
    if (outputs[i].file < 0 && !write_through(outputs[i].new_file, problem))
      return fail(outputs[i].new_file, problem);
  return true;
}

bool output_replace(const struct new_file *files, size_t count, struct message *message,
                    struct problem *problem) {
  struct output outputs[OUTPUT_FILES_MAX];
  sigset_t before;
  size_t made = 0;
  bool ok = true;
  while (ok && made < count) {
    ok = prepare(&outputs[made], &files[made], (unsigned)made, problem) ||
         fail(&files[made], problem);
    made++;
  }
  ok = ok && write_all_through(outputs, count, problem) && say(files, count, message, problem);
  hold_signals(&before);
  ok = ok && put_all(outputs, count, problem);
  for (size_t i = 0; i < made; i++)
    close_output(&outputs[i]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}
