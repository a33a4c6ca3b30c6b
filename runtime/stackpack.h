/* stackpack.h - look up GC stack maps in a program that `stackpack pack` has packed.
 *
 * A collector stops the threads, walks each stack, and asks for every return address: which slots
 * of this frame hold references? The answers lie in the program file, in a section that is used as
 * it lies in memory. A program that was not packed (a debug build) is served through the same
 * functions: its `.llvm_stackmaps` is read and put into the same form once, when it is opened.
 *
 *   static struct stackpack_module modules[8];
 *   static struct stackpack_process process;
 *   ...
 *   if (stackpack_process_open(&process, modules, 8) != STACKPACK_OK) // once, at start-up
 *     abort();
 *   ...
 *   struct stackpack_record record; // for each frame, at a collection
 *   switch (stackpack_find(&process, return_address, &record)) {
 *   case STACKPACK_FOUND: {
 *     struct stackpack_pairs pairs = stackpack_pairs(&record);
 *     struct stackpack_location base, derived;
 *     while (stackpack_pairs_next(&pairs, &base, &derived)) ...
 *   }
 *
 * Rules that hold for the whole header, unless a function says otherwise:
 * - Sizes, offsets and frame sizes are in bytes. Registers are DWARF register numbers.
 * - Nothing here allocates, takes a lock or changes errno, but the functions named *_open and
 * *_close. All others may be called from a signal handler, and from any number of threads at once.
 * - Structures are the caller's own and may be copied; members named `private_` are not to be
 * touched. Whatever was opened must outlive the records, pairs and lists taken from it.
 * - Bytes that are broken or hostile give STACKPACK_CORRUPT or an early end, never a crash.
 *
 * Terms are those of LLVM's documents "Stack maps and patch points in LLVM" and "Garbage Collection
 * Safepoints in LLVM".
 */
#ifndef STACKPACK_H
#define STACKPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

#define STACKPACK_VERSION "0.2.0"

/* ---- Errors of opening ---- */

enum stackpack_error {
  STACKPACK_OK = 0,
  STACKPACK_NO_STACK_MAPS,    /* neither packed stack maps nor a section .llvm_stackmaps */
  STACKPACK_SYSTEM_ERROR,     /* a system call failed: errno tells */
  STACKPACK_NO_MEMORY,        /* for a raw section only: packed ones need none */
  STACKPACK_NOT_ELF,          /* no little-endian ELF64 file, or its headers are broken */
  STACKPACK_BAD_STACK_MAP,    /* a raw section that breaks the StackMap v3 format */
  STACKPACK_BAD_TABLE,        /* a packed section that breaks FORMAT.md, or a checksum differs */
  STACKPACK_UNSUPPORTED,      /* a packed section of a newer version, or with unknown features */
  STACKPACK_TOO_MANY_MODULES, /* the caller's array is too small: see stackpack_process_open */
  STACKPACK_NO_RAW_READER,    /* a raw section, in a program without stackpack_raw_open */
  STACKPACK_CODE_ADDED,       /* a module with code that a tool added after it was packed */
};

/* A sentence fragment in English, without a full stop. Static storage. */
const char *stackpack_error_text(enum stackpack_error error);

/* ---- Tables: one module's stack maps ---- */

/* A view of one packed section. It owns nothing. */
struct stackpack_table {
  uint64_t private_[60];
};

/* Opens the packed table in bytes[0..size). `address` is the address that bytes[0] has in the
 * address space in which the caller will ask (at run time: where it lies; for a file: its link-time
 * address). bytes must be 8-aligned. The time does not depend on the number of records. The
 * header's checksum is verified, that of the records is not: see stackpack_table_check. */
enum stackpack_error stackpack_table_open(struct stackpack_table *table, const void *bytes,
                                          size_t size, uint64_t address);

/* Verifies the checksum over all of the table: linear in its size. */
bool stackpack_table_check(const struct stackpack_table *table);

/* The number of records. */
size_t stackpack_table_records(const struct stackpack_table *table);

/* ---- Records ---- */

/* What is known of a return address. A collector that meets STACKPACK_NOT_SAFEPOINT or
 * STACKPACK_CORRUPT for a frame of its own must stop: it doesn't know that frame's roots. An
 * address without a record is in the function of the byte before it, where the call is: after a
 * call that doesn't return, another function may start. (For where a thread was interrupted, pc,
 * these two are told by a look-up of pc + 1.) */
enum stackpack_answer {
  STACKPACK_FOUND,         /* a record: a safepoint, a patch point or a stack map */
  STACKPACK_NOT_MANAGED,   /* in no function that has a stack map: skip the frame */
  STACKPACK_NOT_SAFEPOINT, /* inside such a function, but there is no record */
  STACKPACK_CORRUPT,       /* the table is damaged, or the module's can't be used */
};

enum stackpack_kind { STACKPACK_STATEPOINT, STACKPACK_STACKMAP };

/* The size of a frame with a dynamic alloca or a realigned stack: LLVM doesn't know it. */
#define STACKPACK_FRAME_SIZE_UNKNOWN UINT64_MAX

struct stackpack_record {
  uint64_t address; /* the return address (of a stack map or patch point: its address) */
  uint32_t index;   /* its number in the table, by address */
  uint32_t private_[5];
  /* Of the function, and what is pushed for the call; without the return address that the call
   * pushes. Where a register tells the frame's end (stackpack_record_frame), it is LLVM's. */
  uint64_t frame_size;
  enum stackpack_kind kind;
};

/* Looks up an address in one table. What is in *record counts only for STACKPACK_FOUND. */
enum stackpack_answer stackpack_table_find(const struct stackpack_table *table, uint64_t address,
                                           struct stackpack_record *record);

/* The record of a given number, 0 <= index < stackpack_table_records. For STACKPACK_FOUND, *record
 * counts; any other answer is STACKPACK_CORRUPT. Slower than a look-up by address. */
enum stackpack_answer stackpack_table_record(const struct stackpack_table *table, uint32_t index,
                                             struct stackpack_record *record);

/* Where the record's function starts. Takes about as long as a look-up. */
uint64_t stackpack_record_function(const struct stackpack_record *record);

/* Identical code folding can leave one address with several, different records, as can a stack map
 * at the start of a function whose predecessor ends in a call. A look-up finds the first of them;
 * this moves *record to the next one at the same address, or returns false and leaves it. */
bool stackpack_record_next(struct stackpack_record *record);

/* What unwind tables tell of the frame that waits at a record. The canonical frame address (CFA),
 * which is the caller's stack pointer, is what a register holds plus an offset; and of the caller's
 * registers, some are saved at an offset from it, a few may be lost, and the others still have
 * their values if the function preserves them. Masks have bit n for register n. */
struct stackpack_frame_facts {
  bool is_known;        /* else record.frame_size is LLVM's, not checked, and nothing else counts */
  bool is_signed;       /* AArch64: the return address is, where it is saved */
  uint8_t cfa_register; /* mostly the stack pointer, as it is after the return */
  uint8_t return_register; /* where it is saved, the return address is */
  int64_t cfa_offset;
  uint32_t saved, lost;
  int32_t offsets[32]; /* of the saved ones */
};
struct stackpack_frame_facts stackpack_record_frame(const struct stackpack_record *record);

/* ---- Locations ---- */

enum stackpack_location_kind {
  STACKPACK_REGISTER = 1,       /* the value is in the register (at byte `value` of it) */
  STACKPACK_DIRECT = 2,         /* the value is the address register + value: a stack object */
  STACKPACK_INDIRECT = 3,       /* the value is in memory at register + value: a spill slot */
  STACKPACK_CONSTANT = 4,       /* the value is `value`, from 32 bits, sign-extended */
  STACKPACK_LARGE_CONSTANT = 5, /* the value is (uint64_t)value, from LLVM's constant pool */
};

struct stackpack_location {
  uint8_t kind;  /* an enum stackpack_location_kind */
  uint16_t size; /* of the value */
  uint16_t reg;  /* 0 for constants */
  int64_t value; /* an offset in bytes, or a constant */
};

/* The (base, derived) pairs of a statepoint, in a fixed order, none twice. A derived reference
 * points into the object of its base; where both are equal, the slot holds an ordinary
 * reference. */
struct stackpack_pairs {
  uint64_t private_[20];
  bool is_corrupt; /* after the last pair: there may be more, but the table is damaged */
};
struct stackpack_pairs stackpack_pairs(const struct stackpack_record *record);

/* Writes the next pair, or returns false after the last one. A collector looks at pairs->is_corrupt
 * after the loop, and stops if that is true. */
bool stackpack_pairs_next(struct stackpack_pairs *pairs, struct stackpack_location *base,
                          struct stackpack_location *derived);

/* Calls a function for each pair of a record. STACKPACK_FOUND; or, perhaps after some pairs,
 * STACKPACK_CORRUPT. */
typedef void stackpack_visitor(void *context, struct stackpack_location base,
                               struct stackpack_location derived);
enum stackpack_answer stackpack_record_visit(const struct stackpack_record *record,
                                             stackpack_visitor *visit, void *context);

/* ---- Looking up what was looked up before ---- */

/* A cache of look-ups, for a collector that meets the same return addresses again and again: the
 * stacks of threads that run the same loop, and the same stack at the next collection. It is a hash
 * table of records with their pairs, in memory that the caller gives: about two lines for each. A
 * cache that is full keeps the records that it has, until others come again and again.
 * Pairs in other places than registers and slots of 8 bytes near each other are read from the table
 * at each visit. A cache is for one thread at a time; what a visitor or `forward` calls must not
 * use it. */
enum { STACKPACK_CACHE_LINE = 64 };
struct stackpack_cache {
  uint64_t private_[12];
};

/* Makes 8-aligned memory, which stays the caller's, a cache of 2 to the power of `shift` lines,
 * that is, of STACKPACK_CACHE_LINE << shift bytes. With less than 16 lines it remembers nothing; it
 * uses up to 2^22 lines (256 MiB). An eighth of the memory is written to at once, the rest as it is
 * needed. */
void stackpack_cache_open(struct stackpack_cache *cache, void *memory, unsigned shift);

/* Looks up an address in one table, and visits the record's pairs: by way of a cache, or, if that
 * is NULL, without. All calls with a cache are for one table, which stays where it is. */
enum stackpack_answer stackpack_table_visit(const struct stackpack_table *table,
                                            struct stackpack_cache *cache, uint64_t address,
                                            struct stackpack_record *record,
                                            stackpack_visitor *visit, void *context);

/* A list of locations in the order in which LLVM recorded them. */
struct stackpack_locations {
  uint64_t private_[8];
};

/* Of a statepoint, the stack objects that it lists as live (its direct locations after the pairs);
 * of another record, all of its locations. */
struct stackpack_locations stackpack_locations(const struct stackpack_record *record);

/* Writes the next location, or returns false after the last one. */
bool stackpack_locations_next(struct stackpack_locations *locations,
                              struct stackpack_location *location);

/* ---- Details: what a collector doesn't ask for at every frame ---- */

/* IDs, deopt state, calling conventions, flags and live-outs, where any record has other ones than
 * the rest, lie in blocks that are compressed with Zstandard. This library doesn't link Zstandard;
 * the caller passes a function with the signature and the results of ZSTD_decompress. */
typedef size_t stackpack_decompress(void *destination, size_t capacity, const void *source,
                                    size_t size);

struct stackpack_live_out {
  uint16_t reg;
  uint8_t size;
} __attribute__((packed));

struct stackpack_details {
  uint64_t id;
  int32_t calling_convention; /* these two: 0 for records that are not statepoints */
  int32_t flags;
  const struct stackpack_location *deopt; /* the deopt state's locations in order */
  size_t deopt_count;
  const struct stackpack_live_out *live_outs;
  size_t live_out_count;
};

/* How many bytes of work space stackpack_record_details needs for this table; 0 where no record has
 * details of its own. */
size_t stackpack_details_space(const struct stackpack_table *table);

/* Reads a record's details. `space` (8-aligned, at least stackpack_details_space bytes, may be NULL
 * if that is 0) holds the decoded block: *details points into it. decompress may be NULL if that is
 * 0. Safe in a signal handler if decompress is. Returns false where the table is damaged. */
bool stackpack_record_details(const struct stackpack_record *record, void *space,
                              stackpack_decompress *decompress, struct stackpack_details *details);

/* ---- The running process ---- */

/* One module (the executable or a shared library) that has stack maps. Its table may be passed to
 * the functions for tables. */
struct stackpack_module {
  struct stackpack_table table; /* answers for run-time addresses */
  uint64_t private_[8];
};

struct stackpack_process {
  uint64_t private_[144];
} __attribute__((aligned(64)));

/* Finds the stack maps of every module that is loaded now. modules[0..capacity) becomes the
 * process's. Packed modules cost a few reads each. A raw one's stack maps are read where they lie
 * in memory, and memory is allocated. Not safe in a signal handler. The dynamic linker tells of the
 * modules in the namespace of the caller only: code that dlmopen has loaded into another one isn't
 * managed.
 *
 * The process is open afterwards, but with STACKPACK_TOO_MANY_MODULES, where
 * stackpack_process_modules tells how many are needed. With STACKPACK_NO_STACK_MAPS it finds
 * nothing. Any other error is that of a module whose stack maps are broken or can't be read (see
 * stackpack_module_error): look-ups in that one say STACKPACK_CORRUPT, and all others are
 * served. */
enum stackpack_error stackpack_process_open(struct stackpack_process *process,
                                            struct stackpack_module *modules, size_t capacity);
void stackpack_process_close(struct stackpack_process *process);

/* How many modules have stack maps. */
size_t stackpack_process_modules(const struct stackpack_process *process);

/* Why look-ups in one of the process's modules say STACKPACK_CORRUPT; STACKPACK_OK if they don't,
 * and STACKPACK_NO_STACK_MAPS for a place in the array that is free. *address is the module's
 * lowest one, which dladdr tells the name of. */
enum stackpack_error stackpack_module_error(const struct stackpack_module *module,
                                            uintptr_t *address);

/* Looks up a run-time return address in the module that contains it. */
enum stackpack_answer stackpack_find(const struct stackpack_process *process,
                                     uintptr_t return_address, struct stackpack_record *record);

/* The same, and visits the record's pairs: by way of a cache, or, if that is NULL, without. A cache
 * serves one process, until that is closed: it forgets all when modules come or go. */
enum stackpack_answer stackpack_visit(const struct stackpack_process *process,
                                      struct stackpack_cache *cache, uintptr_t return_address,
                                      struct stackpack_record *record, stackpack_visitor *visit,
                                      void *context);

/* Modules that come and go (dlopen, dlclose) while threads look up. Look-ups go on without a lock;
 * the functions here may be called from any thread, but not from a signal handler.
 *
 * stackpack_process_update brings the process up to date: call it after dlopen, before code of the
 * new module runs. Errors are those of stackpack_process_open; modules that were known stay known,
 * whatever has become of their files, and one that has an error is tried once more.
 *
 * stackpack_process_forget takes out the module that contains `address`: call it before dlclose. It
 * returns when no thread is between stackpack_enter and stackpack_leave that was there before.
 * False: no module with stack maps contains that address.
 *
 * With STACKPACK_TOO_MANY_MODULES the modules that had no place in the array aren't known: look-ups
 * say that their code isn't managed. No collection may run until the array is larger:
 *
 *   size_t count = stackpack_process_modules(&process) + 8;
 *   stackpack_process_close(&process);                 // while no thread looks up
 *   modules = realloc(modules, count * sizeof *modules);
 *   error = stackpack_process_open(&process, modules, count); // and all caches are opened anew
 *
 * In a child of fork all functions of this header may be called, whatever the parent's other
 * threads were doing, and look-ups go on as in the parent. Two conditions: a thread that forks
 * between stackpack_enter and stackpack_leave calls the latter in the child, too, and before the
 * next three; and the child calls stackpack_process_update, _forget or _close for the first time
 * while it has one thread. (fork waits for a thread that lists the modules, by pthread_atfork; a
 * child that is made without its handlers, as by clone or vfork, looks up only.) */
enum stackpack_error stackpack_process_update(struct stackpack_process *process);
bool stackpack_process_forget(struct stackpack_process *process, uintptr_t address);

/* A thread whose look-ups may meet a module that another thread is about to unload puts them, and
 * the use of the records they find, between these two. (A collector that looks up the return
 * addresses of its own stopped threads needn't: their modules are in use.) The ticket goes to
 * stackpack_leave. Both are safe in a signal handler, and may be nested. */
unsigned stackpack_enter(struct stackpack_process *process);
void stackpack_leave(struct stackpack_process *process, unsigned ticket);

/* ---- Walking a stack ---- */

/* A walk goes from frame to frame of one stack, from the youngest to the oldest, and tells where
 * the references of each are, so that they can be read and updated:
 *
 *   static const struct stackpack_walker walker = {.process = &process};
 *   struct stackpack_stack stack = {lowest, end}; // end: the stack pointer at which C called
 *                                                  // managed code, as a stub noted it
 *   struct stackpack_context context =
 *       stackpack_context_at_call(return_address, stack_pointer, NULL);
 *   struct stackpack_walk walk;
 *   enum stackpack_walk_answer answer;
 *   stackpack_walk_start(&walk, &walker, stack, &context);
 *   while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)))
 *     stackpack_walk_update(&walk, forward, heap);
 *   if (answer != STACKPACK_WALK_END) // frames may have been missed
 *     die("%s", stackpack_walk_text(answer));
 *
 * STACKPACK_WALK_END is the only success. STACKPACK_WALK_AT_NATIVE says that the walk met native
 * code before the declared end: managed code may have called C that called managed code, and frames
 * above that C weren't looked at. A runtime with such calls notes each way into managed code and
 * each way out of it, and walks from the one to the other, row by row (stackpack_walk_resume); or
 * an unwinder passes the native frames.
 *
 * It reads and writes nothing outside the stack's bounds but the registers' places that the caller
 * or the unwinder names. Each step goes up, so that a walk ends whatever is on the stack; and it
 * ends with an answer that says why. */

/* The registers that a walk keeps track of are numbered as DWARF does, and a mask has bit n for
 * register n. PRESERVED are those that a call leaves as they were, but for the stack pointer. */
#if defined __x86_64__ /* AMD64 psABI, figure 3.36 */
enum {
  STACKPACK_RBX = 3,
  STACKPACK_RBP = 6,
  STACKPACK_RSP = 7,
  STACKPACK_R12 = 12,
  STACKPACK_R13 = 13,
  STACKPACK_R14 = 14,
  STACKPACK_R15 = 15,
  STACKPACK_FRAME_POINTER = STACKPACK_RBP,
  STACKPACK_STACK_POINTER = STACKPACK_RSP,
  STACKPACK_REGISTERS = 16,
};
#define STACKPACK_PRESERVED_REGISTERS 0xf048u
#elif defined __aarch64__ /* x0 to x30 are 0 to 30 (DWARF for the Arm 64-bit Architecture) */
enum { STACKPACK_FRAME_POINTER = 29, STACKPACK_STACK_POINTER = 31, STACKPACK_REGISTERS = 32 };
#define STACKPACK_PRESERVED_REGISTERS 0x3ff80000u /* x19 to x29 */
#elif defined __riscv && __riscv_xlen == 64       /* x0 to x31 (RISC-V DWARF Specification) */
enum { STACKPACK_STACK_POINTER = 2, STACKPACK_FRAME_POINTER = 8, STACKPACK_REGISTERS = 32 };
#define STACKPACK_PRESERVED_REGISTERS 0x0ffc0300u /* s0 to s11 */
#else
#error "stackpack walks the stacks of x86-64, AArch64 and RISC-V with 64 bits"
#endif

/* Registers as an entry stub stores them, from which it loads them again before it returns: so what
 * a collection updates here gets back into the registers. Register n is at byte 8 * n. A stub needs
 * to store only those that its calling convention preserves. Mostly `known` is
 * STACKPACK_PRESERVED_REGISTERS; across a call by LLVM's preserve_mostcc, managed code that keeps
 * references in registers may have them in others, too. */
struct stackpack_registers {
  uintptr_t values[STACKPACK_REGISTERS];
  uint64_t known; /* bit n: values[n] was stored. At byte 8 * STACKPACK_REGISTERS */
};

/* A place in a computation that doesn't run now: a call that hasn't returned yet, or an instruction
 * before which the code was interrupted; and the registers as they will be when it goes on. */
struct stackpack_context {
  uintptr_t pc;            /* a return address, or an exact address */
  uintptr_t stack_pointer; /* after that return */
  uint32_t is_exact;       /* not 0: pc is the instruction that comes next, as after a signal */
  uint32_t known;          /* bit n: register n is known: its value is registers[n], ... */
  uint32_t in_memory; /* ... or, with this bit, at the address registers[n], from which it will be
                         loaded: there it can be updated, */
  uint32_t doubled;   /* and with this one, at the address seconds[n] as well: a function that was
                         interrupted while it saves or restores registers has both, and which of
                         them it will go on with isn't known */
  uintptr_t registers[STACKPACK_REGISTERS];
  uintptr_t seconds[STACKPACK_REGISTERS];
};

/* The frame that called the function which asks, as an assembly stub sees it at its first
 * instruction: on x86-64 the return address is at the stack pointer, and the stack pointer after
 * the return is 8 above; on the other machines it is in the link register (x30, ra), and the stack
 * pointer stays. `registers` is the stub's block, or NULL if references are in spill slots only and
 * every frame has a known size. */
struct stackpack_context stackpack_context_at_call(uintptr_t return_address,
                                                   uintptr_t stack_pointer,
                                                   struct stackpack_registers *registers);

/* What a signal has interrupted: `ucontext` is the third argument of the handler, which lies in
 * memory until the handler returns. In managed code, a walk can't start there, even where a
 * statepoint's call has just returned: the call's result is in a register that no record tells of.
 * A runtime that patches traps into statepoints of its own, and knows that pc is the address of
 * such a one, sets is_exact to 0. In native code, an unwinder goes on. */
struct stackpack_context stackpack_context_at_signal(void *ucontext);

/* Register `reg` is in memory at `place`; or it has a value that can only be read. (The context of
 * a thread, fiber or coroutine that was suspended is {.pc, .stack_pointer} and the registers that
 * the switch has saved.) */
static inline void stackpack_context_save(struct stackpack_context *context, unsigned reg,
                                          uintptr_t *place) {
  context->known |= 1u << reg;
  context->in_memory |= 1u << reg;
  context->doubled &= ~(1u << reg);
  context->registers[reg] = (uintptr_t)place;
}
static inline void stackpack_context_set(struct stackpack_context *context, unsigned reg,
                                         uintptr_t value) {
  context->known |= 1u << reg;
  context->in_memory &= ~(1u << reg);
  context->doubled &= ~(1u << reg);
  context->registers[reg] = value;
}

/* A stack's bounds: the addresses low <= a < end are its. A walk that gets to a stack pointer of
 * exactly `end` is at its end. So declare as `end` the stack pointer of the native frame that calls
 * the oldest managed one, as it is at that call: then a walk is complete if and only if it says
 * STACKPACK_WALK_END. C can't name that number; a stub of assembler that makes the call can
 * (samples/common/managed_call.S). */
struct stackpack_stack {
  uintptr_t low, end;
};

/* The ways from a frame to its caller's. */
enum stackpack_way {
  /* By what the table tells of managed frames: see stackpack_record_frame. Exact, and needs no
   * frame pointers. Where a frame ends may depend on a register, mostly the frame pointer: so the
   * context at which the walk starts must have the registers that a call preserves.
   *
   * Without unwind tables only LLVM's frame sizes are known, which leave out arguments that are
   * pushed for a call; `pack` finds true ones in the code of x86-64, but not all. Nor is known
   * where registers are saved. There, a walk that has passed a frame by such a size says
   * SIZE_UNKNOWN where it gets to a native frame: it may have missed others. At the stack's end it
   * has not. So compile with unwind tables ("uwtable"); or with llc -no-x86-call-frame-opt, and
   * declare the end where the oldest frame ends. */
  STACKPACK_BY_TABLE,
  /* By the chain of frame pointers: every function that is passed this way must be compiled with
   * one (-fno-omit-frame-pointer, "frame-pointer"="all"). A function that isn't, and leaves the
   * register alone, hides its caller's frame, and nothing shows it: libraries of the system are
   * such. On AArch64 a frame pointer doesn't tell where the caller's frame is: native frames, and
   * managed ones of unknown size, are left to the unwinder. */
  STACKPACK_BY_FRAME_POINTER,
  /* By unwind tables: all functions, and all registers; slow. Needs `unwind`. */
  STACKPACK_BY_UNWINDING,
};

enum stackpack_unwound {
  STACKPACK_UNWOUND,     /* *context is the caller's now */
  STACKPACK_OUTERMOST,   /* the frame has no caller */
  STACKPACK_NOT_UNWOUND, /* nobody knows: no unwind table, a broken one, or memory out of bounds */
};

/* An unwinder: moves *context to the caller's frame. It sets pc, stack_pointer, is_exact (whether
 * the frame is one that a signal interrupted), and all registers: those that the frame has saved
 * are in memory where it did; those that a call preserves and the frame hasn't touched stay as they
 * are; all others become unknown. It must read no memory of the stack outside `stack`, allocate
 * nothing and take no lock if walks are to be safe in signal handlers. `unwinder` is
 * walker->unwinder. Contexts of one walk come in order, but may go back to an earlier one. */
typedef enum stackpack_unwound stackpack_unwind(void *unwinder, struct stackpack_stack stack,
                                                struct stackpack_context *context);

/* How to walk. All zeros but process or table: by the table, up to the first native frame. */
struct stackpack_walker {
  const struct stackpack_process *process; /* look-ups are in it; */
  const struct stackpack_table *table;     /* or, if process is NULL, in this one */
  struct stackpack_cache *cache;           /* or NULL */
  enum stackpack_way
      managed; /* BY_UNWINDING: managed frames, too, are passed so; to check the table */
  enum stackpack_way native; /* how native frames are passed; BY_TABLE: not at all, the walk ends */
  /* NULL, or an unwinder. A walk by other ways asks it only for frames of which they know
   * nothing. */
  stackpack_unwind *unwind;
  void *unwinder;
};

enum stackpack_walk_answer {
  /* A frame, in walk->context. */
  STACKPACK_WALK_MANAGED, /* with its record in walk->record, and roots */
  STACKPACK_WALK_NATIVE,  /* without a stack map; passed over */

  /* Ends, after a managed frame. */
  STACKPACK_WALK_END,       /* at the stack's end, or at its outermost frame */
  STACKPACK_WALK_AT_NATIVE, /* at a native frame (walk->context) below the stack's end, as
                               walker->native says; or at what looks like one, as its return address
                               is in no managed function. Managed frames above it were not looked
                               at: no success, unless stackpack_walk_resume goes on with them */

  /* Such an end, but no managed frame was met since the walk started or was resumed. That may be as
   * it should; if it may not, the context or the process is wrong. */
  STACKPACK_WALK_NO_MANAGED,

  /* Stops: frames and roots beyond are not known, and a collection can't go on. */
  STACKPACK_WALK_NOT_SAFEPOINT,    /* walk->context is in managed code, but has no record */
  STACKPACK_WALK_CORRUPT,          /* the table is damaged */
  STACKPACK_WALK_OUT_OF_STACK,     /* a frame or a slot would be outside the bounds */
  STACKPACK_WALK_MISALIGNED,       /* a stack or frame pointer, or a slot, is no multiple of 8 */
  STACKPACK_WALK_NO_PROGRESS,      /* a frame would be at or below the one it called: a cycle */
  STACKPACK_WALK_SIZE_UNKNOWN,     /* a frame's size isn't known, or not for sure: see BY_TABLE */
  STACKPACK_WALK_NO_FRAME_POINTER, /* the function doesn't keep one, or it isn't known */
  STACKPACK_WALK_REGISTER_UNKNOWN, /* a root is in, or by, a register that isn't known */
  STACKPACK_WALK_NOT_UNWOUND,      /* the unwinder can't pass this frame */
  STACKPACK_WALK_DISAGREEMENT,     /* the unwinder finds other frames than the stack map says */
  STACKPACK_WALK_NOT_STATEPOINT,   /* roots were asked of a stack map's or patch point's record */
  STACKPACK_WALK_BAD_LOCATION,     /* a root is of another size than 8, or in no kind of place */
};

/* A sentence fragment in English, without a full stop. Static storage. */
const char *stackpack_walk_text(enum stackpack_walk_answer answer);

/* Whether the answer is a frame. (It is a stop from STACKPACK_WALK_NOT_SAFEPOINT on.) */
static inline bool stackpack_walk_is_frame(enum stackpack_walk_answer answer) {
  return answer <= STACKPACK_WALK_NATIVE;
}

/* A walk under way. */
struct stackpack_walk {
  struct stackpack_context context; /* of the frame at hand */
  struct stackpack_record record;   /* of a managed frame; of several at one address, the first */
  uint64_t managed_frames;          /* how many there were since the start */
  struct stackpack_walk_private {
    const struct stackpack_walker *walker;
    struct stackpack_stack stack;
    uint64_t segment_frames;
    void *entry;
    uint64_t forgotten;
    enum stackpack_walk_answer answer;
    uint32_t state, pair, word, words;
    bool is_unsure; /* since the start, a frame was passed by a size that wasn't checked */
    struct stackpack_location base, derived;
    struct stackpack_pairs pairs;
  } private_;
};

/* Gets ready to walk. *walker and what it points to stay where they are during the walk. */
void stackpack_walk_start(struct stackpack_walk *walk, const struct stackpack_walker *walker,
                          struct stackpack_stack stack, const struct stackpack_context *context);

/* Moves to the first frame, that of the context, or to the next one. After an answer that is no
 * frame, it is given again and again. */
enum stackpack_walk_answer stackpack_walk_next(struct stackpack_walk *walk);

/* Goes on at another place, after any answer: a runtime whose stacks have native frames between
 * managed ones can note the context of each managed frame that calls out, and the end of each row
 * of managed frames, and go on at the next row when the walk has got to the end of one; or on
 * another stack. On the same stack it must be
 * above the frame at hand: else the next answer is STACKPACK_WALK_NO_PROGRESS. */
void stackpack_walk_resume(struct stackpack_walk *walk, struct stackpack_stack stack,
                           const struct stackpack_context *context);

/* One reference that the frame at hand goes on with, and the base of its object; see
 * stackpack_pairs. Both addresses are equal for an ordinary one. */
struct stackpack_root {
  uintptr_t *base, *derived; /* the memory that holds each: a slot, or where a register is saved.
                                NULL: a constant, or the address of a stack object */
  uintptr_t base_value, derived_value; /* what each is now */
};

/* Writes the next root of the frame at hand, a managed one, or returns false after the last one.
 * (A vector of references is so many roots.) It returns false, too, where a root isn't known: then
 * the next stackpack_walk_next stops, and says why. Only for reading: for a collector that moves
 * objects, see stackpack_walk_update. */
bool stackpack_walk_root(struct stackpack_walk *walk, struct stackpack_root *root);

/* Where the object of a base reference is now. Not called for null. */
typedef uintptr_t stackpack_forward(void *closure, uintptr_t base);

/* Updates all roots of the frame at hand, a managed one: each base becomes what `forward` says, and
 * each derived reference keeps its distance from its base. `forward` is called once for each place
 * that holds a base, with the value that was there before. STACKPACK_WALK_MANAGED; or a stop, with
 * the frame as it was, which the next stackpack_walk_next gives, too. */
enum stackpack_walk_answer stackpack_walk_update(struct stackpack_walk *walk,
                                                 stackpack_forward *forward, void *closure);

/* Where a location is in memory in the frame at hand, within its bounds: a spill slot, a stack
 * object, or the place in which a register was saved. For what isn't a root: deopt state, stack
 * objects, locations of stack maps and patch points. NULL for constants and for what isn't
 * known. */
void *stackpack_walk_address(struct stackpack_walk *walk,
                             const struct stackpack_location *location);

/* ---- Global roots ---- */

/* Variables that hold references, as roots that are on no stack. A program lists their addresses in
 * a section of its own: an array of pointers, one for each variable. `stackpack pack
 * --global-roots=SECTION` moves the list into the packed table, and clears the array.
 *
 *   __attribute__((section("gc_roots"), used)) static struct object **const root = &variable;
 *
 *   extern const char __start_gc_roots[], __stop_gc_roots[]; // by the linker, for such a name
 *   struct stackpack_global_roots roots =
 *       stackpack_global_roots(&module->table, __start_gc_roots, __stop_gc_roots);
 *   uint64_t address;
 *   while (stackpack_global_roots_next(&roots, &address)) ... *(struct object **)address ...
 */
struct stackpack_global_roots {
  uint64_t private_[16];
  bool is_corrupt; /* after the last one: there may be more, but the table is damaged */
};

/* The global roots of a table, if it was packed with any; else those of the array from start to
 * stop, which may both be NULL. So one and the same program finds them packed and unpacked. An
 * array that is read must outlive the result. */
struct stackpack_global_roots stackpack_global_roots(const struct stackpack_table *table,
                                                     const void *start, const void *stop);

/* Writes the next variable's address, or returns false after the last one: a collector looks at
 * roots->is_corrupt then, and stops if that is true. None comes twice from a packed table, where
 * they ascend; in an array, 0s are passed over. */
bool stackpack_global_roots_next(struct stackpack_global_roots *roots, uint64_t *address);

/* ---- Files ---- */

/* The stack maps of an ELF file, for a debugger or a crash analyser: link-time addresses. */
struct stackpack_file {
  struct stackpack_table table;
  uint64_t private_[4];
};

/* Maps the file's packed section and opens it, or reads its raw one. A file whose packed section is
 * open may be replaced (by rename), but not written over or truncated: its bytes are read where
 * they are, as a running program's are. */
enum stackpack_error stackpack_file_open(struct stackpack_file *file, const char *path);
void stackpack_file_close(struct stackpack_file *file);

/* ---- Leaving a part of the library out ---- */

/* Reads an opened module's raw stack maps into *memory (free). It is for the library's own use; but
 * half of the library hangs on it. A program whose modules are all packed leaves that half out by
 * defining the function itself, with `return STACKPACK_NO_RAW_READER`: opening a raw module gives
 * this error then, and look-ups in such a one STACKPACK_CORRUPT. */
enum stackpack_error stackpack_raw_open(struct stackpack_table *table, const void *module,
                                        void **memory);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
