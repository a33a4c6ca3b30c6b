/* tables.c - finds the unwind table entry of an address in the running process.
 *
 * Each module has an .eh_frame_hdr: a sorted table of its functions' starts and FDEs (Linux
 * Standard Base, "Exception Frames"). _dl_find_object finds it without a lock (glibc's manual,
 * "Dynamic Linker Introspection"). Other C libraries have dl_iterate_phdr only, whose lock a
 * stopped thread may hold.
 */
#include "runtime/unwind/unwinder.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

/* An .eh_frame_hdr with the encodings that all linkers give it: 4-byte differences, to itself in
 * the sorted table. */
struct eh_frame_hdr {
  uint8_t version, frame_encoding, count_encoding, table_encoding;
  int32_t frame;
  uint32_t count;
  struct eh_frame_hdr_entry {
    int32_t start, fde;
  } entries[];
};
enum { UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

/* Memory of a module: of one segment, or of several that adjoin. */
struct module_memory {
  uintptr_t start, end;
  const void *eh_frame_hdr; /* of the module; NULL: it has none */
};

#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
static bool find_memory(uintptr_t address, struct module_memory *memory) {
  struct dl_find_object found;
  if (_dl_find_object((void *)address, &found) != 0)
    return false;
  *memory = (struct module_memory){(uintptr_t)found.dlfo_map_start, (uintptr_t)found.dlfo_map_end,
                                   found.dlfo_eh_frame};
  return true;
}
#else
struct memory_search {
  uintptr_t address;
  struct module_memory *memory;
};

static int look_at_module(struct dl_phdr_info *info, size_t size, void *closure) {
  const struct memory_search *search = closure;
  struct module_memory *memory = search->memory;
  bool has_address = false;
  (void)size;
  memory->eh_frame_hdr = NULL;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const uintptr_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
      memory->eh_frame_hdr = (const void *)start;
    } else if (info->dlpi_phdr[i].p_type == PT_LOAD &&
               search->address - start < info->dlpi_phdr[i].p_memsz) {
      memory->start = start;
      memory->end = start + info->dlpi_phdr[i].p_memsz;
      has_address = true;
    }
  }
  return has_address;
}

static bool find_memory(uintptr_t address, struct module_memory *memory) {
  struct memory_search search = {address, memory};
  return dl_iterate_phdr(look_at_module, &search) != 0;
}
#endif

/* Whether the memory, or else that of other segments, has an address. */
static bool move_to(struct module_memory *memory, uintptr_t address) {
  return (address >= memory->start && address < memory->end) ||
         (find_memory(address, memory) && address >= memory->start && address < memory->end);
}

/* Whether the index's entries are in the memory. */
static bool is_whole(const struct eh_frame_hdr *header, const struct module_memory *memory) {
  const uintptr_t size = memory->end - (uintptr_t)header;
  return size >= sizeof *header &&
         header->count <= (size - sizeof *header) / sizeof header->entries[0];
}

/* The FDE of the last function that starts at pc or before it; 0 if there is none. */
static uintptr_t search(const struct eh_frame_hdr *header, uintptr_t pc) {
  const intptr_t distance = (intptr_t)(pc - (uintptr_t)header);
  size_t first = 0, count = header->count;
  while (count > 0) {
    const size_t half = count / 2;
    if (header->entries[first + half].start <= distance) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first == 0 ? 0 : (uintptr_t)header + (uintptr_t)(intptr_t)header->entries[first - 1].fde;
}

enum stackpack_unwinder_reason table_find(uintptr_t pc, struct eh_frame_entry *entry) {
  struct module_memory memory = {0, 0, NULL};
  if (!find_memory(pc, &memory) || memory.eh_frame_hdr == NULL)
    return STACKPACK_UNWINDER_NO_TABLE;
  const struct eh_frame_hdr *header = memory.eh_frame_hdr;
  if (!move_to(&memory, (uintptr_t)header) || !is_whole(header, &memory))
    return STACKPACK_UNWINDER_BAD_TABLE;
  if (header->version != 1 || header->count_encoding != UDATA4 ||
      header->table_encoding != DATAREL_SDATA4)
    return STACKPACK_UNWINDER_NO_TABLE;
  const uintptr_t fde = search(header, pc);
  if (fde == 0)
    return STACKPACK_UNWINDER_NO_TABLE;
  /* The tables may be in another segment than the code. */
  if (!move_to(&memory, fde))
    return STACKPACK_UNWINDER_BAD_TABLE;
  *entry = eh_frame_open((const uint8_t *)memory.start, memory.end - memory.start, memory.start);
  entry->section.position = fde - memory.start;
  if (!eh_frame_take(entry))
    return STACKPACK_UNWINDER_BAD_TABLE;
  return pc >= entry->function.start && pc < entry->function.end ? STACKPACK_UNWINDER_NO_REASON
                                                                 : STACKPACK_UNWINDER_NO_TABLE;
}
