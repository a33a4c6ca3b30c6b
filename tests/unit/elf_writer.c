/* elf_writer.c - see elf_writer.h. */
#include "elf_writer.h"

#include "elf/note.h"
#include "model_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SEGMENTS_OFFSET = sizeof(Elf64_Ehdr), PAGE = 0x1000 };

/* The headers come first, and are written last. */
void elf_begin(struct elf *elf, uint64_t base) {
  *elf = (struct elf){.base = base, .section_count = 1};
  bytes_zeros(&elf->bytes, SEGMENTS_OFFSET + ELF_SEGMENTS_MAX * sizeof(Elf64_Phdr));
  bytes_u8(&elf->names, 0);
}

void elf_free(struct elf *elf) {
  bytes_free(&elf->bytes);
  bytes_free(&elf->names);
}

uint64_t elf_add(struct elf *elf, const void *data, size_t size) {
  bytes_align(&elf->bytes, 8);
  const uint64_t offset = elf->bytes.size;
  bytes_add(&elf->bytes, data, size);
  return offset;
}

static unsigned new_section(struct elf *elf, const char *name) {
  if (elf->section_count == ELF_SECTIONS_MAX)
    abort();
  elf->sections[elf->section_count].sh_name = (uint32_t)elf->names.size;
  bytes_add(&elf->names, name, strlen(name) + 1);
  return elf->section_count++;
}

unsigned elf_add_section(struct elf *elf, const char *name, uint32_t type, const void *data,
                         size_t size) {
  const unsigned number = new_section(elf, name);
  Elf64_Shdr *section = &elf->sections[number];
  section->sh_offset = elf_add(elf, data, size);
  section->sh_type = type;
  section->sh_flags = SHF_ALLOC;
  section->sh_addr = elf->base + section->sh_offset;
  section->sh_size = size;
  section->sh_addralign = 8;
  return number;
}

void elf_add_segment(struct elf *elf, uint32_t type, uint64_t offset, uint64_t size) {
  if (elf->segment_count == ELF_SEGMENTS_MAX - 1)
    abort();
  elf->segments[elf->segment_count++] = (Elf64_Phdr){
      .p_type = type,
      .p_flags = PF_R | PF_W,
      .p_offset = offset,
      .p_vaddr = elf->base + offset,
      .p_paddr = elf->base + offset,
      .p_filesz = size,
      .p_memsz = size,
      .p_align = 8,
  };
}

/* ---- Stack maps ---- */

uint64_t elf_table_address(const struct elf *elf) {
  return elf->base + ((elf->bytes.size + 7) & ~(uint64_t)7) + PACKED_NOTE_SIZE;
}

void elf_add_packed(struct elf *elf, const void *table, size_t size) {
  const uint64_t note = elf_add(elf, packed_note, PACKED_NOTE_SIZE);
  elf_add_segment(elf, PT_NOTE, note, PACKED_NOTE_SIZE);
  elf_add(elf, table, size);
}

void elf_add_packed_model(struct elf *elf, const struct model *model) {
  const uint64_t address = elf_table_address(elf);
  const struct model_options options = {.section_address = address, .open_address = address};
  struct packed_model packed = packed_model_open(model, &options);
  elf_add_packed(elf, packed.bytes, packed.size);
  packed_model_free(&packed);
}

unsigned elf_add_raw_model(struct elf *elf, const struct model *model) {
  struct bytes raw = {0};
  model_write(model, &raw);
  const unsigned number = elf_add_section(elf, ".llvm_stackmaps", SHT_PROGBITS, raw.data, raw.size);
  bytes_free(&raw);
  return number;
}

/* ---- The file ---- */

void elf_add_dynamic(struct elf *elf) {
  static const uint32_t hash[] = {1, 1, 0, 0}; /* one bucket, one symbol, no chains */
  static const Elf64_Sym no_symbol = {0};
  static const char no_names[8] = "";
  const uint64_t hash_at = elf->base + elf_add(elf, hash, sizeof hash);
  const uint64_t symbols_at = elf->base + elf_add(elf, &no_symbol, sizeof no_symbol);
  const uint64_t names_at = elf->base + elf_add(elf, no_names, sizeof no_names);
  const Elf64_Dyn dynamic[] = {
      {DT_HASH, {hash_at}},    {DT_SYMTAB, {symbols_at}},     {DT_SYMENT, {sizeof no_symbol}},
      {DT_STRTAB, {names_at}}, {DT_STRSZ, {sizeof no_names}}, {DT_NULL, {0}},
  };
  elf_add_segment(elf, PT_DYNAMIC, elf_add(elf, dynamic, sizeof dynamic), sizeof dynamic);
  elf_add_segment(elf, PT_GNU_STACK, 0, 0); /* without it, the stack is to be executable */
}

/* Adds the names of the sections and the section headers; their offset. */
static uint64_t add_section_headers(struct elf *elf, Elf64_Ehdr *header) {
  const unsigned names = new_section(elf, ".shstrtab");
  Elf64_Shdr *section = &elf->sections[names];
  section->sh_type = SHT_STRTAB;
  section->sh_size = elf->names.size;
  section->sh_offset = elf_add(elf, elf->names.data, elf->names.size);
  header->e_shstrndx = (uint16_t)names;
  header->e_shnum = (uint16_t)elf->section_count;
  header->e_shentsize = sizeof(Elf64_Shdr);
  return elf_add(elf, elf->sections, elf->section_count * sizeof(Elf64_Shdr));
}

void elf_finish(struct elf *elf) {
  Elf64_Ehdr header = {
      .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
      .e_type = ET_DYN,
#ifdef __aarch64__
      .e_machine = EM_AARCH64,
#else
      .e_machine = EM_X86_64,
#endif
      .e_version = EV_CURRENT,
      .e_phoff = SEGMENTS_OFFSET,
      .e_ehsize = sizeof header,
      .e_phentsize = sizeof(Elf64_Phdr),
      .e_phnum = (uint16_t)(elf->segment_count + 1),
  };
  if (!elf->without_sections)
    header.e_shoff = add_section_headers(elf, &header);
  bytes_align(&elf->bytes, 8);
  const uint64_t size = elf->bytes.size;
  elf->segments[elf->segment_count] = (Elf64_Phdr){
      .p_type = PT_LOAD,
      .p_flags = PF_R | PF_W,
      .p_vaddr = elf->base,
      .p_paddr = elf->base,
      .p_filesz = size,
      .p_memsz = elf->memory > size ? elf->memory : size,
      .p_align = PAGE,
  };
  memcpy(elf->bytes.data, &header, sizeof header);
  memcpy(elf->bytes.data + SEGMENTS_OFFSET, elf->segments, sizeof elf->segments);
}

void write_temporary(const struct bytes *bytes, char path[ELF_PATH_SIZE]) {
  const char *folder = getenv("TMPDIR");
  snprintf(path, ELF_PATH_SIZE, "%s/stackpack-test-XXXXXX", folder != NULL ? folder : "/tmp");
  const int file = mkstemp(path);
  if (file < 0)
    abort();
  if (bytes->size > 0 && write(file, bytes->data, bytes->size) != (ssize_t)bytes->size)
    abort();
  close(file);
}
