/* process.c - finds the stack maps of the running program's modules, and looks up in them.
 *
 * dl_iterate_phdr lists the modules with their program headers, which the loader has in memory
 * anyway. A packed module has a note of ours there, and its table after it: a few reads, and it is
 * open. A module that lacks the note may have a raw section, which the program headers leave out.
 * For most modules memory proves that they lack one: see raw_search.c. In the others, only the
 * section headers in the module's file have its place, if there is one.
 *
 * Another thread may be loading a module that is in the list: its relocations are yet to be done,
 * those of raw stack maps, too. It waits for an update after that.
 *
 * A module is looked at once. The loader counts its loads and unloads: as long as the second number
 * stays, a module at the start of an earlier one is the same; as long as both stay, there is no
 * work.
 *
 * But the file of the module's name may be another one: it was replaced, packed or deleted since,
 * the name is relative and the folder another one, or opening it fails. So memory counts. A file
 * is believed if its program headers, its notes (with the build ID) and its index of functions are
 * equal to memory's; then it has the stack maps' address, and they are read there. Without such a
 * file, they are searched for: see raw_search.c.
 *
 * A module with unreadable or broken stack maps gets a slot, too. Look-ups in it say
 * STACKPACK_CORRUPT: STACKPACK_NOT_MANAGED would lose roots.
 *
 * Modules come and go while threads look up. Each module with stack maps has a slot in the caller's
 * array. A slot is filled before its size is set, and look-ups read the size first; it is freed by
 * setting its size to 0, and used again only after all readers that may have seen it have left.
 * Readers that could meet a module that is being unloaded count themselves in and out
 * (stackpack_enter).
 *
 * Code outside the loader's list lacks a slot: see ranges.h.
 */
#include "elf/elf_file.h"
#include "elf/note.h"
#include "format/array.h"
#include "format/checksum.h"
#include "runtime/cache.h"
#include "runtime/ranges.h"

#include <assert.h>
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

static struct process_overlay *process_of(struct stackpack_process *process) {
  return (struct process_overlay *)process;
}

static const struct process_overlay *const_process_of(const struct stackpack_process *process) {
  return (const struct process_overlay *)process;
}

static struct module_overlay *module_of(const struct process_overlay *process, uint64_t i) {
  return (struct module_overlay *)process->modules[i].private_;
}

/* The first slot, from one on, of a module between whose ends an address is; the capacity if there
 * is none. A slot may get another module between the reads of its size and its start: then all is
 * read again. */
static uint64_t slot_at(const struct process_overlay *process, uint64_t address, uint64_t from) {
  uint64_t generation, slot;
  do {
    generation = atomic_load(&process->generation);
    for (slot = from; slot < process->capacity; slot++) {
      const struct module_overlay *module = module_of(process, slot);
      const uint64_t size = atomic_load(&module->size);
      if (address - atomic_load(&module->start) < size)
        break;
    }
  } while (atomic_load(&process->generation) != generation);
  return slot;
}

/* A module in the loader's list, before it has a slot. */
struct found {
  struct stackpack_table table;
  void *memory; /* of a raw section's packed form */
  uint64_t start, size;
  uint64_t maps_start, maps_size; /* as in a slot */
};

/* The list of modules is gone through. */
struct search {
  struct process_overlay *process;
  uint64_t modules;
  uint64_t slot;       /* of the last module that has one: the next one's is often after it */
  uint32_t plain;      /* the same of a module without stack maps */
  uint64_t adds, subs; /* as in the process */
  bool has_counts;     /* of them */
  bool is_any_loading; /* a module was left out for that */
  enum stackpack_error error; /* the first one */
  int error_number;           /* errno with it */
};

static const void *bytes_at(uint64_t address) { return (const void *)(uintptr_t)address; }

/* A module as an image, from memory alone. *is_whole is false if some of its segments have no room
 * in it. */
static struct elf_image image_of(const struct dl_phdr_info *info, bool *is_whole) {
  struct elf_image image = {.header = {.e_machine = THIS_MACHINE, .e_phnum = info->dlpi_phnum},
                            .loaded = info->dlpi_phdr,
                            .bias = info->dlpi_addr};
  *is_whole = elf_image_index(&image) == NULL;
  return image;
}

/* ---- Packed modules ---- */

/* Opens the table after our note, if the module has it; else STACKPACK_NO_STACK_MAPS. */
static enum stackpack_error open_packed(const struct elf_image *image, struct found *found) {
  struct section_bytes packed;
  if (!elf_image_find_packed(image, &packed))
    return STACKPACK_NO_STACK_MAPS;
  found->maps_start = (uintptr_t)packed.bytes;
  found->maps_size = packed.size < PACKED_HEADER_SIZE ? packed.size : PACKED_HEADER_SIZE;
  return table_open_in(&found->table, image, &packed);
}

/* ---- Raw modules ---- */

/* Whether a segment has the same bytes in the file and in memory. */
static bool is_same_segment(struct elf_file *file, const struct elf_image *image,
                            const Elf64_Phdr *segment) {
  uint64_t size;
  if (segment->p_filesz == 0)
    return true; /* its address may be anywhere */
  const uint8_t *bytes = elf_image_at(image, segment->p_vaddr, &size);
  return bytes != NULL && size >= segment->p_filesz && segment->p_offset <= file->image.size &&
         segment->p_filesz <= file->image.size - segment->p_offset &&
         elf_file_fetch(file, segment->p_offset, segment->p_filesz) == 0 &&
         memcmp(file->image.bytes + segment->p_offset, bytes, segment->p_filesz) == 0;
}

/* Whether a file is the one that was loaded. */
static bool is_file_of(struct elf_file *file, const struct elf_image *image) {
  const Elf64_Ehdr *header = &file->image.header;
  const Elf64_Phdr *segments = image->loaded;
  if (header->e_phnum != image->header.e_phnum ||
      memcmp(file->image.bytes + header->e_phoff, segments, header->e_phnum * sizeof *segments) !=
          0)
    return false;
  for (unsigned i = 0; i < header->e_phnum; i++)
    if ((segments[i].p_type == PT_NOTE || segments[i].p_type == PT_GNU_EH_FRAME) &&
        !is_same_segment(file, image, &segments[i]))
      return false;
  return true;
}

/* Opens the file of a module's name if it is the module's, for the parts needed of it. Returns 0 or
 * an error number. */
static int open_file(struct elf_file *file, const struct dl_phdr_info *info,
                     const struct elf_image *image) {
  int error = elf_file_open(file, info->dlpi_name[0] == 0 ? "/proc/self/exe" : info->dlpi_name);
  if (error != 0)
    return error;
  error = is_file_of(file, image) ? elf_file_fetch_sections(file) : ESTALE;
  if (error == 0)
    error = elf_file_fetch_symbols(file);
  if (error != 0)
    elf_file_close(file);
  return error;
}

static enum stackpack_error open_raw(const struct dl_phdr_info *info, struct elf_image image,
                                     struct found *found) {
  struct elf_file file;
  if (getauxval(AT_SYSINFO_EHDR) == found->start || !raw_may_be_there(&image))
    return STACKPACK_NO_STACK_MAPS; /* the kernel's module, without a file; or a plain one */
  const int file_error = open_file(&file, info, &image);
  if (file_error == 0) {
    image.bytes = file.image.bytes;
    image.size = file.image.size;
    image.header = file.image.header;
  }
  Elf64_Shdr section = {0};
  unsigned number = 0;
  enum stackpack_error error = STACKPACK_NO_STACK_MAPS;
  if (raw_next(&image, &number, &section)) {
    const uint8_t *bytes = elf_image_contents(&image, &section);
    found->maps_start = (uintptr_t)bytes;
    found->maps_size = bytes != NULL ? section.sh_size : 0;
    error = stackpack_raw_open(&found->table, &image, &found->memory);
    if (error == STACKPACK_SYSTEM_ERROR)
      errno = file_error;
  }
  if (file_error == 0)
    elf_file_close(&file);
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

/* Takes the loader's counts of modules; 0 to go on with the next one. */
static int count_modules(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  search->has_counts = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
  if (search->has_counts) {
    search->adds = info->dlpi_adds;
    search->subs = info->dlpi_subs;
  }
  return 1;
}

static uint64_t identity_of(uint64_t maps_start, uint64_t maps_size) {
  return checksum64(bytes_at(maps_start), maps_size);
}

/* Whether the loader is about to relocate a module. glibc lists a module before that, and its
 * _dl_find_object finds it afterwards. musl locks its list meanwhile. */
static bool is_loading(const struct found *found) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE /* glibc 2.35 */
  struct dl_find_object object;
  return _dl_find_object((void *)(uintptr_t)found->start, &object) != 0;
#else
  (void)found;
  return false;
#endif
}

/* The slot of a module with these addresses; NULL without one. */
static struct module_overlay *known_module(struct search *search, const struct found *found) {
  const struct process_overlay *process = search->process;
  for (uint64_t n = 0; n < process->capacity; n++) {
    search->slot = search->slot + 1 < process->capacity ? search->slot + 1 : 0;
    struct module_overlay *module = module_of(process, search->slot);
    if (atomic_load(&module->size) == found->size && atomic_load(&module->start) == found->start)
      return module;
  }
  return NULL;
}

static bool is_plain(struct search *search, uint64_t start) {
  const struct process_overlay *process = search->process;
  for (uint32_t n = 0; n < process->plain_count; n++) {
    search->plain = search->plain + 1 < process->plain_count ? search->plain + 1 : 0;
    if (process->plain[search->plain] == start)
      return true;
  }
  return false;
}

/* If memory runs out, the module is looked at again. */
static void add_plain(struct process_overlay *process, uint64_t start) {
  (void)ARRAY_ADD(process->plain, process->plain_count, process->plain_capacity, start);
}

/* Marks a module's slot as seen, if it is that module still. Leaves its file alone. */
static int mark_module(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  struct search *search = data;
  bool is_whole;
  const struct elf_image image = image_of(info, &is_whole);
  struct found found = {0};
  uint64_t there = 0;
  module_range(info, &found);
  struct module_overlay *module = known_module(search, &found);
  if (module != NULL &&
      (module->maps_size == 0 ||
       (elf_image_at(&image, module->maps_start - image.bias, &there) != NULL &&
        there >= module->maps_size)) &&
      identity_of(module->maps_start, module->maps_size) == module->identity)
    module->seen = true;
  return 0;
}

/* Fills in a slot; look-ups see it when its size is there. */
static void fill(struct process_overlay *process, uint64_t slot, const struct found *found,
                 enum stackpack_error error) {
  struct module_overlay *module = module_of(process, slot);
  assert(atomic_load(&module->size) == 0 || atomic_load(&module->error) != STACKPACK_OK);
  process->modules[slot].table = found->table;
  module->maps_start = found->maps_start;
  module->maps_size = found->maps_size;
  module->identity = identity_of(found->maps_start, found->maps_size);
  module->table = found->memory;
  module->seen = true;
  atomic_store(&module->start, found->start);
  atomic_store(&module->error, (uint32_t)error);
  atomic_store(&module->size, found->size);
  atomic_fetch_add(&process->generation, 1);
}

/* Puts a module into its slot, or into a free one. */
static void add(struct process_overlay *process, const struct module_overlay *known,
                const struct found *found, enum stackpack_error error) {
  for (uint64_t i = 0; i < process->capacity; i++) {
    const struct module_overlay *module = module_of(process, i);
    if (known != NULL ? module == known : atomic_load(&module->size) == 0) {
      fill(process, i, found, error);
      return;
    }
  }
  free(found->memory);
}

static int add_module(struct dl_phdr_info *info, size_t size, void *data) {
  struct search *search = data;
  struct found found = {0};
  module_range(info, &found);
  (void)count_modules(info, size, data);
  if (is_plain(search, found.start))
    return 0;
  const struct module_overlay *known = known_module(search, &found);
  if (known != NULL && atomic_load(&known->error) == STACKPACK_OK) {
    search->modules++;
    return 0;
  }
  bool is_whole;
  const struct elf_image image = image_of(info, &is_whole);
  enum stackpack_error error = is_whole ? open_packed(&image, &found) : STACKPACK_NOT_ELF;
  if (error == STACKPACK_NO_STACK_MAPS && is_loading(&found)) {
    search->is_any_loading = true;
    return 0;
  }
  if (error == STACKPACK_NO_STACK_MAPS)
    error = open_raw(info, image, &found);
  if (error == STACKPACK_NO_STACK_MAPS) {
    if (known == NULL)
      add_plain(search->process, found.start);
    return 0;
  }
  search->modules++;
  if (error != STACKPACK_OK && search->error == STACKPACK_OK) {
    search->error = error;
    search->error_number = errno;
  }
  if (known == NULL || error == STACKPACK_OK)
    add(search->process, known, &found, error);
  return 0;
}

/* How often fork has made this process and its parents: a child may have the parent's number, in
 * another PID namespace. (clone and vfork aren't counted.) */
static unsigned forks;

static bool is_owner(const struct process_overlay *process) {
  return process->owner == getpid() && process->forks == forks;
}

static void set_owner(struct process_overlay *process) {
  process->owner = getpid();
  process->forks = forks;
}

/* A child of fork has one thread only. Others that read or write, by its memory, are the
 * parent's. */
static void forget_threads_of_parent(struct process_overlay *process) {
  if (is_owner(process))
    return;
  set_owner(process);
  pthread_mutex_init(&process->writer, NULL);
  for (unsigned i = 0; i < STRIPES; i++)
    for (unsigned phase = 0; phase < 2; phase++)
      atomic_store(&process->stripes[i].readers[phase], 0);
  process->is_settled = false; /* one of them may have been adding modules */
  process->plain = NULL;
  process->plain_count = 0;
  process->plain_capacity = 0;
  process->subs = UINT64_MAX;
}

static void begin_writing(struct process_overlay *process) {
  forget_threads_of_parent(process);
  pthread_mutex_lock(&process->writer);
}

/* Waits until every reader has left that may have seen a slot before it was freed. New ones count
 * in the other phase, so that this ends however many come. */
static void wait_for_readers(struct process_overlay *process) {
  const unsigned phase = atomic_fetch_add(&process->phase, 1) & 1;
  for (unsigned i = 0; i < STRIPES; i++)
    while (atomic_load(&process->stripes[i].readers[phase]) != 0)
      sched_yield();
}

/* Twice through the phases, as a reader may have read the phase before it changed, and have counted
 * after the first wait. */
static void wait_for_removed(struct process_overlay *process) {
  wait_for_readers(process);
  wait_for_readers(process);
}

/* Takes modules out: all whose `seen` is false. */
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
  wait_for_removed(process);
  for (uint64_t i = 0; i < process->capacity; i++) {
    struct module_overlay *module = module_of(process, i);
    if (atomic_load(&module->size) == 0) {
      void *table = module->table;
      module->table = NULL; /* first, for a child that is forked between */
      free(table);
    }
  }
}

/* ---- The loader's lock ---- */

/* dl_iterate_phdr holds a lock of the loader's. glibc leaves it locked in a child whose parent had
 * another thread in it. So no fork begins while the modules are listed, nor while the ranges of
 * added code change. The lock and the count of forks are the library's only state, as fork's
 * handlers get no argument. The lock is recursive, as a signal handler may fork a thread that lists
 * them. */
static pthread_mutex_t listing;

static void init_listing(void) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
  pthread_mutex_init(&listing, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

static void before_fork(void) { pthread_mutex_lock(&listing); }
static void after_fork(void) { pthread_mutex_unlock(&listing); }

static void after_fork_in_child(void) {
  forks++;
  init_listing();
}

static void prepare_for_fork(void) {
  init_listing();
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

static void hold_forks(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, prepare_for_fork);
  pthread_mutex_lock(&listing);
}

static void list_modules(int (*add)(struct dl_phdr_info *, size_t, void *), struct search *search) {
  hold_forks();
  dl_iterate_phdr(add, search);
  pthread_mutex_unlock(&listing);
}

void process_begin_change(struct process_overlay *process) {
  begin_writing(process);
  hold_forks();
}

void process_end_change(struct process_overlay *process) {
  pthread_mutex_unlock(&listing);
  pthread_mutex_unlock(&process->writer);
}

static void mark_all(struct process_overlay *process, bool seen) {
  for (uint64_t i = 0; i < process->capacity; i++)
    module_of(process, i)->seen = seen;
}

/* Adds the modules that lack a slot. `subs`: the loader's count, when the others were last looked
 * at. */
static enum stackpack_error add_modules(struct process_overlay *process, uint64_t subs) {
  struct search search = {.process = process};
  list_modules(add_module, &search);
  process->needed = search.modules;
  process->adds = search.adds;
  process->subs = subs;
  process->is_settled = search.has_counts && search.error == STACKPACK_OK && search.subs == subs &&
                        !search.is_any_loading && process->needed <= process->capacity;
  if (process->needed > process->capacity)
    return STACKPACK_TOO_MANY_MODULES;
  if (search.error == STACKPACK_SYSTEM_ERROR)
    errno = search.error_number;
  return process->needed == 0 ? STACKPACK_NO_STACK_MAPS : search.error;
}

/* Brings the slots up to date: first those are freed whose module has gone, then new ones are
 * added. */
static enum stackpack_error update(struct process_overlay *process) {
  struct search search = {.process = process};
  list_modules(count_modules, &search);
  const bool is_any_gone = !search.has_counts || search.subs != process->subs;
  if (process->is_settled && !is_any_gone && search.adds == process->adds)
    return process->needed == 0 ? STACKPACK_NO_STACK_MAPS : STACKPACK_OK;
  process->is_settled = false;
  if (is_any_gone) {
    process->plain_count = 0;
    mark_all(process, false);
    list_modules(mark_module, &search);
    remove_unseen(process);
  }
  return add_modules(process, search.subs);
}

enum stackpack_error stackpack_process_open(struct stackpack_process *process,
                                            struct stackpack_module *modules, size_t capacity) {
  struct process_overlay *overlay = process_of(process);
  memset(process, 0, sizeof *process);
  for (size_t i = 0; i < capacity; i++)
    memset(&modules[i], 0, sizeof modules[i]);
  overlay->generation = 1; /* a new cache has another one */
  overlay->modules = modules;
  overlay->capacity = capacity;
  set_owner(overlay);
  pthread_mutex_init(&overlay->writer, NULL);
  const enum stackpack_error error = update(overlay);
  if (error == STACKPACK_TOO_MANY_MODULES) {
    const uint64_t needed = overlay->needed;
    stackpack_process_close(process);
    overlay->needed = needed;
  }
  return error;
}

void process_free_ranges(struct ranges *ranges) {
  for (struct range_list *list = ranges != NULL ? ranges->lists : NULL, *next; list != NULL;
       list = next) {
    next = list->next;
    free(list);
  }
  free(ranges);
}

void stackpack_process_close(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  forget_threads_of_parent(overlay);
  mark_all(overlay, false);
  remove_unseen(overlay);
  pthread_mutex_destroy(&overlay->writer);
  free(overlay->plain);
  overlay->plain = NULL;
  process_free_ranges(atomic_exchange(&overlay->ranges, NULL));
  overlay->capacity = overlay->needed = overlay->plain_count = 0;
  overlay->plain_capacity = 0;
}

size_t stackpack_process_modules(const struct stackpack_process *process) {
  return const_process_of(process)->needed;
}

enum stackpack_error stackpack_module_error(const struct stackpack_module *module,
                                            uintptr_t *address) {
  struct module_overlay *overlay = (struct module_overlay *)module->private_;
  *address = atomic_load(&overlay->start);
  return atomic_load(&overlay->size) == 0 ? STACKPACK_NO_STACK_MAPS
                                          : (enum stackpack_error)atomic_load(&overlay->error);
}

enum stackpack_error stackpack_process_update(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  begin_writing(overlay);
  const enum stackpack_error error = update(overlay);
  pthread_mutex_unlock(&overlay->writer);
  return error;
}

bool stackpack_process_forget(struct stackpack_process *process, uintptr_t address) {
  struct process_overlay *overlay = process_of(process);
  struct module_overlay *module = NULL; /* of several, one that is between segments of the others */
  begin_writing(overlay);
  for (uint64_t i = 0; (i = slot_at(overlay, address, i)) < overlay->capacity; i++)
    if (module == NULL || atomic_load(&module_of(overlay, i)->size) < atomic_load(&module->size))
      module = module_of(overlay, i);
  if (module != NULL) {
    mark_all(overlay, true);
    module->seen = false;
    overlay->needed--;
    overlay->is_settled = false;
    remove_unseen(overlay);
  }
  pthread_mutex_unlock(&overlay->writer);
  return module != NULL;
}

void stackpack_process_wait(struct stackpack_process *process) {
  struct process_overlay *overlay = process_of(process);
  begin_writing(overlay);
  wait_for_removed(overlay);
  pthread_mutex_unlock(&overlay->writer);
}

/* ---- Look-ups ---- */

/* Looks up in the code that the program has added. A stack map may be at the start of a range. */
static enum stackpack_answer find_added(const struct ranges *ranges, uint64_t address,
                                        struct stackpack_record *record) {
  const struct stackpack_table *before = ranges_find(ranges, address - 1);
  const enum stackpack_answer answer =
      before != NULL ? stackpack_table_find(before, address, record) : STACKPACK_NOT_MANAGED;
  if (answer != STACKPACK_NOT_MANAGED)
    return answer;
  const struct stackpack_table *table = ranges_find(ranges, address);
  return table != NULL && table != before ? stackpack_table_find(table, address, record) : answer;
}

/* A position-dependent program may have other modules between its segments: so after a module
 * without the address, the rest is asked. */
enum stackpack_answer stackpack_find(const struct stackpack_process *process,
                                     uintptr_t return_address, struct stackpack_record *record) {
  const struct process_overlay *overlay = const_process_of(process);
  const uint64_t call = return_address - 1;
  const struct ranges *ranges = atomic_load_explicit(&overlay->ranges, memory_order_acquire);
  if (ranges != NULL) {
    const enum stackpack_answer answer = find_added(ranges, return_address, record);
    if (answer != STACKPACK_NOT_MANAGED)
      return answer;
  }
  for (uint64_t i = 0; (i = slot_at(overlay, call, i)) < overlay->capacity; i++) {
    const enum stackpack_answer answer =
        atomic_load(&module_of(overlay, i)->error) == STACKPACK_OK
            ? stackpack_table_find(&overlay->modules[i].table, return_address, record)
            : STACKPACK_CORRUPT;
    if (answer != STACKPACK_NOT_MANAGED)
      return answer;
  }
  return STACKPACK_NOT_MANAGED;
}

enum stackpack_answer stackpack_visit(const struct stackpack_process *process,
                                      struct stackpack_cache *cache, uintptr_t return_address,
                                      struct stackpack_record *record, stackpack_visitor *visit,
                                      void *context) {
  if (cache != NULL) {
    cache_begin(cache, process_generation(process));
    const uint32_t slot = cache_look_up(cache, return_address, record);
    if (slot != 0)
      return cache_visit(cache, slot, record, visit, context);
  }
  const enum stackpack_answer answer = stackpack_find(process, return_address, record);
  return answer == STACKPACK_FOUND ? cache_visit_new(cache, record, visit, context) : answer;
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
  assert(ticket < 2 * STRIPES);
  atomic_fetch_sub(&process_of(process)->stripes[ticket / 2].readers[ticket % 2], 1);
}
