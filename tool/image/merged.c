/* merged.c - finds stack maps that a linker script has put among other data.
 *
 * With `.rodata : { *(.rodata) *(.llvm_stackmaps) }` in a linker script, the stack maps have no
 * section header. But LLVM labels those of each object file: a symbol `__LLVM_StackMaps`, local and
 * without a size, at the start of each map. Reading a map finds its end. So each symbol gives a
 * range, and ranges that meet are one. In the image, each range becomes a section of its own: the
 * bytes before it keep the old section's number, and the bytes after it become another section.
 *
 * A map whose symbol is lost must still be found. (`strip -x` removes local symbols; then only
 * global ones are left.) So it is an error if the bytes after a range can be read as a map with
 * functions.
 */
#include "tool/image/merged.h"

#include "format/array.h"
#include "format/bits.h"
#include "format/stackmap_v3.h"
#include "tool/image/load.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char symbol_name[] = "__LLVM_StackMaps";

enum { PADDING_MAX = 64 }; /* zeros that a linker may put between two maps */

/* ---- Symbols ---- */

/* Where a map starts. */
struct start {
  uint64_t address;
  size_t section; /* its number */
};

/* All of them, by address. */
struct starts {
  struct start *items;
  size_t count, capacity;
};

static bool is_wanted(const struct image *image, const char *wanted, const GElf_Sym *symbol) {
  if (symbol->st_shndx >= image->section_count)
    return false;
  const struct image_section *section = &image->sections[symbol->st_shndx];
  const Elf64_Shdr *header = &section->header;
  const bool is_named = wanted == NULL || strcmp(section->name, wanted) == 0;
  return is_named && strcmp(section->name, RAW_SECTION) != 0 && header->sh_type == SHT_PROGBITS &&
         (header->sh_flags & SHF_ALLOC) != 0 &&
         symbol->st_value - header->sh_addr < header->sh_size;
}

ORDER_FUNCTION(compare_starts, struct start, address, section)

/* Each once: a symbol may be in both symbol tables. */
static void collect_symbols(const struct image *image, const char *section, struct starts *starts) {
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);)
    if (strcmp(at.name, symbol_name) == 0 && is_wanted(image, section, &at.symbol) &&
        !ARRAY_ADD(starts->items, starts->count, starts->capacity,
                   (struct start){at.symbol.st_value, at.symbol.st_shndx}))
      return;
  array_sort(starts->items, starts->count, sizeof *starts->items, compare_starts);
  size_t kept = 0;
  for (size_t i = 0; i < starts->count; i++)
    if (kept == 0 || starts->items[kept - 1].address != starts->items[i].address)
      starts->items[kept++] = starts->items[i];
  starts->count = kept;
}

/* ---- Lengths ---- */

/* Reads one map: reader->position is then its length. False, with an error, for other bytes. */
static bool read_map(struct stackmap_v3_reader *reader) {
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  if (reader->size == 0 || reader->bytes[0] == 0)
    reader->error = "no stack map";
  if (!stackmap_v3_next_map(reader))
    return false;
  while (stackmap_v3_next_function(reader, &function))
    for (uint64_t i = 0; i < function.records; i++)
      if (!stackmap_v3_next_record(reader, &record))
        break;
  if (reader->error == NULL && reader->records_left != 0)
    reader->error = "a stack map header that counts more records than its functions have";
  return reader->error == NULL;
}

/* Whether another map, without a symbol, follows a map's end and perhaps some padding. */
static bool is_followed(const uint8_t *bytes, uint64_t size) {
  uint64_t padding = 0;
  while (padding < size && padding < PADDING_MAX && bytes[padding] == 0)
    padding++;
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes + padding, size - padding);
  return padding % 8 == 0 && read_map(&reader) && reader.functions > 0;
}

/* Reads the map at an address, up to the next one's start at most. */
static bool measure(const struct image_section *section, const uint8_t *contents, uint64_t start,
                    uint64_t next, uint64_t *end, struct problem *problem) {
  const uint64_t into = start - section->header.sh_addr;
  assert(into < section->header.sh_size && start < next);
  const uint8_t *bytes = contents + into;
  uint64_t room = section->header.sh_size - into;
  if (next - start < room)
    room = next - start;
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes, room);
  if (!read_map(&reader))
    return problem_set(
        problem, "%s (version %u, or another format), at __LLVM_StackMaps in %s at 0x%" PRIx64,
        reader.error, room > 0 ? bytes[0] : 0, section->name, start);
  assert(reader.position <= room);
  *end = start + reader.position;
  return !is_followed(bytes + reader.position, room - reader.position) ||
         problem_set(problem, "a stack map without a symbol, after the one in %s at 0x%" PRIx64,
                     section->name, start);
}

/* Makes the run of maps that meet, from the start number *next on, a section; *next is then the
 * next run's. rest[n] is the number of the part of section n after its last map. A named section
 * that consists of maps is found by its name already. */
static bool cut_run(struct image *image, bool is_named, const struct starts *starts, size_t *rest,
                    size_t *next, struct problem *problem) {
  const bool is_first = *next == 0;
  const uint64_t start = starts->items[*next].address;
  const size_t origin = starts->items[*next].section, number = rest[origin];
  const struct image_section section = image->sections[number];
  uint64_t end = start;
  size_t i = *next;
  for (; i < starts->count && starts->items[i].address == end && starts->items[i].section == origin;
       i++)
    if (!measure(&section, image->bytes + section.header.sh_offset, end,
                 i + 1 < starts->count ? starts->items[i + 1].address : UINT64_MAX, &end, problem))
      return false;
  assert(i > *next && end > start);
  *next = i;
  const bool is_all = is_first && i == starts->count && start == section.header.sh_addr &&
                      end - start == section.header.sh_size;
  if (is_named && is_all)
    return true;
  if (!image_split(image, number, start, end - start, RAW_SECTION, problem))
    return false;
  rest[origin] = image->section_count - 1;
  return true;
}

static bool cut_out(struct image *image, bool is_named, const struct starts *starts,
                    struct problem *problem) {
  size_t *rest = calloc(image->section_count + 1, sizeof *rest);
  bool ok = true;
  for (size_t i = 0; i < image->section_count; i++)
    rest[i] = i;
  for (size_t next = 0; ok && next < starts->count;)
    ok = cut_run(image, is_named, starts, rest, &next, problem);
  free(rest);
  return ok;
}

bool merged_separate(struct image *image, const char *section, struct problem *problem) {
  struct section_bytes packed;
  struct starts starts = {0};
  if (image->header.e_type == ET_REL || elf_image_find_packed(&image->elf_image, &packed))
    return true;
  collect_symbols(image, section, &starts);
  const bool ok = cut_out(image, section != NULL, &starts, problem);
  free(starts.items);
  return ok;
}
