/* opened.c - see opened.h. */
#include "tool/objects/opened.h"

#include "tool/image/clean.h"
#include "tool/image/decompress.h"
#include "tool/objects/lay_out.h"
#include "tool/split/archive.h"
#include "tool/split/split.h"

#include <assert.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct opened_objects {
  struct input file;
  struct archive archive;
  struct laid_object *items; /* owned */
  size_t count, capacity;
  struct buffer bytes; /* the laid-out file */
  int debug_file;      /* a copy in a file, for debug information; else 0 */
  char debug_path[40];
};

/* Whether a file is an object or an archive. False for an unreadable file. */
static bool is_unlinked(const char *path) {
  uint8_t magic[SPLIT_MAGIC_SIZE];
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t size = file < 0 ? 0 : pread(file, magic, sizeof magic, 0);
  if (file >= 0)
    close(file);
  return size > 0 && (split_is_object(magic, (size_t)size) || archive_is(magic, (size_t)size));
}

/* ---- Objects ---- */

/* Decompresses the debug sections. The broken ones stay compressed, and lay_out leaves them out. */
static bool decompress_object(struct object *object, Elf *elf, struct owned *owned,
                              struct problem *problem) {
  bool ok = true;
  for (uint32_t i = 1; i < object->count; i++) {
    struct object_section *section = &object->sections[i];
    Elf_Scn *scn = (section->header.sh_flags & SHF_COMPRESSED) != 0 ? elf_getscn(elf, i) : NULL;
    struct buffer bytes = {0};
    const Elf_Data *data;
    if (scn == NULL || strncmp(object_name(object, i), ".debug_", 7) != 0)
      continue;
    if (!decompress_section(scn, object_name(object, i), section->header.sh_size, owned, problem) ||
        (data = elf_getdata(scn, NULL)) == NULL) {
      ok = false;
      continue;
    }
    buffer_add(&bytes, data->d_buf, data->d_size);
    object_replace(object, i, bytes);
    section->header.sh_flags &= ~(Elf64_Xword)SHF_COMPRESSED;
  }
  return ok;
}

static void decompress(struct object *object, const char *path, const uint8_t *bytes, size_t size) {
  struct problem problem = {0};
  struct owned owned = {0};
  elf_version(EV_CURRENT);
  Elf *elf = elf_memory((char *)bytes, size);
  if (elf != NULL && !decompress_object(object, elf, &owned, &problem))
    problem_warn(path, "%s", problem.text);
  elf_end(elf);
  owned_free(&owned);
}

static bool add_object(struct opened_objects *objects, const char *path, const uint8_t *bytes,
                       size_t size, struct problem *problem) {
  struct laid_object object = {0};
  const bool ok = object_open(&object.object, bytes, size, problem);
  const uint16_t machine = object.object.header.e_machine;
  if (ok)
    decompress(&object.object, path, bytes, size);
  ARRAY_ADD(objects->items, objects->count, objects->capacity, object);
  return ok && (objects->items[0].object.header.e_machine == machine ||
                problem_set(problem, "it is for another machine than the members before"));
}

/* Whether an object may have a section of the names: its table of names has one, with the NUL. */
static bool has_names(struct lay_out_names names, const uint8_t *bytes, size_t size) {
  return memmem(bytes, size, names.maps, strlen(names.maps) + 1) != NULL ||
         (names.roots != NULL && memmem(bytes, size, names.roots, strlen(names.roots) + 1) != NULL);
}

static bool add_file(struct opened *opened, struct lay_out_names names, struct problem *problem) {
  const struct input *file = &opened->objects->file;
  if (!has_names(names, file->bytes, file->size))
    return problem_set(problem, "no stack maps: no section %s", names.maps);
  return add_object(opened->objects, opened->program.path, file->bytes, file->size, problem);
}

static bool add_members(struct opened *opened, struct lay_out_names names,
                        struct problem *problem) {
  struct opened_objects *objects = opened->objects;
  struct archive *archive = &objects->archive;
  if (!archive_open(archive, opened->program.path, objects->file.bytes, objects->file.size,
                    problem))
    return false;
  for (size_t i = 0; i < archive->count; i++) {
    const struct member *member = &archive->members[i];
    struct problem why = {0};
    if (archive_is_special(member->header) || !split_is_object(member->bytes, member->size) ||
        !has_names(names, member->bytes, member->size))
      continue;
    const struct member_name name = archive_name(archive, member->header);
    const size_t before = objects->count;
    if (!add_object(objects, opened->program.path, member->bytes, member->size, &why))
      return problem_set(problem, "%.*s: %s", name.length, name.text, why.text);
    assert(objects->count == before + 1);
    objects->items[before].member = strndup(name.text, (size_t)name.length);
    opened->size += archive->is_thin ? member->size : 0;
  }
  return objects->count > 0 || problem_set(problem, "no member has a section %s", names.maps);
}

/* ---- Debug information ---- */

/* A path for the readers of debug information, of a file in memory. If that fails (NULL), or /proc
 * is missing, debug information is left out. */
static const char *write_debug_file(struct opened_objects *objects) {
  objects->debug_file = memfd_create("objects", MFD_CLOEXEC);
  if (objects->debug_file < 0 || write(objects->debug_file, objects->bytes.bytes,
                                       objects->bytes.size) != (ssize_t)objects->bytes.size)
    return NULL;
  snprintf(objects->debug_path, sizeof objects->debug_path, "/proc/self/fd/%d",
           objects->debug_file);
  return objects->debug_path;
}

/* ---- The whole ---- */

static bool open_objects(struct opened *opened, const char *path,
                         const struct load_options *options, struct problem *problem) {
  const struct lay_out_names names = {options->section != NULL ? options->section : RAW_SECTION,
                                      options->global_roots};
  struct opened_objects *objects = opened->objects = calloc(1, sizeof *objects);
  struct program *program = &opened->program;
  program->path = path;
  if (!input_open(&objects->file, path, problem))
    return false;
  opened->size = objects->file.size;
  const bool is_archive = archive_is(objects->file.bytes, objects->file.size);
  if (!(is_archive ? add_members(opened, names, problem) : add_file(opened, names, problem)) ||
      !lay_out(objects->items, objects->count, names, &objects->bytes, &opened->pieces, problem) ||
      !image_open_memory(&program->image, objects->bytes.bytes, objects->bytes.size, problem))
    return false;
  program->image.is_laid_out = true;
  if (image_section(&program->image, ".debug_info") != NULL)
    program->image.debug_path = write_debug_file(objects);
  if (!load(&program->image, options, &program->loaded, problem))
    return false;
  const struct safepoints *table = &program->loaded.table;
  if (table->functions_discarded > 0)
    problem_warn(path,
                 "%" PRIu32 " function%s with %" PRIu32 " record%s, not defined here, left out",
                 table->functions_discarded, plural(table->functions_discarded),
                 table->records_discarded, plural(table->records_discarded));
  return true;
}

bool opened_open(struct opened *opened, const char *path, const struct load_options *options,
                 struct problem *problem) {
  *opened = (struct opened){0};
  if (is_unlinked(path))
    return open_objects(opened, path, options, problem);
  const bool ok = program_open(&opened->program, path, options, problem);
  opened->size = opened->program.image.size;
  return ok;
}

static void close_objects(struct opened_objects *objects) {
  if (objects->debug_file > 0)
    close(objects->debug_file);
  for (size_t i = 0; i < objects->count; i++) {
    object_close(&objects->items[i].object);
    free(objects->items[i].member);
    free(objects->items[i].places);
  }
  free(objects->items);
  free(objects->bytes.bytes);
  archive_close(&objects->archive);
  if (objects->file.bytes != NULL)
    input_close(&objects->file);
  free(objects);
}

void opened_close(struct opened *opened) {
  program_close(&opened->program);
  pieces_close(&opened->pieces);
  if (opened->objects != NULL)
    close_objects(opened->objects);
  *opened = (struct opened){0};
}
