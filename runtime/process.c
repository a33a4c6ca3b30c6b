/* process.c - finds the stack maps of the running program's modules, and looks up in them.
 *
 * dl_iterate_phdr lists the modules with their program headers, which the loader has in memory
 * anyway. A packed module has a note of ours there, and its table behind it: a few reads, and it is
 * open. A module without the note may have a raw section, which no program header leads to; that
 * takes a look at the section headers in its file.
 *
 * Modules come and go while threads look up. Each known module has a slot in the caller's array. A
 * slot is filled before its size is set, and look-ups read the size first; it is freed by setting
 * its size to 0, and used again only when no reader is left who may have seen it before. Readers who
 * could meet a module that is being unloaded count themselves in and out (stackpack_enter).
 */
#include "elf/elf_image.h"
#include "elf/note.h"
#include "runtime/internal.h"

#include <fcntl.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static struct process_overlay *process_of(struct stackpack_process *process) {
  return (struct process_overlay *)process;
}

static const struct process_overlay *const_process_of(const struct stackpack_process *process) {
  return (const struct process_overlay *)process;
}

static struct module_overlay *module_of(const struct process_overlay *process, uint64_t i) {
  return (struct module_overlay *)process->modules[i].private_;
}

/* A module as it is found, and may become known. */
struct found {
  struct stackpack_table table;
  void *memory; /* of a raw section's packed form */
  uint64_t start, size, identity;
  bool known;
};

/* A pass through the list of modules. */
struct search {
  struct process_overlay *process;
  bool add; /* what is not known yet; else only mark what is */
  uint64_t modules;
  enum stackpack_error error;
};

/* Whether a module is known already; if so, it's marked as seen. */
static bool is_known(const struct process_overlay *process, const struct found *found) {
  for (uint64_t i = 0; i < process->capacity; i++) {
    struct module_overlay *module = module_of(process, i);
    if (atomic_load(&module->size) == found->size && atomic_load(&module->start) == found->start &&
        module->identity == found->identity) {
      module->seen = true;
      return true;
    }
  }
  return false;
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
static enum stackpack_error open_packed(const struct dl_phdr_info *info, struct search *search,
                                        struct found *found) {
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uint64_t address = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type != PT_NOTE || mapped_from(info, address) < segment->p_memsz ||
        !packed_note_is(bytes_at(address), segment->p_memsz))
      continue;
    const uint64_t start = address + PACKED_NOTE_SIZE;
    const enum stackpack_error error =
        stackpack_table_open(&found->table, bytes_at(start), mapped_from(info, start), start);
    if (error == STACKPACK_OK) {
      found->identity = packed_identity(table_of(&found->table));
      found->known = is_known(search->process, found);
    }
    return error;
  }
  return STACKPACK_NO_STACK_MAPS;
}

/* ---- Raw modules ---- */

/* Opens the raw section of a module's file. As that means reading all of it, it's done only for a module
 * that is new and to be added. */
static enum stackpack_error open_raw_section(const struct dl_phdr_info *info,
                                             const struct elf_image *image, struct search *search,
                                             struct found *found) {
  Elf64_Shdr raw;
  if (!raw_find(image, &raw) || (raw.sh_flags & SHF_ALLOC) == 0)
    return STACKPACK_NO_STACK_MAPS;
  found->identity = XXH3_64bits(image->bytes + raw.sh_offset, raw.sh_size);
  found->known = is_known(search->process, found);
  if (found->known || !search->add)
    return STACKPACK_OK;
  return raw_open(&found->table, image, info->dlpi_addr, &found->memory);
}

/* Maps a module's file to see whether it has a raw section. A module without a file (the vDSO)
 * hasn't. */
static enum stackpack_error open_raw(const struct dl_phdr_info *info, struct search *search,
                                     struct found *found) {
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
    error = open_raw_section(info, &image, search, found);
  munmap(bytes, (size_t)status.st_size);
  return error;
}

/* ---- The list of modules ---- */

/* The addresses from a module's first segment to the end of its last one. */
static void module_range(const struct dl_phdr_info *info, struct found *found) {
  uint64_t start = UINT64_MAX, end = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD)
      continue;
    const uint64_t from = info->dlpi_addr + segment->p_vaddr;
    start = from < start ? from : start;
    end = from + segment->p_memsz > end ? from + segment->p_memsz : end;
  }
  found->start = start;
  found->size = end > start ? end - start : 0;
}

/* Puts a module into a free slot; look-ups see it when its size is there. */
static void add(struct process_overlay *process, const struct found *found) {
  for (uint64_t i = 0; i < process->capacity; i++) {
    struct module_overlay *module = module_of(process, i);
    if (atomic_load(&module->size) != 0)
      continue;
    process->modules[i].table = found->table;
    module->identity = found->identity;
    module->table = found->memory;
    module->seen = true;
    atomic_store(&module->start, found->start);
    atomic_store(&module->size, found->size);
    atomic_fetch_add(&process->generation, 1);
    return;
  }
  free(found->memory);
}

static int visit_module(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  struct found found = {0};
  module_range(info, &found);
  enum stackpack_error error = open_packed(info, search, &found);
  if (error == STACKPACK_NO_STACK_MAPS)
    error = open_raw(info, search, &found);
  if (error == STACKPACK_NO_STACK_MAPS)
    return 0;
  if (error != STACKPACK_OK) {
    search->error = error;
    return 1;
  }
  search->modules++;
  if (search->add && !found.known)
    add(search->process, &found);
  return 0;
}

/* Waits until every reader has left that may have seen a slot before it was freed. New ones count
 * in the other phase, so that this ends however many come. */
static void wait_for_readers(struct process_overlay *process) {
  const unsigned phase = atomic_fetch_add(&process->phase, 1) & 1;
  for (unsigned i = 0; i < STRIPES; i++)
    while (atomic_load(&process->stripes[i].readers[phase]) != 0)
      sched_yield();
}

/* Takes modules out: all that are marked as not seen. Twice through the phases, as a reader may
 * have read the phase before it changed, and have counted after the first wait. */
static void remove_unseen(struct process_overlay *process) {
  bool any = false;
  for (uint64_t i = 0; i < process->capacity; i++) {
    struct module_overlay *module = module_of(process, i);
    if (atomic_load(&module->size) != 0 && !module->seen) {
      atomic_store(&module->size, 0);
      any = true;
    }
  }
  if (!any)
    return;
  atomic_fetch_add(&process->generation, 1);
  wait_for_readers(process);
  wait_for_readers(process);
  for (uint64_t i = 0; i < process->capacity; i++) {
    struct module_overlay *module = module_of(process, i);
    if (atomic_load(&module->size) == 0) {
      free(module->table);
      module->table = NULL;
    }
  }
}

static void mark_all(struct process_overlay *process, bool seen) {
  for (uint64_t i = 0; i < process->capacity; i++)
    module_of(process, i)->seen = seen;
}

/* Brings the slots up to date: first those are freed whose module has gone, then new ones are
 * added. */
static enum stackpack_error update(struct process_overlay *process) {
  struct search search = {.process = process};
  mark_all(process, false);
  dl_iterate_phdr(visit_module, &search);
  if (search.error != STACKPACK_OK)
    return search.error;
  remove_unseen(process);
  search = (struct search){.process = process, .add = true};
  dl_iterate_phdr(visit_module, &search);
  process->needed = search.modules;
  if (search.error != STACKPACK_OK)
    return search.error;
  if (process->needed > process->capacity)
    return STACKPACK_TOO_MANY_MODULES;
  return process->needed == 0 ? STACKPACK_NO_STACK_MAPS : STACKPACK_OK;
}

enum stackpack_error stackpack_process_open(struct stackpack_process *process,
                                            struct stackpack_module *modules, size_t capacity) {
  struct process_overlay *overlay = process_of(process);
  memset(process, 0, sizeof *process);
  for (size_t i = 0; i < capacity; i++)
    memset(&modules[i], 0, sizeof modules[i]);
  overlay->generation = 1; /* not that of a new cache */
  overlay->modules = modules;
  overlay->capacity = capacity;
  pthread_mutex_init(&overlay->writer, NULL);
  const enum stackpack_error error = update(overlay);
  if (error != STACKPACK_OK && error != STACKPACK_NO_STACK_MAPS) {
    const uint64_t needed = overlay->needed;
    stackpack_process_close(process);
    overlay->needed = needed;
  }
  return error;
}

void stackpack_process_close(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  mark_all(overlay, false);
  remove_unseen(overlay);
  pthread_mutex_destroy(&overlay->writer);
  overlay->capacity = overlay->needed = 0;
}

size_t stackpack_process_modules(const struct stackpack_process *process) {
  return const_process_of(process)->needed;
}

enum stackpack_error stackpack_process_update(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  pthread_mutex_lock(&overlay->writer);
  const enum stackpack_error error = update(overlay);
  pthread_mutex_unlock(&overlay->writer);
  return error;
}

bool stackpack_process_forget(struct stackpack_process *process, uintptr_t address) {
  struct process_overlay *overlay = process_of(process);
  bool found = false;
  pthread_mutex_lock(&overlay->writer);
  mark_all(overlay, true);
  for (uint64_t i = 0; i < overlay->capacity; i++) {
    struct module_overlay *module = module_of(overlay, i);
    if (address - atomic_load(&module->start) < atomic_load(&module->size)) {
      module->seen = false;
      found = true;
      overlay->needed--;
    }
  }
  remove_unseen(overlay);
  pthread_mutex_unlock(&overlay->writer);
  return found;
}

/* ---- Look-ups ---- */

enum stackpack_answer stackpack_find(const struct stackpack_process *process,
                                     uintptr_t return_address, struct stackpack_record *record) {
  const struct process_overlay *overlay = const_process_of(process);
  for (uint64_t i = 0; i < overlay->capacity; i++) {
    struct module_overlay *module = module_of(overlay, i);
    const uint64_t size = atomic_load(&module->size);
    const uint64_t start = atomic_load_explicit(&module->start, memory_order_relaxed);
    if (size != 0 && return_address - 1 - start < size) /* the call is before that */
      return stackpack_table_find(&overlay->modules[i].table, return_address, record);
  }
  return STACKPACK_NOT_MANAGED;
}

/* Threads have stacks of their own, so the address of a variable spreads them over the stripes. */
unsigned stackpack_enter(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  const uint64_t place = (uint64_t)(uintptr_t)&overlay;
  const unsigned stripe = (unsigned)((place >> 16) * 0x9e3779b97f4a7c15u >> 60) % STRIPES;
  const unsigned phase = atomic_load(&overlay->phase) & 1;
  atomic_fetch_add(&overlay->stripes[stripe].readers[phase], 1);
  return stripe * 2 + phase;
}

void stackpack_leave(struct stackpack_process *process, unsigned ticket) {
  atomic_fetch_sub(&process_of(process)->stripes[ticket / 2].readers[ticket % 2], 1);
}
