/* raw_search.c - finds stack maps in a loaded module by their form, where no file has their place.
 *
 * Section headers aren't loaded. If the module's file is unreadable, another one by now, or has
 * lost its section headers, the place of .llvm_stackmaps is unknown; and a linker script may have
 * put stack maps into another section, where only LLVM's symbol __LLVM_StackMaps marks them. But
 * they are in one of the segments, and LLVM's maps are easy to recognize:
 *
 *   each is at a multiple of 8 and starts with the 32-bit number 3, and then the numbers of its
 *   functions, constants and records; the functions' counts of records must add up to the header's;
 *   each record and location is readable; and the addresses of a function and its records are in
 *   the module's own code.
 *
 * A readable section is found: these conditions hold of every map that LLVM writes. And hardly any
 * other bytes meet them: the least of maps has 56 bytes, with one word in the code and five numbers
 * that have to fit. A map whose functions have all been discarded (address 0) is useless and is
 * passed over. So is one without functions.
 *
 * For most modules memory proves that they have no stack maps at all. One that is loaded elsewhere
 * than it was linked for has the addresses of its functions from the loader's relocations: in
 * writable segments, or else its dynamic section says that the others are written, too (gABI,
 * "Dynamic Section": DT_TEXTREL, DF_TEXTREL). So stack maps are in the first kind, the small ones.
 * Where bytes there might start one, of this version or another, sound or broken, the file decides.
 */
#include "format/bits.h"
#include "format/stackmap_v3.h"
#include "runtime/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

enum { ALIGNMENT = 8, VERSION = 3, VERSION_MAX = UINT8_MAX, MAP_SIZE_MIN = 56 };

/* The end of the code that contains a link-time address; 0 outside code. */
static uint64_t code_end(const struct elf_image *image, uint64_t address) {
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr *segment = &image->loaded[i];
    if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
        address - segment->p_vaddr < segment->p_memsz)
      return segment->p_vaddr + segment->p_memsz;
  }
  return 0;
}

static bool read_locations(struct stackmap_v3_reader *reader,
                           const struct stackmap_v3_record *record) {
  struct stackpack_location location;
  for (unsigned i = 0; i < record->locations; i++)
    if (!stackmap_v3_location(reader, record, i, &location))
      return false;
  return true;
}

/* Reads the next map. False if there is none. *own: whether it has a function of the module's, at
 * an address less `bias`. */
static bool read_map(const struct elf_image *image, struct stackmap_v3_reader *reader,
                     uint64_t bias, bool *own) {
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  *own = false;
  if (!stackmap_v3_next_map(reader))
    return false;
  while (stackmap_v3_next_function(reader, &function)) {
    const uint64_t address = function.address - bias, end = code_end(image, address);
    *own |= end != 0 && function.records > 0;
    for (uint64_t i = 0; i < function.records; i++)
      if (!stackmap_v3_next_record(reader, &record) || !read_locations(reader, &record) ||
          (end != 0 && record.offset > end - address))
        return false;
  }
  return reader->error == NULL && reader->records_left == 0;
}

/* Whether a map has a function of the module's by its relocations. By its bytes in memory it has
 * none: the executable may define all of a library's functions, too, and then comes first for the
 * loader. */
static bool is_own_relocated(const struct elf_image *image, const Elf64_Shdr *map,
                             const uint8_t *bytes) {
  uint32_t unknown;
  bool own = false;
  uint8_t *copy = malloc(map->sh_size);
  if (copy == NULL)
    return true; /* the map's reader will lack memory, too, and report that */
  memcpy(copy, bytes, map->sh_size);
  if (elf_image_relocate(image, map, copy, &unknown)) {
    struct stackmap_v3_reader reader = stackmap_v3_open(copy, map->sh_size);
    read_map(image, &reader, 0, &own);
  }
  free(copy);
  return own;
}

/* Whether bytes[0..size), at a link-time address, start with one of the module's maps; its size. */
static bool is_map(const struct elf_image *image, uint64_t address, const uint8_t *bytes,
                   uint64_t size, uint64_t *map_size) {
  bool own;
  if (size < MAP_SIZE_MIN || bits_load32(bytes) != VERSION || bits_load32(bytes + 4) == 0)
    return false;
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes, size);
  if (!read_map(image, &reader, image->bias, &own))
    return false;
  *map_size = reader.position;
  const Elf64_Shdr map = {.sh_addr = address, .sh_size = reader.position};
  return own || is_own_relocated(image, &map, bytes);
}

/* Finds the next maps that follow one another in bytes[*from..size). */
static bool search(const struct elf_image *image, uint64_t address, const uint8_t *bytes,
                   uint64_t size, uint64_t *from, uint64_t *to) {
  uint64_t map_size;
  while (*from < size && !is_map(image, address + *from, bytes + *from, size - *from, &map_size))
    *from += ALIGNMENT;
  if (*from >= size)
    return false;
  do
    *to = *to > *from ? *to + map_size : *from + map_size;
  while (*to < size && is_map(image, address + *to, bytes + *to, size - *to, &map_size));
  return true;
}

/* The end of the readable part of bytes[from..size). Programs protect pages of their data: for
 * threads to poll, or around a secret. (Where a sandbox forbids the question, all counts as
 * readable.) */
static uint64_t readable_end(const uint8_t *bytes, uint64_t from, uint64_t size) {
  const uint64_t page = getauxval(AT_PAGESZ);
  if (!memory_is_readable((uintptr_t)&page))
    return size;
  while (from < size && memory_is_readable((uintptr_t)bytes + from))
    from += page - ((uintptr_t)bytes + from) % page;
  return from < size ? from : size;
}

/* The same in the parts of bytes[*from..size) that are readable. */
static bool search_readable(const struct elf_image *image, uint64_t address, const uint8_t *bytes,
                            uint64_t size, uint64_t *from, uint64_t *to) {
  const uint64_t page = getauxval(AT_PAGESZ);
  while (*from < size) {
    const uint64_t end = readable_end(bytes, *from, size);
    if (search(image, address, bytes, end, from, to))
      return true;
    *from = end + page - ((uintptr_t)bytes + end) % page;
  }
  return false;
}

/* The next stack maps of a loaded module after *section, zeros at first. */
static bool raw_search(const struct elf_image *image, Elf64_Shdr *section) {
  const uint64_t end = section->sh_addr + section->sh_size;
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr *segment = &image->loaded[i];
    const uint64_t start = (segment->p_vaddr + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT;
    uint64_t size, from = end > start ? end - start : 0, to = 0;
    const uint8_t *bytes = elf_image_at(image, start, &size);
    if (segment->p_type != PT_LOAD || bytes == NULL || from >= size ||
        !search_readable(image, start, bytes, size, &from, &to))
      continue;
    *section = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
                            .sh_flags = SHF_ALLOC,
                            .sh_addr = start + from,
                            .sh_size = to - from};
    return true;
  }
  return false;
}

/* Whether an address is outside all of the module's segments. */
static bool is_elsewhere(const struct elf_image *image, uint64_t address) {
  enum { FIRST_PAGE = 4096, USER_BITS = 56 };
  for (unsigned i = 0; i < image->load_count; i++) {
    const Elf64_Phdr *segment = &image->loaded[image->loads[i]];
    if (address - image->bias - segment->p_vaddr < segment->p_memsz)
      return false;
  }
  return address >= FIRST_PAGE && address >> USER_BITS == 0;
}

/* The state of a search for the start of a map. */
struct looker {
  const struct elf_image *image;
  unsigned scans; /* the scans of all relocations that are still allowed */
};
enum { SCANS = 4 };

/* Whether the word at a link-time address is a function, perhaps one that the executable defines,
 * too: see is_own_relocated. True, too, where relocations leave it open. */
static bool is_function(struct looker *looker, uint64_t address, const uint8_t *word) {
  const Elf64_Shdr place = {.sh_addr = address, .sh_size = sizeof(uint64_t)};
  const struct elf_image *image = looker->image;
  const uint64_t value = bits_load64(word);
  uint8_t copy[sizeof value];
  uint32_t unknown;
  if (code_end(image, value - image->bias) != 0)
    return true;
  if (!is_elsewhere(image, value))
    return false;
  if (looker->scans == 0)
    return true;
  looker->scans--;
  memcpy(copy, word, sizeof copy);
  return !elf_image_relocate(image, &place, copy, &unknown) ||
         code_end(image, bits_load64(copy)) != 0;
}

/* Whether bytes[0..size), at a link-time address, might start with a stack map of any version,
 * broken or not: a version and a number of functions. The first function, or the first after
 * discarded ones, must be in the module's code. (All versions have the first one's address and
 * frame size there.) */
static bool is_like_map(struct looker *looker, uint64_t address, const uint8_t *bytes,
                        uint64_t size) {
  const uint32_t functions = bits_load32(bytes + 4);
  uint64_t at = STACKMAP_V3_MAP_SIZE;
  for (uint32_t i = 0; i < functions && size - at >= STACKMAP_V3_FUNCTION_SIZE; i++) {
    const uint64_t frame_size = bits_load64(bytes + at + 8);
    if (frame_size > UINT32_MAX && frame_size != STACKMAP_V3_FRAME_SIZE_UNKNOWN)
      return false;
    if (bits_load64(bytes + at) != 0)
      return is_function(looker, address + at, bytes + at);
    at += STACKMAP_V3_FUNCTION_SIZE;
  }
  return false;
}

static bool has_like_map(struct looker *looker, const Elf64_Phdr *segment) {
  const uint64_t start = (segment->p_vaddr + ALIGNMENT - 1) & -(uint64_t)ALIGNMENT;
  uint64_t size, map_size;
  const uint8_t *bytes = elf_image_at(looker->image, start, &size);
  if (bytes == NULL)
    return (segment->p_flags & PF_R) == 0 && segment->p_filesz > 0;
  if (readable_end(bytes, 0, size) < size)
    return true;
  for (uint64_t at = 0; at + STACKMAP_V3_MAP_SIZE <= size; at += ALIGNMENT)
    if (bits_load32(bytes + at) - 1 < VERSION_MAX &&
        (is_like_map(looker, start + at, bytes + at, size - at) ||
         is_map(looker->image, start + at, bytes + at, size - at, &map_size)))
      return true;
  return false;
}

bool raw_may_be_there(const struct elf_image *image) {
  struct looker looker = {image, SCANS};
  uint64_t value;
  if (IS_SANITIZED || image->dynamic.p_type != PT_DYNAMIC || image->bias == 0 ||
      elf_image_dynamic(image, DT_TEXTREL, &value) > 0 ||
      (elf_image_dynamic(image, DT_FLAGS, &value) > 0 && (value & DF_TEXTREL) != 0))
    return true;
  for (unsigned i = 0; i < image->load_count; i++) {
    const Elf64_Phdr *segment = &image->loaded[image->loads[i]];
    if ((segment->p_flags & PF_W) != 0 && has_like_map(&looker, segment))
      return true;
  }
  return false;
}

bool raw_next(const struct elf_image *image, unsigned *number, Elf64_Shdr *section) {
  enum { BY_FORM = UINT16_MAX + 1 }; /* no section's number */
  const bool is_first = *number == 0;
  const bool is_headless = image->loaded != NULL && image->header.e_shnum == 0; /* or no file */
  if (is_headless || *number == BY_FORM)
    return raw_search(image, section);
  while (elf_image_next_raw(image, number, section))
    if (section->sh_type != SHT_NOBITS &&
        (image->loaded == NULL || (section->sh_flags & SHF_ALLOC) != 0))
      return true;
  if (!is_first || image->loaded == NULL || !elf_image_has_raw_symbol(image))
    return false;
  *number = BY_FORM;
  *section = (Elf64_Shdr){0};
  return raw_search(image, section);
}
