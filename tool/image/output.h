/* output.h - replaces files by new bytes: all of them, or nothing happens. */
#ifndef STACKPACK_OUTPUT_H
#define STACKPACK_OUTPUT_H

#include "tool/image/message.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* bytes[0..size) for the file `path`, which gets the mode, and as far as allowed the owner and the
 * extended attributes, of the file `like` (which may be the same one). A file of data obeys the
 * umask instead, or keeps the mode and owner of the file that it replaces; but nobody may read it
 * who may not read `like`. */
struct new_file {
  const char *path, *like;
  bool is_data;
  const uint8_t *bytes;
  size_t size;
  const struct stat
      *was; /* of `like`, when it was read: it must be so still; NULL: that doesn't matter */
};

enum { OUTPUT_FILES_MAX = 2 };

/* Writes files. Each is made under another name beside it; when all are complete, they are renamed,
 * in their order: whatever happens, each path is the old file or the new one, whole, and if one
 * can't be replaced, all are the old ones. A symbolic link is followed, also to a file that isn't
 * there yet. An owner, set-user-ID bit or extended attribute that can't be kept is named on standard
 * error. The message is printed when all files are in place; on standard error, if standard output
 * led to one of them. False with a message that couldn't be printed, too: the problem says so. */
bool output_replace(const struct new_file *files, size_t count, struct message *message,
                    struct problem *problem);

/* Whether two paths lead to the same file, be it there yet or not. */
bool output_same(const char *a, const char *b);

#endif
