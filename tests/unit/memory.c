/* memory.c - tests stack maps that are bytes in memory, and code that is added to a process while
 * threads look up.
 */
#include "elf/eh_frame.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE = 0x10000, CODE_SIZE = 0x10000, FUNCTION_SIZE = 0x100 };

/* Of process_stackmap.S. */
extern const char managed_maps[], managed_outer[], managed_outer_return[], managed_inner_return[],
    managed_end[];
enum { MANAGED_MAPS_SIZE = 16 + 2 * 24 + 2 * 88 };

/* Functions one after the other, each up to the next one, or to the end of the code. */
static struct model example(uint64_t first, unsigned functions, uint64_t seed) {
  struct numbers numbers = {seed};
  struct model model = {0};
  for (unsigned i = 0; i < functions; i++) {
    const uint64_t start = first + (uint64_t)i * FUNCTION_SIZE;
    model_add_function(&model, start, 8 * numbers_below(&numbers, 20),
                       i + 1 < functions ? start + FUNCTION_SIZE : first + CODE_SIZE);
    for (uint32_t offset = 8; offset < FUNCTION_SIZE; offset += 8 + (uint32_t)(seed % 3) * 8) {
      struct model_record *record = model_add_record(&model, offset);
      model_add_self(record, (int32_t)(8 * numbers_below(&numbers, 20)));
      if (numbers_chance(&numbers, 30))
        model_add_pair(record, model_slot(8), model_slot(16));
      record->id = numbers_chance(&numbers, 20) ? numbers_next(&numbers) : MODEL_DEFAULT_ID;
      if (numbers_chance(&numbers, 20))
        model_list_add(&record->deopt, model_constant(numbers_next(&numbers)));
    }
  }
  model_finish(&model);
  return model;
}

static enum stackpack_error open_at(struct stackpack_memory *memory, const struct bytes *bytes,
                                    uint64_t base, uint64_t start, uint64_t size) {
  uint8_t *exact = bytes_exact(bytes->data, bytes->size);
  const struct stackpack_bytes code = {NULL, size, start};
  const struct stackpack_statepoint_ids ids = {0, UINT64_MAX};
  const struct stackpack_maps maps = {.bytes = exact,
                                      .size = bytes->size,
                                      .base = base,
                                      .code = &code,
                                      .code_count = 1,
                                      .ids = &ids,
                                      .id_count = 1};
  const enum stackpack_error error = stackpack_memory_open(memory, &maps);
  free(exact);
  return error;
}

/* ---- One table ---- */

/* By absolute addresses, and by such that are relative to a base: there, one is 0. */
TEST(the_answers_are_those_of_the_maps) {
  const uint64_t bases[] = {0, CODE, UINT64_MAX - 0xfff};
  for (uint64_t seed = 0; seed < 12; seed++) {
    const uint64_t base = bases[seed % 3];
    struct model model = example(CODE, 1 + (unsigned)seed * 3, seed);
    struct model moved = example(CODE - base, 1 + (unsigned)seed * 3, seed);
    struct bytes bytes = {0};
    struct stackpack_memory memory;
    model_write(&moved, &bytes);
    ck_assert_int_eq(open_at(&memory, &bytes, base, CODE, CODE_SIZE), STACKPACK_OK);
    const struct model_options same = {.around = 9};
    model_check_table(&model, &memory.table, &same);
    stackpack_memory_close(&memory);
    bytes_free(&bytes);
    model_free(&model);
    model_free(&moved);
  }
}

TEST(several_ranges_of_code) {
  struct stackpack_memory memory;
  struct stackpack_record record;
  struct model model = {0};
  struct bytes bytes = {0};
  model_add_function(&model, CODE, 8, 0);
  model_add_self(model_add_record(&model, 8), 0);
  model_add_function(&model, 4 * CODE, 8, 0);
  model_add_self(model_add_record(&model, 8), 0);
  model_finish(&model);
  model_write(&model, &bytes);
  const struct stackpack_bytes code[] = {{NULL, 64, CODE}, {NULL, 32, 4 * CODE}};
  const struct stackpack_maps maps = {
      .bytes = bytes.data, .size = bytes.size, .code = code, .code_count = 2};
  ck_assert_int_eq(stackpack_memory_open(&memory, &maps), STACKPACK_OK);
  const struct {
    uint64_t address;
    enum stackpack_answer answer;
  } expected[] = {{CODE + 8, STACKPACK_FOUND},           {4 * CODE + 8, STACKPACK_FOUND},
                  {CODE + 64, STACKPACK_NOT_SAFEPOINT},  {CODE + 65, STACKPACK_NOT_MANAGED},
                  {4 * CODE, STACKPACK_NOT_MANAGED},     {4 * CODE + 32, STACKPACK_NOT_SAFEPOINT},
                  {4 * CODE + 33, STACKPACK_NOT_MANAGED}};
  for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
    ck_assert_int_eq(stackpack_table_find(&memory.table, expected[i].address, &record),
                     expected[i].answer);
  stackpack_memory_close(&memory);
  bytes_free(&bytes);
  model_free(&model);
}

/* No call ends in zeros: the records are of other code. */
TEST(a_range_of_code_for_each_function) {
  enum { FUNCTIONS = 1000 };
  static const uint8_t zeros[FUNCTION_SIZE];
  struct stackpack_bytes code[FUNCTIONS];
  struct stackpack_memory memory;
  struct stackpack_record record;
  struct model model = {0};
  struct bytes bytes = {0};
  for (unsigned i = 0; i < FUNCTIONS; i++) {
    code[FUNCTIONS - 1 - i] =
        (struct stackpack_bytes){zeros, sizeof zeros, CODE + 2 * i * FUNCTION_SIZE};
    model_add_function(&model, CODE + 2 * i * FUNCTION_SIZE, 8, 0);
    model_add_self(model_add_record(&model, 8), 0);
  }
  model_finish(&model);
  model_write(&model, &bytes);
  const struct stackpack_statepoint_ids ids = {0, UINT64_MAX};
  const struct stackpack_maps maps = {.bytes = bytes.data,
                                      .size = bytes.size,
                                      .code = code,
                                      .code_count = FUNCTIONS,
                                      .ids = &ids,
                                      .id_count = 1};
  ck_assert_int_eq(stackpack_memory_open(&memory, &maps), STACKPACK_OK);
  for (unsigned i = 0; i < FUNCTIONS; i++) {
    const uint64_t start = CODE + 2 * i * FUNCTION_SIZE;
    ck_assert_int_eq(stackpack_table_find(&memory.table, start + 8, &record),
                     STACKPACK_NOT_SAFEPOINT);
    ck_assert_int_eq(stackpack_table_find(&memory.table, start + FUNCTION_SIZE + 1, &record),
                     STACKPACK_NOT_MANAGED);
  }
  stackpack_memory_close(&memory);
  bytes_free(&bytes);
  model_free(&model);
}

TEST(what_is_outside_of_the_code) {
  struct stackpack_memory memory;
  struct stackpack_record record;
  struct model model = example(CODE, 4, 1);
  struct bytes bytes = {0};
  model_write(&model, &bytes);
  ck_assert_int_eq(open_at(&memory, &bytes, 0, CODE + 1, CODE_SIZE), STACKPACK_BAD_STACK_MAP);
  ck_assert_int_eq(open_at(&memory, &bytes, 0, CODE, 3 * FUNCTION_SIZE), STACKPACK_BAD_STACK_MAP);
  ck_assert_int_eq(open_at(&memory, &bytes, 0, CODE, 3 * FUNCTION_SIZE + 16),
                   STACKPACK_BAD_STACK_MAP);
  ck_assert_int_eq(open_at(&memory, &bytes, 0, 0, 0), STACKPACK_BAD_STACK_MAP);
  stackpack_memory_close(&memory); /* of an error, too */
  bytes.size = 0;
  ck_assert_int_eq(open_at(&memory, &bytes, 0, CODE, CODE_SIZE), STACKPACK_OK);
  ck_assert_uint_eq(stackpack_table_records(&memory.table), 0);
  ck_assert_int_eq(stackpack_table_find(&memory.table, CODE, &record), STACKPACK_NOT_MANAGED);
  stackpack_memory_close(&memory);
  bytes_free(&bytes);
  model_free(&model);
}

/* Each start of the maps, and changes of their bytes. */
TEST(hostile_bytes) {
  struct numbers numbers = {7};
  struct stackpack_memory memory;
  struct stackpack_record record;
  struct model model = example(CODE, 2, 2);
  struct bytes bytes = {0};
  model_write(&model, &bytes);
  const size_t size = bytes.size;
  for (; bytes.size > 0; bytes.size--)
    if (open_at(&memory, &bytes, bytes.size % 2, CODE, CODE_SIZE) == STACKPACK_OK)
      stackpack_memory_close(&memory);
  bytes.size = size;
  for (unsigned i = 0; i < 400; i++) {
    uint8_t *byte = &bytes.data[numbers_below(&numbers, size)], before = *byte;
    *byte = (uint8_t)numbers_next(&numbers);
    if (open_at(&memory, &bytes, i % 2, CODE, CODE_SIZE) == STACKPACK_OK)
      for (uint64_t address = CODE; address < CODE + 2 * FUNCTION_SIZE; address += 8)
        if (stackpack_table_find(&memory.table, address, &record) == STACKPACK_FOUND) {
          struct stackpack_pairs pairs = stackpack_pairs(&record);
          struct stackpack_location base, derived;
          while (stackpack_pairs_next(&pairs, &base, &derived))
            ;
        }
    stackpack_memory_close(&memory);
    if (i % 4 != 0)
      *byte = before;
  }
  bytes_free(&bytes);
  model_free(&model);
}

/* ---- This program's own maps ---- */

/* The index of unwind tables points to them, relative to its place. */
static int find_unwind(struct dl_phdr_info *info, size_t size, void *data) {
  struct stackpack_bytes *unwind = data;
  (void)size;
  for (unsigned i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) {
      const char *index = (const char *)(uintptr_t)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
      int32_t distance;
      memcpy(&distance, index + 4, sizeof distance);
      unwind->bytes = index + 4 + distance;
      unwind->address = (uintptr_t)unwind->bytes;
      unwind->size = eh_frame_size(unwind->bytes, SIZE_MAX / 2);
    }
  return 1;
}

/* With its unwind tables and code, and without: the facts of frames differ. */
TEST(the_frames_of_this_program) {
  for (unsigned with = 0; with < 2; with++) {
    struct stackpack_memory memory;
    struct stackpack_record record;
    const size_t size = (size_t)(managed_end + 16 - managed_outer);
    const struct stackpack_bytes code = {managed_outer, size, (uintptr_t)managed_outer};
    struct stackpack_maps maps = {
        .bytes = managed_maps, .size = MANAGED_MAPS_SIZE, .code = &code, .code_count = 1};
    if (with)
      dl_iterate_phdr(find_unwind, &maps.unwind);
    ck_assert_int_eq(stackpack_memory_open(&memory, &maps), STACKPACK_OK);
    ck_assert_uint_eq(stackpack_table_records(&memory.table), 2);
    ck_assert_int_eq(stackpack_table_find(&memory.table, (uintptr_t)managed_outer_return, &record),
                     STACKPACK_FOUND);
    ck_assert_int_eq(record.kind, STACKPACK_STATEPOINT);
    ck_assert_uint_eq(stackpack_record_frame(&record).is_known, with);
    stackpack_memory_close(&memory);
  }
}

/* ---- In a process ---- */

static struct stackpack_process process;
static struct stackpack_module modules[4];

static void open_process(void) {
  ck_assert_int_eq(stackpack_process_open(&process, modules, 4), STACKPACK_OK);
}

static enum stackpack_answer answer(uint64_t address) {
  struct stackpack_record record;
  return stackpack_find(&process, address, &record);
}

/* A table of one function, with records at 8 and 16, the second of this frame size. */
static void open_small(struct stackpack_memory *memory, uint64_t start, uint64_t frame_size) {
  struct model model = {0};
  struct bytes bytes = {0};
  model_add_function(&model, start, frame_size, 0);
  model_add_self(model_add_record(&model, 8), 8);
  model_add_self(model_add_record(&model, 16), 16);
  model_finish(&model);
  model_write(&model, &bytes);
  ck_assert_int_eq(open_at(memory, &bytes, 0, start, FUNCTION_SIZE), STACKPACK_OK);
  bytes_free(&bytes);
  model_free(&model);
}

TEST(added_and_removed) {
  struct stackpack_memory memory;
  open_process();
  open_small(&memory, CODE, 24);
  ck_assert_int_eq(answer(CODE + 8), STACKPACK_NOT_MANAGED);
  ck_assert(!stackpack_process_remove(&process, CODE));
  ck_assert_int_eq(stackpack_process_add(&process, CODE, FUNCTION_SIZE, &memory.table),
                   STACKPACK_OK);
  ck_assert_int_eq(answer(CODE + 8), STACKPACK_FOUND);
  ck_assert_int_eq(answer(CODE + 9), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(CODE + FUNCTION_SIZE), STACKPACK_NOT_SAFEPOINT);
  ck_assert_int_eq(answer(CODE + FUNCTION_SIZE + 1), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer(CODE), STACKPACK_NOT_MANAGED);
  ck_assert_int_eq(answer((uintptr_t)managed_inner_return), STACKPACK_FOUND);
  ck_assert_uint_eq(stackpack_process_modules(&process), 1);
  ck_assert_int_eq(stackpack_process_update(&process), STACKPACK_OK);
  ck_assert_int_eq(answer(CODE + 16), STACKPACK_FOUND);
  ck_assert(!stackpack_process_remove(&process, CODE + 8));
  ck_assert(stackpack_process_remove(&process, CODE));
  stackpack_process_wait(&process);
  ck_assert_int_eq(answer(CODE + 8), STACKPACK_NOT_MANAGED);
  stackpack_memory_close(&memory);
  stackpack_process_close(&process);
}

TEST(ranges_that_overlap) {
  struct stackpack_memory memory;
  open_process();
  open_small(&memory, CODE, 24);
  const struct {
    uint64_t start, size;
    enum stackpack_error error;
  } ranges[] = {{CODE, 0, STACKPACK_RANGE_TAKEN},       {CODE, 16, STACKPACK_OK},
                {CODE, 16, STACKPACK_RANGE_TAKEN},      {CODE - 8, 9, STACKPACK_RANGE_TAKEN},
                {CODE - 8, 100, STACKPACK_RANGE_TAKEN}, {CODE + 15, 1, STACKPACK_RANGE_TAKEN},
                {CODE + 8, 100, STACKPACK_RANGE_TAKEN}, {CODE - 8, 8, STACKPACK_OK},
                {CODE + 16, 8, STACKPACK_OK},           {UINT64_MAX - 8, 16, STACKPACK_RANGE_TAKEN},
                {UINT64_MAX - 8, 8, STACKPACK_OK},      {0, 1, STACKPACK_OK},
                {0, 1, STACKPACK_RANGE_TAKEN}};
  for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
    ck_assert_int_eq(
        stackpack_process_add(&process, ranges[i].start, ranges[i].size, &memory.table),
        ranges[i].error);
  stackpack_process_close(&process);
  stackpack_memory_close(&memory);
}

/* A stack map at the first byte of a range, after another range's last call. */
TEST(a_record_at_the_start) {
  struct stackpack_memory before, memory;
  struct model model = {0};
  struct bytes bytes = {0};
  const uint64_t start = CODE + FUNCTION_SIZE;
  open_process();
  open_small(&before, CODE, 24);
  model_add_function(&model, start, 8, 0);
  struct model_record *record = model_add_record(&model, 0);
  record->statepoint = false;
  model_finish(&model);
  model_write(&model, &bytes);
  ck_assert_int_eq(open_at(&memory, &bytes, 0, start, 16), STACKPACK_OK);
  ck_assert_int_eq(stackpack_process_add(&process, start, 16, &memory.table), STACKPACK_OK);
  ck_assert_int_eq(answer(start), STACKPACK_FOUND);
  ck_assert_int_eq(stackpack_process_add(&process, CODE, FUNCTION_SIZE, &before.table),
                   STACKPACK_OK);
  ck_assert_int_eq(answer(start), STACKPACK_NOT_SAFEPOINT); /* the call before counts */
  stackpack_process_close(&process);
  stackpack_memory_close(&memory);
  stackpack_memory_close(&before);
  bytes_free(&bytes);
  model_free(&model);
}

/* Thousands of ranges, added and removed in any order. */
TEST(many_ranges) {
  enum { RANGES = 600, CHANGES = 6000 };
  static bool is_there[RANGES];
  static struct stackpack_memory memories[RANGES];
  struct numbers numbers = {11};
  open_process();
  for (uint64_t i = 0; i < RANGES; i++)
    open_small(&memories[i], CODE + i * FUNCTION_SIZE, 8 * (i % 100));
  for (unsigned change = 0; change < CHANGES; change++) {
    const uint64_t i = numbers_below(&numbers, change < CHANGES / 2 ? RANGES : RANGES / 10);
    const uint64_t start = CODE + i * FUNCTION_SIZE;
    ck_assert_int_eq(answer(start + 16), is_there[i] ? STACKPACK_FOUND : STACKPACK_NOT_MANAGED);
    if (is_there[i])
      ck_assert(stackpack_process_remove(&process, start));
    else
      ck_assert_int_eq(stackpack_process_add(&process, start, FUNCTION_SIZE, &memories[i].table),
                       STACKPACK_OK);
    is_there[i] = !is_there[i];
  }
  for (unsigned pass = 0; pass < 2; pass++)
    for (uint64_t i = 0; i < RANGES; i++) {
      struct stackpack_record record;
      const uint64_t start = CODE + i * FUNCTION_SIZE;
      const bool is_found = stackpack_find(&process, start + 16, &record) == STACKPACK_FOUND;
      ck_assert(is_found == is_there[i]);
      ck_assert(!is_found || record.frame_size == 8 * (i % 100));
      if (is_there[i] && pass == 0) {
        ck_assert(stackpack_process_remove(&process, start));
        is_there[i] = false;
      }
    }
  stackpack_process_close(&process);
  for (uint64_t i = 0; i < RANGES; i++)
    stackpack_memory_close(&memories[i]);
}

static void count_pair(void *count, struct stackpack_location base,
                       struct stackpack_location derived) {
  (void)base;
  (void)derived;
  ++*(unsigned *)count;
}

/* Another function may come to lie at the same address. */
TEST(a_cache_forgets_removed_code) {
  enum { SHIFT = 6 };
  static uint64_t lines[(STACKPACK_CACHE_LINE << SHIFT) / sizeof(uint64_t)];
  struct stackpack_cache cache;
  stackpack_cache_open(&cache, lines, SHIFT);
  open_process();
  for (uint64_t i = 0; i < 3; i++) {
    struct stackpack_memory memory;
    struct stackpack_record record;
    unsigned pairs = 0;
    open_small(&memory, CODE, 8 * i);
    ck_assert_int_eq(stackpack_process_add(&process, CODE, FUNCTION_SIZE, &memory.table),
                     STACKPACK_OK);
    for (unsigned k = 0; k < 2; k++) {
      ck_assert_int_eq(stackpack_visit(&process, &cache, CODE + 16, &record, count_pair, &pairs),
                       STACKPACK_FOUND);
      ck_assert_uint_eq(record.frame_size, 8 * i);
    }
    ck_assert(stackpack_process_remove(&process, CODE));
    stackpack_process_wait(&process);
    ck_assert_int_eq(stackpack_visit(&process, &cache, CODE + 16, &record, count_pair, &pairs),
                     STACKPACK_NOT_MANAGED);
    stackpack_memory_close(&memory);
  }
  stackpack_process_close(&process);
}

/* ---- Threads ---- */

enum { SLOTS = 40, STABLE = SLOTS / 4, ROUNDS = 12, READERS = 3 };
static struct stackpack_memory slots[SLOTS];
static atomic_bool stop;
static atomic_ulong found, missed;

static uint64_t slot_start(uint64_t slot) { return CODE + slot * FUNCTION_SIZE; }

/* The first functions are always there; of the others, an answer stays readable. */
static void *look_up(void *seed) {
  struct numbers numbers = {(uintptr_t)seed};
  while (!atomic_load(&stop)) {
    struct stackpack_record record;
    const uint64_t slot = numbers_below(&numbers, SLOTS);
    const unsigned ticket = stackpack_enter(&process);
    const enum stackpack_answer answer = stackpack_find(&process, slot_start(slot) + 16, &record);
    if (answer == STACKPACK_FOUND) {
      struct stackpack_pairs pairs = stackpack_pairs(&record);
      struct stackpack_location base, derived;
      if (record.frame_size != 8 * slot || !stackpack_pairs_next(&pairs, &base, &derived) ||
          base.value != 16)
        abort();
      atomic_fetch_add(&found, 1);
    } else {
      if (answer != STACKPACK_NOT_MANAGED || slot < STABLE)
        abort();
      atomic_fetch_add(&missed, 1);
    }
    stackpack_leave(&process, ticket);
  }
  return NULL;
}

/* Interrupts the writer as well: its look-ups end, with an answer of before or after. */
static void look_up_in_handler(int signal) {
  struct stackpack_record record;
  (void)signal;
  for (uint64_t slot = 0; slot < SLOTS; slot++) {
    const enum stackpack_answer answer = stackpack_find(&process, slot_start(slot) + 16, &record);
    if (answer != STACKPACK_FOUND && (answer != STACKPACK_NOT_MANAGED || slot < STABLE))
      abort();
  }
}

static void *interrupt(void *thread) {
  while (!atomic_load(&stop)) {
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    usleep(50);
  }
  return NULL;
}

static void add_slot(uint64_t slot) {
  open_small(&slots[slot], slot_start(slot), 8 * slot);
  if (stackpack_process_add(&process, slot_start(slot), FUNCTION_SIZE, &slots[slot].table) !=
      STACKPACK_OK)
    abort();
}

TEST(code_comes_and_goes_while_threads_look_up) {
  pthread_t readers[READERS], interrupter, self = pthread_self();
  open_process();
  signal(SIGUSR1, look_up_in_handler);
  for (uint64_t slot = 0; slot < STABLE; slot++)
    add_slot(slot);
  for (uintptr_t i = 0; i < READERS; i++)
    ck_assert_int_eq(pthread_create(&readers[i], NULL, look_up, (void *)i), 0);
  ck_assert_int_eq(pthread_create(&interrupter, NULL, interrupt, &self), 0);
  for (unsigned round = 0; round < ROUNDS || atomic_load(&found) == 0; round++) {
    for (uint64_t slot = STABLE; slot < SLOTS; slot++)
      add_slot(slot);
    for (uint64_t slot = STABLE; slot < SLOTS; slot++)
      ck_assert(stackpack_process_remove(&process, slot_start(slot)));
    stackpack_process_wait(&process);
    for (uint64_t slot = STABLE; slot < SLOTS; slot++)
      stackpack_memory_close(&slots[slot]);
  }
  atomic_store(&stop, true);
  for (unsigned i = 0; i < READERS; i++)
    pthread_join(readers[i], NULL);
  pthread_join(interrupter, NULL);
  ck_assert_uint_gt(atomic_load(&found), 0);
  stackpack_process_close(&process);
  for (uint64_t slot = 0; slot < STABLE; slot++)
    stackpack_memory_close(&slots[slot]);
}

static void *change_all_the_time(void *unused) {
  (void)unused;
  while (!atomic_load(&stop)) {
    add_slot(SLOTS - 1);
    stackpack_process_remove(&process, slot_start(SLOTS - 1));
    stackpack_process_wait(&process);
    stackpack_memory_close(&slots[SLOTS - 1]);
  }
  return NULL;
}

/* A child may look up, add and remove, wherever fork found the thread that changed the ranges. */
TEST(children_of_fork_go_on) {
  enum { CHILDREN = 12 };
  pthread_t writer;
  open_process();
  add_slot(0);
  ck_assert_int_eq(pthread_create(&writer, NULL, change_all_the_time, NULL), 0);
  for (unsigned i = 0; i < CHILDREN; i++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const bool is_right =
          answer(slot_start(0) + 16) == STACKPACK_FOUND &&
          stackpack_process_add(&process, slot_start(1), 8, &slots[0].table) == STACKPACK_OK &&
          stackpack_process_remove(&process, slot_start(0)) &&
          answer(slot_start(0) + 16) == STACKPACK_NOT_MANAGED;
      stackpack_process_wait(&process);
      stackpack_process_close(&process);
      _exit(is_right ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
  }
  atomic_store(&stop, true);
  pthread_join(writer, NULL);
  stackpack_process_close(&process);
  stackpack_memory_close(&slots[0]);
}
