/* load.c - see load.h. */
#include "tool/image/load.h"
#include "tool/flow/code_frames.h"

#include "elf/evidence.h"
#include "format/packed_write.h"
#include "tool/image/global_roots.h"
#include "tool/image/merged.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zstd.h>

bool load_take_number(const char **at, uint64_t *number) {
  char *end;
  errno = 0;
  *number = strtoull(*at, &end, strncasecmp(*at, "0x", 2) == 0 ? 16 : 10);
  const bool ok = isdigit((unsigned char)**at) && errno == 0;
  *at = end;
  return ok;
}

/* Reads ranges of IDs. False for any other text. */
static bool read_ids(struct statepoint_ids *ids, const char *at) {
  for (bool more = true; more; at++) {
    uint64_t first, last;
    if (!load_take_number(&at, &first))
      return false;
    last = first;
    if (*at == '-' && (at++, !load_take_number(&at, &last)))
      return false;
    if (last < first || (*at != ',' && *at != 0))
      return false;
    more = *at == ',';
    statepoint_ids_add(ids, first, last);
  }
  statepoint_ids_sort(ids);
  return true;
}

bool load_take_statepoints(void *context, const char *value, struct problem *problem) {
  static const char *const rules[] = {"auto", "all", "none"};
  struct load_options *options = context;
  options->ids.count = 0;
  for (unsigned i = 0; i < sizeof rules / sizeof *rules; i++)
    if (strcmp(value, rules[i]) == 0) {
      options->statepoints = i;
      return true;
    }
  options->statepoints = STATEPOINTS_AUTO;
  return read_ids(&options->ids, value) ||
         problem_set(problem, "--statepoints is auto, all, none or IDs (7,100-199), not '%s'",
                     value);
}

/* Checks that the raw section is something that can be read and replaced. */
static bool check_raw(const struct image_section *raw, struct problem *problem) {
  const Elf64_Shdr *header = &raw->header;
  if (header->sh_type == SHT_NOBITS || header->sh_type == SHT_NULL)
    return problem_set(problem, "section %s has no bytes in the file", raw->name);
  if (header->sh_type != SHT_PROGBITS)
    return problem_set(problem, "section %s is of type %" PRIu32 ", not PROGBITS", raw->name,
                       header->sh_type);
  if ((header->sh_flags & SHF_COMPRESSED) != 0)
    return problem_set(problem, "section %s is compressed", raw->name);
  return image_check_overlap(raw, problem);
}

bool load_open(struct image *image, const char *path, const struct load_options *options,
               struct problem *problem) {
  return image_open(image, path, problem) && merged_separate(image, options->section, problem);
}

/* The name of the sections that have the stack maps. */
static const char *raw_name(const struct image *image, const struct load_options *options) {
  EACH_SECTION(image, section)
    if (section->part_of != 0)
      return RAW_SECTION;
  return options->section != NULL ? options->section : RAW_SECTION;
}

/* Finds the sections of that name. */
static enum load_kind find_raw(const struct image *image, const char *name, struct loaded *loaded,
                               struct problem *problem) {
  bool ok = true;
  EACH_SECTION(image, section) {
    if (!ok || strcmp(section->name, name) != 0)
      continue;
    ok = check_raw(section, problem);
    if (loaded->raw_count++ == 0)
      loaded->raw = section;
    loaded->raw_size += section->header.sh_size;
  }
  return !ok ? LOAD_BROKEN : loaded->raw_count > 0 ? LOAD_RAW : LOAD_NONE;
}

enum load_kind load_find(const struct image *image, const struct load_options *options,
                         struct loaded *loaded, struct problem *problem) {
  *loaded = (struct loaded){0};
  if (elf_image_find_packed(&image->elf_image, &loaded->place)) {
    const struct section_bytes place = loaded->place;
    const enum stackpack_error error =
        packed_open(&loaded->packed, place.bytes, place.size, place.address);
    if (error == STACKPACK_UNSUPPORTED)
      problem_set(problem, "packed by another version of stackpack");
    else if (error != STACKPACK_OK)
      problem_set(problem, "a broken packed table, at address 0x%" PRIx64, place.address);
    else if (!packed_check(&loaded->packed))
      problem_set(problem, "a broken packed table: its checksum differs");
    else if (packed_code_was_added(&loaded->packed, elf_image_code_end(&image->elf_image)))
      problem_set(problem, "code was added after packing (by BOLT?), to which the stack maps don't "
                           "apply: change the code first, then pack");
    else
      return loaded->kind = LOAD_PACKED;
    return loaded->kind = LOAD_BROKEN;
  }
  return loaded->kind = find_raw(image, raw_name(image, options), loaded, problem);
}

static bool table_problem(const struct safepoints *table, const char *where,
                          struct problem *problem) {
  if (table->error_version != 0)
    return problem_set(problem, "%s (version %u, or another format), in %s at offset 0x%" PRIx64,
                       table->error, table->error_version, where, table->error_position);
  return problem_set(problem, "%s, in %s at offset 0x%" PRIx64,
                     table->error != NULL ? table->error : "a broken table", where,
                     table->error_position);
}

const uint8_t *load_section(const struct image *image, const struct image_section *section,
                            uint8_t **copy, struct problem *problem) {
  assert(section->header.sh_type != SHT_NOBITS); /* so that its bytes are in the file */
  const Elf64_Shdr *header = &section->header;
  const uint8_t *bytes = image->bytes + header->sh_offset;
  uint32_t unknown;
  *copy = NULL;
  if (!elf_image_is_relocated(&image->elf_image, header))
    return bytes;
  *copy = malloc(header->sh_size + 1);
  memcpy(*copy, bytes, header->sh_size);
  if (elf_image_relocate(&image->elf_image, header, *copy, &unknown))
    return *copy;
  if (unknown == 0)
    problem_set(problem, "the dynamic relocations can't be read, in section %s", section->name);
  problem_set(problem, "a relocation of type %" PRIu32 " in section %s", unknown, section->name);
  return NULL;
}

static bool read_section(const struct image *image, const struct image_section *section,
                         const struct statepoint_signs *signs, struct safepoints *table,
                         struct problem *problem) {
  uint8_t *copy;
  const uint8_t *bytes = load_section(image, section, &copy, problem);
  const bool ok =
      bytes != NULL && (safepoints_add_v3(table, bytes, section->header.sh_size, signs) ||
                        table_problem(table, section->name, problem));
  free(copy);
  return ok;
}

/* Reads all sections of the first one's name: a linker script may leave several. */
static bool read_records(const struct image *image, const struct load_options *options,
                         const struct evidence *evidence, struct loaded *loaded,
                         struct problem *problem) {
  const char *name = loaded->raw->name;
  struct statepoint_signs signs = evidence_signs(evidence);
  signs.rule = options->statepoints;
  if (options->ids.count > 0) /* they replace the program's */
    signs.ids = &options->ids;
  unsigned sections = 0;
  EACH_SECTION(image, section) {
    if (strcmp(section->name, name) != 0)
      continue;
    if (sections++ == RAW_SECTIONS_MAX)
      return problem_set(problem, "more than %d sections %s", RAW_SECTIONS_MAX, name);
    if (!read_section(image, section, &signs, &loaded->table, problem))
      return false;
  }
  return true;
}

/* Functions of elf/ only fail if memory runs out, and that ends the command. */
static bool load_raw(const struct image *image, const struct load_options *options,
                     struct loaded *loaded, struct problem *problem) {
  struct safepoints *table = &loaded->table;
  struct evidence evidence;
  if (image->header.e_type == ET_REL)
    return problem_set(problem, "an object file: link it first");
  table->machine = image->header.e_machine;
  table->code_end = elf_image_code_end(&image->elf_image);
  bool ok = evidence_find(&evidence, &image->elf_image) &&
            read_records(image, options, &evidence, loaded, problem) &&
            evidence_finish(&evidence, table, &loaded->entries);
  if (ok && !image->is_laid_out)
    code_frames_add(table, &evidence.code, image_may_have_short_calls(image));
  if (ok && options->global_roots != NULL)
    ok = global_roots_read(image, options->global_roots, table, &loaded->global_roots, problem);
  evidence_free(&evidence);
  return ok;
}

bool load_records(const struct image *image, const struct load_options *options,
                  struct loaded *loaded, struct problem *problem) {
  assert(loaded->table.record_count == 0 && loaded->table.function_count == 0);
  switch (loaded->kind) {
  case LOAD_RAW:
    return load_raw(image, options, loaded, problem);
  case LOAD_PACKED:
    return packed_unpack(&loaded->packed, ZSTD_decompress, &loaded->table) ||
           table_problem(&loaded->table, "the packed table", problem);
  default:
    return loaded->kind == LOAD_NONE;
  }
}

bool load_none(const struct image *image, const struct load_options *options,
               struct problem *problem) {
  if (image->section_count == 0)
    return problem_set(problem, "no packed table, and no section headers (stripped off?)");
  return problem_set(problem, "no stack maps: no section %s",
                     options->section != NULL ? options->section : RAW_SECTION);
}

bool load(const struct image *image, const struct load_options *options, struct loaded *loaded,
          struct problem *problem) {
  const enum load_kind kind = load_find(image, options, loaded, problem);
  return kind == LOAD_NONE ? load_none(image, options, problem)
                           : load_records(image, options, loaded, problem);
}

void loaded_free(struct loaded *loaded) {
  safepoints_free(&loaded->table);
  map_entries_free(&loaded->entries);
  *loaded = (struct loaded){0};
}

bool program_open(struct program *program, const char *path, const struct load_options *options,
                  struct problem *problem) {
  *program = (struct program){.path = path};
  return load_open(&program->image, path, options, problem) &&
         load(&program->image, options, &program->loaded, problem);
}

void program_close(struct program *program) {
  loaded_free(&program->loaded);
  image_close(&program->image);
}
