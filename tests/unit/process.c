/* process.c - tests the functions of stackpack.h for the running process.
 *
 * This program has a raw stack map of its own, in process_stackmap.S. Libraries with packed tables
 * are written here and loaded.
 */
#include "elf_writer.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MODULES = 4 };

/* Of process_stackmap.S. */
extern void *managed_outer(void *reference, void (*callback)(void));
extern const char managed_outer_return[], managed_inner[], managed_inner_return[], managed_end[];

static struct stackpack_process process;
static struct stackpack_module modules[MODULES];

static uintptr_t address_of(const char *code) { return (uintptr_t)code; }

static enum stackpack_answer answer(uintptr_t address) {
  struct stackpack_record record;
  return stackpack_find(&process, address, &record);
}

static void open_process(void) {
  ck_assert_int_eq(stackpack_process_open(&process, modules, MODULES), STACKPACK_OK);
}

/* ---- The program's own raw section ---- */

TEST(the_raw_section_of_this_program) {
  struct stackpack_record record;
  open_process();
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  ck_assert_int_eq(stackpack_find(&process, address_of(managed_outer_return), &record),
                   STACKPACK_FOUND);
  ck_assert_uint_eq(record.address, address_of(managed_outer_return));
  ck_assert_uint_eq(stackpack_record_function(&record), (uintptr_t)managed_outer);
  ck_assert_uint_eq(record.frame_size, 24);
  ck_assert_int_eq(record.kind, STACKPACK_STATEPOINT);
  struct stackpack_pairs pairs = stackpack_pairs(&record);
  struct stackpack_location base, derived;
  ck_assert(stackpack_pairs_next(&pairs, &base, &derived));
  ck_assert_int_eq(base.kind, STACKPACK_INDIRECT);
  ck_assert_int_eq(base.value, 8);
  ck_assert(!stackpack_pairs_next(&pairs, &base, &derived));
  stackpack_process_close(&process);
}

/* It gives another answer than a table that was packed without positions. */
TEST(a_raw_section_has_no_positions) {
  struct stackpack_record record;
  struct stackpack_sources sources;
  uint64_t space[64];
  open_process();
  ck_assert_int_eq(stackpack_find(&process, address_of(managed_outer_return), &record),
                   STACKPACK_FOUND);
  ck_assert_uint_eq(stackpack_sources_space(&modules[0].table), 0);
  ck_assert_int_eq(stackpack_record_sources(&record, space, sizeof space, &sources),
                   STACKPACK_SOURCE_RAW);
  ck_assert_int_eq(stackpack_record_sources(&record, NULL, 0, &sources), STACKPACK_SOURCE_RAW);
  stackpack_process_close(&process);
}

/* The functions' ends are in this file's unwind table, and the padding up to the next multiple
 * of 16 is theirs. A return address without a record is in the function of the byte before it, the
 * call's last. */
TEST(the_three_answers) {
  open_process();
  ck_assert_int_eq(answer((uintptr_t)managed_outer + 1), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer((uintptr_t)managed_outer), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer(address_of(managed_inner)), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
  ck_assert_int_eq(answer(address_of(managed_inner_return) + 1), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(address_of(managed_end)), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(address_of(managed_end) + 17), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer(0), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer(UINTPTR_MAX), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer((uintptr_t)&process), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer((uintptr_t)getppid), STACKPACK_NOT_MANAGED);
  stackpack_process_close(&process);
}

TEST(a_closed_process_finds_nothing) {
  open_process();
  stackpack_process_close(&process);
  ck_assert_uint_eq(stackpack_process_modules(&process), 0);
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_NOT_MANAGED);
  open_process();
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
  stackpack_process_close(&process);
}

TEST(too_many_modules) {
  ck_assert_int_eq(stackpack_process_open(&process, NULL, 0), STACKPACK_TOO_MANY_MODULES);
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
}

TEST(updates_without_changes) {
  open_process();
  for (unsigned i = 0; i < 3; i++) {
    ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
    ck_assert_uint_eq(stackpack_process_modules(&process), 1);
    ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
  }
  stackpack_process_close(&process);
}

/* ---- A collection ---- */

#ifdef __x86_64__

/* Adds 1000 to every slot of the managed frames above the caller of this function's caller. */
__attribute__((noinline)) static void move_references(void **return_address_place) {
  struct stackpack_record record;
  while (stackpack_find(&process, (uintptr_t)*return_address_place, &record) == STACKPACK_FOUND) {
    char *const stack_pointer = (char *)(return_address_place + 1);
    struct stackpack_pairs pairs = stackpack_pairs(&record);
    struct stackpack_location base, derived;
    while (stackpack_pairs_next(&pairs, &base, &derived))
      *(uintptr_t *)(stack_pointer + base.value) += 1000;
    return_address_place = (void **)(stack_pointer + record.frame_size);
  }
}

/* A function that asks for its frame has a frame pointer: the return address is above it. */
__attribute__((noinline)) static void collect(void) {
  void **frame = __builtin_frame_address(0);
  move_references(frame + 1);
}

TEST(a_collection_moves_the_references_of_all_frames) {
  open_process();
  const uintptr_t sum = (uintptr_t)managed_outer((void *)(uintptr_t)7, collect);
  ck_assert_uint_eq(sum, 2 * 1007);
  stackpack_process_close(&process);
}

#endif

/* ---- Libraries ---- */

enum { LIBRARY_CODE = 0x8000, LIBRARY_MEMORY = 0x10000, BEYOND = 0x100000 };

static void *load_path(const char *path, uintptr_t *base) {
  struct link_map *map;
  void *library = dlopen(path, RTLD_NOW);
  if (library == NULL)
    ck_abort_msg("%s", dlerror());
  ck_assert_int_eq(dlinfo(library, RTLD_DI_LINKMAP, &map), 0);
  *base = map->l_addr;
  return library;
}

/* Loads a file as a library; where it is in memory goes to *base. */
static void *load_file(const struct elf *elf, uintptr_t *base) {
  char path[ELF_PATH_SIZE];
  write_temporary(&elf->bytes, path);
  void *library = load_path(path, base);
  unlink(path);
  return library;
}

/* A library with a packed table of one function of this frame size, and one record. */
static void *load_library(uint64_t frame_size, uintptr_t *base) {
  struct model model = {0};
  struct elf elf;
  model_add_function(&model, LIBRARY_CODE, frame_size, LIBRARY_CODE + 0x40);
  model_add_self(model_add_record(&model, 0x20), 8);
  model_finish(&model);
  elf_begin(&elf, 0);
  elf.memory = LIBRARY_MEMORY;
  elf_add_dynamic(&elf);
  elf_add_packed_model(&elf, &model);
  elf_finish(&elf);
  void *library = load_file(&elf, base);
  elf_free(&elf);
  model_free(&model);
  return library;
}

static void *load_broken_library(uintptr_t *base) {
  static const uint8_t garbage[200] = {1, 2, 3};
  struct elf elf;
  elf_begin(&elf, 0);
  elf_add_dynamic(&elf);
  elf_add_packed(&elf, garbage, sizeof garbage);
  elf.segments[elf.segment_count + 1] = (Elf64_Phdr){
      .p_type = PT_LOAD, .p_vaddr = BEYOND, .p_memsz = BEYOND}; /* after the last header */
  elf_finish(&elf);
  void *library = load_file(&elf, base);
  elf_free(&elf);
  return library;
}

static void check_library(uintptr_t base, uint64_t frame_size) {
  struct stackpack_record record;
  ck_assert_int_eq(stackpack_find(&process, base + LIBRARY_CODE + 0x20, &record), STACKPACK_FOUND);
  ck_assert_uint_eq(stackpack_record_function(&record), base + LIBRARY_CODE);
  ck_assert_uint_eq(record.frame_size, frame_size);
  ck_assert_int_eq(answer(base + LIBRARY_CODE), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer(base + LIBRARY_CODE + 0x40), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(base + LIBRARY_CODE + 0x41), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer(base), STACKPACK_NOT_MANAGED);
}

TEST(a_packed_library) {
  uintptr_t base;
  void *library = load_library(24, &base);
  open_process();
  ck_assert_uint_eq(stackpack_process_modules(&process), 2);
  check_library(base, 24);
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
  stackpack_process_close(&process);
  dlclose(library);
}

TEST(libraries_that_come_and_go) {
  uintptr_t first, second;
  open_process();
  void *library = load_library(24, &first);
  ck_assert_int_eq(answer(first + LIBRARY_CODE + 0x20), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_process_modules(&process), 2);
  check_library(first, 24);
  void *other = load_library(40, &second);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_process_modules(&process), 3);
  check_library(first, 24);
  check_library(second, 40);
  ck_assert(stackpack_process_forget(&process, first + LIBRARY_CODE));
  ck_assert_uint_eq(stackpack_process_modules(&process), 2);
  ck_assert_int_eq(answer(first + LIBRARY_CODE + 0x20), STACKPACK_NOT_MANAGED);
  ck_assert(!stackpack_process_forget(&process, first + LIBRARY_CODE));
  dlclose(library);
  check_library(second, 40);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_process_modules(&process), 2);
  check_library(second, 40);
  stackpack_process_close(&process);
  dlclose(other);
}

static void count_pair(void *count, struct stackpack_location base,
                       struct stackpack_location derived) {
  (void)base;
  (void)derived;
  ++*(unsigned *)count;
}

/* A cache ends with the modules of its records. */
TEST(a_cache_forgets_modules) {
  enum { SHIFT = 4 };
  static uint64_t memory[(STACKPACK_CACHE_LINE << SHIFT) / sizeof(uint64_t)];
  struct stackpack_cache cache;
  struct stackpack_record record;
  unsigned pairs = 0;
  uintptr_t base;
  void *library = load_library(24, &base);
  const uintptr_t address = base + LIBRARY_CODE + 0x20;
  stackpack_cache_open(&cache, memory, SHIFT);
  open_process();
  for (unsigned i = 0; i < 3; i++) {
    ck_assert_int_eq(stackpack_visit(&process, &cache, address, &record, count_pair, &pairs),
                     STACKPACK_FOUND);
    ck_assert_uint_eq(record.frame_size, 24);
    ck_assert_uint_eq(pairs, i + 1);
  }
  ck_assert(stackpack_process_forget(&process, base + LIBRARY_CODE));
  ck_assert_int_eq(stackpack_visit(&process, &cache, address, &record, count_pair, &pairs),
                   STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_int_eq(stackpack_visit(&process, &cache, address, &record, count_pair, &pairs),
                   STACKPACK_FOUND);
  ck_assert_int_eq(stackpack_visit(&process, NULL, address, &record, count_pair, &pairs),
                   STACKPACK_FOUND);
  ck_assert_uint_eq(pairs, 5);
  stackpack_process_close(&process);
  dlclose(library);
}

TEST(forgetting_what_is_not_there) {
  open_process();
  ck_assert(!stackpack_process_forget(&process, 0));
  ck_assert(!stackpack_process_forget(&process, (uintptr_t)getppid));
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  ck_assert(stackpack_process_forget(&process, address_of(managed_inner)));
  ck_assert_uint_eq(stackpack_process_modules(&process), 0);
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
  stackpack_process_close(&process);
}

/* A slot that was freed is used again, however often. */
TEST(slots_are_used_again) {
  open_process();
  for (uint64_t i = 0; i < 20; i++) {
    uintptr_t base;
    void *library = load_library(8 * i, &base);
    ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
    ck_assert_uint_eq(stackpack_process_modules(&process), 2);
    check_library(base, 8 * i);
    ck_assert(stackpack_process_forget(&process, base));
    dlclose(library);
  }
  stackpack_process_close(&process);
}

/* An update after an unload without a warning: the module is gone. */
TEST(unloaded_without_forgetting) {
  uintptr_t base;
  void *library = load_library(24, &base);
  open_process();
  dlclose(library);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  ck_assert_int_eq(answer(base + LIBRARY_CODE + 0x20), STACKPACK_NOT_MANAGED);
  stackpack_process_close(&process);
}

TEST(a_library_too_many) {
  uintptr_t base;
  ck_assert_int_eq(stackpack_process_open(&process, modules, 1), STACKPACK_OK);
  void *library = load_library(24, &base);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_TOO_MANY_MODULES);
  ck_assert_uint_eq(stackpack_process_modules(&process), 2);
  ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
  stackpack_process_close(&process);
  ck_assert_int_eq(stackpack_process_open(&process, modules, 1), STACKPACK_TOO_MANY_MODULES);
  ck_assert_uint_eq(stackpack_process_modules(&process), 2);
  ck_assert_int_eq(stackpack_process_open(&process, modules, 2), STACKPACK_OK);
  check_library(base, 24);
  stackpack_process_close(&process);
  dlclose(library);
}

/* All others are served, and in the broken one all addresses may be managed. */
TEST(a_broken_library) {
  uintptr_t base, address;
  open_process();
  void *library = load_broken_library(&base);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_BAD_TABLE);
  stackpack_process_close(&process);
  for (unsigned round = 0; round < 2; round++) {
    ck_assert_int_eq(round == 0 ? stackpack_process_open(&process, modules, MODULES)
                                : stackpack_process_update(&process),
                     STACKPACK_BAD_TABLE);
    ck_assert_uint_eq(stackpack_process_modules(&process), 2);
    ck_assert_int_eq(answer(address_of(managed_inner_return)), STACKPACK_FOUND);
    ck_assert_int_eq(answer(base + 0x40), STACKPACK_CORRUPT);
    ck_assert_int_eq(answer(base + BEYOND + 0x40), STACKPACK_NOT_MANAGED);
  }
  ck_assert_int_eq(stackpack_module_error(&modules[0], &address), STACKPACK_OK);
  ck_assert_int_eq(stackpack_module_error(&modules[1], &address), STACKPACK_BAD_TABLE);
  ck_assert_uint_eq(address, base);
  ck_assert_int_eq(stackpack_module_error(&modules[2], &address), STACKPACK_NO_STACK_MAPS);
  dlclose(library);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_int_eq(answer(base + 0x40), STACKPACK_NOT_MANAGED);
  stackpack_process_close(&process);
}

/* ---- Files of libraries ---- */

enum replacement { NONE, OTHER_HEADERS, OTHER_CONTENTS, FEWER_HEADERS, REPLACEMENTS };

/* Another file takes the path of one that is loaded. */
static void replace(const char *path, struct elf *elf, uint64_t contents, enum replacement how) {
  char other[ELF_PATH_SIZE];
  Elf64_Ehdr header;
  memcpy(&header, elf->bytes.data, sizeof header);
  if (how == OTHER_HEADERS)
    elf->bytes.data[header.e_phoff + offsetof(Elf64_Phdr, p_paddr)] ^= 1;
  if (how == OTHER_CONTENTS)
    elf->bytes.data[contents] ^= 1;
  if (how == FEWER_HEADERS)
    elf->bytes.data[offsetof(Elf64_Ehdr, e_phnum)]--;
  write_temporary(&elf->bytes, other);
  ck_assert_int_eq(rename(other, path), 0);
}

/* Puts DT_TEXTREL at the end of the dynamic section that was added last. */
static void let_relocations_be_anywhere(struct elf *elf) {
  static const Elf64_Dyn writes = {DT_TEXTREL, {0}}, end = {DT_NULL, {0}};
  Elf64_Phdr *dynamic = &elf->segments[0];
  memcpy(elf->bytes.data + dynamic->p_offset + dynamic->p_filesz - sizeof end, &writes,
         sizeof writes);
  elf_add(elf, &end, sizeof end);
  dynamic->p_filesz += sizeof end;
  dynamic->p_memsz += sizeof end;
}

/* Its section has an unknown version of stack maps: only the file has its place. The file counts if all its program headers are
 * the module's, and so are its notes, or its index of functions. */
static void check_replaced(uint32_t type, enum replacement how) {
  static const uint8_t newer[64] = {4},
                       note[24] = {4, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 'o', 'w', 'n'};
  char path[ELF_PATH_SIZE];
  uintptr_t base;
  struct elf elf;
  elf_begin(&elf, 0);
  elf_add_dynamic(&elf);
  let_relocations_be_anywhere(&elf);
  const uint64_t contents = elf_add(&elf, note, sizeof note);
  elf_add_segment(&elf, type, contents, sizeof note);
  elf_add_section(&elf, ".llvm_stackmaps", SHT_PROGBITS, newer, sizeof newer);
  elf_finish(&elf);
  write_temporary(&elf.bytes, path);
  void *library = load_path(path, &base);
  replace(path, &elf, contents, how);
  const bool is_same = how == NONE || (how == OTHER_CONTENTS && type == PT_NULL);
  ck_assert_int_eq(stackpack_process_open(&process, modules, MODULES),
                   is_same ? STACKPACK_BAD_STACK_MAP : STACKPACK_OK);
  ck_assert_int_eq(answer(base + 0x40), is_same ? STACKPACK_CORRUPT : STACKPACK_NOT_MANAGED);
  stackpack_process_close(&process);
  unlink(path);
  dlclose(library);
  elf_free(&elf);
}

TEST(files_that_were_replaced) {
  static const uint32_t types[] = {PT_NOTE, PT_GNU_EH_FRAME, PT_NULL};
  for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
    for (enum replacement how = NONE; how < REPLACEMENTS; how++)
      check_replaced(types[i], how);
}

/* ---- Threads ---- */

static atomic_bool stop, is_inside;
static atomic_ulong found_records;

/* Looks up in the loaded modules; an answer between enter and leave must stay readable. */
static void *look_up(void *library_base) {
  while (!atomic_load(&stop)) {
    struct stackpack_record record;
    const unsigned ticket = stackpack_enter(&process);
    const unsigned nested = stackpack_enter(&process);
    stackpack_leave(&process, nested);
    const uintptr_t base = atomic_load((atomic_uintptr_t *)library_base);
    if (stackpack_find(&process, base + LIBRARY_CODE + 0x20, &record) == STACKPACK_FOUND) {
      struct stackpack_pairs pairs = stackpack_pairs(&record);
      struct stackpack_location slot, derived;
      if (!stackpack_pairs_next(&pairs, &slot, &derived) || slot.value != 8)
        abort();
      atomic_fetch_add(&found_records, 1);
    }
    if (answer(address_of(managed_inner_return)) != STACKPACK_FOUND)
      abort();
    stackpack_leave(&process, ticket);
  }
  return NULL;
}

static void *update_all_the_time(void *unused) {
  (void)unused;
  while (!atomic_load(&stop))
    stackpack_process_update(&process);
  return NULL;
}

static void *stay_inside(void *unused) {
  (void)unused;
  const unsigned ticket = stackpack_enter(&process);
  atomic_store(&is_inside, true);
  while (!atomic_load(&stop))
    usleep(100);
  stackpack_leave(&process, ticket);
  return NULL;
}

/* The child lacks both the thread between enter and leave, and the one that updates. */
TEST(children_of_fork_have_one_thread) {
  enum { CHILDREN = 40 };
  pthread_t reader, writer;
  uintptr_t base;
  open_process();
  void *library = load_library(24, &base);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_int_eq(pthread_create(&reader, NULL, stay_inside, NULL), 0);
  ck_assert_int_eq(pthread_create(&writer, NULL, update_all_the_time, NULL), 0);
  while (!atomic_load(&is_inside))
    usleep(100);
  for (unsigned i = 0; i < CHILDREN; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool is_right = stackpack_process_update(&process) == STACKPACK_OK &&
                      stackpack_process_modules(&process) == 2 &&
                      stackpack_process_forget(&process, base) &&
                      !stackpack_process_forget(&process, base);
      dlclose(library);
      is_right &= stackpack_process_update(&process) == STACKPACK_OK &&
                  stackpack_process_modules(&process) == 1;
      stackpack_process_close(&process);
      _exit(is_right ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
  }
  atomic_store(&stop, true);
  pthread_join(reader, NULL);
  pthread_join(writer, NULL);
  stackpack_process_close(&process);
}

/* Whether a child ends with status 0 before long. */
static bool child_ends(pid_t child) {
  enum { TENTHS = 200 };
  int status = 1;
  for (unsigned i = 0; i < TENTHS && child > 0; i++) {
    if (waitpid(child, &status, WNOHANG) == child)
      return status == 0;
    usleep(100000);
  }
  kill(child, SIGKILL);
  return false;
}

/* The first process of a PID namespace forks the first one of another: so both have number 1. */
static bool child_with_same_pid_goes_on(void) {
  pthread_t reader;
  open_process();
  if (pthread_create(&reader, NULL, stay_inside, NULL) != 0)
    return false;
  while (!atomic_load(&is_inside))
    usleep(100);
  if (unshare(CLONE_NEWPID) != 0)
    return false;
  const pid_t child = fork();
  if (child == 0) {
    stackpack_process_close(&process);
    _exit(getpid() != 1);
  }
  return child_ends(child);
}

TEST(a_child_of_fork_has_the_same_pid) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWPID) != 0 && unshare(CLONE_NEWUSER | CLONE_NEWPID) != 0)
      _exit(0); /* namespaces are forbidden here */
    const pid_t first = fork();
    if (first == 0)
      _exit(!child_with_same_pid_goes_on());
    _exit(!child_ends(first));
  }
  ck_assert(child_ends(child));
}

TEST(modules_come_and_go_while_threads_look_up) {
  enum { THREADS = 3, ROUNDS = 60 };
  pthread_t threads[THREADS];
  atomic_uintptr_t library_base = 0;
  open_process();
  for (unsigned i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, look_up, &library_base), 0);
  for (unsigned round = 0; round < ROUNDS; round++) {
    uintptr_t base;
    void *library = load_library(24, &base);
    const unsigned long before = atomic_load(&found_records);
    ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
    atomic_store(&library_base, base);
    while (round % 4 == 0 && atomic_load(&found_records) == before)
      usleep(100);
    ck_assert(stackpack_process_forget(&process, base));
    dlclose(library);
  }
  atomic_store(&stop, true);
  for (unsigned i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  ck_assert_uint_gt(atomic_load(&found_records), 0);
  stackpack_process_close(&process);
}
