/* archive.c - see archive.h. */
#include "tool/split/archive.h"

#include "format/array.h"
#include "tool/image/budget.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char thin_magic[] = "!<thin>\n";

bool archive_is_thin(const uint8_t *bytes, size_t size) {
  return size >= SARMAG && memcmp(bytes, thin_magic, SARMAG) == 0;
}

bool archive_is(const uint8_t *bytes, size_t size) {
  return size >= SARMAG && (memcmp(bytes, ARMAG, SARMAG) == 0 || archive_is_thin(bytes, size));
}

bool archive_is_called(const struct ar_hdr *header, const char *name) {
  const size_t length = strlen(name);
  assert(length < sizeof header->ar_name);
  return memcmp(header->ar_name, name, length) == 0 && header->ar_name[length] == ' ';
}

bool archive_is_index(const struct ar_hdr *header) {
  return archive_is_called(header, "/") || archive_is_called(header, "/SYM64/");
}

bool archive_is_special(const struct ar_hdr *header) {
  return archive_is_index(header) || archive_is_called(header, "//");
}

/* A decimal number at the start of a field of a header: its length. */
static size_t parse_digits(const char *field, size_t width, uint64_t *number) {
  size_t i = 0;
  assert(width < 20); /* so that the number fits */
  for (*number = 0; i < width && field[i] >= '0' && field[i] <= '9'; i++)
    *number = *number * 10 + (uint64_t)(field[i] - '0');
  return i;
}

/* The same, followed by blanks. */
static bool parse_number(const char *field, size_t width, uint64_t *number) {
  const size_t length = parse_digits(field, width, number);
  return length > 0 && (length == width || field[length] == ' ');
}

/* ---- Reading ---- */

struct member_name archive_name(const struct archive *archive, const struct ar_hdr *header) {
  const char *text = header->ar_name;
  size_t left = sizeof header->ar_name;
  uint64_t place = 0, inside = 0;
  const size_t digits = parse_digits(text + 1, left - 1, &place);
  const char *after = text + 1 + digits;
  const size_t rest = left - 1 - digits;
  const bool is_nested =
      archive->is_thin && rest > 1 && *after == ':' && parse_number(after + 1, rest - 1, &inside);
  if (text[0] == '/' && archive->names != NULL && digits > 0 &&
      (rest == 0 || *after == ' ' || is_nested) && place < archive->names_size) {
    text = (const char *)archive->names + place;
    left = archive->names_size - (size_t)place;
    left = left < PATH_MAX ? left : PATH_MAX;
  }
  const char *line = memchr(text, '\n', left);
  size_t length = line != NULL ? (size_t)(line - text) : left;
  while (length > 0 && (text[length - 1] == ' ' || text[length - 1] == '/'))
    length--;
  return (struct member_name){text, length < PATH_MAX ? (int)length : 0, place, inside};
}

/* The path of the file that is a thin archive's member. */
static bool member_path(const struct archive *archive, const struct member *member,
                        char path[2 * PATH_MAX], struct problem *problem) {
  const char *slash = strrchr(archive->path, '/');
  const struct member_name name = archive_name(archive, member->header);
  const bool is_absolute = name.text[0] == '/';
  const int folder = slash == NULL || is_absolute ? 0 : (int)(slash - archive->path) + 1;
  if (name.length == 0 || folder >= PATH_MAX ||
      (is_absolute && name.place == 0 && archive->names == NULL))
    return problem_set(problem, "a member of the thin archive has no name");
  snprintf(path, 2 * PATH_MAX, "%.*s%.*s", folder, archive->path, name.length, name.text);
  return true;
}

static bool open_file(const struct archive *archive, struct member *member,
                      struct problem *problem) {
  char path[2 * PATH_MAX];
  struct problem why = {0};
  if (!member_path(archive, member, path, problem))
    return false;
  return input_open(&member->file, path, &why) ||
         problem_set(problem, "the member %s %s", path, why.text);
}

/* Finds the bytes of the member whose header is at `inside` in another archive. */
static bool find_inside(struct member *member, const struct input *file, uint64_t inside) {
  uint64_t size;
  if (inside > file->size || file->size - inside < sizeof *member->header)
    return false;
  const struct ar_hdr *header = (const struct ar_hdr *)(file->bytes + inside);
  if (memcmp(header->ar_fmag, ARFMAG, sizeof header->ar_fmag) != 0 ||
      !parse_number(header->ar_size, sizeof header->ar_size, &size) || size != member->size ||
      size > file->size - inside - sizeof *header)
    return false;
  member->bytes = (const uint8_t *)(header + 1);
  if (header->ar_name[0] != '/')
    member->header = header;
  return true;
}

/* Whether a member is in the same archive as the one before it. */
static bool is_in_same(const struct member_name *name, const struct member_name *before) {
  return name->inside != 0 && before->inside != 0 && name->place == before->place;
}

ORDER_FUNCTION(compare_files, struct stat, st_dev, st_ino)

/* A few bytes of headers could lead to one large file again and again, or to a part of it. */
static bool check_files(const struct archive *archive, struct problem *problem) {
  struct stat *files = calloc(archive->count + 1, sizeof *files);
  struct budget budget = budget_open("members of the thin archive", 0);
  struct member_name name, before = {0};
  uint64_t parts = 0;
  size_t count = 0;
  bool ok = true;
  char path[2 * PATH_MAX];
  for (size_t i = 0; ok && i < archive->count; i++) {
    const struct member *member = &archive->members[i];
    if (archive_is_special(member->header))
      continue;
    name = archive_name(archive, member->header);
    ok = member_path(archive, member, path, problem);
    count += ok && !is_in_same(&name, &before) && stat(path, &files[count]) == 0;
    parts += name.inside != 0 && member->size < SIZE_MAX - parts ? member->size : 0;
    before = name;
  }
  qsort(files, count, sizeof *files, compare_files);
  for (size_t i = 0; i < count; i++)
    if (i == 0 || compare_files(&files[i - 1], &files[i]) != 0)
      budget.size += (uint64_t)files[i].st_size;
  for (size_t i = 0; ok && i < count; i++)
    ok = budget_take(&budget, (uint64_t)files[i].st_size, problem);
  free(files);
  return ok && budget_take(&budget, parts, problem);
}

static bool open_members(const struct archive *archive, struct problem *problem) {
  struct member_name name, before = {0};
  const struct input *file = NULL;
  bool ok = check_files(archive, problem);
  for (size_t i = 0; ok && i < archive->count; i++) {
    struct member *member = &archive->members[i];
    if (archive_is_special(member->header))
      continue;
    name = archive_name(archive, member->header);
    if (!is_in_same(&name, &before)) {
      file = &member->file;
      ok = open_file(archive, member, problem);
    }
    if (ok && name.inside != 0) {
      ok = find_inside(member, file, name.inside) ||
           problem_set(problem, "the archive %.*s in it was changed afterwards", name.length,
                       name.text);
    } else if (ok) {
      member->bytes = file->bytes;
      member->size = file->size;
    }
    before = name;
  }
  return ok;
}

static bool read_member(struct archive *archive, size_t *place, struct problem *problem) {
  struct member member = {.old_place = *place};
  uint64_t size;
  if (archive->size - *place < sizeof *member.header)
    return problem_set(problem, "the archive's last member is cut off");
  member.header = (const struct ar_hdr *)(archive->bytes + *place);
  *place += sizeof *member.header;
  if (memcmp(member.header->ar_fmag, ARFMAG, sizeof member.header->ar_fmag) != 0 ||
      !parse_number(member.header->ar_size, sizeof member.header->ar_size, &size))
    return problem_set(problem, "no header of an archive's member at %zu", member.old_place);
  if (memcmp(member.header->ar_name, "#1/", 3) == 0 ||
      memcmp(member.header->ar_name, "__.SYMDEF", 9) == 0)
    return problem_set(problem, "an archive of BSD's form, not GNU's");
  member.size = (size_t)size;
  if (!archive->is_thin || archive_is_special(member.header)) {
    if (size > archive->size - *place)
      return problem_set(problem, "the archive's member at %zu is cut off", member.old_place);
    member.bytes = archive->bytes + *place;
    *place += member.size;
    *place += *place % 2 != 0 && *place < archive->size;
  }
  assert(member.old_place < *place && *place <= archive->size);
  if (archive_is_called(member.header, "//")) {
    archive->names = member.bytes;
    archive->names_size = member.size;
  }
  return ARRAY_ADD(archive->members, archive->count, archive->capacity, member);
}

bool archive_open(struct archive *archive, const char *path, const uint8_t *bytes, size_t size,
                  struct problem *problem) {
  *archive = (struct archive){
      .path = path, .bytes = bytes, .size = size, .is_thin = archive_is_thin(bytes, size)};
  bool ok = true;
  for (size_t place = SARMAG; ok && place < size;)
    ok = read_member(archive, &place, problem);
  return ok && (!archive->is_thin || open_members(archive, problem));
}

void archive_close(struct archive *archive) {
  for (size_t i = 0; i < archive->count; i++) {
    free(archive->members[i].owned);
    if (archive->members[i].file.bytes != NULL)
      input_close(&archive->members[i].file);
  }
  free(archive->members);
  *archive = (struct archive){0};
}
