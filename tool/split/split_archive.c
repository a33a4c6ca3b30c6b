/* split_archive.c - see split.h.
 *
 * An archive is a magic word and members, each with a header of text (ar.h), at even places:
 *
 *     !<arch>\n
 *     /          an index: for each symbol the place of its member's header; then the names
 *     //         members' names of more than 15 letters
 *     a.o/       a member; the name of "/18" is in the table at 18
 *
 * Members grow when they are split, so all after them move, and the places in the index with them:
 * big-endian numbers of 32 bits, or of 64 if the index is called /SYM64/. Each symbol stays in its
 * member, as splitting adds local symbols only. Headers stay, but for the size.
 *
 * A thin archive ("!<thin>") has the headers alone: the members are the files of these names,
 * relative to the archive's folder. Other archives and links may use these, so they stay unchanged.
 * The archive becomes an ordinary one, with the split members in it.
 */
#include "tool/split/split.h"

#include "format/search.h"
#include "tool/image/budget.h"
#include "tool/image/input.h"

#include <ar.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

static const char thin_magic[] = "!<thin>\n";

struct member {
  const struct ar_hdr *header;   /* in the archive's bytes */
  uint64_t old_place, new_place; /* of the header */
  const uint8_t *bytes;
  size_t size;
  uint8_t *owned;    /* the same bytes, if they are new */
  struct input file; /* of a thin archive's */
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

static bool is_called(const struct ar_hdr *header, const char *name) {
  const size_t length = strlen(name);
  return memcmp(header->ar_name, name, length) == 0 && header->ar_name[length] == ' ';
}

static bool is_index(const struct ar_hdr *header) {
  return is_called(header, "/") || is_called(header, "/SYM64/");
}

static bool is_special(const struct ar_hdr *header) {
  return is_index(header) || is_called(header, "//");
}

/* A decimal number in a field of a header, followed by blanks. */
static bool parse_number(const char *field, size_t width, char end, uint64_t *number) {
  size_t i = 0;
  for (*number = 0; i < width && field[i] >= '0' && field[i] <= '9'; i++)
    *number = *number * 10 + (uint64_t)(field[i] - '0');
  return i > 0 && (i == width || field[i] == end);
}

/* ---- Reading ---- */

/* A member's name, up to "/" or a line's end, and its place in the table of names; length 0: it has
 * none. Returns the length. */
static int member_name(const struct archive *archive, const struct ar_hdr *header,
                       const char **name, uint64_t *place) {
  const char *text = header->ar_name;
  size_t left = sizeof header->ar_name;
  *place = 0;
  if (text[0] == '/' && archive->names != NULL && parse_number(text + 1, left - 1, ' ', place) &&
      *place < archive->names_size) {
    text = (const char *)archive->names + *place;
    left = archive->names_size - (size_t)*place;
    left = left < PATH_MAX ? left : PATH_MAX;
  }
  const char *line = memchr(text, '\n', left);
  size_t length = line != NULL ? (size_t)(line - text) : left;
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '/'))
    length--;
  *name = text;
  return length < PATH_MAX ? (int)length : 0;
}

/* The path of the file that is a thin archive's member. */
static bool member_path(const struct archive *archive, const struct member *member,
                        char path[2 * PATH_MAX], struct problem *problem) {
  const char *name, *slash = strrchr(archive->path, '/');
  uint64_t place;
  const int length = member_name(archive, member->header, &name, &place);
  const int folder = slash == NULL || name[0] == '/' ? 0 : (int)(slash - archive->path) + 1;
  if (length == 0 || folder >= PATH_MAX || (name[0] == '/' && place == 0 && archive->names == NULL))
    return problem_set(problem, "a member of the thin archive has no name");
  snprintf(path, 2 * PATH_MAX, "%.*s%.*s", folder, archive->path, length, name);
  return true;
}

static bool open_member(const struct archive *archive, struct member *member,
                        struct problem *problem) {
  char path[2 * PATH_MAX];
  struct problem why = {0};
  if (!member_path(archive, member, path, problem))
    return false;
  if (!input_open(&member->file, path, &why))
    return problem_set(problem, "the member %s %s", path, why.text);
  member->bytes = member->file.bytes;
  member->size = member->file.size;
  return true;
}

static bool read_member(struct archive *archive, size_t *place, struct problem *problem) {
  struct member member = {.old_place = *place};
  uint64_t size;
  if (archive->size - *place < sizeof *member.header)
    return problem_set(problem, "the archive's last member is cut off");
  member.header = (const struct ar_hdr *)(archive->bytes + *place);
  *place += sizeof *member.header;
  if (memcmp(member.header->ar_fmag, ARFMAG, sizeof member.header->ar_fmag) != 0 ||
      !parse_number(member.header->ar_size, sizeof member.header->ar_size, ' ', &size))
    return problem_set(problem, "no header of an archive's member at %zu", member.old_place);
  if (memcmp(member.header->ar_name, "#1/", 3) == 0 ||
      memcmp(member.header->ar_name, "__.SYMDEF", 9) == 0)
    return problem_set(problem, "an archive of BSD's form, not GNU's");
  if (!archive->is_thin || is_special(member.header)) {
    if (size > archive->size - *place)
      return problem_set(problem, "the archive's member at %zu is cut off", member.old_place);
    member.bytes = archive->bytes + *place;
    member.size = (size_t)size;
    *place += member.size;
    *place += *place % 2 != 0 && *place < archive->size;
  }
  if (is_called(member.header, "//")) {
    archive->names = member.bytes;
    archive->names_size = member.size;
  }
  return ARRAY_ADD(archive->members, archive->count, archive->capacity, member);
}

/* ---- The files of a thin archive ---- */

struct member_file {
  uint64_t device, number, size;
};

static int compare_files(const void *a, const void *b) {
  const struct member_file *x = a, *y = b;
  ORDER_BY(x, y, device)
  ORDER_BY(x, y, number)
  return 0;
}

/* Opens the members, unless they are few files named again and again: the new archive would have
 * each as often. */
static bool open_members(struct archive *archive, struct problem *problem) {
  struct member_file *files = calloc(archive->count + 1, sizeof *files);
  uint64_t size = 0;
  size_t count = 0;
  bool ok = true;
  for (size_t i = 0; ok && i < archive->count; i++) {
    char path[2 * PATH_MAX];
    struct stat status;
    if (is_special(archive->members[i].header))
      continue;
    ok = member_path(archive, &archive->members[i], path, problem);
    if (ok && stat(path, &status) == 0)
      files[count++] = (struct member_file){status.st_dev, status.st_ino, (uint64_t)status.st_size};
  }
  qsort(files, count, sizeof *files, compare_files);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || compare_files(&files[i - 1], &files[i]) != 0)
      size += files[i].size;
  struct budget budget = budget_open("members of the thin archive", size);
  for (size_t i = 0; ok && i < count; i++)
    ok = budget_take(&budget, files[i].size, problem);
  free(files);
  for (size_t i = 0; ok && i < archive->count; i++)
    if (!is_special(archive->members[i].header))
      ok = open_member(archive, &archive->members[i], problem);
  return ok;
}

/* ---- Splitting ---- */

static bool split_member(const struct archive *archive, struct member *member, struct split *sum,
                         struct problem *problem) {
  struct split split;
  struct problem why = {0};
  if (is_special(member->header))
    return true;
  if (!split_file(&split, NULL, member->bytes, member->size, &why)) {
    const char *name;
    uint64_t place;
    const int length = member_name(archive, member->header, &name, &place);
    return problem_set(problem, "%.*s: %s", length, name, why.text);
  }
  sum->functions += split.functions;
  sum->sections += split.sections;
  sum->is_uncompiled |= split.is_uncompiled;
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
  const char *name;
  uint64_t place;
  *header = *member->header;
  const int digits = snprintf(text, sizeof text, "%-10zu", member->size);
  if (digits != sizeof header->ar_size)
    return false;
  memcpy(header->ar_size, text, sizeof header->ar_size);
  if (!archive->is_thin || is_special(header) || archive->names == NULL)
    return true;
  const int length = member_name(archive, header, &name, &place);
  const char *slash = memrchr(name, '/', (size_t)length);
  if (slash == NULL || header->ar_name[0] != '/')
    return true;
  snprintf(text, sizeof text, "/%-15zu", (size_t)place + (size_t)(slash + 1 - name));
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
  const unsigned width = is_called(member->header, "/") ? 4 : 8;
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
    ok = new_header(archive, member, &header) ||
         problem_set(problem, "a member of the archive would be too large");
    buffer_add(&file, &header, sizeof header);
    buffer_add(&file, member->bytes, member->size);
    if (file.size % 2 != 0)
      buffer_add(&file, "\n", 1);
  }
  for (size_t i = 0; ok && i < archive->count; i++) {
    const struct member *member = &archive->members[i];
    if (is_index(member->header))
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
  struct archive archive = {.path = path,
                            .bytes = bytes,
                            .size = size,
                            .is_thin = memcmp(bytes, thin_magic, SARMAG) == 0};
  *split = (struct split){0};
  bool ok = true;
  for (size_t place = SARMAG; ok && place < size;)
    ok = read_member(&archive, &place, problem);
  ok = ok && (!archive.is_thin || open_members(&archive, problem));
  for (size_t i = 0; ok && i < archive.count; i++)
    ok = split_member(&archive, &archive.members[i], split, problem);
  if (ok && split->functions > 0)
    ok = write_archive(&archive, split, problem);
  for (size_t i = 0; i < archive.count; i++) {
    free(archive.members[i].owned);
    if (archive.members[i].file.bytes != NULL)
      input_close(&archive.members[i].file);
  }
  free(archive.members);
  return ok;
}
