/* object_write.c - see object.h: gives symbols their new numbers, and lays the file out. */
#include "tool/split/object.h"

#include <assert.h>

enum { ALIGNMENT_MAX = 64 }; /* in the file, unless a section needs more */

static uint32_t added_count(const struct object *object) {
  return (uint32_t)(object->added.size / sizeof(Elf64_Sym));
}

static uint32_t new_number(const struct object *object, uint32_t old) {
  assert((old & OBJECT_NEW_SYMBOL) != 0 ? (old ^ OBJECT_NEW_SYMBOL) < added_count(object)
                                        : old < object->symbol_count);
  if ((old & OBJECT_NEW_SYMBOL) != 0)
    return object->first_global + (old & ~(uint32_t)OBJECT_NEW_SYMBOL);
  return old < object->first_global ? old : old + added_count(object);
}

/* Entries of relocation tables begin with an Elf64_Rel. */
static void renumber_relocations(struct object *object, uint32_t number) {
  const size_t entry_size = (size_t)object->sections[number].header.sh_entsize;
  struct buffer all = object_take(object, number);
  assert(entry_size >= sizeof(Elf64_Rel) && all.size % entry_size == 0);
  for (size_t at = 0; at < all.size; at += entry_size) {
    Elf64_Rel relocation;
    memcpy(&relocation, all.bytes + at, sizeof relocation);
    relocation.r_info = ELF64_R_INFO((uint64_t)new_number(object, ELF64_R_SYM(relocation.r_info)),
                                     ELF64_R_TYPE(relocation.r_info));
    memcpy(all.bytes + at, &relocation, sizeof relocation);
  }
  object_replace(object, number, all);
}

/* LLVM's table of symbols with a significant address is a list of ULEB128 numbers. */
static bool renumber_significant(struct object *object, uint32_t number, struct problem *problem) {
  const struct object_section *section = &object->sections[number];
  const uint8_t *at = section->bytes, *const end = at + section->header.sh_size;
  struct buffer buffer = {0};
  for (uint64_t left; at < end;) {
    if (!bits_varint(&at, end, &left) || left >= object->symbol_count) {
      free(buffer.bytes);
      return problem_set(problem, "section %u isn't a right table of symbols", number);
    }
    for (left = new_number(object, (uint32_t)left); left >= 0x80; left >>= 7)
      buffer_add(&buffer, &(uint8_t){(uint8_t)(left | 0x80)}, 1);
    buffer_add(&buffer, &(uint8_t){(uint8_t)left}, 1);
  }
  object_replace(object, number, buffer);
  return true;
}

static bool renumber(struct object *object, struct problem *problem) {
  bool ok = true;
  for (uint32_t i = 1; ok && i < object->count; i++) {
    Elf64_Shdr *header = &object->sections[i].header;
    if (object_is_relocations(&object->sections[i]))
      renumber_relocations(object, i);
    else if (header->sh_type == SHT_GROUP)
      header->sh_info = new_number(object, header->sh_info);
    else if (header->sh_type == SHT_LLVM_ADDRSIG && header->sh_link == object->symbols)
      ok = renumber_significant(object, i, problem);
  }
  return ok;
}

/* Puts bytes between the old local symbols' entries and the global ones', in a table of symbols or
 * of their sections. */
static void insert(struct object *object, uint32_t number, size_t entry_size,
                   const struct buffer *added) {
  const uint8_t *old = object->sections[number].bytes;
  const size_t locals = object->first_global * entry_size;
  struct buffer all = {0};
  assert(object->sections[number].header.sh_size == object->symbol_count * entry_size);
  assert(added->size == added_count(object) * entry_size);
  buffer_add(&all, old, locals);
  buffer_add(&all, added->bytes, added->size);
  buffer_add(&all, old + locals, object->symbol_count * entry_size - locals);
  object_replace(object, number, all);
}

/* Adds a table of the symbols' sections, if it is needed and missing. */
static void need_symbol_sections(struct object *object) {
  if (!object->needs_sections || object->symbol_sections != 0)
    return;
  const Elf64_Shdr header = {.sh_name = object_add_name(object, object->names, ".symtab_shndx", ""),
                             .sh_type = SHT_SYMTAB_SHNDX,
                             .sh_link = object->symbols,
                             .sh_addralign = sizeof(uint32_t),
                             .sh_entsize = sizeof(uint32_t)};
  const size_t size = object->symbol_count * sizeof(uint32_t);
  const struct buffer none = {calloc(1, size), size, size};
  object->symbol_sections = object_add_section(object, &header, none);
}

static void insert_symbols(struct object *object) {
  need_symbol_sections(object);
  insert(object, object->symbols, sizeof(Elf64_Sym), &object->added);
  if (object->symbol_sections != 0)
    insert(object, object->symbol_sections, sizeof(uint32_t), &object->added_sections);
  object->sections[object->symbols].header.sh_info += added_count(object);
}

static void put_sections(struct object *object, struct buffer *file) {
  for (size_t i = 1; i < object->count; i++) {
    struct object_section *section = &object->sections[i];
    Elf64_Shdr *header = &section->header;
    if (header->sh_type != SHT_NULL && header->sh_addralign > 0 &&
        (header->sh_addralign & (header->sh_addralign - 1)) == 0)
      buffer_align(file, header->sh_addralign < ALIGNMENT_MAX ? (size_t)header->sh_addralign
                                                              : ALIGNMENT_MAX);
    header->sh_offset = file->size;
    if (section->bytes != NULL)
      buffer_add(file, section->bytes, (size_t)header->sh_size);
  }
}

static void put_headers(struct object *object, struct buffer *file) {
  const bool fits = object->count < SHN_LORESERVE;
  buffer_align(file, sizeof(Elf64_Off));
  object->header.e_shoff = file->size;
  object->header.e_shnum = fits ? (uint16_t)object->count : 0;
  object->sections[0].header.sh_size = fits ? 0 : object->count;
  for (size_t i = 0; i < object->count; i++)
    buffer_add(file, &object->sections[i].header, sizeof(Elf64_Shdr));
}

bool object_write(struct object *object, struct buffer *file, struct problem *problem) {
  assert(file->size == 0);
  if (!renumber(object, problem))
    return false;
  insert_symbols(object);
  buffer_add(file, &object->header, sizeof object->header);
  put_sections(object, file);
  put_headers(object, file);
  memcpy(file->bytes, &object->header, sizeof object->header);
  return true;
}
