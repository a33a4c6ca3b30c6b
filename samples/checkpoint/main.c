/* main.c - saves the variables of compiled code at a checkpoint, and resumes from there.
 *
 * A stack map lists the places of the variables at one address of the code. So the thread has to
 * stop exactly there: a trap, an instruction written over the code of a checkpoint, stops it. A
 * checkpoint without a trap costs no instruction.
 *
 *   set traps    at all stack maps' addresses
 *   SIGILL       the thread has reached a trap: the record's locations, in its registers and its
 *                frame, have the variables
 *   clear traps  restores the code, and the thread continues
 *
 * The compiler may keep copies of a variable, and values computed from it, so writing to a
 * variable's location isn't enough to restore it. Instead, the program resumes in a new frame, by
 * an entry that takes the variables (`run`).
 */
#include "bounds.h"
#include "die.h"
#include "options.h"
#include "program.h"
#include "stackpack.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct stackpack_process process;
static struct stackpack_module modules[1];
static const struct stackpack_walker walker = {.process = &process};
static struct stackpack_stack stack;

/* ---- Traps ---- */

#if defined __x86_64__
static const unsigned char trap[] = {0x0f, 0x0b}; /* ud2 */
#elif defined __aarch64__
static const unsigned char trap[] = {0, 0, 0, 0}; /* udf */
#elif defined __riscv
static const unsigned char trap[] = {0, 0}; /* c.unimp */
#endif

/* A checkpoint in the code, of the record with the same number in the table. */
struct checkpoint {
  unsigned char *address;
  unsigned char code[sizeof trap];
};
static struct checkpoint *checkpoints;
static uint32_t checkpoint_count;

static void write_code(unsigned char *address, const unsigned char *code) {
  memcpy(address, code, sizeof trap);
  __builtin___clear_cache((char *)address, (char *)address + sizeof trap);
}

static void clear_traps(void) {
  for (uint32_t i = 0; i < checkpoint_count; i++)
    write_code(checkpoints[i].address, checkpoints[i].code);
}

/* Sets traps at all checkpoints except the thread's own, so that the thread can continue. It
 * reaches another one before it returns to its own. */
static void set_traps_except(uint32_t number) {
  clear_traps();
  for (uint32_t i = 0; i < checkpoint_count; i++)
    if (i != number)
      write_code(checkpoints[i].address, trap);
}

static void open_checkpoints(void) {
  const struct stackpack_table *table = &modules[0].table;
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
  checkpoint_count = (uint32_t)stackpack_table_records(table);
  checkpoints = calloc(checkpoint_count, sizeof *checkpoints);
  if (checkpoints == NULL)
    die("no memory");
  for (uint32_t i = 0; i < checkpoint_count; i++) {
    struct stackpack_record record;
    if (stackpack_table_record(table, i, &record) != STACKPACK_FOUND)
      die("a record is unreadable");
    checkpoints[i].address = (unsigned char *)(uintptr_t)record.address;
    memcpy(checkpoints[i].code, checkpoints[i].address, sizeof trap);
  }
  const uintptr_t start = (uintptr_t)checkpoints[0].address / page * page;
  const uintptr_t end = (uintptr_t)checkpoints[checkpoint_count - 1].address + sizeof trap;
  if (mprotect((void *)start, end - start, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    die("the code can't be written");
}

/* ---- Saving ---- */

static uint64_t countdown; /* of checkpoints before the wanted one */
static struct variables saved;
static bool is_saved;
static uint64_t locations_read[STACKPACK_LARGE_CONSTANT + 1], turns_run;

void count_turn(uint64_t turn) {
  (void)turn;
  turns_run++;
}

static struct stackpack_location take_location(struct stackpack_locations *locations) {
  struct stackpack_location location;
  if (!stackpack_locations_next(locations, &location))
    die("the stack map lacks a variable");
  locations_read[location.kind]++;
  return location;
}

/* Saves the variables of the walk's current frame: values, and then an object on the stack. */
static void save(struct stackpack_walk *walk) {
  struct stackpack_locations locations = stackpack_locations(&walk->record);
  uint64_t *const values = (uint64_t *)&saved;
  for (size_t i = 0; i < offsetof(struct variables, sums) / sizeof *values; i++) {
    const struct stackpack_location location = take_location(&locations);
    if (!stackpack_walk_value(walk, &location, &values[i]))
      die("variable %zu is in a register that the walk lacks", i);
  }
  const struct stackpack_location location = take_location(&locations);
  const void *sums = stackpack_walk_address(walk, &location);
  if (sums == NULL)
    die("the object is outside of the stack");
  memcpy(saved.sums, sums, sizeof saved.sums);
  is_saved = true;
}

/* Compiled code raises the signal, in its own thread: so the handler may call any function. */
static void at_trap(int signal, siginfo_t *info, void *ucontext) {
  struct stackpack_context context = stackpack_context_at_signal(ucontext);
  struct stackpack_walk walk;
  (void)signal, (void)info;
  context.is_exact = 0; /* look up the address itself */
  stackpack_walk_start(&walk, &walker, stack, &context);
  const enum stackpack_walk_answer answer = stackpack_walk_next(&walk);
  if (answer != STACKPACK_WALK_MANAGED)
    die("no checkpoint: %s", stackpack_walk_text(answer));
  if (countdown-- > 0) {
    set_traps_except(walk.record.index);
    return;
  }
  save(&walk);
  clear_traps();
}

/* Runs from the start, and saves the variables at a checkpoint, if the run reaches it. */
static uint64_t run_and_save(const struct variables *start, uint64_t at) {
  is_saved = false;
  countdown = at;
  set_traps_except(checkpoint_count);
  const uint64_t result = run(start);
  clear_traps();
  return result;
}

/* ---- Checkpoints as text, the same on all machines ---- */

static void print_saved(void) {
  const uint64_t *values = (const uint64_t *)&saved;
  if (!is_saved)
    die("the run has no such checkpoint");
  for (size_t i = 0; i < sizeof saved / sizeof *values; i++)
    printf("%016" PRIx64 "\n", values[i]);
}

static void read_saved(void) {
  uint64_t *values = (uint64_t *)&saved;
  for (size_t i = 0; i < sizeof saved / sizeof *values; i++)
    if (scanf("%" SCNx64, &values[i]) != 1)
      die("the checkpoint lacks a variable");
  if (saved.program != PROGRAM || saved.place >= PLACES)
    die("a checkpoint of another program");
}

static void expect(uint64_t result, uint64_t expected, uint64_t at) {
  if (result != expected)
    die("checkpoint %" PRIu64 ": %016" PRIx64 ", and not %016" PRIx64, at, result, expected);
}

/* At each checkpoint in turn, the run continues, and another run resumes from the saved
 * variables. */
static void try_all(const struct variables *start) {
  const uint64_t expected = run(start);
  uint64_t at = 0;
  for (;; at++) {
    expect(run_and_save(start, at), expected, at);
    if (!is_saved)
      break;
    expect(run(&saved), expected, at);
  }
  printf("%016" PRIx64 " at each of %" PRIu64 " checkpoints\n", expected, at);
}

static void open_process(void) {
  const struct sigaction action = {.sa_sigaction = at_trap, .sa_flags = SA_SIGINFO};
  const enum stackpack_error error = stackpack_process_open(&process, modules, 1);
  if (error != STACKPACK_OK)
    die("cannot open the stack maps: %s", stackpack_error_text(error));
  stack = bounds_of_thread();
  open_checkpoints();
  if (sigaction(SIGILL, &action, NULL) != 0)
    die("no handler for traps");
}

int main(int argc, char **argv) {
  struct variables start = {.program = PROGRAM, .place = COLUMNS, .turns = 12, .carry = 1};
  uint64_t at = 9;
  bool is_saving = false, is_resuming = false, statistics = false;
  options_take(argc, argv,
               (const struct option_row[]){
                   {"turns", "of the loop", NULL, &start.turns, 1, 100000},
                   {"at", "the checkpoint to save, from 0 on", NULL, &at, 0, UINT32_MAX},
                   {"save", "print the variables there", .flag = &is_saving},
                   {"resume", "go on from variables on stdin", .flag = &is_resuming},
                   {"statistics", "say on stderr what was done", .flag = &statistics},
                   {0},
               });
  for (uint64_t i = 0; i < WORDS; i++)
    start.words[i] = (i + 1) * 0x9e3779b97f4a7c15u;
  open_process();
  if (is_saving) {
    run_and_save(&start, at);
    print_saved();
  } else if (is_resuming) {
    read_saved();
    printf("%016" PRIx64 "\n", run(&saved));
  } else
    try_all(&start);
  if (statistics)
    fprintf(stderr,
            "turns: %" PRIu64 "\nregisters: %" PRIu64 "\nslots: %" PRIu64 "\nobjects: %" PRIu64
            "\nconstants: %" PRIu64 "\nlarge constants: %" PRIu64 "\n",
            turns_run, locations_read[STACKPACK_REGISTER], locations_read[STACKPACK_INDIRECT],
            locations_read[STACKPACK_DIRECT], locations_read[STACKPACK_CONSTANT],
            locations_read[STACKPACK_LARGE_CONSTANT]);
  free(checkpoints);
  stackpack_process_close(&process);
  return 0;
}
