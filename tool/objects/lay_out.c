/* lay_out.c - see lay_out.h. */
#include "tool/objects/lay_out.h"

#include "tool/objects/relocate.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#define NOTES ".note.stackpack.statepoints" /* runtime/stackpack.h */

/* The new file's sections. */
enum {
  OUT_NONE,
  OUT_TEXT,
  OUT_MAPS, /* from here on found by name */
  OUT_ROOTS,
  OUT_UNWIND,
  OUT_NOTES,
  OUT_DATA, /* addresses only */
  OUT_DEBUG,
};
static const char *const debug_names[] = {
    ".debug_info",     ".debug_abbrev",      ".debug_line",   ".debug_str",      ".debug_line_str",
    ".debug_addr",     ".debug_str_offsets", ".debug_ranges", ".debug_rnglists", ".debug_loc",
    ".debug_loclists", ".debug_aranges",     ".debug_types",
};
enum {
  DEBUG_NAMES = sizeof debug_names / sizeof *debug_names,
  OUT_SYMBOLS = OUT_DEBUG + DEBUG_NAMES,
  OUT_STRINGS,
  OUT_NAMES,
  OUTPUTS
};

/* The place of an object's section in the new file. */
struct laid_place {
  unsigned output;
  uint64_t offset;
};

struct output {
  const char *name;
  Elf64_Shdr header;
  struct buffer bytes; /* empty for OUT_DATA */
  unsigned number;     /* in the new file; 0: empty, left out */
};

struct layout {
  struct laid_object *objects;
  size_t count;
  struct output outputs[OUTPUTS];
  unsigned number_count;
};

static const uint64_t first_address = 0x10000, page = 0x1000;

static bool has_address(unsigned output) { return output > OUT_NONE && output < OUT_DEBUG; }
static bool is_debug(unsigned output) { return output >= OUT_DEBUG && output < OUT_SYMBOLS; }

static void name_outputs(struct layout *layout, struct lay_out_names names) {
  static const Elf64_Shdr data = {.sh_type = SHT_PROGBITS, .sh_addralign = 1};
  struct output *outputs = layout->outputs;
  for (unsigned i = OUT_TEXT; i < OUTPUTS; i++)
    outputs[i].header = data;
  outputs[OUT_TEXT].name = ".text";
  outputs[OUT_DATA].name = ".data";
  outputs[OUT_MAPS].name = names.maps;
  outputs[OUT_ROOTS].name = names.roots;
  outputs[OUT_UNWIND].name = ".eh_frame";
  outputs[OUT_NOTES].name = NOTES;
  for (unsigned i = 0; i < DEBUG_NAMES; i++)
    outputs[OUT_DEBUG + i].name = debug_names[i];
  outputs[OUT_SYMBOLS].name = ".symtab";
  outputs[OUT_STRINGS].name = ".strtab";
  outputs[OUT_NAMES].name = ".shstrtab";
  for (unsigned i = OUT_TEXT; i < OUT_DEBUG; i++)
    outputs[i].header.sh_flags = SHF_ALLOC | (i == OUT_TEXT ? SHF_EXECINSTR : 0);
  outputs[OUT_DATA].header.sh_type = SHT_NOBITS;
  outputs[OUT_NOTES].header.sh_type = SHT_NOTE;
  outputs[OUT_SYMBOLS].header.sh_type = SHT_SYMTAB;
  outputs[OUT_SYMBOLS].header.sh_info = 1;
  outputs[OUT_SYMBOLS].header.sh_entsize = sizeof(Elf64_Sym);
  outputs[OUT_STRINGS].header.sh_type = outputs[OUT_NAMES].header.sh_type = SHT_STRTAB;
}

/* ---- Places ---- */

/* The output that a section goes to. */
static unsigned output_of(const struct layout *layout, const struct object *object,
                          uint32_t number) {
  const struct object_section *section = &object->sections[number];
  const uint64_t flags = section->header.sh_flags;
  const char *name = object_name(object, number);
  for (unsigned i = OUT_MAPS; i < OUT_SYMBOLS; i++)
    if (layout->outputs[i].name != NULL && strcmp(name, layout->outputs[i].name) == 0 &&
        (!is_debug(i) || (section->bytes != NULL && (flags & SHF_COMPRESSED) == 0)))
      return i;
  if ((flags & SHF_ALLOC) == 0)
    return OUT_NONE;
  return (flags & SHF_EXECINSTR) != 0 && section->bytes != NULL ? OUT_TEXT : OUT_DATA;
}

/* At least one byte separates two pieces, so that the return address of a call at the end of one is
 * outside the next. */
static bool place_section(struct layout *layout, struct laid_object *object, uint32_t number,
                          struct problem *problem) {
  enum { ALIGNMENT_MOST = 16 }; /* the most that any reader needs */
  const uint64_t size_most = UINT64_C(1) << 36;
  const struct object_section *section = &object->object.sections[number];
  const uint64_t alignment = section->header.sh_addralign, size = section->header.sh_size;
  const unsigned number_of_output = output_of(layout, &object->object, number);
  struct output *output = &layout->outputs[number_of_output];
  if (number_of_output == OUT_NONE)
    return true;
  if (number_of_output != OUT_DATA &&
      (section->bytes == NULL || (section->header.sh_flags & SHF_COMPRESSED) != 0))
    return problem_set(problem, "section %s has no bytes, or compressed ones", output->name);
  if (size > size_most)
    return problem_set(problem, "section %u has a size that can't be", number);
  uint64_t *end = &output->header.sh_size;
  if (number_of_output == OUT_TEXT || number_of_output == OUT_DATA)
    ++*end;
  *end +=
      -*end & ((alignment < ALIGNMENT_MOST ? alignment | (alignment == 0) : ALIGNMENT_MOST) - 1);
  object->places[number] = (struct laid_place){number_of_output, *end};
  *end += size;
  return true;
}

/* Leaves out empty sections: libdwarf fails on empty debug sections. */
static unsigned number_outputs(struct layout *layout) {
  unsigned count = 1;
  for (unsigned i = OUT_TEXT; i < OUTPUTS; i++)
    if (i >= OUT_SYMBOLS || layout->outputs[i].header.sh_size > 0)
      layout->outputs[i].number = count++;
  layout->outputs[OUT_SYMBOLS].header.sh_link = layout->outputs[OUT_STRINGS].number;
  return count;
}

static bool place_sections(struct layout *layout, struct problem *problem) {
  for (size_t i = 0; i < layout->count; i++) {
    struct laid_object *object = &layout->objects[i];
    object->places = calloc(object->object.count, sizeof *object->places);
    for (uint32_t n = 1; n < object->object.count; n++)
      if (!place_section(layout, object, n, problem))
        return false;
  }
  uint64_t address = first_address;
  for (unsigned i = OUT_TEXT; i < OUT_DEBUG; i++) {
    Elf64_Shdr *header = &layout->outputs[i].header;
    header->sh_addr = address;
    address += (header->sh_size + page) & -page;
  }
  layout->number_count = number_outputs(layout);
  return true;
}

static uint64_t address_of(const struct layout *layout, const struct laid_place *place) {
  return layout->outputs[place->output].header.sh_addr + place->offset;
}

/* ---- Contents ---- */

static void copy_sections(struct layout *layout, struct pieces *pieces) {
  for (size_t i = 0; i < layout->count; i++) {
    const struct laid_object *object = &layout->objects[i];
    for (uint32_t n = 1; n < object->object.count; n++) {
      const struct object_section *section = &object->object.sections[n];
      const struct laid_place *place = &object->places[n];
      struct output *output = &layout->outputs[place->output];
      if (place->output == OUT_TEXT || place->output == OUT_DATA)
        ARRAY_ADD(pieces->items, pieces->count, pieces->capacity,
                  (struct piece){address_of(layout, place), section->header.sh_size,
                                 object_name(&object->object, n), object->member});
      if (place->output == OUT_NONE || place->output == OUT_DATA)
        continue;
      while (output->bytes.size < place->offset)
        buffer_add(&output->bytes, "", 1);
      assert(output->bytes.size == place->offset);
      buffer_add(&output->bytes, section->bytes, (size_t)section->header.sh_size);
    }
  }
}

/* Finds a symbol's address; false if it has none. */
static bool symbol_address(const struct layout *layout, const struct laid_object *object,
                           uint32_t number, uint64_t *address) {
  const Elf64_Sym symbol = object_symbol(&object->object, number);
  const struct laid_place *place = &object->places[object_symbol_section(&object->object, number)];
  *address = symbol.st_value;
  if (symbol.st_shndx == SHN_ABS)
    return true;
  *address += address_of(layout, place);
  return place->output != OUT_NONE;
}

static void copy_symbols(struct layout *layout, const struct laid_object *object) {
  const struct object_section *sections = object->object.sections;
  const struct object_section *strings = &sections[sections[object->object.symbols].header.sh_link];
  struct buffer *names = &layout->outputs[OUT_STRINGS].bytes;
  for (uint32_t i = 1; i < object->object.symbol_count; i++) {
    Elf64_Sym symbol = object_symbol(&object->object, i);
    const unsigned output = object->places[object_symbol_section(&object->object, i)].output;
    if (symbol.st_shndx != SHN_ABS && !has_address(output))
      continue;
    (void)symbol_address(layout, object, i, &symbol.st_value);
    if (symbol.st_shndx != SHN_ABS)
      symbol.st_shndx = (uint16_t)layout->outputs[output].number;
    symbol.st_name = symbol.st_name < strings->header.sh_size && names->size < UINT32_MAX / 2
                         ? symbol.st_name + (uint32_t)names->size
                         : 0;
    buffer_add(&layout->outputs[OUT_SYMBOLS].bytes, &symbol, sizeof symbol);
  }
  buffer_add(names, strings->bytes, (size_t)strings->header.sh_size);
}

/* Applies one table of relocations. In debug information, unsupported types, used for variables,
 * are skipped. */
static bool relocate_by(struct layout *layout, const struct laid_object *object, uint32_t number,
                        struct problem *problem) {
  const struct object_section *table = &object->object.sections[number];
  const struct laid_place *place = &object->places[table->header.sh_info];
  const struct object_section *target = &object->object.sections[table->header.sh_info];
  struct output *output = &layout->outputs[place->output];
  if (place->output == OUT_NONE || place->output == OUT_TEXT || place->output == OUT_DATA)
    return true;
  const struct relocated section = {output->bytes.bytes + place->offset, target->header.sh_size,
                                    address_of(layout, place), object->object.header.e_machine};
  const bool has_addend = table->header.sh_type == SHT_RELA;
  const size_t entry = (size_t)table->header.sh_entsize;
  assert(entry > 0 && entry <= sizeof(Elf64_Rela));
  assert(place->offset + section.size <= output->bytes.size);
  for (size_t at = 0; at < table->header.sh_size; at += entry) {
    Elf64_Rela relocation = {0};
    uint64_t symbol;
    memcpy(&relocation, table->bytes + at, entry);
    const bool is_defined = symbol_address(layout, object, ELF64_R_SYM(relocation.r_info), &symbol);
    if (!relocate(&section, &relocation, has_addend, symbol, is_defined) &&
        !is_debug(place->output))
      return problem_set(problem,
                         "a relocation of type %" PRIu64 " in section %s, or out of bounds",
                         ELF64_R_TYPE(relocation.r_info), output->name);
  }
  return true;
}

static bool relocate_all(struct layout *layout, struct problem *problem) {
  for (size_t i = 0; i < layout->count; i++) {
    const struct laid_object *object = &layout->objects[i];
    for (uint32_t n = 1; n < object->object.count; n++)
      if (object_is_relocations(&object->object.sections[n]) &&
          !relocate_by(layout, object, n, problem))
        return false;
  }
  return true;
}

/* ---- The file ---- */

static Elf64_Phdr segment_of(const struct output *output, uint32_t type, uint32_t flags) {
  const Elf64_Shdr *header = &output->header;
  return (Elf64_Phdr){.p_type = type,
                      .p_flags = flags,
                      .p_offset = header->sh_offset,
                      .p_vaddr = header->sh_addr,
                      .p_paddr = header->sh_addr,
                      .p_filesz = header->sh_size,
                      .p_memsz = header->sh_size,
                      .p_align = output->header.sh_type == SHT_NOTE ? 8 : 1};
}

static void write_file(struct layout *layout, struct buffer *file) {
  enum { SEGMENTS = 3 };
  struct output *outputs = layout->outputs;
  Elf64_Ehdr header = layout->objects[0].object.header;
  Elf64_Phdr segments[SEGMENTS] = {{0}};
  header.e_type = ET_EXEC;
  header.e_entry = 0;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof *segments;
  header.e_phnum = SEGMENTS;
  header.e_shnum = (uint16_t)layout->number_count;
  header.e_shstrndx = (uint16_t)outputs[OUT_NAMES].number;
  buffer_add(file, &header, sizeof header);
  buffer_add(file, segments, sizeof segments);
  buffer_add(&outputs[OUT_NAMES].bytes, "", 1);
  for (unsigned i = OUT_TEXT; i < OUTPUTS; i++) {
    outputs[i].header.sh_name = (uint32_t)outputs[OUT_NAMES].bytes.size;
    if (outputs[i].number != 0)
      buffer_add(&outputs[OUT_NAMES].bytes, outputs[i].name, strlen(outputs[i].name) + 1);
  }
  for (unsigned i = OUT_TEXT; i < OUTPUTS; i++) {
    buffer_align(file, 16);
    outputs[i].header.sh_offset = file->size;
    assert(i == OUT_DATA || i >= OUT_SYMBOLS || outputs[i].header.sh_size == outputs[i].bytes.size);
    if (i != OUT_DATA)
      outputs[i].header.sh_size = outputs[i].bytes.size;
    buffer_add(file, outputs[i].bytes.bytes, outputs[i].bytes.size);
  }
  buffer_align(file, 16);
  header.e_shoff = file->size;
  segments[0] = segment_of(&outputs[OUT_TEXT], PT_LOAD, PF_R | PF_X);
  segments[1] = segment_of(&outputs[OUT_NOTES], PT_LOAD, PF_R);
  segments[2] = segment_of(&outputs[OUT_NOTES], PT_NOTE, PF_R);
  for (unsigned i = 0; i < OUTPUTS; i++)
    if (i == OUT_NONE || outputs[i].number != 0)
      buffer_add(file, &outputs[i].header, sizeof outputs[i].header);
  assert(file->size == header.e_shoff + header.e_shnum * sizeof outputs->header);
  memcpy(file->bytes, &header, sizeof header);
  memcpy(file->bytes + sizeof header, segments, sizeof segments);
}

static int compare_pieces(const void *a, const void *b) {
  const struct piece *x = a, *y = b;
  ORDER_BY(x, y, address)
  return 0;
}

bool lay_out(struct laid_object *objects, size_t count, struct lay_out_names names,
             struct buffer *file, struct pieces *pieces, struct problem *problem) {
  struct layout layout = {.objects = objects, .count = count};
  assert(count > 0);
  name_outputs(&layout, names);
  bool ok = place_sections(&layout, problem);
  if (ok) {
    static const Elf64_Sym no_symbol;
    buffer_add(&layout.outputs[OUT_SYMBOLS].bytes, &no_symbol, sizeof no_symbol);
    buffer_add(&layout.outputs[OUT_STRINGS].bytes, "", 1);
    copy_sections(&layout, pieces);
    for (size_t i = 0; i < count; i++)
      copy_symbols(&layout, &objects[i]);
    array_sort(pieces->items, pieces->count, sizeof *pieces->items, compare_pieces);
    ok = relocate_all(&layout, problem);
  }
  if (ok)
    write_file(&layout, file);
  for (unsigned i = 0; i < OUTPUTS; i++)
    free(layout.outputs[i].bytes.bytes);
  return ok;
}
