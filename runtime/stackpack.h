/* stackpack.h - look up GC stack maps in a program that `stackpack pack` has packed.
 *
 * A collector stops the threads, walks each stack, and asks for every return address: where in this
 * frame are the references? A section of the program file has the answers, and is used in place.
 * The same functions serve a program that is not packed (a debug build): opening it reads its
 * `.llvm_stackmaps` once, and puts them into the same form.
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
 * - Only the functions named *_open and *_close, and those that change a process, allocate, take a
 * lock or change errno. All others may be called from a signal handler, and from any number of
 * threads at once.
 * - Structures are the caller's own and may be copied, except for an open process, its modules and
 * an open cache; members named `private_` are the library's. An open table, process or file must
 * stay in place as long as the records, pairs and lists taken from it.
 * - Broken or hostile bytes give STACKPACK_CORRUPT or an early end, never a crash.
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

#define STACKPACK_VERSION "0.9.0"

/* LLVM doesn't mark which of its records are statepoints. A program that also has stack maps or
 * patch points says the IDs of its statepoints, in one of its source files, outside of functions:
 *
 *     STACKPACK_STATEPOINT_IDS(100, 199);
 *
 * for all from the first to the last; once for each range, on a line of its own. Then records with
 * these IDs are statepoints, and those with LLVM's usual one, 2882400000; all others are none. The
 * macro makes a note in the file, which `stackpack pack` and this library read; a frontend may
 * write it as a constant in section ".note.stackpack.statepoints". */
#define STACKPACK_STATEPOINT_IDS(first, last) STACKPACK_STATEPOINT_IDS_ON(first, last, __LINE__)
#define STACKPACK_STATEPOINT_IDS_ON(first, last, line)                                             \
  STACKPACK_STATEPOINT_IDS_AS(first, last, line)
#define STACKPACK_STATEPOINT_IDS_AS(first, last, line)                                             \
  static const struct {                                                                            \
    uint32_t name_size, size, type;                                                                \
    char owner[12];                                                                                \
    uint64_t range[2];                                                                             \
  } stackpack_statepoint_ids_##line                                                                \
      __attribute__((used, aligned(8), section(".note.stackpack.statepoints"))) = {                \
          10, 16, 2, "stackpack", {first, last}}

/* ---- Errors of opening ---- */

enum stackpack_error {
  STACKPACK_OK = 0,
  STACKPACK_NO_STACK_MAPS,    /* neither packed stack maps nor a section .llvm_stackmaps */
  STACKPACK_SYSTEM_ERROR,     /* a system call failed: errno has the reason */
  STACKPACK_NO_MEMORY,        /* for a raw section only: packed ones need none */
  STACKPACK_NOT_ELF,          /* another file than little-endian ELF64, or broken headers */
  STACKPACK_BAD_STACK_MAP,    /* a raw section that breaks the StackMap v3 format */
  STACKPACK_BAD_TABLE,        /* a packed section that breaks FORMAT.md, or a checksum differs */
  STACKPACK_UNSUPPORTED,      /* a packed section of a newer version, or with unknown features */
  STACKPACK_TOO_MANY_MODULES, /* the caller's array is too small: see stackpack_process_open */
  STACKPACK_NO_RAW_READER,    /* a raw section, in a program without stackpack_raw_open */
  STACKPACK_CODE_ADDED,       /* a module with code that a tool added after it was packed */
  STACKPACK_RANGE_TAKEN,      /* a range of code that is empty, or overlaps one added before */
};

/* A sentence fragment in English, without a full stop. Static storage. */
const char *stackpack_error_text(enum stackpack_error error);

/* ---- Tables: one module's stack maps ---- */

/* A view of one packed section. It owns nothing. */
struct stackpack_table {
  uint64_t private_[60];
};

/* Opens the packed table in bytes[0..size). `address` is the address of bytes[0] in the address
 * space of the caller's look-ups (at run time: its address in memory; for a file: its link-time
 * address). bytes must be 8-aligned. The time is independent of the number of records. Verifies the
 * header's checksum only: stackpack_table_check verifies the records'. */
enum stackpack_error stackpack_table_open(struct stackpack_table *table, const void *bytes,
                                          size_t size, uint64_t address);

/* Verifies the checksum over all of the table: linear in its size. */
bool stackpack_table_check(const struct stackpack_table *table);

/* The number of records. */
size_t stackpack_table_records(const struct stackpack_table *table);

/* ---- Records ---- */

/* The answer to the look-up of a return address. A collector that meets STACKPACK_NOT_SAFEPOINT or
 * STACKPACK_CORRUPT for a frame of its own must stop: that frame's roots are unknown. An address
 * without a record belongs to the function of the byte before it, where the call is: after a
 * noreturn call, another function may start. (For the pc at which a thread was interrupted, a
 * look-up of pc + 1 distinguishes STACKPACK_NOT_MANAGED from STACKPACK_NOT_SAFEPOINT.) */
enum stackpack_answer {
  STACKPACK_FOUND,         /* a record: a safepoint, a patch point or a stack map */
  STACKPACK_NOT_MANAGED,   /* in no function that has a stack map: skip the frame */
  STACKPACK_NOT_SAFEPOINT, /* inside such a function, but there is no record */
  STACKPACK_CORRUPT,       /* the table is damaged, or the module's is unusable */
};

enum stackpack_kind { STACKPACK_STATEPOINT, STACKPACK_STACKMAP };

/* The size of a frame with a dynamic alloca or a realigned stack: unknown to LLVM. */
#define STACKPACK_FRAME_SIZE_UNKNOWN UINT64_MAX

struct stackpack_record {
  uint64_t address; /* the return address (of a stack map or patch point: its address) */
  uint32_t index;   /* its number in the table, by address */
  uint32_t private_[5];
  /* The function's frame and the arguments that are pushed for the call; without the return address
   * that the call pushes. Where the CFA is relative to another register than the stack pointer
   * (stackpack_record_frame), it is LLVM's size. */
  uint64_t frame_size;
  enum stackpack_kind kind;
};

/* Looks up an address in one table. *record is valid only after STACKPACK_FOUND. */
enum stackpack_answer stackpack_table_find(const struct stackpack_table *table, uint64_t address,
                                           struct stackpack_record *record);

/* The record of a given number, 0 <= index < stackpack_table_records. *record is valid after
 * STACKPACK_FOUND; the only other answer is STACKPACK_CORRUPT. Slower than a look-up by address. */
enum stackpack_answer stackpack_table_record(const struct stackpack_table *table, uint32_t index,
                                             struct stackpack_record *record);

/* The first record at or after an address; STACKPACK_NOT_MANAGED, if there is none. From there,
 * stackpack_table_record leads to the record before (index - 1; the table's last one, if there is
 * none at or after the address) and to the next one. A look-up is faster where the address is a
 * record's. For stack maps that are found by their place: the one that follows a pc, say. */
enum stackpack_answer stackpack_table_from(const struct stackpack_table *table, uint64_t address,
                                           struct stackpack_record *record);

/* The start of the record's function. Takes about as long as a look-up. */
uint64_t stackpack_record_function(const struct stackpack_record *record);

/* Identical code folding can leave one address with several, different records, as can a stack map
 * at the start of a function whose predecessor ends in a call. A look-up finds the first of them;
 * this moves *record to the next one at the same address, or returns false and leaves it. */
bool stackpack_record_next(struct stackpack_record *record);

/* Facts about the frame that waits at a record: the unwind tables', or those that `pack` has found
 * in the code. The canonical frame address (CFA), the caller's stack pointer, is a register's value
 * plus an offset. Of the caller's registers, some are saved at an offset from the CFA, a few may be
 * lost, and the others still have their values if the function preserves them. Masks have bit n for
 * register n. */
struct stackpack_frame_facts {
  bool is_known; /* else record.frame_size is LLVM's, unchecked, and the other members are unused */
  bool is_signed;          /* AArch64: the return address is, where it is saved */
  uint8_t cfa_register;    /* mostly the stack pointer, as it is after the return */
  uint8_t return_register; /* the return address is saved in its place */
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
 * full cache keeps its records until others come again and again. Pairs in other places than
 * registers and slots of 8 bytes near each other are read from the table at each visit. A cache is
 * for one thread at a time; a visitor or `forward`, and the functions that they call, must not use
 * it.
 *
 * A cache pays where the addresses of one collection recur in it or in the next one. A walk with
 * updates over CPython's recorded stacks takes half the time with a cache of 32 KiB, and a quarter
 * with 128 KiB or more. Addresses at random from more records than it has room for take 12 to 22 %
 * longer with a cache than without: there, NULL is the better choice. */
enum { STACKPACK_CACHE_LINE = 64 };
struct stackpack_cache {
  uint64_t private_[12];
};

/* Makes 8-aligned memory, which stays the caller's, a cache of 2 to the power of `shift` lines,
 * that is, of STACKPACK_CACHE_LINE << shift bytes. A cache of less than 16 lines stays empty; it
 * uses up to 2^22 lines (256 MiB). An eighth of the memory is written at once, the rest on
 * demand. */
void stackpack_cache_open(struct stackpack_cache *cache, void *memory, unsigned shift);

/* Looks up an address in one table, and visits the record's pairs: through `cache`, unless that is
 * NULL. All calls with a cache are for one table, at one address. */
enum stackpack_answer stackpack_table_visit(const struct stackpack_table *table,
                                            struct stackpack_cache *cache, uint64_t address,
                                            struct stackpack_record *record,
                                            stackpack_visitor *visit, void *context);

/* A list of locations in LLVM's order. */
struct stackpack_locations {
  uint64_t private_[8];
};

/* Of a statepoint, the stack objects that it lists as live (its direct locations after the pairs);
 * of another record, all of its locations. */
struct stackpack_locations stackpack_locations(const struct stackpack_record *record);

/* Writes the next location, or returns false after the last one. */
bool stackpack_locations_next(struct stackpack_locations *locations,
                              struct stackpack_location *location);

/* ---- Details: data that a collector rarely asks for ---- */

/* IDs, deopt state, calling conventions, flags and live-outs, where they differ between records,
 * are in blocks that are compressed with Zstandard. The library is free of Zstandard; the caller
 * passes a function with the signature and the results of ZSTD_decompress. */
typedef size_t stackpack_decompress(void *destination, size_t capacity, const void *source,
                                    size_t size);

struct stackpack_live_out {
  uint16_t reg;
  uint8_t size;
} __attribute__((packed));

struct stackpack_details {
  uint64_t id;
  int32_t calling_convention; /* these two: 0 for stack maps and patch points */
  int32_t flags;
  const struct stackpack_location *deopt; /* the deopt state's locations in order */
  size_t deopt_count;
  const struct stackpack_live_out *live_outs;
  size_t live_out_count;
};

/* How many bytes of work space stackpack_record_details needs for this table; 0 where no record has
 * details of its own. */
size_t stackpack_details_space(const struct stackpack_table *table);

/* Reads a record's details. A record is found by its ID in an array that the caller makes once, of
 * all records or of the ones in use. (An ID has several records where the compiler has copied their
 * code: inlined, unrolled.)
 *
 *   for (uint32_t i = 0; i < stackpack_table_records(table); i++)
 *     if (stackpack_table_record(table, i, &record) == STACKPACK_FOUND &&
 *         stackpack_record_details(&record, space, decompress, &details))
 *       by_id[count++] = (struct by_id){.id = details.id, .index = i};
 *   qsort(by_id, count, sizeof *by_id, compare_ids);
 *   ... bsearch(&id, by_id, count, sizeof *by_id, compare_ids), and stackpack_table_record
 *
 * A patch point's space is the code from its address on; its size is the one that the compiler gave
 * to llvm.experimental.patchpoint. Its locations, as a stack map's, are those of
 * stackpack_locations, and its live-outs are the registers that the patched code must keep.
 *
 * `space` (8-aligned, at least stackpack_details_space bytes, may be NULL
 * if that is 0) holds the decoded block: *details points into it. decompress may be NULL if that is
 * 0. Safe in a signal handler if decompress is. Returns false where the table is damaged. */
bool stackpack_record_details(const struct stackpack_record *record, void *space,
                              stackpack_decompress *decompress, struct stackpack_details *details);

/* ---- Source positions: for stack traces ---- */

/* A packed table has them if `stackpack pack --source` has put them in; they stay when the program
 * is stripped. A program that asks for none leaves their reader out. */

struct stackpack_source {
  const char *function; /* as linked: the caller demangles it. "": unknown */
  const char *file;     /* "": unknown */
  uint32_t line;        /* 0: unknown */
};

/* The frames of a record, innermost first: all but the last one are inlined, each into the one that
 * follows. */
struct stackpack_sources {
  const struct stackpack_source *frames;
  size_t count;
};

enum stackpack_source_answer {
  STACKPACK_SOURCE_FOUND,
  STACKPACK_SOURCE_NONE,      /* the table was packed without any */
  STACKPACK_SOURCE_RAW,       /* the module isn't packed: its debug information has them */
  STACKPACK_SOURCE_UNKNOWN,   /* this record has none */
  STACKPACK_SOURCE_TOO_SMALL, /* the space is */
  STACKPACK_SOURCE_CORRUPT,   /* the table is damaged */
};

/* How many bytes are enough for each record of this table; 0 where it has no positions. */
size_t stackpack_sources_space(const struct stackpack_table *table);

/* Reads where a record is in its sources. space[0..size), 8-aligned, gets the frames and their
 * names: *sources points into it. Most records take a fraction of stackpack_sources_space. */
enum stackpack_source_answer stackpack_record_sources(const struct stackpack_record *record,
                                                      void *space, size_t size,
                                                      struct stackpack_sources *sources);

/* ---- The running process ---- */

/* One module (the executable or a shared library) that has stack maps. Its table may be passed to
 * the functions for tables. */
struct stackpack_module {
  struct stackpack_table table; /* answers for run-time addresses */
  uint64_t private_[8];
};

struct stackpack_process {
  uint64_t private_[152];
} __attribute__((aligned(64)));

/* Finds the stack maps of every module that is loaded now. modules[0..capacity) becomes the
 * process's. Packed modules cost a few reads each. A raw one's stack maps are read in place, and
 * memory is allocated. Unsafe in a signal handler. The dynamic linker lists the modules in the
 * caller's namespace only: code that dlmopen has loaded into another one is STACKPACK_NOT_MANAGED.
 *
 * The process is open afterwards, except after STACKPACK_TOO_MANY_MODULES:
 * stackpack_process_modules is the capacity needed then. After STACKPACK_NO_STACK_MAPS all look-ups
 * say STACKPACK_NOT_MANAGED. Any other error is a module's, whose stack maps are broken or
 * unreadable (see stackpack_module_error): look-ups in it say STACKPACK_CORRUPT, and all other
 * modules are served. */
enum stackpack_error stackpack_process_open(struct stackpack_process *process,
                                            struct stackpack_module *modules, size_t capacity);

/* Frees the process's memory: no thread may use the process or its records any more. The array of
 * modules is the caller's again. */
void stackpack_process_close(struct stackpack_process *process);

/* The number of modules with stack maps. */
size_t stackpack_process_modules(const struct stackpack_process *process);

/* The reason for STACKPACK_CORRUPT from look-ups in one of the process's modules; STACKPACK_OK for
 * a sound module, and STACKPACK_NO_STACK_MAPS for a free place in the array. *address is the
 * module's lowest address, for dladdr. */
enum stackpack_error stackpack_module_error(const struct stackpack_module *module,
                                            uintptr_t *address);

/* Looks up a run-time return address in the module that contains it. */
enum stackpack_answer stackpack_find(const struct stackpack_process *process,
                                     uintptr_t return_address, struct stackpack_record *record);

/* The same, and visits the record's pairs: through `cache`, unless that is NULL. A cache serves one
 * process, until that is closed: it is emptied when modules come or go. */
enum stackpack_answer stackpack_visit(const struct stackpack_process *process,
                                      struct stackpack_cache *cache, uintptr_t return_address,
                                      struct stackpack_record *record, stackpack_visitor *visit,
                                      void *context);

/* Modules that come and go (dlopen, dlclose) while threads look up. Look-ups go on lock-free; the
 * functions here may be called from any thread, but not from a signal handler.
 *
 * stackpack_process_update brings the process up to date: call it after dlopen, before code of the
 * new module runs. Errors are those of stackpack_process_open; modules of the process stay in it,
 * even if their files have changed or are gone, and one that has an error is tried once more. A
 * module that another thread is loading may be left to that thread's update.
 *
 * stackpack_process_forget takes out the module that contains `address`: call it before dlclose. It
 * returns when no thread is between stackpack_enter and stackpack_leave that was there before.
 * False: no module with stack maps contains that address. Until dlclose no thread may update the
 * process: that would find the module again, and look-ups would go on in unmapped memory. So where
 * several threads load libraries, a lock of the program's own is held around dlopen and update, and
 * around forget and dlclose.
 *
 * With STACKPACK_TOO_MANY_MODULES the array had too few places: look-ups in the modules left out
 * say STACKPACK_NOT_MANAGED. No collection may run until the array is larger:
 *
 *   size_t count = stackpack_process_modules(&process) + 8;
 *   stackpack_process_close(&process);                 // while no thread looks up
 *   modules = realloc(modules, count * sizeof *modules);
 *   error = stackpack_process_open(&process, modules, count); // and all caches are opened anew
 *
 * In a child of fork all functions of this header may be called, wherever fork found the parent's
 * other threads, and look-ups go on as in the parent. Two conditions: a thread that forks between
 * stackpack_enter and stackpack_leave calls the latter in the child, too, and before the next
 * three; and the child calls stackpack_process_update, _forget or _close for the first time while
 * it has one thread. (fork waits for a thread that lists the modules, by pthread_atfork; a child of
 * clone or vfork, which skip its handlers, looks up only. But glibc may leave a lock of the dynamic
 * linker's taken if another thread was in dlopen or dlclose: then stackpack_process_open and
 * _update never return in the child, unless fork, too, is called under the lock above.) */
enum stackpack_error stackpack_process_update(struct stackpack_process *process);
bool stackpack_process_forget(struct stackpack_process *process, uintptr_t address);

/* A thread whose look-ups may meet a module that another thread is about to unload puts them, and
 * the use of the records they find, between these two. (A collector that looks up the return
 * addresses of its own stopped threads can leave them out: their modules are in use.) The ticket
 * goes to stackpack_leave. Both are safe in a signal handler, and may be nested. */
unsigned stackpack_enter(struct stackpack_process *process);
void stackpack_leave(struct stackpack_process *process, unsigned ticket);

/* ---- Code that no dynamic linker knows ---- */

/* LLVM's stack maps as bytes in memory: a JIT's, those of an image that the program loads itself,
 * or a linker script's.
 *
 *   struct stackpack_bytes code = {text, text_size, (uintptr_t)text};
 *   struct stackpack_maps maps = {
 *       .bytes = stackmaps, .size = stackmaps_size, .code = &code, .code_count = 1,
 *       .unwind = {eh_frame, eh_frame_size, (uintptr_t)eh_frame}};
 *   if (stackpack_memory_open(&function->memory, &maps) != STACKPACK_OK ||
 *       stackpack_process_add(&process, (uintptr_t)text, text_size, &function->memory.table) !=
 *           STACKPACK_OK)
 *     abort(); // else the function may run
 *   ...
 *   for (each function that no thread runs any more, or waits in)
 *     stackpack_process_remove(&process, its text);
 *   stackpack_process_wait(&process); // once for all of them
 *   for (each of them) { stackpack_memory_close(&function->memory); free its text }
 */
struct stackpack_bytes {
  const void *bytes;
  size_t size;
  uint64_t address; /* of bytes[0], in the address space of look-ups */
};

struct stackpack_statepoint_ids {
  uint64_t first, last;
};

struct stackpack_maps {
  const void *bytes; /* a section .llvm_stackmaps, with its relocations applied */
  size_t size;
  uint64_t base; /* is added to the functions' addresses in it. If it is 0, a function at address 0
                    was discarded */
  /* All code that the maps describe, in disjoint ranges. `bytes` may be NULL in them, if the code
   * is unreadable: then the maps are believed. */
  const struct stackpack_bytes *code;
  size_t code_count;
  /* .eh_frame, with its relocations applied; or zeros: then the table has no facts of frames, and a
   * function reaches up to the next one, or to the end of its code. */
  struct stackpack_bytes unwind;
  /* As STACKPACK_STATEPOINT_IDS says; or NULL. */
  const struct stackpack_statepoint_ids *ids;
  size_t id_count;
};

/* Stack maps that were read into a table in memory. */
struct stackpack_memory {
  struct stackpack_table table;
  uint64_t private_[4];
};

/* Reads the stack maps, as those of a loaded module are read: afterwards *maps and its bytes are
 * needed no more. STACKPACK_BAD_STACK_MAP, too, for a function or a record outside of the code.
 * After an error there is nothing to close. */
enum stackpack_error stackpack_memory_open(struct stackpack_memory *memory,
                                           const struct stackpack_maps *maps);
void stackpack_memory_close(struct stackpack_memory *memory);

/* Adds a range of code, and a table for it, to an open process: a table of stackpack_memory_open,
 * or any other one. Code in several ranges is added range by range, with the same table. Look-ups
 * find it before this returns, and the table stays in place until after stackpack_process_remove.
 * STACKPACK_NO_MEMORY, STACKPACK_RANGE_TAKEN or STACKPACK_OK. The range needs no place in the array
 * of modules; it is in the process until that is closed.
 *
 * stackpack_process_remove takes the range with this start out again, false if there is none: new
 * look-ups don't find it. After stackpack_process_wait, which returns when no thread is between
 * stackpack_enter and stackpack_leave that was there before, its table and its code may be freed;
 * one wait serves any number of ranges. Caches are emptied by a removal, and keep their records
 * when ranges are added.
 *
 * These three take locks, and the first one allocates: they may be called from any thread, but not
 * from a signal handler, and not between stackpack_enter and stackpack_leave. Look-ups go on
 * lock-free. */
enum stackpack_error stackpack_process_add(struct stackpack_process *process, uintptr_t start,
                                           size_t size, const struct stackpack_table *table);
bool stackpack_process_remove(struct stackpack_process *process, uintptr_t start);
void stackpack_process_wait(struct stackpack_process *process);

/* ---- Walking a stack ---- */

/* A walk goes from frame to frame of one stack, from the youngest to the oldest, and finds the
 * references of each, to read and update them:
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
 * STACKPACK_WALK_END is the only success. After STACKPACK_WALK_AT_NATIVE the walk met native code
 * before the declared end: managed code may have called C that called managed code, and the walk
 * has skipped the frames above that C. A runtime with such calls notes each entry into managed code
 * and each exit, and walks from the one to the other, row by row (stackpack_walk_resume); or an
 * unwinder passes the native frames.
 *
 * It reads and writes only within the stack's bounds, and the registers' places that the caller or
 * the unwinder names. Each step goes up, so that a walk ends on any stack; its last answer is the
 * reason. */

/* The registers that a walk keeps track of are numbered as DWARF does, and a mask has bit n for
 * register n. PRESERVED are the callee-saved ones, except the stack pointer. */
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

/* Registers as an entry stub stores them. It loads them again before it returns: so a collection's
 * updates get back into the registers. Register n is at byte 8 * n. A stub needs to store only
 * those that its calling convention preserves. Mostly `known` is STACKPACK_PRESERVED_REGISTERS;
 * across a call by LLVM's preserve_mostcc, managed code that keeps references in registers may have
 * them in others, too. */
struct stackpack_registers {
  uintptr_t values[STACKPACK_REGISTERS];
  uint64_t known; /* bit n: values[n] was stored. At byte 8 * STACKPACK_REGISTERS */
};

/* The state of a suspended computation: in a call, or interrupted before an instruction; and the
 * registers as they will be when it goes on. */
struct stackpack_context {
  uintptr_t pc;            /* a return address, or an exact address */
  uintptr_t stack_pointer; /* after that return */
  uint32_t is_exact;       /* not 0: pc is the instruction that comes next, as after a signal */
  uint32_t known;          /* bit n: register n has a value here: registers[n], ... */
  uint32_t in_memory;      /* ... or, with this bit, at the address registers[n], where it will be
                              loaded and can be updated, */
  uint32_t doubled;        /* and with this one, at the address seconds[n] as well: a function that
                              was interrupted while it saves or restores registers has both, and
                              may go on with either */
  uintptr_t registers[STACKPACK_REGISTERS];
  uintptr_t seconds[STACKPACK_REGISTERS];
};

/* The frame of a stub's caller, as the assembly stub sees it at its first instruction: on x86-64
 * the return address is at the stack pointer, and the stack pointer after the return is 8 above; on
 * the other machines it is in the link register (x30, ra), and the stack pointer stays. `registers`
 * is the stub's block, or NULL if references are in spill slots only and every frame has a known
 * size. */
struct stackpack_context stackpack_context_at_call(uintptr_t return_address,
                                                   uintptr_t stack_pointer,
                                                   struct stackpack_registers *registers);

/* The computation that a signal has interrupted: `ucontext` is the third argument of the handler,
 * and must stay in memory until the handler returns. In managed code, a walk stops there, even
 * where a statepoint's call has just returned: the call's result is in a register that every record
 * leaves out. A runtime that patches traps into statepoints of its own sets is_exact to 0 if pc is
 * the address of such a trap. In native code, an unwinder goes on. */
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
 * STACKPACK_WALK_END. C has no name for that number; a stub of assembler that makes the call has
 * (samples/common/managed_call.S). */
struct stackpack_stack {
  uintptr_t low, end;
};

/* The ways from a frame to its caller's. */
enum stackpack_way {
  /* By the table's facts about managed frames: see stackpack_record_frame. Exact, with and without
   * frame pointers. A frame's end may depend on a register, mostly the frame pointer: so the
   * context at which the walk starts must have the callee-saved registers.
   *
   * Without unwind tables the table has only LLVM's frame sizes, less the arguments that are pushed
   * for a call, and no places of saved registers; `pack` finds some true sizes in the code of
   * x86-64. There, a walk that has passed a frame by such a size says SIZE_UNKNOWN where it gets to
   * a native frame: it may have missed others. At the stack's end it has met all. So compile with
   * unwind tables ("uwtable"); or with llc -no-x86-call-frame-opt, and declare the end where the
   * oldest frame ends. */
  STACKPACK_BY_TABLE,
  /* By the chain of frame pointers: every function that is passed this way must be compiled with
   * one (-fno-omit-frame-pointer, "frame-pointer"="all"). A function without one that leaves the
   * register alone hides its caller's frame silently: the system's libraries do. On AArch64 a frame
   * may end anywhere above its frame pointer: native frames, and managed ones of unknown size, are
   * left to the unwinder. */
  STACKPACK_BY_FRAME_POINTER,
  /* By unwind tables: all functions, and all registers; slow. Needs `unwind`. */
  STACKPACK_BY_UNWINDING,
};

enum stackpack_unwound {
  STACKPACK_UNWOUND,     /* *context is the caller's now */
  STACKPACK_OUTERMOST,   /* the frame has no caller */
  STACKPACK_NOT_UNWOUND, /* unknown: no unwind table, a broken one, or memory out of bounds */
};

/* An unwinder: moves *context to the caller's frame. It sets pc, stack_pointer, is_exact (whether a
 * signal interrupted the frame), and all registers: the ones that the frame has saved are in memory
 * at their saved places; callee-saved ones that it has left alone are unchanged; all others become
 * unknown. It must read stack memory only within `stack`; for walks that are safe in signal
 * handlers it must be lock-free and allocate nothing. `unwinder` is walker->unwinder. Contexts of
 * one walk come in order, but may go back to an earlier one. */
typedef enum stackpack_unwound stackpack_unwind(void *unwinder, struct stackpack_stack stack,
                                                struct stackpack_context *context);

/* How to walk. All zeros but process or table: by the table, up to the first native frame. */
struct stackpack_walker {
  const struct stackpack_process *process; /* for look-ups; */
  const struct stackpack_table *table;     /* or, if process is NULL, this one */
  struct stackpack_cache *cache;           /* or NULL */
  enum stackpack_way managed; /* the way past managed frames; BY_UNWINDING to check the table */
  enum stackpack_way native;  /* the way past native frames; BY_TABLE: the walk ends there */
  /* NULL, or an unwinder. A walk by another way asks it only for frames that this way can't
   * pass. */
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
                               walker->native says; or at an apparent one, whose return address is
                               outside all managed functions. The walk has skipped the managed
                               frames above it: no success, unless stackpack_walk_resume goes on
                               with them */

  /* Such an end, but no managed frame was met since the walk started or was resumed. Where one must
   * be, the context or the process is wrong. */
  STACKPACK_WALK_NO_MANAGED,

  /* Stops: frames and roots beyond are unknown, and a collection must end. */
  STACKPACK_WALK_NOT_SAFEPOINT, /* walk->context is in managed code, but has no record */
  STACKPACK_WALK_CORRUPT,       /* the table is damaged */
  STACKPACK_WALK_OUT_OF_STACK,  /* a frame or a slot would be outside the bounds */
  STACKPACK_WALK_MISALIGNED,    /* a stack or frame pointer, or a slot, is off the multiples of 8 */
  STACKPACK_WALK_NO_PROGRESS,   /* a frame would be at or below the one it called: a cycle */
  STACKPACK_WALK_SIZE_UNKNOWN,  /* a frame's size is unknown or uncertain: see BY_TABLE */
  STACKPACK_WALK_NO_FRAME_POINTER, /* the function keeps none, or it is unknown */
  STACKPACK_WALK_REGISTER_UNKNOWN, /* a root is in, or relative to, an unknown register */
  STACKPACK_WALK_NOT_UNWOUND,      /* the unwinder can't pass this frame */
  STACKPACK_WALK_DISAGREEMENT,     /* the unwinder's frames differ from the stack map's */
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
    bool is_unsure; /* since the start, a frame was passed by an unchecked size */
    struct stackpack_location base, derived;
    struct stackpack_pairs pairs;
  } private_;
};

/* Gets ready to walk. *walker and the objects it points to must stay in place during the walk. */
void stackpack_walk_start(struct stackpack_walk *walk, const struct stackpack_walker *walker,
                          struct stackpack_stack stack, const struct stackpack_context *context);

/* Moves to the first frame, that of the context, or to the next one. After an end or a stop it
 * repeats that answer. */
enum stackpack_walk_answer stackpack_walk_next(struct stackpack_walk *walk);

/* Goes on at another place, after any answer: a runtime whose stacks have native frames between
 * managed ones can note the context of each managed frame that calls out, and the end of each row
 * of managed frames, and go on at the next row when the walk has got to the end of one; or on
 * another stack. On the same stack it must be
 * above the frame at hand: else the next answer is STACKPACK_WALK_NO_PROGRESS. */
void stackpack_walk_resume(struct stackpack_walk *walk, struct stackpack_stack stack,
                           const struct stackpack_context *context);

/* One reference of the frame at hand, and the base of its object; see stackpack_pairs. Both
 * addresses are equal for an ordinary one. */
struct stackpack_root {
  uintptr_t *base, *derived; /* the memory that holds each: a slot, or a register's saved place.
                                NULL: a constant, or the address of a stack object */
  uintptr_t base_value, derived_value; /* their present values */
};

/* Writes the next root of the frame at hand, a managed one, or returns false after the last one. (A
 * vector of references is so many roots.) It returns false, too, for an unknown root: then the next
 * stackpack_walk_next stops, with the reason. Only for reading: for a collector that moves objects,
 * see stackpack_walk_update. */
bool stackpack_walk_root(struct stackpack_walk *walk, struct stackpack_root *root);

/* The new address of the object at `base`, which is never null. */
typedef uintptr_t stackpack_forward(void *closure, uintptr_t base);

/* Updates all roots of the frame at hand, a managed one: each base becomes the result of `forward`,
 * and each derived reference keeps its distance from its base. `forward` is called once for each
 * place that holds a base, with its old value. STACKPACK_WALK_MANAGED; or a stop, with the frame
 * unchanged: the next stackpack_walk_next repeats that answer. */
enum stackpack_walk_answer stackpack_walk_update(struct stackpack_walk *walk,
                                                 stackpack_forward *forward, void *closure);

/* The memory of a location in the frame at hand, within its bounds: a spill slot, a stack object,
 * or a register's saved place. For other values than roots: deopt state, stack objects, locations
 * of stack maps and patch points. NULL for constants and unknown places. */
void *stackpack_walk_address(struct stackpack_walk *walk,
                             const struct stackpack_location *location);

/* Takes the next piece of a text. */
typedef void stackpack_write(void *closure, const char *text, size_t size);

/* Walks on to the end, and prints a line for each frame:
 *
 *   #0  luaS_hash at lstring.c:27
 *         (inlined into luaS_new at lstring.c:93)
 *   #1  0x404cc0
 *
 * A frame without a source position is its return address. `space` is as in
 * stackpack_record_sources; for a handler of crashes, 4 KB on its own stack are enough for most
 * programs. Returns the answer that ended the walk. */
enum stackpack_walk_answer stackpack_walk_print(struct stackpack_walk *walk, void *space,
                                                size_t size, stackpack_write *write, void *closure);

/* The value of a location in the frame at hand: of deopt state, or of a stack map or patch point.
 *
 *   constant   the constant, sign-extended
 *   direct     the address of the stack object
 *   indirect   the bytes of the spill slot; and
 *   register   those of the register: location->size of them, up to 8, zero-extended
 *
 * False: the register is unknown, the slot is out of bounds, or the value has another size
 * (stackpack_walk_address leads to a vector's slot). A deoptimiser goes on with the values of
 * stackpack_record_details:
 *
 *   for (size_t i = 0; i < details.deopt_count; i++)
 *     if (!stackpack_walk_value(&walk, &details.deopt[i], &values[i])) ...
 */
bool stackpack_walk_value(const struct stackpack_walk *walk,
                          const struct stackpack_location *location, uint64_t *value);

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
 * stop, which may both be NULL. So the same program finds them packed and unpacked. The array must
 * outlive the result. */
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
 * open may be replaced (by rename), but not written over or truncated: its bytes are read in place,
 * as a running program's are. After an error there is nothing to close. */
enum stackpack_error stackpack_file_open(struct stackpack_file *file, const char *path);
void stackpack_file_close(struct stackpack_file *file);

/* ---- Leaving a part of the library out ---- */

/* Reads an opened module's raw stack maps into *memory (free). It is for the library's own use; but
 * half of the library hangs on it. A program whose modules are all packed leaves that half out by
 * defining the function itself, with `return STACKPACK_NO_RAW_READER`: opening a raw module gives
 * this error then, and look-ups in it STACKPACK_CORRUPT. */
enum stackpack_error stackpack_raw_open(struct stackpack_table *table, const void *module,
                                        void **memory);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
