/* maps.c - see maps.h. */
#include "tool/split/maps.h"

#include "format/search.h"
#include "tool/image/load.h"

#include <assert.h>
#include <string.h>

/* ---- The sections, and the references to them ---- */

static bool find_sections(struct maps *maps, const struct object *object, struct problem *problem) {
  maps->of_section = calloc(object->count, sizeof *maps->of_section);
  for (uint32_t i = 1; i < object->count; i++) {
    if (strcmp(object_name(object, i), RAW_SECTION) != 0 || object->sections[i].bytes == NULL)
      continue;
    if (object->sections[i].header.sh_type != SHT_PROGBITS)
      return problem_set(problem, "section %u of stack maps is of type 0x%x, not PROGBITS", i,
                         object->sections[i].header.sh_type);
    ARRAY_ADD(maps->sections, maps->section_count, maps->section_capacity,
              (struct map_section){.number = i});
    maps->of_section[i] = (uint32_t)maps->section_count;
  }
  return true;
}

ORDER_FUNCTION(compare_places, struct map_place, relocation.r_offset, number)

/* Takes the relocations of a section of stack maps. */
static bool take_places(struct map_section *section, const struct object *object, uint32_t number,
                        struct problem *problem) {
  const struct object_section *table = &object->sections[number];
  const size_t count = (size_t)(table->header.sh_size / sizeof(Elf64_Rela));
  if (table->header.sh_type != SHT_RELA || section->relocations != 0)
    return problem_set(problem, "section %u has relocations of an unknown kind", section->number);
  assert(table->header.sh_entsize == sizeof(Elf64_Rela));
  section->relocations = number;
  section->place_count = count;
  section->places = malloc((count + 1) * sizeof *section->places);
  for (size_t i = 0; i < count; i++) {
    memcpy(&section->places[i].relocation, table->bytes + i * sizeof(Elf64_Rela),
           sizeof(Elf64_Rela));
    section->places[i].number = i;
  }
  qsort(section->places, count, sizeof *section->places, compare_places);
  return true;
}

/* The section of stack maps that defines a symbol; NULL if another section does. */
static struct map_section *section_of(struct maps *maps, const struct object *object,
                                      uint32_t symbol) {
  const uint32_t index = maps->of_section[object_symbol_section(object, symbol)];
  return index == 0 ? NULL : &maps->sections[index - 1];
}

/* Notes the sections of stack maps that a table of relocations refers to. */
static void note_references(struct maps *maps, const struct object *object, uint32_t number) {
  const struct object_section *table = &object->sections[number];
  for (size_t at = 0; at < table->header.sh_size; at += (size_t)table->header.sh_entsize) {
    Elf64_Rel relocation;
    assert(table->header.sh_entsize >= sizeof relocation);
    memcpy(&relocation, table->bytes + at, sizeof relocation);
    struct map_section *section = section_of(maps, object, ELF64_R_SYM(relocation.r_info));
    if (section == NULL)
      continue;
    const bool is_none = ELF64_R_TYPE(relocation.r_info) == object->machine->relocations.none &&
                         table->header.sh_type == SHT_RELA;
    section->is_named |= !is_none;
    section->is_held |= is_none && section->text == table->header.sh_info;
  }
}

static void note_global_symbols(struct maps *maps, const struct object *object) {
  for (uint32_t i = object->first_global; i < object->symbol_count; i++) {
    struct map_section *section = section_of(maps, object, i);
    if (section != NULL)
      section->is_named = true;
  }
}

size_t maps_find_place(const struct map_section *section, uint64_t offset) {
  return SEARCH_BELOW(section->places, section->place_count, relocation.r_offset, offset);
}

/* ---- The functions ---- */

static bool is_code(const struct object *object, const struct maps *maps, uint32_t number) {
  const Elf64_Shdr *header = &object->sections[number].header;
  return number != 0 && (header->sh_flags & SHF_EXECINSTR) != 0 && header->sh_type != SHT_NOBITS &&
         maps->of_section[number] == 0;
}

/* Finds the code of a function by the one relocation of its address. */
static bool find_text(const struct maps *maps, struct map_section *section,
                      const struct object *object, struct map_function *function,
                      struct problem *problem) {
  const size_t n = maps_find_place(section, function->position);
  const size_t next = maps_find_place(section, (uint64_t)function->position + 1);
  if (next != n + 1 ||
      ELF64_R_TYPE(section->places[n].relocation.r_info) != object->machine->relocations.absolute)
    return problem_set(problem, "a stack map at %zu without a relocation of its function's address",
                       function->position);
  const uint32_t symbol = ELF64_R_SYM(section->places[n].relocation.r_info);
  function->text = object_symbol_section(object, symbol);
  if (!is_code(object, maps, function->text))
    return problem_set(problem, "a stack map at %zu of a function that isn't in this object",
                       function->position);
  return true;
}

static bool broken(const struct stackmap_v3_reader *reader, struct problem *problem) {
  return problem_set(problem, "%s (version %u, or another format), at %zu", reader->error,
                     reader->version, reader->error_position);
}

/* Reads over a function's records. All their relocations must be about the function's section;
 * *used counts these, and the entry's relocation. */
static bool read_records(struct map_section *section, const struct object *object,
                         struct stackmap_v3_reader *reader, struct map_function *function,
                         size_t *used, struct problem *problem) {
  struct stackmap_v3_record record;
  struct stackpack_location location;
  function->records = *reader;
  function->begin = reader->position;
  for (uint64_t i = 0; i < function->count; i++) {
    if (!stackmap_v3_next_record(reader, &record))
      return broken(reader, problem);
    for (unsigned n = 0; n < record.locations; n++)
      if (!stackmap_v3_location(reader, &record, n, &location))
        return broken(reader, problem);
  }
  function->end = reader->position;
  const size_t first = maps_find_place(section, function->begin);
  const size_t end = maps_find_place(section, function->end);
  for (size_t i = first; i < end; i++)
    if (object_symbol_section(object, ELF64_R_SYM(section->places[i].relocation.r_info)) !=
        function->text)
      return problem_set(problem, "a relocation of a record at %zu that isn't about its function",
                         function->begin);
  *used += 1 + end - first;
  return true;
}

static bool read_section(struct maps *maps, struct map_section *section,
                         const struct object *object, struct problem *problem) {
  const struct object_section *bytes = &object->sections[section->number];
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes->bytes, (size_t)bytes->header.sh_size);
  struct stackmap_v3_function next;
  size_t used = 0;
  while (stackmap_v3_next_map(&reader))
    while (stackmap_v3_next_function(&reader, &next)) {
      struct map_function function = {.section = (uint32_t)(section - maps->sections),
                                      .position = next.position,
                                      .count = next.records};
      if (!find_text(maps, section, object, &function, problem) ||
          !read_records(section, object, &reader, &function, &used, problem))
        return false;
      ARRAY_ADD(maps->functions, maps->function_count, maps->function_capacity, function);
      section->text =
          section->text == 0 || section->text == function.text ? function.text : MAPS_SEVERAL;
    }
  if (reader.error != NULL)
    return broken(&reader, problem);
  for (size_t i = 0; i < section->place_count; i++)
    section->uses_global |=
        ELF64_R_SYM(section->places[i].relocation.r_info) >= object->first_global;
  return used == section->place_count ||
         problem_set(problem, "section %u has relocations at places that aren't known",
                     section->number);
}

/* ---- Sections that are split already ---- */

/* A section of stack maps is split if it alone describes the functions of one section of code, is
 * in the group of that section, and is held by it and by nothing else. */
static void judge_sections(struct maps *maps, const struct object *object) {
  uint32_t *describing = calloc(object->count, sizeof *describing); /* how many, by text */
  for (size_t i = 0; i < maps->function_count; i++) {
    const struct map_function *function = &maps->functions[i];
    if (i == 0 || function->section != function[-1].section || function->text != function[-1].text)
      describing[function->text]++;
  }
  for (size_t i = 0; i < maps->section_count; i++) {
    struct map_section *section = &maps->sections[i];
    const struct object_section *own = &object->sections[section->number];
    section->is_split =
        section->text == 0 ||
        (section->text != MAPS_SEVERAL && describing[section->text] == 1 && section->is_held &&
         !section->uses_global && (own->header.sh_flags & SHF_GNU_RETAIN) == 0 &&
         own->group == object->sections[section->text].group);
  }
  free(describing);
}

bool maps_read(struct maps *maps, const struct object *object, struct problem *problem) {
  *maps = (struct maps){0};
  assert(object->count == object->file_count); /* no section was added yet */
  if (!find_sections(maps, object, problem))
    return false;
  for (uint32_t i = 1; i < object->count; i++) {
    if (!object_is_relocations(&object->sections[i]))
      continue;
    const uint32_t index = maps->of_section[object->sections[i].header.sh_info];
    if (index != 0 && !take_places(&maps->sections[index - 1], object, i, problem))
      return false;
  }
  for (size_t i = 0; i < maps->section_count; i++)
    if (!read_section(maps, &maps->sections[i], object, problem))
      return false;
  for (uint32_t i = 1; i < object->count; i++)
    if (object_is_relocations(&object->sections[i]))
      note_references(maps, object, i);
  note_global_symbols(maps, object);
  judge_sections(maps, object);
  return true;
}

void maps_close(struct maps *maps) {
  for (size_t i = 0; i < maps->section_count; i++)
    free(maps->sections[i].places);
  free(maps->sections);
  free(maps->functions);
  free(maps->of_section);
}
