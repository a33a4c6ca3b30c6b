/* split_archive.c - see split.h.
 *
 * Members grow when they are split, so all after them move, and the places in the index with them:
 * big-endian numbers of 32 bits, or of 64 if the index is called /SYM64/. Each symbol stays in its
 * member, as splitting adds local symbols only. Headers stay, but for the size.
 *
 * Other archives and links may use the files of a thin archive, so they aren't touched. The archive
 * becomes an ordinary one, with the split members in it.
 */
#include "tool/split/split.h"

#include "format/search.h"
#include "tool/split/archive.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- Splitting ---- */

static bool split_member(const struct archive *archive, struct member *member, struct split *sum,
                         struct problem *problem) {
  struct split split;
  struct problem why = {0};
  if (archive_is_special(member->header))
    return true;
  if (!split_file(&split, NULL, member->bytes, member->size, &why)) {
    const struct member_name name = archive_name(archive, member->header);
    return problem_set(problem, "%.*s: %s", name.length, name.text, why.text);
  }
  sum->functions += split.functions;
  sum->sections += split.sections;
  sum->is_uncompiled |= split.is_uncompiled;
  sum->is_fat |= split.is_fat;
  assert(member->owned == NULL);
  if (split.file.bytes != NULL) {
    member->bytes = member->owned = split.file.bytes;
    member->size = split.file.size;
  }
  return true;
}

/* ---- Writing ---- */

/* The new header, with the new size. The name of a thin archive's member loses its folders. */
static bool new_header(const struct archive *archive, const struct member *member,
                       struct ar_hdr *header) {
  char text[64];
  *header = *member->header;
  const int digits = snprintf(text, sizeof text, "%-10zu", member->size);
  if (digits != sizeof header->ar_size)
    return false;
  memcpy(header->ar_size, text, sizeof header->ar_size);
  if (!archive->is_thin || archive_is_special(header) || archive->names == NULL)
    return true;
  const struct member_name name = archive_name(archive, header);
  const char *slash = memrchr(name.text, '/', (size_t)name.length);
  const size_t folders = slash == NULL ? 0 : (size_t)(slash + 1 - name.text);
  if (header->ar_name[0] != '/')
    return true;
  snprintf(text, sizeof text, "/%-15zu", (size_t)name.place + folders);
  memcpy(header->ar_name, text, sizeof header->ar_name);
  return true;
}

static uint64_t load_big(const uint8_t *bytes, unsigned width) {
  uint64_t number = 0;
  for (unsigned i = 0; i < width; i++)
    number = number << 8 | bytes[i];
  return number;
}

static const struct member *member_at(const struct archive *archive, uint64_t place) {
  const size_t up_to = SEARCH_UP_TO(archive->members, archive->count, old_place, place);
  const struct member *last = up_to == 0 ? NULL : &archive->members[up_to - 1];
  return last != NULL && last->old_place == place ? last : NULL;
}

/* Corrects the places in the index at `index` in the new archive. */
static bool correct_index(const struct archive *archive, const struct member *member,
                          uint8_t *index, struct problem *problem) {
  const unsigned width = archive_is_called(member->header, "/") ? 4 : 8;
  const uint64_t count = member->size < width ? 0 : load_big(index, width);
  if (count > 0 && count > member->size / width - 1)
    return problem_set(problem, "the archive's index counts more symbols than it has room for");
  for (uint64_t i = 1; i <= count; i++) {
    uint8_t *place = index + i * width;
    const struct member *target = member_at(archive, load_big(place, width));
    if (target == NULL)
      return problem_set(problem, "the archive's index leads to no member");
    if (width == 4 && target->new_place > UINT32_MAX)
      return problem_set(problem, "the archive would be too large for its index");
    for (unsigned n = 0; n < width; n++)
      place[n] = (uint8_t)(target->new_place >> 8 * (width - 1 - n));
  }
  return true;
}

static bool write_archive(struct archive *archive, struct split *split, struct problem *problem) {
  struct buffer file = {0};
  bool ok = true;
  buffer_add(&file, ARMAG, SARMAG);
  for (size_t i = 0; ok && i < archive->count; i++) {
    struct member *member = &archive->members[i];
    struct ar_hdr header;
    member->new_place = file.size;
    assert(member->new_place % 2 == 0);
    ok = new_header(archive, member, &header) ||
         problem_set(problem, "a member of the archive would be too large");
    buffer_add(&file, &header, sizeof header);
    buffer_add(&file, member->bytes, member->size);
    if (file.size % 2 != 0)
      buffer_add(&file, "\n", 1);
  }
  for (size_t i = 0; ok && i < archive->count; i++) {
    const struct member *member = &archive->members[i];
    if (archive_is_index(member->header))
      ok = correct_index(archive, member, file.bytes + member->new_place + sizeof(struct ar_hdr),
                         problem);
  }
  if (!ok) {
    free(file.bytes);
    return false;
  }
  split->file = file;
  return true;
}

bool split_archive(struct split *split, const char *path, const uint8_t *bytes, size_t size,
                   struct problem *problem) {
  struct archive archive;
  *split = (struct split){0};
  bool ok = archive_open(&archive, path, bytes, size, problem);
  for (size_t i = 0; ok && i < archive.count; i++)
    ok = split_member(&archive, &archive.members[i], split, problem);
  if (ok && split->functions > 0)
    ok = write_archive(&archive, split, problem);
  archive_close(&archive);
  return ok;
}
