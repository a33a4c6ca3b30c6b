/* archive.h - an archive of objects, as `ar` makes it, that is read.
 *
 * An archive is a magic word and members, each with a header of text (ar.h), at even places:
 *
 *     !<arch>\n
 *     /          an index: for each symbol the place of its member's header; then the names
 *     //         members' names of more than 15 letters
 *     a.o/       a member; the name of "/18" is in the table at 18
 *
 * A thin archive ("!<thin>") has the headers alone: the members are the files that their names lead
 * to, from the archive's folder. GNU ar also puts an ordinary archive's members into a thin one:
 * "/18:98" is the member whose header is at 98 in the archive of that name.
 */
#ifndef STACKPACK_SPLIT_ARCHIVE_H
#define STACKPACK_SPLIT_ARCHIVE_H

#include "tool/image/input.h"

#include <ar.h>

struct member {
  const struct ar_hdr *header;   /* in the archive's bytes, or those of the one in it */
  uint64_t old_place, new_place; /* of the header */
  const uint8_t *bytes;
  size_t size;
  uint8_t *owned;    /* the same bytes, if they are new */
  struct input file; /* of a thin archive's, unless the member before has it, too */
};

struct archive {
  const char *path;
  const uint8_t *bytes;
  size_t size;
  bool is_thin;
  struct member *members; /* owned */
  size_t count, capacity;
  const uint8_t *names; /* the table of long names; NULL: none */
  size_t names_size;
};

/* Whether bytes are those of an archive. */
bool archive_is(const uint8_t *bytes, size_t size);
bool archive_is_thin(const uint8_t *bytes, size_t size);

/* Reads the members; those of a thin archive from the files beside `path`. The bytes must outlive
 * the archive. archive_close in any case. */
bool archive_open(struct archive *archive, const char *path, const uint8_t *bytes, size_t size,
                  struct problem *problem);
void archive_close(struct archive *archive);

/* A member's name, which ends at "/" or at a line's end, and its place in the table of names;
 * length 0: it has none. inside: the header's place in an archive of this name, or 0. */
struct member_name {
  const char *text;
  int length;
  uint64_t place, inside;
};
struct member_name archive_name(const struct archive *archive, const struct ar_hdr *header);

/* Whether a member's header has this name; is that of an index; is that of an index or of names. */
bool archive_is_called(const struct ar_hdr *header, const char *name);
bool archive_is_index(const struct ar_hdr *header);
bool archive_is_special(const struct ar_hdr *header);

#endif
