/* process.c - finds the stack maps of the running program's modules, and looks up in them.
 *
 * dl_iterate_phdr lists the modules with their program headers, which the loader has in memory
 * anyway. A packed module has a note of ours there, and its table behind it: a few reads, and it is
 * open. A module without the note may have a raw section, which no program header leads to; that
 * takes a look at the section headers in its file.
 */
#include "../format/note.h"
#include "elf_image.h"
#include "internal.h"

#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct process_overlay *process_of(struct stackpack_process *process) {
  return (struct process_overlay *)process->private_;
}

static struct owned *owned_of(struct stackpack_module *module) {
  return (struct owned *)module->private_;
}

/* ---- Packed modules ---- */

/* How many bytes are mapped from `address` on, in the module's segment that contains it. */
static uint64_t mapped_from(const struct dl_phdr_info *info, uint64_t address) {
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uint64_t start = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_LOAD && address - start < segment->p_memsz)
      return segment->p_memsz - (address - start);
  }
  return 0;
}

static const void *bytes_at(uint64_t address) { return (const void *)(uintptr_t)address; }

/* Opens the table behind our note, if the module has it; else STACKPACK_NO_STACK_MAPS. */
static enum stackpack_error open_packed(const struct dl_phdr_info *info,
                                        struct stackpack_table *table) {
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uint64_t address = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_NOTE || mapped_from(info, address) < segment->p_memsz ||
        !packed_note_is(bytes_at(address), segment->p_memsz))
      continue;
    const uint64_t start = address + PACKED_NOTE_SIZE;
    return stackpack_table_open(table, bytes_at(start), mapped_from(info, start), start);
  }
  return STACKPACK_NO_STACK_MAPS;
}

/* ---- Raw modules ---- */

/* Opens a raw section where the loader has put it: function addresses are run-time addresses there.
 */
static enum stackpack_error open_raw_section(const struct dl_phdr_info *info,
                                             const struct elf_image *image,
                                             struct stackpack_table *table, void **memory) {
  Elf64_Shdr raw, unwind;
  if (!elf_image_find_section(image, ".llvm_stackmaps", &raw) || (raw.sh_flags & SHF_ALLOC) == 0)
    return STACKPACK_NO_STACK_MAPS;
  const uint64_t start = info->dlpi_addr + raw.sh_addr;
  if (mapped_from(info, start) < raw.sh_size)
    return STACKPACK_NOT_ELF;
  struct code_ranges unwound = {0}, named = {0};
  enum stackpack_error error = STACKPACK_NO_MEMORY;
  bool ok = elf_image_add_symbols(image, info->dlpi_addr, &named);
  if (ok && elf_image_find_section(image, ".eh_frame", &unwind))
    ok = eh_frame_add(&unwound, image->bytes + unwind.sh_offset, unwind.sh_size,
                      info->dlpi_addr + unwind.sh_addr);
  if (ok)
    error = raw_open(table, bytes_at(start), raw.sh_size, &unwound, &named, memory);
  code_ranges_free(&unwound);
  code_ranges_free(&named);
  return error;
}

/* Maps a module's file to see whether it has a raw section. A module without a file (the vDSO)
 * hasn't. */
static enum stackpack_error open_raw(const struct dl_phdr_info *info, struct stackpack_table *table,
                                     void **memory) {
  const char *path = info->dlpi_name[0] == 0 ? "/proc/self/exe" : info->dlpi_name;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0)
    return STACKPACK_NO_STACK_MAPS;
  void *bytes = MAP_FAILED;
  if (fstat(file, &status) == 0 && status.st_size > 0)
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (bytes == MAP_FAILED)
    return STACKPACK_NO_STACK_MAPS;
  struct elf_image image;
  enum stackpack_error error = STACKPACK_NO_STACK_MAPS;
  if (elf_image_open(&image, bytes, (size_t)status.st_size))
    error = open_raw_section(info, &image, table, memory);
  munmap(bytes, (size_t)status.st_size);
  return error;
}

/* ---- The process ---- */

struct search {
  struct process_overlay *process;
  enum stackpack_error error;
};

/* The addresses from a module's first segment to the end of its last one. */
static void module_range(const struct dl_phdr_info *info, struct owned *owned) {
  uint64_t start = UINT64_MAX, end = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD)
      continue;
    const uint64_t from = info->dlpi_addr + segment->p_vaddr;
    start = from < start ? from : start;
    end = from + segment->p_memsz > end ? from + segment->p_memsz : end;
  }
  owned->start = start;
  owned->size = end > start ? end - start : 0;
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  struct process_overlay *process = search->process;
  struct stackpack_module module = {0};
  struct owned *owned = owned_of(&module);
  enum stackpack_error error = open_packed(info, &module.table);
  if (error == STACKPACK_NO_STACK_MAPS)
    error = open_raw(info, &module.table, &owned->table);
  if (error == STACKPACK_NO_STACK_MAPS)
    return 0;
  if (error != STACKPACK_OK) {
    search->error = error;
    return 1;
  }
  module_range(info, owned);
  if (process->needed++ < process->capacity)
    process->modules[process->count++] = module;
  else
    free(owned->table);
  return 0;
}

enum stackpack_error stackpack_process_open(struct stackpack_process *process,
                                            struct stackpack_module *modules, size_t capacity) {
  struct process_overlay *overlay = process_of(process);
  *overlay = (struct process_overlay){.modules = modules, .capacity = capacity};
  struct search search = {overlay, STACKPACK_OK};
  dl_iterate_phdr(add_module, &search);
  if (search.error == STACKPACK_OK && overlay->needed > capacity)
    search.error = STACKPACK_TOO_MANY_MODULES;
  if (search.error == STACKPACK_OK && overlay->needed == 0)
    return STACKPACK_NO_STACK_MAPS;
  if (search.error != STACKPACK_OK)
    stackpack_process_close(process);
  return search.error;
}

void stackpack_process_close(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  for (uint64_t i = 0; i < overlay->count; i++)
    free(owned_of(&overlay->modules[i])->table);
  overlay->count = 0;
}

size_t stackpack_process_modules(const struct stackpack_process *process) {
  return ((const struct process_overlay *)process->private_)->needed;
}

enum stackpack_answer stackpack_find(const struct stackpack_process *process,
                                     uintptr_t return_address, struct stackpack_record *record) {
  const struct process_overlay *overlay = (const struct process_overlay *)process->private_;
  for (uint64_t i = 0; i < overlay->count; i++) {
    const struct stackpack_module *module = &overlay->modules[i];
    const struct owned *owned = (const struct owned *)module->private_;
    /* A return address may be the very end of the module's code. */
    if (return_address - owned->start <= owned->size)
      return stackpack_table_find(&module->table, return_address, record);
  }
  return STACKPACK_NOT_MANAGED;
}
