/* merged.c - finds stack maps that a linker script has put among other data.
 *
 * With `.rodata : { *(.rodata) *(.llvm_stackmaps) }` in a linker script, no section header says where
 * the stack maps are. But LLVM labels those of each object file: a symbol `__LLVM_StackMaps`, local
 * and without a size, at the start of each map. Where a map ends is known by reading it. So each
 * symbol gives a range; ranges that meet are one; and these are cut out of the section that has
 * them, in our picture of the file: what stands before keeps the section's number, the maps and what
 * stands behind them become sections more.
 *
 * A map that has lost its symbol must not be lost with it. (`strip -x` removes local symbols; then
 * none is left, unless one was made global.) So it is an error if what follows a range can be read
 * as a map with functions.
 */
#include "tool/image/merged.h"

#include "format/array.h"
#include "format/stackmap_v3.h"
#include "tool/image/load.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char symbol_name[] = "__LLVM_StackMaps";

enum { PADDING_MAX = 64 }; /* zeros that a linker may put between two maps */

/* A run of stack maps: addresses. */
struct range {
  uint64_t start, end;
};

struct ranges {
  const struct image *image;
  const char *section; /* NULL: any */
  struct range *items; /* while symbols are collected, the ends aren't known */
  size_t count, capacity;
};

/* ---- Symbols ---- */

static bool is_wanted(const struct ranges *ranges, const GElf_Sym *symbol) {
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= ranges->image->section_count)
    return false;
  const struct image_section *section = &ranges->image->sections[symbol->st_shndx];
  const Elf64_Shdr *header = &section->header;
  const bool is_named = ranges->section == NULL || strcmp(section->name, ranges->section) == 0;
  return is_named && strcmp(section->name, RAW_SECTION) != 0 && header->sh_type == SHT_PROGBITS &&
         (header->sh_flags & SHF_ALLOC) != 0 &&
         symbol->st_value - header->sh_addr < header->sh_size;
}

static int by_start(const void *a, const void *b) {
  const struct range *first = a, *second = b;
  return first->start < second->start ? -1 : first->start > second->start;
}

/* Sorted, each once: a symbol may be in both symbol tables. */
static void collect_symbols(struct ranges *ranges) {
  const struct elf_image elf = image_elf(ranges->image);
  for (struct elf_symbols at = elf_symbols(&elf); elf_symbols_next(&at);)
    if (at.name != NULL && strcmp(at.name, symbol_name) == 0 && is_wanted(ranges, &at.symbol) &&
        array_make_room((void **)&ranges->items, &ranges->capacity, ranges->count + 1,
                        sizeof *ranges->items))
      ranges->items[ranges->count++].start = at.symbol.st_value;
  if (ranges->count > 1)
    qsort(ranges->items, ranges->count, sizeof *ranges->items, by_start);
  size_t kept = 0;
  for (size_t i = 0; i < ranges->count; i++)
    if (kept == 0 || ranges->items[kept - 1].start != ranges->items[i].start)
      ranges->items[kept++] = ranges->items[i];
  ranges->count = kept;
}

/* ---- Lengths ---- */

/* Reads one map. False, and *error set, if it isn't one. */
static bool read_map(const uint8_t *bytes, uint64_t size, uint64_t *length, uint32_t *functions,
                     const char **error) {
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes, size);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  *error = "no stack map of version 3";
  if (size == 0 || bytes[0] == 0 || !stackmap_v3_next_map(&reader)) {
    *error = reader.error != NULL ? reader.error : *error;
    return false;
  }
  *functions = reader.functions;
  while (stackmap_v3_next_function(&reader, &function))
    for (uint64_t i = 0; i < function.records; i++)
      if (!stackmap_v3_next_record(&reader, &record))
        break;
  if (reader.error == NULL && reader.records_left != 0)
    reader.error = "a stack map header that counts more records than its functions have";
  *error = reader.error;
  *length = reader.position;
  return reader.error == NULL;
}

/* Whether there is, behind a map's end and perhaps some padding, another one without a symbol. */
static bool is_followed(const uint8_t *bytes, uint64_t size) {
  uint64_t padding = 0, length;
  uint32_t functions;
  const char *error;
  while (padding < size && padding < PADDING_MAX && bytes[padding] == 0)
    padding++;
  return padding % 8 == 0 &&
         read_map(bytes + padding, size - padding, &length, &functions, &error) && functions > 0;
}

static size_t section_of(const struct image *image, uint64_t address) {
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type == SHT_PROGBITS && (header->sh_flags & SHF_ALLOC) != 0 &&
        address - header->sh_addr < header->sh_size)
      return i;
  }
  return 0;
}

static bool measure(const struct image *image, struct range *range, uint64_t next,
                    struct problem *problem) {
  const struct image_section *section = &image->sections[section_of(image, range->start)];
  const Elf64_Shdr *header = &section->header;
  const uint64_t into = range->start - header->sh_addr;
  const uint8_t *bytes = image->bytes + header->sh_offset + into;
  uint64_t room = header->sh_size - into;
  if (next - range->start < room)
    room = next - range->start;
  uint64_t length;
  uint32_t functions;
  const char *error;
  if (!read_map(bytes, room, &length, &functions, &error))
    return problem_set(problem, "%s, at __LLVM_StackMaps in %s at 0x%" PRIx64, error, section->name,
                       range->start);
  range->end = range->start + length;
  if (is_followed(bytes + length, room - length))
    return problem_set(problem, "a stack map without a symbol, behind the one in %s at 0x%" PRIx64,
                       section->name, range->start);
  return true;
}

/* Gives each range its end, and joins those that meet. */
static bool measure_all(struct ranges *ranges, struct problem *problem) {
  for (size_t i = 0; i < ranges->count; i++) {
    const uint64_t next = i + 1 < ranges->count ? ranges->items[i + 1].start : UINT64_MAX;
    if (!measure(ranges->image, &ranges->items[i], next, problem))
      return false;
  }
  size_t kept = 0;
  for (size_t i = 0; i < ranges->count; i++) {
    struct range *last = kept == 0 ? NULL : &ranges->items[kept - 1];
    if (last != NULL && last->end == ranges->items[i].start &&
        section_of(ranges->image, last->start) == section_of(ranges->image, ranges->items[i].start))
      last->end = ranges->items[i].end;
    else
      ranges->items[kept++] = ranges->items[i];
  }
  ranges->count = kept;
  return true;
}

/* ---- Cutting out ---- */

static bool is_whole_section(const struct image *image, const struct range *range) {
  const Elf64_Shdr *header = &image->sections[section_of(image, range->start)].header;
  return range->start == header->sh_addr && range->end == header->sh_addr + header->sh_size;
}

static bool cut_out(struct image *image, const struct ranges *ranges, struct problem *problem) {
  for (size_t i = 0; i < ranges->count; i++) {
    const struct range *range = &ranges->items[i];
    /* A section that was named, and has nothing else, will be found by its name. */
    if (ranges->section != NULL && ranges->count == 1 && is_whole_section(image, range))
      continue;
    if (!image_split(image, section_of(image, range->start), range->start,
                     range->end - range->start, RAW_SECTION, problem))
      return false;
  }
  return true;
}

bool merged_separate(struct image *image, const char *section, struct problem *problem) {
  struct ranges ranges = {.image = image, .section = section};
  const struct elf_image elf = image_elf(image);
  struct section_bytes packed;
  if (image->header.e_type == ET_REL || elf_image_find_packed(&elf, &packed))
    return true;
  collect_symbols(&ranges);
  const bool ok = measure_all(&ranges, problem) && cut_out(image, &ranges, problem);
  free(ranges.items);
  return ok;
}
