/* split_object.c - see split.h.
 *
 * LLVM writes one section of stack maps for an object, and it refers to every function. So a linker
 * that leaves out unused code must keep all of it or lose all maps; and if another object's copy of
 * a function is linked in place of this one's, or code is folded, a map describes other code than
 * its own. A map that shares its function's fate is safe from all that:
 *
 *     .text.f          in group G    its relocations: type NONE, against the section of f's maps
 *     .llvm_stackmaps  in group G    its relocations: the address, .text.f + 0
 *
 * - The relocation of type NONE changes no byte. But linkers that collect garbage follow it, so the
 *   map is kept if and only if the code is.
 * - A group is linked or discarded as a whole. So the kept code has its own map.
 * - The address is relative to this object's own section: a (weak) symbol may be another's.
 * - Linkers that fold equal code compare relocations: code is equal only if its maps are.
 *
 * Functions that share a section of code, as without -ffunction-sections, share a map. Each map has
 * the constants that its own records use. The sections keep LLVM's name: linkers put them together,
 * and a reader of the linked program finds one map after another, as before.
 */
#include "tool/split/maps.h"
#include "tool/split/split.h"

#include "format/intern.h"
#include "format/owned.h"

#include <assert.h>
#include <stdlib.h>

/* The functions of one section of code. */
struct part {
  const struct map_function *functions;
  size_t count;
};

struct splitter {
  struct object object;
  struct maps maps;
  struct owned owned;             /* the arrays that follow */
  struct map_function *functions; /* those to be split, sorted by part */
  size_t function_count;
  uint32_t *section_symbols; /* by section: its STT_SECTION symbol; 0: none yet */
  uint32_t *aliases;         /* by global symbol: a local one at its place; 0: none yet */
  uint32_t *holds;           /* by section of code: the symbol of the maps that it is yet to hold */
  uint32_t alias_name;       /* 0: still absent */
};

/* ---- The functions of a part ---- */

static int compare_functions(const void *a, const void *b) {
  const struct map_function *x = a, *y = b;
  ORDER_BY(x, y, text)
  ORDER_BY(x, y, section)
  ORDER_BY(x, y, position)
  return 0;
}

static bool choose_functions(struct splitter *splitter, struct problem *problem) {
  const struct maps *maps = &splitter->maps;
  splitter->functions =
      owned_array(&splitter->owned, maps->function_count, sizeof *splitter->functions);
  for (size_t i = 0; i < maps->function_count; i++) {
    const struct map_section *section = &maps->sections[maps->functions[i].section];
    if (section->is_split)
      continue;
    if (section->is_named)
      return problem_set(problem,
                         "section %u of stack maps is referred to by a symbol, which would lead to "
                         "those of one function only",
                         section->number);
    splitter->functions[splitter->function_count++] = maps->functions[i];
  }
  qsort(splitter->functions, splitter->function_count, sizeof *splitter->functions,
        compare_functions);
  return true;
}

static void make_tables(struct splitter *splitter) {
  const struct object *object = &splitter->object;
  struct owned *owned = &splitter->owned;
  const size_t globals = object->symbol_count - object->first_global;
  splitter->section_symbols = owned_array(owned, object->count, sizeof *splitter->section_symbols);
  splitter->holds = owned_array(owned, object->count, sizeof *splitter->holds);
  splitter->aliases = owned_array(owned, globals, sizeof *splitter->aliases);
  for (uint32_t i = 1; i < object->first_global; i++) {
    const Elf64_Sym symbol = object_symbol(object, i);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION && symbol.st_value == 0)
      splitter->section_symbols[object_symbol_section(object, i)] = i;
  }
}

/* ---- The contents of a part ---- */

/* Copies the records of a function, with the new numbers of their constants. */
static void copy_records(const struct map_function *function, struct intern *constants,
                         struct buffer *records) {
  struct stackmap_v3_reader reader = function->records;
  struct stackmap_v3_record record;
  const size_t start = records->size;
  buffer_add(records, reader.bytes + function->begin, function->end - function->begin);
  for (uint64_t i = 0; i < function->count && stackmap_v3_next_record(&reader, &record); i++)
    for (unsigned n = 0; n < record.locations; n++) {
      const size_t at = record.locations_position + (size_t)n * STACKMAP_V3_LOCATION_SIZE;
      if (reader.bytes[at] != STACKPACK_LARGE_CONSTANT)
        continue;
      const size_t old = bits_load32(reader.bytes + at + 8);
      assert(old < reader.constants); /* maps_read has read each location */
      const uint64_t value = bits_load64(reader.bytes + reader.constants_position + old * 8);
      const uint32_t number = intern_add(constants, &value, 1);
      memcpy(records->bytes + start + (at - function->begin) + 8, &number, sizeof number);
    }
}

/* Makes a relocation refer to this object's own code, even if another object defines its symbol,
 * too. */
static void make_local(struct splitter *splitter, uint32_t text, Elf64_Rela *relocation) {
  struct object *object = &splitter->object;
  uint32_t symbol = ELF64_R_SYM(relocation->r_info);
  if (symbol < object->first_global)
    return;
  const uint64_t value = object_symbol(object, symbol).st_value;
  if (object->machine->linker_moves_code && value != 0) {
    uint32_t *alias = &splitter->aliases[symbol - object->first_global];
    if (splitter->alias_name == 0)
      splitter->alias_name = object_add_name(
          object, object->sections[object->symbols].header.sh_link, ".Lstack_map", "");
    if (*alias == 0)
      *alias = object_add_symbol(object, text, value, splitter->alias_name, STT_NOTYPE);
    symbol = *alias;
  } else {
    uint32_t *own = &splitter->section_symbols[text];
    if (*own == 0)
      *own = object_add_symbol(object, text, 0, 0, STT_SECTION);
    symbol = *own;
    relocation->r_addend = (int64_t)((uint64_t)relocation->r_addend + value);
  }
  relocation->r_info = ELF64_R_INFO((uint64_t)symbol, ELF64_R_TYPE(relocation->r_info));
}

/* Copies the relocations of a function's bytes [begin, end), now at `place`. */
static void copy_places(struct splitter *splitter, const struct map_function *function,
                        size_t begin, size_t end, size_t place, struct buffer *relocations) {
  const struct map_section *section = &splitter->maps.sections[function->section];
  const size_t last = maps_find_place(section, end);
  for (size_t i = maps_find_place(section, begin); i < last; i++) {
    Elf64_Rela relocation = section->places[i].relocation;
    relocation.r_offset = relocation.r_offset - begin + place;
    make_local(splitter, function->text, &relocation);
    buffer_add(relocations, &relocation, sizeof relocation);
  }
}

/* Writes a part's map and its relocations. */
static void write_map(struct splitter *splitter, const struct part *part, struct buffer *map,
                      struct buffer *relocations) {
  struct intern constants = {0};
  struct buffer records = {0};
  uint64_t record_count = 0;
  for (size_t i = 0; i < part->count; i++) {
    copy_records(&part->functions[i], &constants, &records);
    record_count += part->functions[i].count;
  }
  const uint32_t header[] = {3, (uint32_t)part->count, constants.count, (uint32_t)record_count};
  const size_t constants_size = constants.count * sizeof *constants.words;
  buffer_add(map, header, sizeof header);
  size_t place = sizeof header + part->count * STACKMAP_V3_FUNCTION_SIZE + constants_size;
  for (size_t i = 0; i < part->count; i++) {
    const struct map_function *function = &part->functions[i];
    copy_places(splitter, function, function->position, function->position + 1, map->size,
                relocations);
    buffer_add(map, function->records.bytes + function->position, STACKMAP_V3_FUNCTION_SIZE);
  }
  for (size_t i = 0; i < part->count; i++) {
    const struct map_function *function = &part->functions[i];
    copy_places(splitter, function, function->begin, function->end, place, relocations);
    place += function->end - function->begin;
  }
  buffer_add(map, constants.words, constants_size);
  buffer_add(map, records.bytes, records.size);
  assert(map->size == place);
  intern_free(&constants);
  free(records.bytes);
}

/* ---- The sections of a part ---- */

/* Empties the old sections, takes away the flags that keep and order them, and makes them writable:
 * linkers then take their absolute addresses into position-independent files, and ld.so writes to
 * data. (`pack` makes its table read-only.) */
static void empty_old_sections(struct splitter *splitter) {
  for (size_t i = 0; i < splitter->maps.section_count; i++) {
    const struct map_section *section = &splitter->maps.sections[i];
    Elf64_Shdr *header = &splitter->object.sections[section->number].header;
    if (section->is_split)
      continue;
    assert(section->relocations != 0); /* it has functions */
    header->sh_flags &= ~(Elf64_Xword)(SHF_GNU_RETAIN | SHF_LINK_ORDER);
    header->sh_flags |= SHF_WRITE;
    header->sh_link = 0;
    header->sh_addralign = 8;
    object_replace(&splitter->object, section->number, (struct buffer){0});
    object_replace(&splitter->object, section->relocations, (struct buffer){0});
  }
}

/* Puts contents into the section `like`, if that is to be reused, or into a new section like it.
 * Returns its number. */
static uint32_t place_section(struct object *object, uint32_t like, bool reuse, uint32_t info,
                              uint32_t group, struct buffer contents) {
  Elf64_Shdr header = object->sections[like].header;
  uint32_t number = like;
  header.sh_flags &= ~(Elf64_Xword)SHF_GROUP;
  if (reuse)
    object_replace(object, like, contents);
  else
    number = object_add_section(object, &header, contents);
  object->sections[number].header.sh_info = info;
  if (group != 0 && object->sections[number].group != group)
    object_add_to_group(object, group, number);
  return number;
}

/* The first part reuses the old section. (That must stay outside groups: LLVM's local symbol for it
 * would be in the group, too, and be lost with it.) */
static void split_part(struct splitter *splitter, const struct part *part) {
  struct object *object = &splitter->object;
  const uint32_t text = part->functions[0].text;
  struct buffer map = {0}, relocations = {0};
  assert(splitter->holds[text] == 0);
  const struct map_section *old = &splitter->maps.sections[part->functions[0].section];
  const struct object_section *old_section = &object->sections[old->number];
  const uint32_t group = object->sections[text].group;
  const bool reuse = old_section->header.sh_size == 0 && old_section->group == group;
  write_map(splitter, part, &map, &relocations);
  const uint32_t section = place_section(object, old->number, reuse, 0, group, map);
  place_section(object, old->relocations, reuse, section, group, relocations);
  splitter->holds[text] = object_add_symbol(object, section, 0, 0, STT_SECTION);
}

/* ---- The relocations that hold the parts ---- */

/* Whether a relocation holds a section of maps that is being split. */
static bool is_stale(const struct splitter *splitter, const Elf64_Rela *relocation) {
  const struct object *object = &splitter->object;
  const uint32_t symbol = ELF64_R_SYM(relocation->r_info);
  if ((symbol & OBJECT_NEW_SYMBOL) != 0 ||
      ELF64_R_TYPE(relocation->r_info) != object->machine->relocations.none)
    return false;
  const uint32_t index = splitter->maps.of_section[object_symbol_section(object, symbol)];
  return index != 0 && !splitter->maps.sections[index - 1].is_split;
}

/* Puts the holding relocation first in a section's: at offset 0, it keeps their order, and leaves
 * pairs together. */
static void hold_by(struct splitter *splitter, uint32_t table) {
  struct object *object = &splitter->object;
  const struct object_section *old = &object->sections[table];
  assert(old->header.sh_info < object->file_count);
  uint32_t *hold = &splitter->holds[old->header.sh_info];
  const Elf64_Rela holding = {.r_info =
                                  ELF64_R_INFO((uint64_t)*hold, object->machine->relocations.none)};
  struct buffer all = {0};
  bool changed = *hold != 0;
  if (changed)
    buffer_add(&all, &holding, sizeof holding);
  *hold = 0;
  for (size_t at = 0; at < old->header.sh_size; at += sizeof(Elf64_Rela)) {
    Elf64_Rela relocation;
    memcpy(&relocation, old->bytes + at, sizeof relocation);
    if (is_stale(splitter, &relocation))
      changed = true;
    else
      buffer_add(&all, &relocation, sizeof relocation);
  }
  if (changed)
    object_replace(object, table, all);
  else
    free(all.bytes);
}

/* The same for a section without relocations. */
static void hold_by_new(struct splitter *splitter, uint32_t text) {
  struct object *object = &splitter->object;
  char *name = strdup(object_name(object, text)); /* adding a name moves the names */
  const Elf64_Shdr header = {.sh_name = object_add_name(object, object->names, ".rela", name),
                             .sh_type = SHT_RELA,
                             .sh_flags = SHF_INFO_LINK,
                             .sh_link = object->symbols,
                             .sh_info = text,
                             .sh_addralign = 8,
                             .sh_entsize = sizeof(Elf64_Rela)};
  const uint32_t group = object->sections[text].group;
  const uint32_t table = object_add_section(object, &header, (struct buffer){0});
  free(name);
  if (group != 0)
    object_add_to_group(object, group, table);
  hold_by(splitter, table);
}

static void hold_parts(struct splitter *splitter, uint32_t old_count) {
  for (uint32_t i = 1; i < old_count; i++)
    if (splitter->object.sections[i].header.sh_type == SHT_RELA)
      hold_by(splitter, i);
  for (uint32_t i = 1; i < old_count; i++)
    if (splitter->holds[i] != 0)
      hold_by_new(splitter, i);
}

/* ---- All of it ---- */

/* The number of parts. */
static size_t split_parts(struct splitter *splitter) {
  const uint32_t old_count = (uint32_t)splitter->object.count;
  size_t parts = 0;
  empty_old_sections(splitter);
  for (size_t i = 0, next; i < splitter->function_count; i = next, parts++) {
    const struct map_function *first = &splitter->functions[i];
    for (next = i + 1;
         next < splitter->function_count && splitter->functions[next].text == first->text;)
      next++;
    split_part(splitter, &(struct part){first, next - i});
  }
  hold_parts(splitter, old_count);
  return parts;
}

static bool split_opened(struct splitter *splitter, struct split *split, struct problem *problem) {
  if (!maps_read(&splitter->maps, &splitter->object, problem) ||
      !choose_functions(splitter, problem))
    return false;
  split->functions = splitter->function_count;
  if (splitter->function_count == 0)
    return true;
  make_tables(splitter);
  split->sections = split_parts(splitter);
  return object_write(&splitter->object, &split->file, problem);
}

bool split_object(struct split *split, const uint8_t *bytes, size_t size, struct problem *problem) {
  struct splitter splitter = {0};
  *split = (struct split){0};
  const bool ok = object_open(&splitter.object, bytes, size, problem) &&
                  split_opened(&splitter, split, problem);
  maps_close(&splitter.maps);
  object_close(&splitter.object);
  owned_free(&splitter.owned);
  return ok;
}
