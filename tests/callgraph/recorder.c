/* A library to preload into a program: it writes down the return addresses on the stack whenever a
 * thread enters one of the program's GC entries. A stack map that was dropped must not belong to
 * one of them; so the tests find out, independent of the analysis that decided about dropping, on
 * the unchanged program.
 *
 * Each GC entry's first byte is overwritten with a breakpoint (int3). The handler of SIGTRAP walks the stack by the
 * program's own unwind tables (.eh_frame, through libgcc), remembers each new return address, and
 * lets the thread go on: a `push` of a register, the usual first instruction, is done in the
 * handler; any other instruction is put back and run alone, with the processor's trap flag, before
 * the breakpoint returns. (Meanwhile another thread may slip past: an observation is lost, none
 * invented.)
 *
 * In the environment:
 *   RECORD_AT=MODULE:ADDRESS[,...]   the GC entries: a loaded file's base name, and an address as its symbols give it (hex)
 *   RECORD_OUT=FILE                  written at exit: "MODULE:ADDRESS" for each distinct return address, lines
 *                                    "outermost MODULE:ADDRESS" for where walks ended, and "entries COUNT"
 *   RECORD_FAIL=N                    after the first GC entry, every Nth realloc() fails: a program that collects when memory is
 *                                    short, and then tries again, collects at each place that allocates
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

enum { MAX_ENTRIES = 64, SEEN_SLOTS = 1 << 20, BREAKPOINT = 0xcc, TRAP_FLAG = 0x100 };

struct entry {
  unsigned char *code;
  unsigned char first; /* the byte under the breakpoint */
};

/* A set of addresses: open addressing, 0 is free. Threads add to it at once. */
struct seen {
  _Atomic uintptr_t slots[SEEN_SLOTS];
};

static struct entry entries[MAX_ENTRIES];
static size_t entry_count;
static struct seen returns, outermost;
static atomic_ulong walks;
static _Thread_local struct entry
    *stepping; /* the entry whose first instruction runs alone, if any */

__attribute__((noreturn)) static void die(const char *what) {
  fprintf(stderr, "recorder: %s\n", what);
  _exit(99);
}

static void seen_add(struct seen *seen, uintptr_t address) {
  for (size_t i = address * 0x9e3779b97f4a7c15 >> 44, tries = 0; tries < SEEN_SLOTS; i++, tries++) {
    uintptr_t found = 0;
    _Atomic uintptr_t *slot = &seen->slots[i % SEEN_SLOTS];
    if (atomic_compare_exchange_strong(slot, &found, address) || found == address)
      return;
  }
  die("too many addresses");
}

/* ---- The walk ---------------------------------------------------------------------------------------- */

struct walk {
  uintptr_t entry; /* frames count from the one that was entered */
  bool inside;
  uintptr_t last;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data) {
  struct walk *walk = data;
  int interrupted = 0; /* then the address is not a return address */
  uintptr_t address = _Unwind_GetIPInfo(context, &interrupted);
  if (!walk->inside) {
    walk->inside = interrupted && address == walk->entry;
    return _URC_NO_REASON;
  }
  if (address == 0)
    return _URC_NO_REASON;
  if (!interrupted)
    seen_add(&returns, address);
  walk->last = address;
  return _URC_NO_REASON;
}

static void record(const struct entry *entry) {
  struct walk walk = {.entry = (uintptr_t)entry->code};
  _Unwind_Backtrace(visit, &walk);
  if (!walk.inside || !walk.last)
    die("a stack that can't be walked");
  seen_add(&outermost, walk.last);
  atomic_fetch_add(&walks, 1);
}

/* ---- Breakpoints ------------------------------------------------------------------------------------- */

static struct entry *entry_at(const unsigned char *code) {
  for (size_t i = 0; i < entry_count; i++)
    if (entries[i].code == code)
      return &entries[i];
  return NULL;
}

/* Does the instruction under the breakpoint if it pushes a register. */
static bool push(const struct entry *entry, greg_t *registers) {
  static const int numbers[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                  REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
  bool extended = entry->first == 0x41; /* REX.B */
  unsigned char opcode = extended ? entry->code[1] : entry->first;
  if (opcode < 0x50 || opcode > 0x57)
    return false;
  greg_t value = registers[numbers[opcode - 0x50 + (extended ? 8 : 0)]];
  registers[REG_RSP] -= 8;
  *(greg_t *)registers[REG_RSP] = value;
  registers[REG_RIP] += extended ? 2 : 1;
  return true;
}

static void on_trap(int signal, siginfo_t *information, void *data) {
  (void)signal, (void)information;
  greg_t *registers = ((ucontext_t *)data)->uc_mcontext.gregs;
  int saved_errno = errno;
  if (stepping) {
    stepping->code[0] = BREAKPOINT;
    stepping = NULL;
    registers[REG_EFL] &= ~TRAP_FLAG;
    return;
  }
  struct entry *entry = entry_at((unsigned char *)registers[REG_RIP] - 1);
  if (!entry)
    die("a trap that is not one of the recorder's");
  registers[REG_RIP]--; /* so that the unwind tables know the state */
  record(entry);
  if (!push(entry, registers)) {
    entry->code[0] = entry->first;
    registers[REG_EFL] |= TRAP_FLAG;
    stepping = entry;
  }
  errno = saved_errno;
}

/* ---- Beginning and end ------------------------------------------------------------------------------- */

static char program[PATH_MAX];

static const char *base_name(const struct dl_phdr_info *module) {
  const char *path = *module->dlpi_name ? module->dlpi_name : program;
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

struct place {
  const char *module; /* with a colon after it */
  uintptr_t address;
  unsigned char *code;
};

static int find_place(struct dl_phdr_info *module, size_t size, void *data) {
  (void)size;
  struct place *place = data;
  size_t length = strlen(base_name(module));
  if (strncmp(place->module, base_name(module), length) != 0 || place->module[length] != ':')
    return 0;
  place->code =
      (unsigned char *)module->dlpi_addr + place->address; // NOLINT(performance-no-int-to-ptr)
  return 1;
}

static void set_breakpoint(unsigned char *code) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  if (entry_at(code))
    return;
  if (entry_count == MAX_ENTRIES)
    die("too many GC entries");
  if (mprotect((void *)((uintptr_t)code & -page), page, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
    die("can't write the code");
  entries[entry_count++] = (struct entry){.code = code, .first = *code};
  *code = BREAKPOINT;
}

static const char *variable(char **environment, const char *name) {
  size_t length = strlen(name);
  for (; *environment; environment++)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=')
      return *environment + length + 1;
  return NULL;
}

/* Commands that the program runs stay unrecorded. */
static void forget_preload(char **environment) {
  for (; *environment; environment++)
    if (strncmp(*environment, "LD_PRELOAD=", 11) == 0)
      (*environment)[11] = '\0';
}

/* Runs before every other constructor (-z initfirst), also libc's, and so before getenv() works. */
__attribute__((constructor)) static void begin(int argc, char **argv, char **environment) {
  (void)argc, (void)argv;
  const char *next = variable(environment, "RECORD_AT");
  struct sigaction action = {.sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (readlink("/proc/self/exe", program, sizeof program - 1) < 0)
    die("can't tell the program's name");
  sigaction(SIGTRAP, &action, NULL);
  while (next && *next) {
    struct place place = {.module = next};
    const char *colon = strchr(next, ':');
    char *end = NULL;
    if (!colon)
      die("RECORD_AT is not a list of MODULE:ADDRESS");
    place.address = strtoull(colon + 1, &end, 16);
    if (!dl_iterate_phdr(find_place, &place))
      die("RECORD_AT names a module that isn't loaded");
    set_breakpoint(place.code);
    next = *end == ',' ? end + 1 : end;
  }
  forget_preload(environment);
}

struct report {
  FILE *file;
  const struct seen *seen;
  const char *prefix;
};

static int report_module(struct dl_phdr_info *module, size_t size, void *data) {
  (void)size;
  const struct report *report = data;
  for (size_t i = 0; i < SEEN_SLOTS; i++) {
    uintptr_t offset = report->seen->slots[i] - module->dlpi_addr;
    for (size_t p = 0; report->seen->slots[i] && p < module->dlpi_phnum; p++)
      if (module->dlpi_phdr[p].p_type == PT_LOAD &&
          offset - module->dlpi_phdr[p].p_vaddr <= module->dlpi_phdr[p].p_memsz)
        if (module->dlpi_phdr[p].p_flags & PF_X)
          fprintf(report->file, "%s%s:%#" PRIxPTR "\n", report->prefix, base_name(module), offset);
  }
  return 0;
}

__attribute__((destructor)) static void end(void) {
  const char *name = getenv("RECORD_OUT");
  FILE *file = name ? fopen(name, "w") : NULL;
  if (!file)
    die("can't write RECORD_OUT");
  dl_iterate_phdr(report_module, &(struct report){file, &returns, ""});
  dl_iterate_phdr(report_module, &(struct report){file, &outermost, "outermost "});
  fprintf(file, "entries %lu\n", atomic_load(&walks));
  if (fclose(file) != 0)
    die("can't write RECORD_OUT");
}

/* ---- Memory that is short ---------------------------------------------------------------------------- */

void *__libc_realloc(void *memory,
                     size_t size); // NOLINT(bugprone-reserved-identifier): glibc's own

void *realloc(void *memory, size_t size) {
  static _Atomic long interval = -1;
  static atomic_long count;
  if (interval < 0) {
    const char *wanted = getenv("RECORD_FAIL");
    interval = wanted ? atol(wanted) : 0;
  }
  if (interval > 0 && size > 0 && atomic_load(&walks) > 0 &&
      atomic_fetch_add(&count, 1) % interval == interval - 1) {
    errno = ENOMEM;
    return NULL;
  }
  return __libc_realloc(memory, size);
}
