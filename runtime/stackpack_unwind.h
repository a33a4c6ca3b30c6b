/* stackpack_unwind.h - walks through frames without stack maps, by unwind tables.
 *
 * Managed code is called by C and C++, calls the C library, which calls back, and a signal handler
 * may run on top of all that. None of these frames has a stack map, and few keep a frame pointer.
 * Every one has an entry in `.eh_frame`, for exceptions: the size of the frame at each instruction,
 * and the saved places of its caller's registers. This part of libstackpack lets a walk (see
 * "Walking a stack" in stackpack.h) pass them:
 *
 *   static struct stackpack_unwinder unwinder;
 *   static struct stackpack_walker walker = {.process = &process,
 *                                            .managed = STACKPACK_BY_UNWINDING,
 *                                            .native = STACKPACK_BY_UNWINDING,
 *                                            .unwind = stackpack_unwinder_step,
 *                                            .unwinder = &unwinder};
 *   ...
 *   if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK) // once, at start-up
 *     abort();
 *   ...
 *   stackpack_unwinder_call(collect, heap); // calls collect(&context, heap), of this very place
 *
 * With .managed = STACKPACK_BY_TABLE the walk asks the unwinder for native frames only, and for
 * managed ones that the table has no facts about.
 *
 * The rules of a step:
 * - It allocates nothing: all memory is taken by stackpack_unwinder_open. It needs 5 KB of stack,
 *   so 8 KB are too few for a signal handler's own.
 * - It is lock-free. _dl_find_object (glibc 2.35) finds unwind tables lock-free, too; so a thread
 *   may have been stopped within dlopen or a throw. Other C libraries have dl_iterate_phdr only:
 *   there no thread may be stopped within dlopen or dlclose.
 * - For some instructions tables are wrong: where a throw, longjmp, setcontext or swapcontext is
 *   about to go on elsewhere; and, mostly by -Oz, where a word has been pushed for a moment
 *   (x86-64), and in prologues, epilogues and the code behind those (AArch64). A thread that may
 *   have been stopped at such a one gives STACKPACK_NOT_UNWOUND: let it go on, and stop it again.
 * - It reads the stack within the bounds of the walk only, the program's own unwind tables, and
 *   code that is readable by the kernel's answer.
 * - It is safe in a signal handler, except one that interrupts another step of the same unwinder.
 * - It never guesses: a frame without an unwind table gives STACKPACK_NOT_UNWOUND.
 *
 * It is there on x86-64, AArch64 and RISC-V. GCC makes unwind tables for RISC-V only if asked:
 * -fasynchronous-unwind-tables; and there glibc's lazy binding has none, so a signal that comes
 * while a function is being looked up stops the walk; programs linked with -z now are safe. GCC's
 * and libgcc's tables for RISC-V's -msave-restore are wrong in prologues and epilogues, as are
 * LLVM's for -Oz, and before version 20 all of LLVM's in epilogues; and on AArch64, LLVM's for the
 * instructions after a call of an outlined epilogue (-Oz without -mno-outline). Only without these,
 * signals may come at any instruction.
 */
#ifndef STACKPACK_UNWIND_H
#define STACKPACK_UNWIND_H

#include "stackpack.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* An unwinder remembers the rules of the call sites that it has met. It is for one thread at a
 * time. (Others may have their own.) */
struct stackpack_unwinder {
  uint64_t private_[8];
};

/* Takes the memory that the unwinder needs: 80 to 100 KB. STACKPACK_OK or STACKPACK_NO_MEMORY.
 * Unsafe in a signal handler, as is stackpack_unwinder_close. */
enum stackpack_error stackpack_unwinder_open(struct stackpack_unwinder *unwinder);
void stackpack_unwinder_close(struct stackpack_unwinder *unwinder);

/* Moves *context to the caller's frame: the `unwind` of struct stackpack_walker, with a struct
 * stackpack_unwinder as `unwinder`.
 *
 * STACKPACK_OUTERMOST: the tables say so (of _start, and of a thread's first function), or the
 * return address is 0. makecontext and most libraries of fibers make a first frame that no table
 * describes: there the walk ends by its bounds, if their `end` is the stack pointer after the
 * return of the fiber's first function. (In that function it is
 * (uintptr_t)__builtin_dwarf_cfa().) */
enum stackpack_unwound stackpack_unwinder_step(void *unwinder, struct stackpack_stack stack,
                                               struct stackpack_context *context);

/* The reason for STACKPACK_NOT_UNWOUND from the last step. */
enum stackpack_unwinder_reason {
  STACKPACK_UNWINDER_NO_REASON,
  STACKPACK_UNWINDER_NO_TABLE,     /* no unwind table covers the address */
  STACKPACK_UNWINDER_BAD_TABLE,    /* it is unreadable, wrong, or of an unusual form */
  STACKPACK_UNWINDER_REGISTER,     /* the frame's rules need an unknown register */
  STACKPACK_UNWINDER_OUT_OF_STACK, /* a saved register would be outside the stack, or misaligned */
};
enum stackpack_unwinder_reason stackpack_unwinder_reason(const struct stackpack_unwinder *unwinder);

/* A sentence fragment in English, without a full stop. Static storage. */
const char *stackpack_unwinder_text(enum stackpack_unwinder_reason reason);

/* Forgets all call sites. To be called after a dlclose, before the next walk: other code may come
 * to lie at the same addresses. */
void stackpack_unwinder_forget(struct stackpack_unwinder *unwinder);

/* Calls function(&context, closure), where *context is the caller's frame as it will be when this
 * function returns. The callee-saved registers are saved in memory here, where a walk finds and
 * updates them, and are loaded from there on return. A collecting C function needs this help: the
 * compiler may keep its callers' references in registers across the collection. */
void stackpack_unwinder_call(void (*function)(struct stackpack_context *context, void *closure),
                             void *closure);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
