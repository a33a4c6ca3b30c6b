/* steps.c - stops at each instruction of a random program (steps.py), on x86-64, and compares our unwinder's
 * frames with those of libgcc's _Unwind_Backtrace: the code's address, the stack pointer, and the values of
 * the preserved registers.
 *
 * The processor's trap flag makes a signal of each instruction: also of those in prologues, epilogues and
 * stubs. There, GCC's tables are wrong about functions that align their stack, and libgcc takes another word for
 * the frame pointer, or crashes. So the caller has the last word: when control gets there, the registers must
 * have the values that we promised.
 */
#include "stackpack_unwind.h"

#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <ucontext.h>
#include <unwind.h>

void program(void); /* steps.py */

enum { TRAP_FLAG = 0x100, FRAMES_MAX = 1000, PROMISES_MAX = 1000, PRESERVED = 6 };
static const int preserved[PRESERVED] = {3, 6, 12, 13, 14, 15};

struct frame {
  uintptr_t pc, stack_pointer, registers[PRESERVED];
};

static struct stackpack_unwinder unwinder;
static struct stackpack_stack stack;
static struct frame theirs[FRAMES_MAX];
static unsigned their_count;
static struct stackpack_context interrupted;
static struct frame promises[PROMISES_MAX];
static unsigned promise_count;
static volatile sig_atomic_t stepping;
static sigjmp_buf after_fault;
static unsigned long stops, frames, returns, others, wrong;

#ifdef MUSL
/* Debian's libgcc was built for glibc, which has this function: as in runtime/unwind/tables.c. */
struct dl_find_object {
  unsigned long long flags;
  void *start, *end, *link_map, *eh_frame;
  unsigned long long reserved[7];
};

struct object_search {
  uintptr_t address;
  struct dl_find_object *result;
};

static int look_at_object(struct dl_phdr_info *info, size_t size, void *closure) {
  const struct object_search *search = closure;
  uintptr_t low = UINTPTR_MAX, high = 0;
  (void)size;
  search->result->eh_frame = NULL;
  for (unsigned i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    const uintptr_t start = info->dlpi_addr + segment->p_vaddr;
    if (segment->p_type == PT_GNU_EH_FRAME)
      search->result->eh_frame = (void *)start;
    if (segment->p_type != PT_LOAD)
      continue;
    low = start < low ? start : low;
    high = start + segment->p_memsz > high ? start + segment->p_memsz : high;
  }
  search->result->start = (void *)low;
  search->result->end = (void *)high;
  return search->address >= low && search->address < high;
}

int _dl_find_object(void *address, struct dl_find_object *result);
int _dl_find_object(void *address, struct dl_find_object *result) {
  struct object_search search = {(uintptr_t)address, result};
  *result = (struct dl_find_object){0};
  return dl_iterate_phdr(look_at_object, &search) != 0 && result->eh_frame != NULL ? 0 : -1;
}
#endif

/* Takes a frame, from the interrupted one on. The outermost frame's caller is at 0. */
static _Unwind_Reason_Code take_theirs(struct _Unwind_Context *context, void *closure) {
  struct frame *frame = &theirs[their_count];
  (void)closure;
  frame->pc = _Unwind_GetIP(context);
  if (frame->pc == 0)
    return _URC_END_OF_STACK;
  frame->stack_pointer = _Unwind_GetCFA(context);
  if (their_count == 0 &&
      (frame->pc != interrupted.pc || frame->stack_pointer != interrupted.stack_pointer))
    return _URC_NO_REASON;
  for (unsigned i = 0; i < PRESERVED; i++)
    frame->registers[i] = _Unwind_GetGR(context, preserved[i]);
  return ++their_count < FRAMES_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* ---- Ours ---- */

static bool frame_of(const struct stackpack_context *context, struct frame *frame) {
  *frame = (struct frame){context->pc, context->stack_pointer, {0}};
  for (unsigned i = 0; i < PRESERVED; i++) {
    const int reg = preserved[i];
    const uintptr_t word = context->registers[reg];
    if ((context->known >> reg & 1) == 0)
      return false;
    frame->registers[i] = (context->in_memory >> reg & 1) != 0 ? *(const uintptr_t *)word : word;
  }
  return true;
}

static void tell(const char *fault, const struct frame *frame) {
  wrong++;
  fprintf(stderr, "from %#lx: %s: at %#lx, stack pointer %#lx; %s\n", (long)interrupted.pc, fault,
          (long)frame->pc, (long)frame->stack_pointer,
          stackpack_unwinder_text(stackpack_unwinder_reason(&unwinder)));
}

/* Of the interrupted function's caller, if it is known; once. */
static void promise(void) {
  struct stackpack_context context = interrupted;
  struct frame frame;
  if (stackpack_unwinder_step(&unwinder, stack, &context) != STACKPACK_UNWOUND)
    return;
  if (!frame_of(&context, &frame) || promise_count == PROMISES_MAX)
    tell("a caller without registers", &frame);
  for (unsigned i = promise_count; i > 0; i--)
    if (memcmp(&promises[i - 1], &frame, sizeof frame) == 0)
      return;
  promises[promise_count++ % PROMISES_MAX] = frame;
}

static void keep_promises(void) {
  struct frame now;
  unsigned left = 0;
  frame_of(&interrupted, &now);
  for (unsigned i = 0; i < promise_count; i++)
    if (promises[i].pc != now.pc || promises[i].stack_pointer != now.stack_pointer)
      promises[left++] = promises[i];
    else if (memcmp(&promises[i], &now, sizeof now) == 0)
      returns++;
    else
      tell("a register had another value", &now);
  promise_count = left;
}

/* Whether all of their frames are ours. */
static bool is_same(void) {
  struct stackpack_context context = interrupted;
  struct frame frame;
  for (unsigned i = 0; i < their_count; i++) {
    if (!frame_of(&context, &frame) || memcmp(&frame, &theirs[i], sizeof frame) != 0)
      return false;
    const bool is_unwound =
        stackpack_unwinder_step(&unwinder, stack, &context) == STACKPACK_UNWOUND;
    if (is_unwound != (i + 1 < their_count))
      return false;
  }
  frames += their_count;
  return true;
}

static void at_fault(int number) {
  (void)number;
  siglongjmp(after_fault, 1);
}

static void at_signal(int number, siginfo_t *info, void *ucontext) {
  greg_t *flags = &((ucontext_t *)ucontext)->uc_mcontext.gregs[REG_EFL];
  (void)number, (void)info;
  *flags = stepping ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
  interrupted = stackpack_context_at_signal(ucontext);
  their_count = 0;
  stops++;
  keep_promises();
  const bool has_faulted = sigsetjmp(after_fault, 1) != 0;
  if (!has_faulted)
    _Unwind_Backtrace(take_theirs, NULL);
  others += has_faulted || !is_same();
  promise();
}

int main(int count, char **arguments) {
  const struct sigaction trap = {.sa_sigaction = at_signal, .sa_flags = SA_SIGINFO},
                         fault = {.sa_handler = at_fault};
  (void)count;
  stack = (struct stackpack_stack){(uintptr_t)&trap - (1 << 20),
                                   (uintptr_t)arguments & -sizeof(uintptr_t)};
  if (stackpack_unwinder_open(&unwinder) != STACKPACK_OK || sigaction(SIGTRAP, &trap, NULL) != 0 ||
      sigaction(SIGSEGV, &fault, NULL) != 0)
    return 2;
  stepping = 1;
  raise(SIGTRAP);
  program();
  stepping = 0;
  __asm__ volatile("nop");
  for (unsigned i = 0; i < promise_count; i++) /* of main's callees */
    wrong += promises[i].stack_pointer < (uintptr_t)&trap;
  printf("stops %lu frames %lu others %lu returns %lu wrong %lu\n", stops, frames, others, returns,
         wrong);
  return wrong > 0;
}
