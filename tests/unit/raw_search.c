/* raw_search.c - tests the search for LLVM's stack maps by their form, in a module that is made here: code, data, and a dynamic
 * section in this program's memory.
 */
#include "runtime/internal.h"
#include "suite.h"
#include "v3_writer.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LINK = 0x10000, CODE_SIZE = 0x100, WORDS = 128, SEGMENTS = 4, DYNAMIC = 12 };
enum { ELSEWHERE = 0x7654321000 }; /* another module's address */

/* The section's address at link time is LINK plus its place here. */
struct module {
  uint8_t code[CODE_SIZE];
  uint64_t data[WORDS];
  Elf64_Dyn dynamic[DYNAMIC];
  Elf64_Rela relocation;
  Elf64_Phdr segments[SEGMENTS + 1]; /* from here on, it is outside */
  unsigned segment_count, entries;
};

#define LINK_ADDRESS(field) (LINK + offsetof(struct module, field))

static struct module module;

static uint64_t bias(void) { return (uintptr_t)&module - LINK; }

static void add_segment(uint32_t type, uint32_t flags, uint64_t address, uint64_t size) {
  module.segments[module.segment_count++] = (Elf64_Phdr){
      .p_type = type, .p_flags = flags, .p_vaddr = address, .p_filesz = size, .p_memsz = size};
}

static void add_entry(int64_t tag, uint64_t value) {
  module.dynamic[module.entries++] = (Elf64_Dyn){tag, {value}};
}

static void begin(void) {
  memset(&module, 0, sizeof module);
  add_segment(PT_LOAD, PF_R | PF_X, LINK, CODE_SIZE);
  add_segment(PT_LOAD, PF_R | PF_W, LINK_ADDRESS(data),
              offsetof(struct module, segments) - CODE_SIZE);
  add_segment(PT_DYNAMIC, PF_R | PF_W, LINK_ADDRESS(dynamic), sizeof module.dynamic);
}

static struct elf_image image_of(void) {
  struct elf_image image = {
      .header = {.e_machine = EM_X86_64, .e_phnum = (uint16_t)module.segment_count},
      .loaded = module.segments,
      .bias = bias()};
  ck_assert_ptr_null(elf_image_index(&image));
  return image;
}

/* ---- Maps ---- */

struct map {
  uint32_t version;
  uint64_t
      function; /* 0: discarded; below LINK_ADDRESS(data): a place in the module at link time */
  uint64_t frame_size;
  uint32_t offset;  /* of the record, whose */
  uint8_t kind;     /* of location is this */
  uint32_t records; /* as the map's start has it; the function has one of them */
};

static const struct map sound = {3, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1};

static uint64_t address_of(uint64_t address) {
  return address != 0 && address != ELSEWHERE ? address + bias() : address;
}

/* Puts a map of one function, or of a discarded one and that, at a word of the data; returns its words. */
static size_t put_map(size_t word, struct map map, bool after_discarded) {
  struct bytes bytes = {0};
  v3_map(&bytes, 1 + after_discarded, 0, map.records);
  if (after_discarded)
    v3_function(&bytes, 0, 0, 0);
  v3_function(&bytes, address_of(map.function), map.frame_size, map.records > 0);
  v3_record(&bytes, 1, map.offset, 2);
  v3_location(&bytes, map.kind, 8, 7, 0);
  v3_location(&bytes, V3_CONSTANT, 8, 0, 8);
  v3_live_outs(&bytes, 0);
  v3_end_record(&bytes);
  bytes_set_u32(&bytes, 0, map.version);
  ck_assert_uint_eq(bytes.size % 8, 0);
  const size_t words = bytes.size / 8;
  ck_assert_uint_le(word + words, WORDS);
  memcpy(module.data + word, bytes.data, bytes.size);
  bytes_free(&bytes);
  return words;
}

static void add_relocation(uint64_t address, uint64_t addend) {
  module.relocation = (Elf64_Rela){address, R_X86_64_RELATIVE, (int64_t)addend};
  add_entry(DT_RELA, LINK_ADDRESS(relocation));
  add_entry(DT_RELASZ, sizeof module.relocation);
}

/* ---- Where memory proves that there is none ---- */

static void check_may_be_there(bool expected, const char *name) {
  const struct elf_image image = image_of();
  ck_assert_msg(raw_may_be_there(&image) == (expected || IS_SANITIZED), "%s", name);
}

TEST(bytes_like_a_map) {
  static const struct {
    const char *name;
    struct map map;
    bool after_discarded, expected;
  } ways[] = {
      {"sound", {3, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, false, true},
      {"of a later version", {4, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, false, true},
      {"of the last version", {255, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, false, true},
      {"of no version", {256, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, false, false},
      {"of version 0", {0, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, false, false},
      {"broken", {3, LINK + 0x10, 8, 0x200, 77, 1}, false, true},
      {"at the code's end", {4, LINK + CODE_SIZE - 1, 8, 0, V3_INDIRECT, 1}, false, true},
      {"beyond the code", {4, LINK + CODE_SIZE, 8, 0, V3_INDIRECT, 1}, false, false},
      {"without functions", {4, 0, 8, 0x20, V3_INDIRECT, 1}, false, false},
      {"after a discarded one", {4, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, true, true},
      {"of another module", {4, ELSEWHERE, 8, 0x20, V3_INDIRECT, 1}, false, false},
      {"with a large frame", {4, LINK + 0x10, UINT32_MAX, 0x20, V3_INDIRECT, 1}, false, true},
      {"with no such frame", {4, LINK + 0x10, 1ull << 32, 0x20, V3_INDIRECT, 1}, false, false},
      {"with an unknown frame", {4, LINK + 0x10, UINT64_MAX, 0x20, V3_INDIRECT, 1}, false, true},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    begin();
    put_map(3, ways[i].map, ways[i].after_discarded);
    check_may_be_there(ways[i].expected, ways[i].name);
  }
  begin();
  check_may_be_there(false, "zeros");
}

/* A word that relocations make an address of the module's. */
TEST(functions_by_relocations) {
  struct map other = sound;
  other.function = ELSEWHERE;
  for (int is_own = 0; is_own < 2; is_own++) {
    begin();
    put_map(3, other, false);
    add_relocation(LINK_ADDRESS(data[3 + 2]), is_own ? LINK + 0x10 : LINK + CODE_SIZE);
    check_may_be_there(is_own, "relocated");
  }
  for (unsigned maps = 4; maps < 6; maps++) { /* so many scans of the relocations, and one more */
    begin();
    size_t word = 0;
    for (unsigned i = 0; i < maps; i++)
      word += put_map(word, other, false);
    check_may_be_there(maps > 4, "scans");
  }
}

TEST(modules_of_other_kinds) {
  static const struct {
    const char *name;
    int64_t tag;
    uint64_t value;
    bool expected;
  } ways[] = {
      {"nothing", DT_NEEDED, 1, false},
      {"relocations anywhere", DT_TEXTREL, 0, true},
      {"the same, as a flag", DT_FLAGS, DF_TEXTREL, true},
      {"another flag", DT_FLAGS, DF_BIND_NOW, false},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    begin();
    add_entry(ways[i].tag, ways[i].value);
    check_may_be_there(ways[i].expected, ways[i].name);
  }
  begin();
  module.segments[2].p_type = PT_NULL;
  check_may_be_there(true, "no dynamic section");
  add_segment(PT_DYNAMIC, PF_R, LINK_ADDRESS(dynamic), sizeof module.dynamic);
  module.segment_count--;
  check_may_be_there(true, "one after the last header");
  begin();
  put_map(3, sound, false);
  module.segments[1].p_flags = PF_R;
  check_may_be_there(false, "in memory that nothing writes to");
  module.segments[1].p_flags = PF_W;
  check_may_be_there(true, "in memory that can't be read");
  begin();
  module.segments[2].p_type = PT_LOAD;
  module.segments[2].p_flags = PF_W;
  module.segments[2].p_filesz = 0;
  add_segment(PT_DYNAMIC, PF_R, LINK_ADDRESS(dynamic), sizeof module.dynamic);
  check_may_be_there(false, "in no memory");
}

TEST(a_module_that_is_where_it_was_linked) {
  begin();
  check_may_be_there(false, "elsewhere");
  for (unsigned i = 0; i < module.segment_count; i++)
    module.segments[i].p_vaddr += bias();
  struct elf_image image = image_of();
  image.bias = 0;
  ck_assert(raw_may_be_there(&image));
}

/* ---- The search ---- */

/* The next section, by a module without a file. */
static bool next(Elf64_Shdr *section) {
  const struct elf_image image = image_of();
  unsigned number = 0;
  return raw_next(&image, &number, section);
}

TEST(maps_one_after_another) {
  Elf64_Shdr section = {0};
  begin();
  const size_t first = put_map(5, sound, false), second = put_map(5 + first, sound, true);
  const size_t third = put_map(WORDS - first, sound, false);
  ck_assert(next(&section));
  ck_assert_uint_eq(section.sh_addr, LINK_ADDRESS(data[5]));
  ck_assert_uint_eq(section.sh_size, 8 * (first + second));
  ck_assert(next(&section));
  ck_assert_uint_eq(section.sh_addr, LINK_ADDRESS(data[WORDS - first]));
  ck_assert_uint_eq(section.sh_size, 8 * third);
  ck_assert(!next(&section));
}

TEST(bytes_that_are_no_map) {
  static const struct {
    const char *name;
    struct map map;
    bool expected;
  } ways[] = {
      {"sound", {3, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, true},
      {"up to the code's end", {3, LINK + 0x10, 8, CODE_SIZE - 0x10, V3_INDIRECT, 1}, true},
      {"beyond the code's end", {3, LINK + 0x10, 8, CODE_SIZE - 0xf, V3_INDIRECT, 1}, false},
      {"of a later version", {4, LINK + 0x10, 8, 0x20, V3_INDIRECT, 1}, false},
      {"with a bad location", {3, LINK + 0x10, 8, 0x20, 77, 1}, false},
      {"without records", {3, LINK + 0x10, 8, 0x20, V3_INDIRECT, 0}, false},
      {"with too many records", {3, LINK + 0x10, 8, 0x20, V3_INDIRECT, 2}, false},
      {"discarded", {3, 0, 8, 0x20, V3_INDIRECT, 1}, false},
      {"of another module", {3, ELSEWHERE, 8, 0x20, V3_INDIRECT, 1}, false},
      {"of data", {3, LINK_ADDRESS(data), 8, 0x20, V3_INDIRECT, 1}, false},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    Elf64_Shdr section = {0};
    begin();
    put_map(0, ways[i].map, false);
    ck_assert_msg(next(&section) == ways[i].expected, "%s", ways[i].name);
  }
}

/* The executable may define all functions of a library's map: then relocations say that it is the library's. */
TEST(a_map_by_relocations) {
  Elf64_Shdr section = {0};
  struct map other = sound;
  other.function = ELSEWHERE;
  begin();
  put_map(3, other, false);
  ck_assert(!next(&section));
  add_relocation(LINK_ADDRESS(data[3 + 2]), LINK + 0x10);
  ck_assert(next(&section));
  ck_assert_uint_eq(section.sh_addr, LINK_ADDRESS(data[3]));
}

/* Only segments that are loaded count, and code is executable. */
TEST(segments_that_are_searched) {
  for (unsigned way = 0; way < 4; way++) {
    Elf64_Shdr section = {0};
    begin();
    put_map(0, sound, false);
    if (way == 1)
      module.segments[1].p_type = PT_NOTE;
    if (way == 2)
      module.segments[0].p_flags = PF_R;
    if (way == 3) { /* the code is that of a header after the last one */
      module.segments[3] = module.segments[0];
      module.segments[0].p_type = PT_NULL;
    }
    ck_assert_msg(next(&section) == (way == 0), "%u", way);
  }
}

/* A page that threads poll, before the maps. */
TEST(a_page_that_is_unreadable) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  uint8_t *pages = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(pages, MAP_FAILED);
  begin();
  const size_t words = put_map(0, sound, false);
  memcpy(pages + 2 * page, module.data, words * 8);
  memset(module.data, 0, sizeof module.data);
  add_segment(PT_LOAD, PF_R | PF_W, (uintptr_t)pages - bias(), 3 * page);
  ck_assert_int_eq(mprotect(pages + page, page, PROT_NONE), 0);
  const struct elf_image image = image_of();
  Elf64_Shdr section = {0};
  unsigned number = 0;
  ck_assert(raw_may_be_there(&image));
  ck_assert(raw_next(&image, &number, &section));
  ck_assert_uint_eq(section.sh_addr, (uintptr_t)pages + 2 * page - bias());
  ck_assert_uint_eq(section.sh_size, words * 8);
  ck_assert(!raw_next(&image, &number, &section));
  munmap(pages, 3 * page);
}
