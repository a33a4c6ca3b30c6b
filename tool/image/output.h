/* output.h - replaces files by new bytes: all of them, or none. */
#ifndef STACKPACK_OUTPUT_H
#define STACKPACK_OUTPUT_H

#include "tool/image/message.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* bytes[0..size) for the file `path`. It gets the mode, and as far as allowed the owner and the
 * extended attributes, of the file `like` (perhaps the same one). A file of data obeys the umask
 * instead, or keeps the mode and owner of the file that it replaces; but only readers of `like` may
 * read it. */
struct new_file {
  const char *path, *like;
  bool is_data;
  const uint8_t *bytes;
  size_t size;
  const struct stat
      *was; /* of `like`, when it was read: it must be so still; NULL: any change is allowed */
};

enum { OUTPUT_FILES_MAX = 2 };

/* Writes files. Each is made under another name beside it; when all are complete, they are renamed,
 * in their order: at each moment, each path is the old file or the new one, whole, and if one
 * fails, all are the old ones. A symbolic link is followed, also to a file that is missing yet. A
 * lost owner, set-user-ID bit or extended attribute is named on standard error. The message is
 * printed when all files are in place; on standard error, if standard output was one of them. An
 * unprintable message gives false, too: the problem says so. */
bool output_replace(const struct new_file *files, size_t count, struct message *message,
                    struct problem *problem);

/* Whether two paths are of the same file, existing or missing yet. */
bool output_same(const char *a, const char *b);

#endif
