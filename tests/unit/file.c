/* file.c - tests stackpack_file_open on ELF files that are written here: packed ones, raw ones with
 * everything that a raw section needs of its file, and broken ones; and on this program's own file
 * with a raw section (process_stackmap.S).
 */
#include "elf/elf_file.h"
#include "elf_writer.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"
#include "v3_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BASE = 0x400000, CODE = 0x401000 };

static const struct model_options options = {.around = 20};

/* Three functions: with an end, without one, and with an end from a symbol only. */
static struct model make_model(void) {
  struct model model = {0};
  model_add_function(&model, CODE, 24, CODE + 0x80);
  struct model_record *record = model_add_record(&model, 0x10);
  model_add_self(record, 8);
  record->id = 5;
  model_add_self(model_add_record(&model, 0x40), 16);
  model_add_function(&model, CODE + 0x100, 40, 0);
  model_add_self(model_add_record(&model, 0x20), 8);
  model_add_function(&model, CODE + 0x200, 8, CODE + 0x240);
  model_add_record(&model, 0x20);
  model_finish(&model);
  return model;
}

static struct elf begin(void) {
  struct elf elf;
  elf_begin(&elf, BASE);
  return elf;
}

/* Writes bytes to a file and opens that. */
static enum stackpack_error open_bytes(const struct bytes *bytes, struct stackpack_file *file) {
  char path[ELF_PATH_SIZE];
  write_temporary(bytes, path);
  const enum stackpack_error error = stackpack_file_open(file, path);
  unlink(path);
  return error;
}

/* Finishes and opens a valid file, and compares it with the model; frees both. */
static void check_file(struct elf *elf, struct model *model) {
  struct stackpack_file file;
  elf_finish(elf);
  ck_assert_int_eq(open_bytes(&elf->bytes, &file), STACKPACK_OK);
  model_check_table(model, &file.table, &options);
  stackpack_file_close(&file);
  elf_free(elf);
  model_free(model);
}

static void check_error(const struct bytes *bytes, enum stackpack_error expected) {
  struct stackpack_file file;
  ck_assert_int_eq(open_bytes(bytes, &file), expected);
  stackpack_file_close(&file);
}

static void check_elf_error(struct elf *elf, enum stackpack_error expected) {
  elf_finish(elf);
  check_error(&elf->bytes, expected);
  elf_free(elf);
}

/* ---- Packed files ---- */

TEST(a_packed_file) {
  for (int with_sections = 0; with_sections < 2; with_sections++) {
    struct model model = make_model();
    struct elf elf = begin();
    elf.without_sections = !with_sections;
    elf_add_packed_model(&elf, &model);
    check_file(&elf, &model);
  }
}

/* The note is found among others: of another size, and of the same one. */
TEST(other_notes) {
  static const uint8_t other[24] = {4, 0, 0, 0, 8, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U'};
  struct model model = make_model();
  struct elf elf = begin();
  const uint64_t offset = elf_add(&elf, other, sizeof other);
  elf_add_segment(&elf, PT_NOTE, offset, sizeof other);
  elf_add_segment(&elf, PT_NOTE, offset, 16);
  elf_add_packed_model(&elf, &model);
  check_file(&elf, &model);
}

TEST(packed_before_raw) {
  struct model model = make_model(), other = {0};
  struct elf elf = begin();
  model_add_function(&other, CODE, 8, 0);
  model_finish(&other);
  elf_add_raw_model(&elf, &other);
  elf_add_packed_model(&elf, &model);
  check_file(&elf, &model);
  model_free(&other);
}

TEST(a_broken_packed_file) {
  struct model model = make_model();
  struct elf elf;
  static const uint8_t garbage[200] = {1, 2, 3};
  elf_begin(&elf, BASE);
  elf_add_packed(&elf, garbage, sizeof garbage);
  check_elf_error(&elf, STACKPACK_BAD_TABLE);
  elf_begin(&elf, BASE);
  elf.without_sections = true;
  elf_add_packed(&elf, garbage, 8);
  check_elf_error(&elf, STACKPACK_BAD_TABLE);
  model_free(&model);
}

/* The segment's memory, not the file, limits the table. */
TEST(a_table_that_its_segment_cuts) {
  struct model model = make_model();
  struct elf elf = begin();
  elf.without_sections = true;
  elf_add_packed_model(&elf, &model);
  elf_finish(&elf);
  Elf64_Ehdr header;
  memcpy(&header, elf.bytes.data, sizeof header);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    uint8_t *place = elf.bytes.data + header.e_phoff + i * sizeof segment;
    memcpy(&segment, place, sizeof segment);
    if (segment.p_type == PT_LOAD)
      segment.p_filesz = elf.bytes.size - 8 - segment.p_offset; /* 7: padding after a table */
    memcpy(place, &segment, sizeof segment);
  }
  check_error(&elf.bytes, STACKPACK_BAD_TABLE);
  elf_free(&elf);
  model_free(&model);
}

static void set_code_end(struct safepoints *table) { table->code_end = CODE + 0x400; }

/* Another tool made the code longer after packing. */
TEST(code_that_was_added) {
  for (unsigned added = 0; added < 3; added++) {
    struct model model = make_model();
    struct elf elf = begin();
    const uint64_t address = elf_table_address(&elf);
    const struct model_options with_end = {.section_address = address,
                                           .open_address = address,
                                           .tell_frames = added < 2 ? set_code_end : NULL};
    struct packed_model packed = packed_model_open(&model, &with_end);
    elf_add_packed(&elf, packed.bytes, packed.size);
    elf_add_segment(&elf, PT_LOAD, 0, CODE + 0x400 - BASE + added);
    elf.segments[1].p_flags = PF_R | PF_X;
    check_elf_error(&elf, added == 1 ? STACKPACK_CODE_ADDED : STACKPACK_OK);
    packed_model_free(&packed);
    model_free(&model);
  }
}

/* A note with an address outside the file's segments. */
TEST(a_note_outside_of_all_segments) {
  static const uint64_t offsets[] = {1 << 20, (uint64_t)1 << 40, -(uint64_t)BASE,
                                     UINT64_MAX - BASE};
  for (unsigned i = 0; i < 4; i++) {
    struct elf elf = begin();
    elf_add_segment(&elf, PT_NOTE, offsets[i], 24);
    check_elf_error(&elf, STACKPACK_NO_STACK_MAPS);
  }
}

/* ---- Raw files ---- */

/* A minimal .eh_frame: a CIE without augmentation, and an FDE. */
static void add_unwind_table(struct elf *elf, uint64_t address, uint64_t length) {
  struct bytes bytes = {0};
  bytes_u32(&bytes, 12);
  bytes_u32(&bytes, 0);
  bytes_u8(&bytes, 1);
  bytes_u8(&bytes, 0);
  bytes_u8(&bytes, 1);
  bytes_u8(&bytes, 0x78);
  bytes_u8(&bytes, 16);
  bytes_align(&bytes, 16);
  bytes_u32(&bytes, 20);
  bytes_u32(&bytes, 20);
  bytes_u64(&bytes, address);
  bytes_u64(&bytes, length);
  bytes_u32(&bytes, 0);
  elf_add_section(elf, ".eh_frame", SHT_PROGBITS, bytes.data, bytes.size);
  bytes_free(&bytes);
}

static Elf64_Sym symbol(unsigned type, uint64_t address, uint64_t size, uint16_t section) {
  return (Elf64_Sym){.st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
                     .st_value = address,
                     .st_size = size,
                     .st_shndx = section};
}

/* Ends come from the unwind table, and where that lacks them, from functions among the symbols. */
TEST(a_raw_file) {
  const Elf64_Sym symbols[] = {
      {0},
      symbol(STT_FUNC, CODE + 0x200, 0x40, 1),
      symbol(STT_FUNC, CODE, 0x90, 1),
      symbol(STT_OBJECT, CODE + 0x100, 0x80, 1),
      symbol(STT_FUNC, CODE + 0x100, 0x80, SHN_UNDEF),
  };
  for (unsigned table = 0; table < 2; table++) {
    struct model model = make_model();
    struct elf elf = begin();
    elf_add_raw_model(&elf, &model);
    add_unwind_table(&elf, CODE, 0x80);
    elf_add_section(&elf, ".symbols", table == 0 ? SHT_SYMTAB : SHT_DYNSYM, symbols,
                    sizeof symbols);
    check_file(&elf, &model);
  }
}

TEST(a_raw_file_without_ends) {
  struct model model = {0};
  struct elf elf;
  model_add_function(&model, CODE, 24, 0);
  model_add_self(model_add_record(&model, 0x10), 8);
  model_finish(&model);
  elf_begin(&elf, BASE);
  elf_add_raw_model(&elf, &model);
  check_file(&elf, &model);
}

TEST(a_raw_file_with_an_empty_section) {
  struct model model = {0};
  struct elf elf;
  model_finish(&model);
  elf_begin(&elf, BASE);
  elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, NULL, 0);
  check_file(&elf, &model);
}

TEST(a_broken_raw_file) {
  static const uint8_t newer[16] = {4};
  struct bytes bytes = {0};
  struct elf elf = begin();
  elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, newer, sizeof newer);
  check_elf_error(&elf, STACKPACK_BAD_STACK_MAP);
  v3_map(&bytes, 5, 0, 0);
  elf_begin(&elf, BASE);
  elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, bytes.data, bytes.size);
  check_elf_error(&elf, STACKPACK_BAD_STACK_MAP);
  bytes_free(&bytes);
}

TEST(a_raw_section_that_is_not_in_the_file) {
  struct elf elf = begin();
  unsigned raw = elf_add_section(&elf, ".llvm_stackmaps", SHT_NOBITS, NULL, 0);
  elf.sections[raw].sh_size = 64;
  check_elf_error(&elf, STACKPACK_NO_STACK_MAPS);
  static const uint64_t sizes[] = {1 << 20, UINT64_MAX, INT64_MAX};
  for (unsigned i = 0; i < 3; i++) {
    elf_begin(&elf, BASE);
    raw = elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, "", 1);
    elf.sections[raw].sh_size = sizes[i];
    check_elf_error(&elf, STACKPACK_BAD_STACK_MAP);
    elf_begin(&elf, BASE);
    raw = elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, "", 1);
    elf.sections[raw].sh_offset = sizes[i];
    check_elf_error(&elf, STACKPACK_BAD_STACK_MAP);
  }
}

/* A linker script may leave several; more than any does are refused. */
TEST(many_raw_sections) {
  enum { MANY = 64 };
  struct bytes map = {0};
  v3_map(&map, 0, 0, 0);
  for (unsigned more = 0; more < 2; more++) {
    struct elf elf = begin();
    for (unsigned i = 0; i < MANY + more; i++)
      elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, map.data, map.size);
    elf_finish(&elf);
    check_error(&elf.bytes, more == 0 ? STACKPACK_OK : STACKPACK_BAD_STACK_MAP);
    elf_free(&elf);
  }
  bytes_free(&map);
}

/* ---- Relocations ---- */

#ifdef __aarch64__
enum { RELATIVE = R_AARCH64_RELATIVE, SYMBOLIC = R_AARCH64_ABS64, OTHER = R_AARCH64_COPY };
#else
enum { RELATIVE = R_X86_64_RELATIVE, SYMBOLIC = R_X86_64_64, OTHER = R_X86_64_COPY };
#endif

/* Begins a file whose raw section has 0 where its one function's address must go: a relocation of
 * this type, and of symbol 1 or 2 or none, gives its address. */
static void relocatable(struct elf *elf, unsigned type, unsigned symbol_number, int64_t addend) {
  const Elf64_Sym symbols[] = {
      {0}, symbol(STT_FUNC, CODE, 0x80, 1), symbol(STT_FUNC, CODE, 0x80, SHN_UNDEF)};
  struct bytes raw = {0};
  v3_map(&raw, 1, 0, 1);
  v3_function(&raw, 0, 24, 1);
  v3_record(&raw, MODEL_DEFAULT_ID, 0x10, 3);
  for (unsigned i = 0; i < 3; i++)
    v3_location(&raw, V3_CONSTANT, 8, 0, 0);
  v3_live_outs(&raw, 0);
  v3_end_record(&raw);
  elf_begin(elf, BASE);
  const unsigned section =
      elf_add_section(elf, ".llvm_stackmaps", SHT_PROGBITS, raw.data, raw.size);
  elf_add_section(elf, ".dynsym", SHT_DYNSYM, symbols, sizeof symbols);
  const Elf64_Rela relocations[] = {
      {.r_offset = BASE, .r_info = ELF64_R_INFO(0, OTHER)}, /* of something else */
      {.r_offset = elf->sections[section].sh_addr + V3_MAP_SIZE,
       .r_info = ELF64_R_INFO((uint64_t)symbol_number, type),
       .r_addend = addend},
  };
  const Elf64_Dyn dynamic[] = {
      {DT_SYMTAB, {elf->base + elf_add(elf, symbols, sizeof symbols)}},
      {DT_RELA, {elf->base + elf_add(elf, relocations, sizeof relocations)}},
      {DT_RELASZ, {sizeof relocations}},
      {DT_NULL, {0}},
  };
  elf_add_segment(elf, PT_DYNAMIC, elf_add(elf, dynamic, sizeof dynamic), sizeof dynamic);
  bytes_free(&raw);
}

static void check_relocated(struct elf *elf, uint64_t address) {
  struct model model = {0};
  model_add_function(&model, address, 24, CODE + 0x80);
  model_add_record(&model, 0x10);
  model_finish(&model);
  check_file(elf, &model);
}

TEST(relocations) {
  struct elf elf;
  relocatable(&elf, RELATIVE, 0, CODE);
  check_relocated(&elf, CODE);
  relocatable(&elf, SYMBOLIC, 1, 0);
  check_relocated(&elf, CODE);
  relocatable(&elf, SYMBOLIC, 1, 0x20);
  check_relocated(&elf, CODE + 0x20);
}

/* A function that another module defines, or none: it was not linked into this one. */
TEST(relocations_to_nothing) {
  for (unsigned symbol_number = 2; symbol_number < 5; symbol_number++) {
    struct model model = {0};
    struct elf elf;
    model_finish(&model);
    relocatable(&elf, SYMBOLIC, symbol_number, 0);
    check_file(&elf, &model);
  }
}

TEST(unknown_relocations) {
  struct elf elf;
  relocatable(&elf, OTHER, 1, 0);
  check_elf_error(&elf, STACKPACK_BAD_STACK_MAP);
}

/* ---- No ELF file ---- */

TEST(no_file) {
  struct stackpack_file file;
  errno = 0;
  ck_assert_int_eq(stackpack_file_open(&file, "/nowhere/at/all"), STACKPACK_SYSTEM_ERROR);
  ck_assert_int_eq(errno, ENOENT);
}

TEST(a_folder) {
  struct stackpack_file file;
  errno = 0;
  ck_assert_int_eq(stackpack_file_open(&file, "/"), STACKPACK_SYSTEM_ERROR);
  ck_assert_int_eq(errno, EISDIR);
}

TEST(other_files) {
  struct bytes bytes = {0};
  check_error(&bytes, STACKPACK_NOT_ELF);
  bytes_add(&bytes, "#!/bin/sh\n", 10);
  check_error(&bytes, STACKPACK_NOT_ELF);
  bytes_zeros(&bytes, 5000);
  check_error(&bytes, STACKPACK_NOT_ELF);
  bytes_free(&bytes);
}

TEST(other_kinds_of_elf_files) {
  static const struct {
    unsigned place;
    uint8_t value;
  } changes[] = {{EI_CLASS, ELFCLASS32},
                 {EI_CLASS, ELFCLASSNONE},
                 {EI_DATA, ELFDATA2MSB},
                 {EI_DATA, ELFDATANONE},
                 {EI_MAG1, 'F'}};
  for (unsigned i = 0; i < sizeof changes / sizeof *changes; i++) {
    struct elf elf = begin();
    elf_finish(&elf);
    elf.bytes.data[changes[i].place] = changes[i].value;
    check_error(&elf.bytes, STACKPACK_NOT_ELF);
    elf_free(&elf);
  }
}

TEST(an_elf_file_without_stack_maps) {
  struct elf elf = begin();
  check_elf_error(&elf, STACKPACK_NO_STACK_MAPS);
  elf_begin(&elf, BASE);
  elf.without_sections = true;
  check_elf_error(&elf, STACKPACK_NO_STACK_MAPS);
}

/* ---- A real file ---- */

/* Of process_stackmap.S. */
extern const char managed_outer[], managed_outer_return[], managed_inner[], managed_inner_return[];

TEST(the_file_of_this_program) {
  struct stackpack_file file;
  struct stackpack_record outer, inner;
  ck_assert_int_eq(stackpack_file_open(&file, "/proc/self/exe"), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_table_records(&file.table), 2);
  ck_assert_int_eq(stackpack_table_record(&file.table, 0, &outer), STACKPACK_FOUND);
  ck_assert_int_eq(stackpack_table_record(&file.table, 1, &inner), STACKPACK_FOUND);
  ck_assert_int_eq(outer.address - stackpack_record_function(&outer),
                   managed_outer_return - managed_outer);
  ck_assert_int_eq(inner.address - outer.address, managed_inner_return - managed_outer_return);
  ck_assert_int_eq(inner.address - stackpack_record_function(&inner),
                   managed_inner_return - managed_inner);
  ck_assert(stackpack_table_check(&file.table));
  struct stackpack_sources sources; /* it has no positions in packed form */
  ck_assert_int_eq(stackpack_record_sources(&outer, NULL, 0, &sources), STACKPACK_SOURCE_RAW);
  stackpack_file_close(&file);
}

/* Every prefix is refused, or has no stack maps: its section headers are at its end. */
TEST(prefixes_of_the_file_of_this_program) {
  enum { SIZE = 1 << 20, STEP = 4093 };
  FILE *self = fopen("/proc/self/exe", "rb");
  struct bytes bytes = {.data = test_allocate(SIZE), .capacity = SIZE};
  struct stackpack_file file;
  ck_assert_ptr_nonnull(self);
  const size_t size = fread(bytes.data, 1, SIZE, self);
  fclose(self);
  for (bytes.size = 1; bytes.size < size; bytes.size += STEP) {
    const enum stackpack_error error = open_bytes(&bytes, &file);
    ck_assert(error == STACKPACK_NOT_ELF || error == STACKPACK_NO_STACK_MAPS);
  }
  bytes_free(&bytes);
}

/* ---- Broken files ---- */

/* Cut anywhere: an error, unless all that matters is there. */
TEST(truncated_anywhere) {
  for (int packed = 0; packed < 2; packed++) {
    struct model model = make_model();
    struct elf elf = begin();
    elf.without_sections = packed != 0;
    if (packed)
      elf_add_packed_model(&elf, &model);
    else
      elf_add_raw_model(&elf, &model);
    elf_finish(&elf);
    for (size_t size = 0; size < elf.bytes.size - 7; size++) { /* 7: padding after a table */
      const struct bytes cut = {elf.bytes.data, size, size};
      struct stackpack_file file;
      ck_assert_int_ne(open_bytes(&cut, &file), STACKPACK_OK);
    }
    elf_free(&elf);
    model_free(&model);
  }
}

/* The bytes after the section headers are none, even where the section of names has that number. */
TEST(names_beyond_the_section_headers) {
  enum { TIMES = 6 };
  const Elf64_Shdr beyond = {.sh_type = SHT_STRTAB, .sh_size = UINT64_MAX};
  char path[ELF_PATH_SIZE];
  struct elf elf = begin();
  struct elf_file file;
  Elf64_Ehdr header;
  elf_finish(&elf);
  memcpy(&header, elf.bytes.data, sizeof header);
  header.e_shstrndx = header.e_shnum;
  memcpy(elf.bytes.data, &header, sizeof header);
  elf_add(&elf, &beyond, sizeof beyond);
  write_temporary(&elf.bytes, path);
  ck_assert_int_eq(elf_file_open(&file, path), 0);
  ck_assert_int_eq(elf_file_fetch(&file, 0, elf.bytes.size), 0);
  for (unsigned i = 0; i < TIMES; i++) /* there is a limit of bytes */
    ck_assert_int_eq(elf_file_fetch_sections(&file), 0);
  elf_file_close(&file);
  unlink(path);
  elf_free(&elf);
}

/* It has become shorter since it was opened. */
TEST(a_file_that_is_cut_meanwhile) {
  char path[ELF_PATH_SIZE];
  struct elf elf = begin();
  struct elf_file file;
  elf_finish(&elf);
  write_temporary(&elf.bytes, path);
  ck_assert_int_eq(elf_file_begin(&file, path), 0);
  ck_assert_int_eq(truncate(path, 100), 0);
  errno = 0;
  ck_assert_int_eq(elf_file_fetch(&file, 0, 100), 0);
  ck_assert_int_eq(elf_file_fetch(&file, 50, 100), ESTALE);
  elf_file_close(&file);
  unlink(path);
  elf_free(&elf);
}

/* Any byte of the headers may be anything: each file that opens can be asked. */
TEST(changed_headers) {
  struct model model = make_model();
  struct numbers numbers = {1};
  for (unsigned round = 0; round < 1500; round++) {
    struct elf elf = begin();
    if (round % 2 == 0)
      elf_add_packed_model(&elf, &model);
    const uint64_t headers = elf.bytes.size;
    elf_add_raw_model(&elf, &model);
    add_unwind_table(&elf, CODE, 0x80);
    elf_finish(&elf);
    const size_t from_end = numbers_below(&numbers, 6 * sizeof(Elf64_Shdr));
    const size_t place =
        round % 3 == 0 ? elf.bytes.size - 1 - from_end : numbers_below(&numbers, headers);
    elf.bytes.data[place] = (uint8_t)numbers_next(&numbers);
    struct stackpack_file file;
    struct stackpack_record record;
    if (open_bytes(&elf.bytes, &file) == STACKPACK_OK) {
      stackpack_table_find(&file.table, CODE + 0x10, &record);
      stackpack_file_close(&file);
    }
    elf_free(&elf);
  }
  model_free(&model);
}

TEST(closing_a_file_that_did_not_open) {
  struct stackpack_file file;
  ck_assert_int_ne(stackpack_file_open(&file, "/nowhere/at/all"), STACKPACK_OK);
  stackpack_file_close(&file);
  stackpack_file_close(&file);
}
