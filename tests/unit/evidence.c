/* evidence.c - tests the finding of a file's evidence: its code, its unwind table with and without section headers, and the IDs
 * of its statepoints.
 */
#include "elf/evidence.h"
#include "elf/note.h"
#include "elf_writer.h"
#include "suite.h"

#include <string.h>

enum { BASE = 0x400000, INDEX_SIZE = 12, UNWIND_SIZE = 16 };

/* An entry of .eh_frame of 12 bytes, without the terminator that follows it. */
static const uint8_t unwind[UNWIND_SIZE + 4] = {12, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16};

static struct evidence find(struct elf *elf, struct elf_image *image) {
  struct evidence evidence;
  elf_finish(elf);
  ck_assert_ptr_null(elf_image_open(image, elf->bytes.data, elf->bytes.size));
  ck_assert_ptr_null(elf_image_index(image));
  ck_assert(evidence_find(&evidence, image));
  return evidence;
}

/* ---- Unwind tables ---- */

/* An index of this version and encoding, before or after its table; its place. */
static uint64_t add_index(struct elf *elf, uint8_t version, uint8_t encoding, bool is_before) {
  uint8_t index[INDEX_SIZE] = {version, encoding, 3, 0x3b};
  uint64_t at, table;
  if (is_before) {
    at = elf_add(elf, index, sizeof index);
    table = elf_add(elf, unwind, sizeof unwind);
  } else {
    table = elf_add(elf, unwind, sizeof unwind);
    at = elf_add(elf, index, sizeof index);
  }
  const uint32_t distance = (uint32_t)(table - (at + 4));
  memcpy(elf->bytes.data + at + 4, &distance, sizeof distance);
  elf_add_segment(elf, PT_GNU_EH_FRAME, at, INDEX_SIZE);
  return table;
}

TEST(the_table_of_an_index) {
  for (unsigned is_before = 0; is_before < 2; is_before++) {
    struct elf elf;
    struct elf_image image;
    elf_begin(&elf, BASE);
    elf.without_sections = true;
    const uint64_t table = add_index(&elf, 1, 0x1b, is_before);
    struct evidence evidence = find(&elf, &image);
    ck_assert_ptr_eq(evidence.unwind.bytes, elf.bytes.data + table);
    ck_assert_uint_eq(evidence.unwind.address, BASE + table);
    ck_assert_uint_eq(evidence.unwind.size, UNWIND_SIZE);
    evidence_free(&evidence);
    elf_free(&elf);
  }
}

enum way { OTHER_VERSION, OTHER_ENCODING, OTHER_HEADER, BEYOND, WITH_SECTIONS, WAYS };

TEST(no_table_of_an_index) {
  for (enum way way = 0; way < WAYS; way++) {
    struct elf elf;
    struct elf_image image;
    elf_begin(&elf, BASE);
    elf.without_sections = way != WITH_SECTIONS;
    add_index(&elf, way == OTHER_VERSION ? 2 : 1, way == OTHER_ENCODING ? 0x3b : 0x1b, true);
    if (way == OTHER_HEADER)
      elf.segments[0].p_type = PT_NOTE;
    if (way == BEYOND) { /* the header comes after the last one */
      elf.segments[1] = elf.segments[0];
      elf.segment_count = 0;
    }
    struct evidence evidence = find(&elf, &image);
    ck_assert_msg(evidence.unwind.bytes == NULL, "%d", way);
    evidence_free(&evidence);
    elf_free(&elf);
  }
}

TEST(the_table_of_a_section) {
  struct elf elf;
  struct elf_image image;
  elf_begin(&elf, BASE);
  add_index(&elf, 1, 0x1b, true);
  const unsigned section = elf_add_section(&elf, ".eh_frame", SHT_PROGBITS, unwind, sizeof unwind);
  struct evidence evidence = find(&elf, &image);
  ck_assert_uint_eq(evidence.unwind.address, elf.sections[section].sh_addr);
  ck_assert_uint_eq(evidence.unwind.size, sizeof unwind);
  evidence_free(&evidence);
  elf_free(&elf);
}

/* ---- Code ---- */

/* Executable segments of the file are its code. */
TEST(the_code_of_segments) {
  static const struct {
    uint32_t type, flags;
    bool is_code;
  } ways[] = {
      {PT_LOAD, PF_R | PF_X, true}, {PT_LOAD, PF_R | PF_W, false}, {PT_NOTE, PF_R | PF_X, false}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct elf elf;
    struct elf_image image;
    elf_begin(&elf, BASE);
    const uint64_t offset = elf_add(&elf, unwind, sizeof unwind);
    elf_add_segment(&elf, ways[i].type, offset, sizeof unwind);
    elf.segments[0].p_flags = ways[i].flags;
    struct evidence evidence = find(&elf, &image);
    ck_assert_ptr_eq(evidence.code.machine, machine_find(image.header.e_machine));
    ck_assert_uint_eq(evidence.code.count, ways[i].is_code);
    if (ways[i].is_code) {
      ck_assert_uint_eq(evidence.code.parts[0].address, BASE + offset);
      ck_assert_uint_eq(evidence.code.parts[0].size, sizeof unwind);
      ck_assert_ptr_eq(evidence.code.parts[0].bytes, elf.bytes.data + offset);
    }
    evidence_free(&evidence);
    elf_free(&elf);
  }
}

/* ---- IDs ---- */

/* Ranges of IDs; the last one is cut. */
TEST(the_ids_of_notes) {
  const struct {
    uint8_t head[PACKED_NOTE_SIZE];
    uint64_t ids[5];
  } note = {NOTE_OF(NOTE_STATEPOINTS), {1, 10, 20, 30, 40}};
  struct elf elf;
  struct elf_image image;
  elf_begin(&elf, BASE);
  const uint64_t offset = elf_add(&elf, &note, sizeof note);
  const uint32_t size = sizeof note.ids;
  memcpy(elf.bytes.data + offset + 4, &size, sizeof size);
  elf_add_segment(&elf, PT_NOTE, offset, sizeof note);
  struct evidence evidence = find(&elf, &image);
  ck_assert_uint_eq(evidence.ids.count, 2);
  ck_assert_ptr_eq(evidence_signs(&evidence).ids, &evidence.ids);
  evidence_free(&evidence);
  elf_free(&elf);
}
