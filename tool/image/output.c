/* output.c - see output.h.
 *
 * A new file is written under a name of its own in the target's folder, and renamed to the target
 * when it is complete. Signals that end the command wait meanwhile, so that only a command that is
 * killed (SIGKILL) leaves the file there. Paths stay relative, as a folder may be too deep for an
 * absolute one; and /proc may be absent.
 *
 * Of several files, all but the last change places with the old ones (RENAME_EXCHANGE), so that
 * they can change back if renaming the last one fails.
 */
#include "tool/image/output.h"

#include "elf/elf_file.h"
#include "tool/image/input.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

struct output {
  const struct new_file *new_file;
  char target[PATH_MAX];
  char temporary[PATH_MAX + 32]; /* in the same folder */
  bool is_temporary;             /* there is such a file */
  int file;                      /* -1: the target is a pipe or a device */
  bool exists;                   /* the target does */
  struct stat status;            /* the target's, if it exists */
  /* The part of the status that was refused: for a line when all is done. */
  int owner_error; /* errno; 0: the owner and the group are right */
  bool has_owner;  /* only the group is wrong */
  mode_t lost;     /* bits of the mode */
  /* The way to take the replacement back: none, removing it, or exchanging it with the old file. */
  enum { FINAL, NEW, EXCHANGED } state;
};

/* The length of a path's folder, with the slash: 0 for the current folder. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash == NULL ? 0 : (size_t)(slash - path) + 1;
}

/* Replaces the path of a symbolic link by the link's target, existing or missing; false for any
 * other path. */
static bool follow(char path[PATH_MAX]) {
  char link[PATH_MAX];
  const ssize_t length = readlink(path, link, sizeof link);
  const size_t folder = length > 0 && link[0] == '/' ? 0 : folder_length(path);
  if (length <= 0 || folder + (size_t)length >= PATH_MAX)
    return false;
  memcpy(path + folder, link, (size_t)length);
  path[folder + (size_t)length] = 0;
  return true;
}

/* The path at the end of a path's symbolic links; the file may be missing yet. (The kernel follows
 * forty links at most, too.) */
static bool find_target(const char *path, char target[PATH_MAX]) {
  enum { LINKS_MAX = 40 };
  int links = 0;
  if (strlen(path) >= PATH_MAX) {
    errno = ENAMETOOLONG;
    return false;
  }
  strcpy(target, path);
  while (links <= LINKS_MAX && follow(target))
    links++;
  errno = ELOOP;
  return links <= LINKS_MAX;
}

static bool stat_folder(const char *path, struct stat *status) {
  char folder[PATH_MAX] = ".";
  const size_t length = folder_length(path);
  assert(length < sizeof folder);
  memcpy(folder, path, length);
  folder[length == 0 ? 1 : length] = 0;
  return stat(folder, status) == 0;
}

static bool is_same_file(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool output_same(const char *a, const char *b) {
  char one[PATH_MAX], other[PATH_MAX];
  struct stat x, y;
  if (stat(a, &x) == 0 && stat(b, &y) == 0) /* two names of one file, too */
    return is_same_file(&x, &y);
  return find_target(a, one) && find_target(b, other) && stat_folder(one, &x) &&
         stat_folder(other, &y) && is_same_file(&x, &y) &&
         strcmp(one + folder_length(one), other + folder_length(other)) == 0;
}

/* Makes a file in the target's folder. */
static bool create(struct output *output, struct problem *problem) {
  snprintf(output->temporary, sizeof output->temporary, "%.*s.stackpack-XXXXXX",
           (int)folder_length(output->target), output->target);
  output->file = mkostemp(output->temporary, O_CLOEXEC);
  output->is_temporary = output->file >= 0;
  return output->is_temporary || problem_set_errno(problem, "no file can be made in its folder");
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
 * apart; but the last bytes are written, for the file's length. */
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
    assert(end > at && end <= size);
    if (lseek(file, (off_t)end, SEEK_SET) < 0)
      return problem_set_errno(problem, "can't be written");
  }
  return write_to_disk(file, problem);
}

/* Gives a file an attribute of another one, unless it has it already. Only root can give a
 * capability, and a user that counts on one must know that it is gone. */
static void copy_attribute(int from, int to, const char *path, const char *name) {
  static char value[XATTR_SIZE_MAX], own[XATTR_SIZE_MAX]; /* a stack may be small */
  const ssize_t size = fgetxattr(from, name, value, sizeof value);
  const ssize_t own_size = fgetxattr(to, name, own, sizeof own);
  if (size >= 0 && (size == own_size && memcmp(value, own, (size_t)size) == 0))
    return;
  if (size < 0 || fsetxattr(to, name, value, (size_t)size, 0) != 0)
    problem_warn(path, "the extended attribute %s isn't kept: %s", name, strerror(errno));
}

static void copy_attributes(int file, const struct new_file *new_file) {
  static char names[XATTR_LIST_MAX];
  const int from = open(new_file->like, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t size = from < 0 ? 0 : flistxattr(from, names, sizeof names);
  for (ssize_t at = 0; at < size; at += (ssize_t)strlen(names + at) + 1)
    copy_attribute(from, file, new_file->path, names + at);
  if (from >= 0)
    close(from);
}

/* The mode of a file of data: as if any other program wrote it, but only readable by readers of the
 * program that the data is of. */
static mode_t data_mode(const struct output *output, const struct stat *like) {
  const mode_t mask = umask(0);
  umask(mask);
  return like->st_mode & 0666 & (output->exists ? output->status.st_mode : ~mask);
}

/* Gives the file an owner and a group, as far as that is allowed. Only root can give files away;
 * another owner is acceptable, but nobody must be able to become that owner by the file. Returns
 * the mode without the bits that would allow it. */
static mode_t give_owner(struct output *output, const struct stat *wanted, mode_t mode) {
  struct stat now;
  if (fchown(output->file, wanted->st_uid, wanted->st_gid) == 0)
    return mode;
  output->owner_error = errno;
  const bool has_group = fchown(output->file, (uid_t)-1, wanted->st_gid) == 0;
  output->has_owner = fstat(output->file, &now) == 0 && now.st_uid == wanted->st_uid;
  output->lost = mode & (mode_t)((output->has_owner ? 0 : S_ISUID) | (has_group ? 0 : S_ISGID));
  return mode & ~output->lost;
}

static void warn_of_status(const struct output *output) {
  const char *path = output->new_file->path;
  if (output->owner_error != 0 && output->exists)
    problem_warn(path, "the %s isn't kept: %s", output->has_owner ? "group" : "owner",
                 strerror(output->owner_error));
  if (output->lost != 0)
    problem_warn(path, "the set-%s-ID bit isn't kept: %s",
                 output->lost & S_ISUID ? "user" : "group", strerror(output->owner_error));
}

/* Owner first: changing it clears the set-user-ID bit. */
static bool give_status(struct output *output, struct problem *problem) {
  const struct new_file *new_file = output->new_file;
  struct stat like, now;
  if (stat(new_file->like, &like) != 0 || fstat(output->file, &now) != 0)
    return problem_set_errno(problem, "can't be read");
  mode_t mode = new_file->is_data ? data_mode(output, &like) : like.st_mode & 07777;
  const struct stat *owner = !new_file->is_data ? &like : output->exists ? &output->status : &now;
  if (now.st_uid != owner->st_uid || now.st_gid != owner->st_gid)
    mode = give_owner(output, owner, mode);
  if (fchmod(output->file, mode) != 0)
    return problem_set_errno(problem, "can't be given its mode");
  if (!new_file->is_data)
    copy_attributes(output->file, new_file);
  return true;
}

/* Writes to a pipe or a device (/dev/full), instead of replacing it. */
static bool write_through(const struct new_file *new_file, struct problem *problem) {
  const int file = open(new_file->path, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return problem_set_errno(problem, "can't be written");
  const bool ok =
      write_all(file, new_file->bytes, new_file->size, problem) && write_to_disk(file, problem);
  return (close(file) == 0 || problem_set_errno(problem, "can't be written")) && ok;
}

/* Makes the new file. */
static bool prepare(struct output *output, const struct new_file *new_file,
                    struct problem *problem) {
  struct stat followed;
  *output = (struct output){.new_file = new_file, .file = -1};
  output->exists = stat(new_file->path, &output->status) == 0;
  if (new_file->path[0] == 0 || (output->exists && S_ISDIR(output->status.st_mode))) {
    errno = output->exists ? EISDIR : ENOENT;
    return problem_set_errno(problem, "can't be replaced");
  }
  if (output->exists && !S_ISREG(output->status.st_mode))
    return true;
  if (!find_target(new_file->path, output->target))
    return problem_set_errno(problem, "can't be written");
  if (output->exists &&
      (stat(output->target, &followed) != 0 || !is_same_file(&output->status, &followed)))
    return problem_set(problem, "can't be replaced: the file has no name");
  return create(output, problem) &&
         write_new(output->file, new_file->bytes, new_file->size, problem) &&
         give_status(output, problem);
}

static bool exchange(const struct output *output) {
  return renameat2(AT_FDCWD, output->temporary, AT_FDCWD, output->target, RENAME_EXCHANGE) == 0;
}

/* Puts the new file into the old one's place. */
static bool put(struct output *output, bool is_last, struct problem *problem) {
  assert(output->is_temporary && output->state == FINAL);
  if (!is_last && exchange(output)) {
    output->state = EXCHANGED;
    return true;
  }
  const bool is_new = access(output->target, F_OK) != 0;
  if (rename(output->temporary, output->target) != 0)
    return problem_set_errno(problem, "can't be replaced");
  output->is_temporary = false;
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
  if (output->is_temporary)
    unlink(output->temporary);
  if (output->file >= 0)
    close(output->file);
}

static bool fail(const struct new_file *file, struct problem *problem) {
  problem->file = file->path;
  return false;
}

/* Whether the file is unchanged, or another process has written the same bytes in the meantime. */
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

/* Blocks the signals of a pipe without a reader and of a file that gets too large: the call's error
 * is enough; and those that people and systems send to end a command, while a file of another name
 * is there. */
static void hold_signals(const sigset_t *before, bool has_temporary) {
  static const int held[] = {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  const size_t count = has_temporary ? sizeof held / sizeof *held : 2;
  sigset_t set = *before;
  for (size_t i = 0; i < count; i++)
    sigaddset(&set, held[i]);
  pthread_sigmask(SIG_SETMASK, &set, NULL);
}

/* Whether standard output is one of the files. */
static bool is_standard_output(const struct new_file *files, size_t count) {
  struct stat file, output;
  for (size_t i = 0; i < count; i++)
    if (stat(files[i].path, &file) == 0 && fstat(STDOUT_FILENO, &output) == 0 &&
        is_same_file(&file, &output))
      return true;
  return false;
}

/* The files are written. */
static bool say(struct message *message, bool instead, struct problem *problem) {
  struct problem unsaid = {0};
  return message == NULL || message_say(message, instead, &unsaid) ||
         problem_set(problem, "it is written, but the result isn't: %s", unsaid.text);
}

/* Writes to pipes and devices. A pipe may take any time. */
static bool write_all_through(const struct output *outputs, size_t count, struct problem *problem) {
  for (size_t i = 0; i < count; i++)
    if (outputs[i].file < 0 && !write_through(outputs[i].new_file, problem))
      return fail(outputs[i].new_file, problem);
  return true;
}

bool output_replace(const struct new_file *files, size_t count, struct message *message,
                    struct problem *problem) {
  assert(count > 0 && count <= OUTPUT_FILES_MAX);
  const bool instead = is_standard_output(files, count); /* before they are replaced */
  struct output outputs[OUTPUT_FILES_MAX];
  sigset_t before;
  size_t made = 0;
  bool ok = true, has_temporary = false;
  pthread_sigmask(SIG_BLOCK, NULL, &before);
  hold_signals(&before, true);
  while (ok && made < count) {
    ok = prepare(&outputs[made], &files[made], problem) || fail(&files[made], problem);
    has_temporary |= outputs[made++].is_temporary;
  }
  hold_signals(&before, has_temporary);
  ok = ok && write_all_through(outputs, count, problem) && put_all(outputs, count, problem);
  for (size_t i = 0; i < made; i++)
    close_output(&outputs[i]);
  for (size_t i = 0; i < made && ok; i++)
    warn_of_status(&outputs[i]);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok && say(message, instead, problem);
}
