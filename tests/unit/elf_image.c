/* elf_image.c - tests the parts of an ELF file that are found in its bytes: strings, symbols, notes and relocations. The
 * bytes after them must stay unread.
 */
#include "elf/elf_image.h"
#include "elf/note.h"
#include "elf_writer.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { BASE = 0x400000, FAR = 0x800000 };

static struct elf begin(void) {
  struct elf elf;
  elf_begin(&elf, BASE);
  return elf;
}

static struct elf_image open_image(struct elf *elf) {
  struct elf_image image;
  elf_finish(elf);
  ck_assert_ptr_null(elf_image_open(&image, elf->bytes.data, elf->bytes.size));
  ck_assert_ptr_null(elf_image_index(&image));
  return image;
}

/* Puts the last segment's header behind the last one that the file has. */
static void put_beyond(struct elf *elf) {
  elf->segments[elf->segment_count] = elf->segments[elf->segment_count - 1];
  elf->segments[elf->segment_count - 1] = (Elf64_Phdr){0};
  elf->segment_count--;
}

/* ---- Segments ---- */

TEST(a_packed_table_of_a_header_beyond_the_last) {
  for (int beyond = 0; beyond < 2; beyond++) {
    static const uint8_t table[64] = {0};
    struct section_bytes packed;
    struct elf elf = begin();
    elf_add_packed(&elf, table, sizeof table);
    if (beyond)
      put_beyond(&elf);
    const struct elf_image image = open_image(&elf);
    ck_assert(elf_image_find_packed(&image, &packed) == !beyond);
    elf_free(&elf);
  }
}

TEST(an_address_of_a_header_beyond_the_last) {
  for (int beyond = 0; beyond < 2; beyond++) {
    uint64_t size;
    struct elf elf = begin();
    elf_add_segment(&elf, PT_LOAD, 0, 64);
    elf.segments[0].p_vaddr = FAR;
    if (beyond)
      put_beyond(&elf);
    const struct elf_image image = open_image(&elf);
    const uint8_t *place = elf_image_at(&image, FAR + 8, &size);
    ck_assert_ptr_eq(place, beyond ? NULL : elf.bytes.data + 8);
    ck_assert_uint_eq(size, beyond ? 0 : 56);
    elf_free(&elf);
  }
}

/* The last executable segment ends there; other kinds of segments, and of headers, are further on. */
TEST(the_end_of_the_code) {
  static const struct {
    uint32_t type, flags;
    bool beyond, is_code;
  } ways[] = {{PT_LOAD, PF_R | PF_X, false, true},
              {PT_LOAD, PF_R, false, false},
              {PT_NOTE, PF_R | PF_X, false, false},
              {PT_LOAD, PF_R | PF_X, true, false}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct elf elf = begin();
    elf_add_segment(&elf, PT_LOAD, 0, 64);
    elf.segments[0].p_flags = PF_R | PF_X;
    elf_add_segment(&elf, ways[i].type, 0, 64);
    elf.segments[1].p_flags = ways[i].flags;
    elf.segments[1].p_vaddr = FAR;
    if (ways[i].beyond)
      put_beyond(&elf);
    const struct elf_image image = open_image(&elf);
    ck_assert_uint_eq(elf_image_code_end(&image), ways[i].is_code ? FAR + 64 : BASE + 64);
    elf_free(&elf);
  }
}

/* ---- Notes ---- */

/* A note of the library's name, and its description. */
struct own_note {
  uint8_t head[PACKED_NOTE_SIZE];
  uint64_t description;
};

static struct own_note note_of(uint32_t type, uint64_t description) {
  struct own_note note = {.description = description};
  const Elf64_Nhdr header = {10, sizeof note.description, type};
  memcpy(note.head, packed_note, sizeof note.head);
  memcpy(note.head, &header, sizeof header);
  return note;
}

/* The descriptions of the notes of type 2, added up. */
static uint64_t sum_notes(const struct elf_image *image) {
  struct elf_notes notes = elf_notes(image);
  uint64_t sum = 0, size, value;
  for (const uint8_t *at; (at = elf_notes_next(&notes, NOTE_STATEPOINTS, &size)) != NULL;) {
    ck_assert_uint_eq(size, sizeof value);
    memcpy(&value, at, sizeof value);
    sum += value;
  }
  return sum;
}

TEST(notes_of_a_type) {
  struct own_note notes[] = {
      note_of(NOTE_STATEPOINTS, 1), note_of(NOTE_READER, 2),       note_of(NOTE_STATEPOINTS, 4),
      note_of(NOTE_STATEPOINTS, 8), note_of(NOTE_STATEPOINTS, 16),
  };
  notes[3].head[12] = 'x'; /* of another name */
  struct elf elf = begin();
  const uint64_t offset = elf_add(&elf, notes, sizeof notes);
  elf_add_segment(&elf, PT_NOTE, offset, sizeof notes);
  elf_add_segment(&elf, PT_NOTE, offset, sizeof notes[0]);
  elf_add_segment(&elf, PT_NULL, offset, sizeof notes[0]);
  elf_add_segment(&elf, PT_NOTE, offset, sizeof notes[0] - 1); /* cut */
  elf_add_segment(&elf, PT_NOTE, offset, sizeof(Elf64_Nhdr));
  elf_add_segment(&elf, PT_NOTE, offset + sizeof notes[0], 2 * sizeof notes[0]);
  const struct elf_image image = open_image(&elf);
  ck_assert_uint_eq(sum_notes(&image), (1 + 4 + 16) + 1 + 4);
  elf_free(&elf);
}

/* mold 1.10 has them in one segment of alignment 8: padded where their sections are aligned to 8, and unpadded
 * where to 4. */
TEST(notes_of_two_alignments) {
  struct {
    Elf64_Nhdr foreign;
    char name[4];
    uint32_t description, padding;
    struct own_note own;
  } notes = {{4, 4, 5}, "GNU", 0, 0, note_of(NOTE_STATEPOINTS, 1)};
  for (unsigned words = 0; words <= 1; words++) {
    struct elf elf = begin();
    uint8_t bytes[sizeof notes];
    const size_t before = offsetof(__typeof__(notes), padding) + 4 * words;
    memcpy(bytes, &notes, before);
    memcpy(bytes + before, &notes.own, sizeof notes.own);
    elf_add_segment(&elf, PT_NOTE, elf_add(&elf, bytes, before + sizeof notes.own),
                    before + sizeof notes.own);
    elf.segments[0].p_align = 8;
    const struct elf_image image = open_image(&elf);
    ck_assert_uint_eq(sum_notes(&image), 1);
    elf_free(&elf);
  }
}

TEST(notes_of_a_header_beyond_the_last) {
  const struct own_note note = note_of(NOTE_STATEPOINTS, 1);
  for (int beyond = 0; beyond < 2; beyond++) {
    struct elf elf = begin();
    elf_add_segment(&elf, PT_NOTE, elf_add(&elf, &note, sizeof note), sizeof note);
    if (beyond)
      put_beyond(&elf);
    const struct elf_image image = open_image(&elf);
    ck_assert_uint_eq(sum_notes(&image), beyond ? 0 : 1);
    elf_free(&elf);
  }
}

/* ---- Strings ---- */

/* With an end, each string is found; without one, the short ones that do end. */
TEST(strings_of_a_section) {
  enum { LONG = 5000 };
  static const char whole[] = "ab\0cd", open[] = {'a', 'b', 0, 'c', 'd'};
  char *large = test_allocate(LONG);
  memset(large, 'x', LONG);
  large[LONG - 2] = 0;
  struct elf elf = begin();
  const unsigned with_end = elf_add_section(&elf, ".a", SHT_STRTAB, whole, sizeof whole);
  const unsigned without = elf_add_section(&elf, ".b", SHT_STRTAB, open, sizeof open);
  const unsigned with_large = elf_add_section(&elf, ".c", SHT_STRTAB, large, LONG);
  const unsigned other = elf_add_section(&elf, ".d", SHT_PROGBITS, whole, sizeof whole);
  const unsigned empty = elf_add_section(&elf, ".e", SHT_STRTAB, whole, 0);
  const struct elf_image image = open_image(&elf);
  ck_assert_str_eq(elf_image_string(&image, with_end, 0), "ab");
  ck_assert_str_eq(elf_image_string(&image, with_end, 3), "cd");
  ck_assert_str_eq(elf_image_string(&image, with_end, 5), "");
  ck_assert_ptr_null(elf_image_string(&image, with_end, sizeof whole));
  ck_assert_str_eq(elf_image_string(&image, without, 0), "ab");
  ck_assert_ptr_null(elf_image_string(&image, without, 3));
  ck_assert_ptr_null(elf_image_string(&image, without, sizeof open));
  ck_assert_ptr_null(elf_image_string(&image, with_large, 0));
  ck_assert_uint_eq(strlen(elf_image_string(&image, with_large, LONG - 4)), 2);
  ck_assert_ptr_null(elf_image_string(&image, other, 0));
  ck_assert_ptr_null(elf_image_string(&image, empty, 0));
  ck_assert_ptr_null(elf_image_string(&image, image.header.e_shnum, 0));
  elf_free(&elf);
  free(large);
}

/* ---- Symbols ---- */

static const char names[] = "\0__LLVM_StackMaps\0other";
enum { NO_NAME = 0, RAW_NAME = 1, OTHER_NAME = 18 };

static Elf64_Sym symbol(uint32_t name, unsigned type, uint64_t address, uint16_t section) {
  return (Elf64_Sym){.st_name = name,
                     .st_info = (unsigned char)ELF64_ST_INFO(STB_GLOBAL, type),
                     .st_value = address,
                     .st_size = 16,
                     .st_shndx = section};
}

static void add_symbols(struct elf *elf, uint32_t type, const Elf64_Sym *symbols, size_t count) {
  const unsigned strings = elf_add_section(elf, ".strings", SHT_STRTAB, names, sizeof names);
  const unsigned table = elf_add_section(elf, ".symbols", type, symbols, count * sizeof *symbols);
  elf->sections[table].sh_link = strings;
}

TEST(defined_symbols) {
  const Elf64_Sym some[] = {symbol(RAW_NAME, STT_OBJECT, 1, 1),
                            symbol(OTHER_NAME, STT_FUNC, 2, SHN_UNDEF),
                            symbol(sizeof names, STT_FUNC, 4, 1),
                            symbol(OTHER_NAME, STT_FUNC, 8, 1)},
                  more[] = {symbol(OTHER_NAME, STT_FUNC, 16, 1)};
  struct elf elf = begin();
  add_symbols(&elf, SHT_SYMTAB, some, 4);
  add_symbols(&elf, SHT_SYMTAB, more, 1); /* a second table of the type */
  add_symbols(&elf, SHT_DYNSYM, more, 1);
  const struct elf_image image = open_image(&elf);
  uint64_t sum = 0;
  unsigned dynamic = 0;
  for (struct elf_symbols at = elf_symbols(&image); elf_symbols_next_defined(&at);) {
    ck_assert_ptr_nonnull(at.name);
    sum += at.symbol.st_value;
    dynamic += at.is_dynamic;
  }
  ck_assert_uint_eq(sum, 1 + 8 + 16);
  ck_assert_uint_eq(dynamic, 1);
  sum = 0;
  for (struct elf_symbols at = elf_symbols(&image); elf_symbols_next(&at);)
    sum += at.symbol.st_value;
  ck_assert_uint_eq(sum, 1 + 2 + 4 + 8 + 16);
  elf_free(&elf);
}

/* Only the static table's symbol counts. */
TEST(the_symbol_of_stack_maps) {
  static const struct {
    uint32_t type, name;
    bool has_it;
  } ways[] = {{SHT_SYMTAB, RAW_NAME, true},
              {SHT_SYMTAB, RAW_NAME + 1, false},
              {SHT_SYMTAB, OTHER_NAME, false},
              {SHT_DYNSYM, RAW_NAME, false}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const Elf64_Sym symbols[] = {symbol(NO_NAME, STT_NOTYPE, 0, SHN_UNDEF),
                                 symbol(ways[i].name, STT_OBJECT, BASE, 1)};
    struct elf elf = begin();
    add_symbols(&elf, ways[i].type, symbols, 2);
    const struct elf_image image = open_image(&elf);
    ck_assert(elf_image_has_raw_symbol(&image) == ways[i].has_it);
    elf_free(&elf);
  }
}

TEST(functions_of_symbols) {
  const Elf64_Sym symbols[] = {
      symbol(OTHER_NAME, STT_FUNC, 0x1000, 1), symbol(OTHER_NAME, STT_GNU_IFUNC, 0x2000, 1),
      symbol(OTHER_NAME, STT_OBJECT, 0x3000, 1), symbol(OTHER_NAME, STT_FUNC, 0x4000, SHN_UNDEF)};
  struct code_ranges ranges = {0};
  struct elf elf = begin();
  add_symbols(&elf, SHT_SYMTAB, symbols, 4);
  const struct elf_image image = open_image(&elf);
  ck_assert(elf_image_add_symbols(&image, &ranges));
  ck_assert_uint_eq(ranges.count, 2);
  ck_assert_uint_eq(ranges.items[0].start, 0x1000);
  ck_assert_uint_eq(ranges.items[0].end, 0x1010);
  ck_assert_uint_eq(ranges.items[1].start, 0x2000);
  code_ranges_free(&ranges);
  elf_free(&elf);
}

/* ---- Relocations ---- */

#ifdef __aarch64__
enum { RELATIVE = R_AARCH64_RELATIVE, SYMBOLIC = R_AARCH64_ABS64 };
#else
enum { RELATIVE = R_X86_64_RELATIVE, SYMBOLIC = R_X86_64_64 };
#endif
enum { DT_ANDROID_RELA_ = 0x60000011, DYNAMIC_MAX = 8 };

/* A dynamic section with a table of relocations. */
struct dynamic {
  Elf64_Dyn entries[DYNAMIC_MAX];
  size_t count;
};

static void add_entry(struct dynamic *dynamic, int64_t tag, uint64_t value) {
  dynamic->entries[dynamic->count++] = (Elf64_Dyn){tag, {value}};
}

static struct dynamic add_relocations(struct elf *elf, const Elf64_Rela *relocations,
                                      size_t count) {
  struct dynamic dynamic = {0};
  const uint64_t size = count * sizeof *relocations;
  add_entry(&dynamic, DT_RELA, BASE + elf_add(elf, relocations, size));
  add_entry(&dynamic, DT_RELASZ, size);
  return dynamic;
}

static void add_dynamic(struct elf *elf, const struct dynamic *dynamic) {
  const uint64_t size = (dynamic->count + 1) * sizeof *dynamic->entries;
  elf_add_segment(elf, PT_DYNAMIC, elf_add(elf, dynamic->entries, size), size);
}

static Elf64_Rela relocation(uint64_t address, uint32_t type, uint64_t number, int64_t addend) {
  return (Elf64_Rela){address, ELF64_R_INFO(number, type), addend};
}

/* The section that is relocated: two words. */
static const Elf64_Shdr section = {.sh_addr = FAR, .sh_size = 16};

static bool relocate(const struct elf_image *image, uint64_t words[2], uint32_t *unknown) {
  words[0] = words[1] = 7;
  return elf_image_relocate(image, &section, (uint8_t *)words, unknown);
}

TEST(relocations_of_a_section) {
  const Elf64_Rela relocations[] = {
      relocation(FAR - 8, RELATIVE, 0, 1),
      relocation(FAR + 16, RELATIVE, 0, 2),
      relocation(FAR + 8, RELATIVE, 0, 3),
      {.r_offset = FAR, .r_addend = 4}, /* of no type */
  };
  for (int beyond = 0; beyond < 2; beyond++) {
    uint64_t words[2];
    uint32_t unknown;
    struct elf elf = begin();
    const struct dynamic dynamic = add_relocations(&elf, relocations, 4);
    add_dynamic(&elf, &dynamic);
    if (beyond)
      put_beyond(&elf);
    const struct elf_image image = open_image(&elf);
    ck_assert(relocate(&image, words, &unknown));
    ck_assert_uint_eq(words[0], 7);
    ck_assert_uint_eq(words[1], beyond ? 7 : 3);
    ck_assert(elf_image_is_relocated(&image, &section) == !beyond);
    elf_free(&elf);
  }
}

TEST(relocations_across_the_end) {
  for (int64_t into = 8; into < 16; into++) {
    const Elf64_Rela relocations[] = {relocation(FAR + (uint64_t)into, RELATIVE, 0, 3)};
    uint64_t words[2];
    uint32_t unknown;
    struct elf elf = begin();
    const struct dynamic dynamic = add_relocations(&elf, relocations, 1);
    add_dynamic(&elf, &dynamic);
    const struct elf_image image = open_image(&elf);
    ck_assert(relocate(&image, words, &unknown) == (into == 8));
    ck_assert_uint_eq(unknown, into == 8 ? 0 : RELATIVE);
    elf_free(&elf);
  }
}

/* Each entry of the dynamic section is there once, or not at all. */
TEST(relocations_that_are_ambiguous) {
  static const int64_t tags[] = {DT_NEEDED, DT_RELA, DT_RELASZ, DT_SYMTAB, DT_ANDROID_RELA_};
  const Elf64_Rela relocations[] = {relocation(FAR, RELATIVE, 0, 3)};
  for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
    uint64_t words[2];
    uint32_t unknown;
    struct elf elf = begin();
    struct dynamic dynamic = add_relocations(&elf, relocations, 1);
    add_entry(&dynamic, DT_SYMTAB, BASE);
    add_entry(&dynamic, tags[i], BASE);
    add_entry(&dynamic, DT_NULL, 0);
    add_entry(&dynamic, DT_RELA, BASE); /* behind the end */
    add_dynamic(&elf, &dynamic);
    const struct elf_image image = open_image(&elf);
    ck_assert(relocate(&image, words, &unknown) == (i == 0));
    ck_assert(elf_image_is_relocated(&image, &section));
    elf_free(&elf);
  }
}

/* The symbols go on to the end of the segment; the bytes after the file would be one more. */
TEST(relocations_by_symbols_at_the_end) {
  for (uint64_t number = 1; number < 3; number++) {
    const Elf64_Rela relocations[] = {relocation(FAR, SYMBOLIC, number, 0)};
    const Elf64_Sym own = symbol(NO_NAME, STT_FUNC, 0x1234, 1);
    uint64_t words[2];
    uint32_t unknown;
    struct elf elf = begin();
    elf.without_sections = true;
    struct dynamic dynamic = add_relocations(&elf, relocations, 1);
    const size_t place = dynamic.count;
    add_entry(&dynamic, DT_SYMTAB, 0);
    add_dynamic(&elf, &dynamic);
    elf_add(&elf, &own, sizeof own);
    const uint64_t symbols = elf_add(&elf, &own, sizeof own) - sizeof own;
    const uint64_t entry = elf.segments[0].p_offset + place * sizeof(Elf64_Dyn);
    memcpy(elf.bytes.data + entry + 8, &(uint64_t){BASE + symbols}, 8);
    elf_finish(&elf);
    const size_t size = elf.bytes.size;
    bytes_add(&elf.bytes, &own, sizeof own);
    struct elf_image image;
    ck_assert_ptr_null(elf_image_open(&image, elf.bytes.data, size));
    ck_assert_ptr_null(elf_image_index(&image));
    ck_assert(relocate(&image, words, &unknown));
    ck_assert_uint_eq(words[0], number == 1 ? 0x1234 : 0);
    elf_free(&elf);
  }
}
