/* unwinder.c - tests single steps of the unwinder, in this very program.
 *
 * The main test runs code one instruction at a time, with the processor's trap flag, and unwinds at
 * every instruction: in prologues and epilogues, in the stubs for calls of libraries, and in the C
 * library. From each it must get to the same frame, and find the same registers.
 */
#include "runtime/stackpack_unwind.h"
#include "suite.h"

#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

static struct stackpack_unwinder unwinder;

static struct stackpack_stack this_stack(void) {
  pthread_attr_t attributes;
  void *low;
  size_t size;
  ck_assert_int_eq(pthread_getattr_np(pthread_self(), &attributes), 0);
  ck_assert_int_eq(pthread_attr_getstack(&attributes, &low, &size), 0);
  pthread_attr_destroy(&attributes);
  return (struct stackpack_stack){(uintptr_t)low, (uintptr_t)low + size};
}

static uintptr_t value_of(const struct stackpack_context *context, unsigned reg) {
  ck_assert_uint_ne(context->known >> reg & 1, 0);
  return (context->in_memory >> reg & 1) != 0 ? *(const uintptr_t *)context->registers[reg]
                                              : context->registers[reg];
}

/* ---- At every instruction ---- */

/* Calls function(argument) one instruction at a time, with fixed values in the callee-saved
 * registers. anchor_return and anchor_sp are the pc and the stack pointer of the last frame. */
long call_stepping(long (*function)(long), long argument);
extern const char anchor_return[], anchor_end[];
static volatile uintptr_t anchor_sp __attribute__((used)); /* written by the assembly */
__asm__(".text\n"
        ".type call_stepping, @function\n"
        "call_stepping:\n"
        ".cfi_startproc\n"
        "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "pushq %rbx\n.cfi_def_cfa_offset 24\n.cfi_offset %rbx, -24\n"
        "pushq %r12\n.cfi_def_cfa_offset 32\n.cfi_offset %r12, -32\n"
        "pushq %r13\n.cfi_def_cfa_offset 40\n.cfi_offset %r13, -40\n"
        "pushq %r14\n.cfi_def_cfa_offset 48\n.cfi_offset %r14, -48\n"
        "pushq %r15\n.cfi_def_cfa_offset 56\n.cfi_offset %r15, -56\n"
        "subq $8, %rsp\n.cfi_def_cfa_offset 64\n"
        "movq %rsp, anchor_sp(%rip)\n"
        "movq %rdi, %rax\n"
        "movq %rsi, %rdi\n"
        "movl $0xb0b0, %ebp\n"
        "movl $0xbb, %ebx\n"
        "movl $0x1212, %r12d\n"
        "movl $0x1313, %r13d\n"
        "movl $0x1414, %r14d\n"
        "movl $0x1515, %r15d\n"
        "pushfq\n.cfi_adjust_cfa_offset 8\n"
        "orl $0x100, (%rsp)\n"
        "popfq\n.cfi_adjust_cfa_offset -8\n"
        "callq *%rax\n"
        "anchor_return:\n"
        "pushfq\n.cfi_adjust_cfa_offset 8\n"
        "andl $~0x100, (%rsp)\n"
        "popfq\n.cfi_adjust_cfa_offset -8\n"
        "anchor_end:\n"
        "addq $8, %rsp\n.cfi_def_cfa_offset 56\n"
        "popq %r15\n.cfi_def_cfa_offset 48\n"
        "popq %r14\n.cfi_def_cfa_offset 40\n"
        "popq %r13\n.cfi_def_cfa_offset 32\n"
        "popq %r12\n.cfi_def_cfa_offset 24\n"
        "popq %rbx\n.cfi_def_cfa_offset 16\n"
        "popq %rbp\n.cfi_def_cfa_offset 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size call_stepping, . - call_stepping\n");

/* The first fault. */
static struct {
  unsigned long steps, good, deepest, doubled;
  uintptr_t bad_pc, stopped_at;
  enum stackpack_unwinder_reason reason;
  const char *what;
} seen;
static struct stackpack_stack stack;

static const unsigned preserved[] = {STACKPACK_RBX, STACKPACK_RBP, STACKPACK_R12,
                                     STACKPACK_R13, STACKPACK_R14, STACKPACK_R15};
enum { PRESERVED = sizeof preserved / sizeof *preserved };
static uintptr_t expected[PRESERVED];

/* Whether the registers equal the anchor's. They get other values then, expected at the next
 * instruction: the interrupted function may have saved, or restored, any of them already. */
static const char *check_anchor(const struct stackpack_context *context) {
  if (context->stack_pointer != anchor_sp)
    return "another stack pointer";
  for (unsigned i = 0; i < PRESERVED; i++) {
    const unsigned reg = preserved[i];
    if (((context->known & context->in_memory) >> reg & 1) == 0)
      return "a register that isn't known";
    if (value_of(context, reg) != expected[i])
      return "another register";
    expected[i] += 0x10000;
    *(uintptr_t *)context->registers[reg] = expected[i];
    if ((context->doubled >> reg & 1) != 0)
      *(uintptr_t *)context->seconds[reg] = expected[i];
    seen.doubled += context->doubled >> reg & 1;
  }
  return NULL;
}

/* Unwinds to the anchor; NULL, or the fault. */
static const char *unwind_to_anchor(struct stackpack_context *context) {
  enum stackpack_unwound result = STACKPACK_UNWOUND;
  for (unsigned long depth = 0; result == STACKPACK_UNWOUND && context->stack_pointer <= anchor_sp;
       depth++) {
    if (depth > seen.deepest)
      seen.deepest = depth;
    if (context->stack_pointer == anchor_sp && context->pc == (uintptr_t)anchor_return)
      return check_anchor(context);
    result = stackpack_unwinder_step(&unwinder, stack, context);
  }
  return "the anchor was not met";
}

static void try_context(struct stackpack_context *context, void *closure) {
  struct stackpack_context walked = *context;
  const char *what = unwind_to_anchor(&walked);
  seen.good += what == NULL;
  if (what == NULL || seen.what != NULL)
    return;
  seen.what = what;
  seen.bad_pc = *(const uintptr_t *)closure;
  seen.stopped_at = walked.pc;
  seen.reason = stackpack_unwinder_reason(&unwinder);
}

/* Unwinds from the instruction itself, and from here, through the signal's frame. */
static void at_instruction(int number, siginfo_t *info, void *ucontext) {
  (void)number, (void)info;
  struct stackpack_context context = stackpack_context_at_signal(ucontext);
  uintptr_t pc = context.pc;
  if (pc >= (uintptr_t)anchor_return && pc <= (uintptr_t)anchor_end)
    return; /* the stepping is being switched off */
  seen.steps++;
  try_context(&context, &pc);
  stackpack_unwinder_call(try_context, &pc);
}

static int compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

__attribute__((noinline)) static long dynamic(long n) {
  _Alignas(64) char aligned[64];
  char *room = __builtin_alloca((size_t)n % 100 + 1);
  snprintf(aligned, sizeof aligned, "%ld", n);
  room[0] = aligned[0];
  return room[0] + (long)strlen(aligned);
}

__attribute__((noinline)) static long various(long n) {
  int numbers[] = {3, 1, 2, 5, 4};
  char text[100];
  qsort(numbers, 5, sizeof numbers[0], compare);
  snprintf(text, sizeof text, "%d %s %.3f", numbers[2], "word", (double)n / 3);
  return dynamic(n) + (long)strlen(text) + numbers[4];
}

TEST(at_every_instruction) {
  struct sigaction before, action = {.sa_sigaction = at_instruction, .sa_flags = SA_SIGINFO};
  const uintptr_t start[] = {0xbb, 0xb0b0, 0x1212, 0x1313, 0x1414, 0x1515};
  memcpy(expected, start, sizeof expected);
  memset(&seen, 0, sizeof seen);
  stack = this_stack();
  ck_assert_int_eq(stackpack_unwinder_open(&unwinder), STACKPACK_OK);
  sigaction(SIGTRAP, &action, &before);
  const long result = call_stepping(various, 1234);
  sigaction(SIGTRAP, &before, NULL);
  stackpack_unwinder_close(&unwinder);
  ck_assert_int_eq(result, various(1234));
  ck_assert_msg(seen.what == NULL, "at %#lx: %s; at %#lx: %s; good: %lu of twice %lu",
                (long)seen.bad_pc, seen.what, (long)seen.stopped_at,
                stackpack_unwinder_text(seen.reason), seen.good, seen.steps);
  ck_assert_uint_gt(seen.steps, 2000);
  ck_assert_uint_eq(seen.good, 2 * seen.steps);
  ck_assert_uint_gt(seen.deepest, 4);
  ck_assert_uint_gt(seen.doubled, 100);
}

/* ---- Hand-made stacks ---- */

/* Functions that are never called. Of each, the frame in the middle agrees with the rules. */
extern const char pushes[], framed[], computed[], arguments[], part[], untouched[], throws[],
    thrown[], installs[];
__asm__(".text\n"
        ".cfi_startproc\n"
        "nop\n"
        ".cfi_def_cfa_offset 64\n"
        ".cfi_offset %rbp, -16\n"
        ".cfi_offset %rbx, -24\n"
        ".cfi_offset %r15, -56\n"
        "nop\n"
        "pushes: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "nop\n"
        ".cfi_def_cfa %rbp, 16\n"
        ".cfi_offset %rbp, -16\n"
        "nop\n"
        "framed: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "nop\n"
        ".cfi_escape 0x16, 3, 2, 0x77, 24\n" /* DW_CFA_val_expression: %rbx = %rsp + 24 */
        "nop\n"
        "computed: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "nop\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset %rax, -16\n"
        ".cfi_offset %rdx, -24\n"
        ".cfi_offset %rcx, -32\n"
        "nop\n"
        "arguments: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        ".cfi_offset %rbx, -24\n"
        "nop\n"
        "part: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "nop\n"
        "untouched: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        ".cfi_def_cfa_offset 32\n"
        ".cfi_offset %rax, -16\n"
        ".cfi_offset %rdx, -24\n"
        "callq *%rax\n"
        "throws: ud2\n"
        ".cfi_def_cfa_offset 8\n"
        ".cfi_restore %rax\n"
        ".cfi_restore %rdx\n"
        "thrown: ud2\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "callq *%rax\n"
        "installs: ud2\n"
        ".cfi_endproc\n");

/* A stack that ends at unreadable memory. */
enum { WORDS = 512, BYTES = 4096 };
static uintptr_t *make_stack(void) {
  uintptr_t *words =
      mmap(NULL, 2 * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(words, MAP_FAILED);
  ck_assert_int_eq(mprotect((char *)words + BYTES, BYTES, PROT_NONE), 0);
  stack = (struct stackpack_stack){(uintptr_t)words, (uintptr_t)words + BYTES};
  ck_assert_int_eq(stackpack_unwinder_open(&unwinder), STACKPACK_OK);
  return words;
}

static void end_stack(void) {
  stackpack_unwinder_close(&unwinder);
  munmap((void *)(stack.end - BYTES), 2 * BYTES);
}

static struct stackpack_context context_at(const char *pc, const uintptr_t *stack_pointer) {
  return (struct stackpack_context){.pc = (uintptr_t)pc, .stack_pointer = (uintptr_t)stack_pointer};
}

static void expect_not_unwound(struct stackpack_context context,
                               enum stackpack_unwinder_reason reason) {
  const struct stackpack_context before = context;
  for (int i = 0; i < 2; i++) { /* with rules that are found, and that are remembered */
    ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_NOT_UNWOUND);
    ck_assert_int_eq(stackpack_unwinder_reason(&unwinder), reason);
    ck_assert_mem_eq(&context, &before, sizeof context);
  }
}

TEST(saved_registers) {
  uintptr_t *words = make_stack(), r12 = 12, rbx = 3;
  struct stackpack_context context = context_at(pushes, words);
  words[7] = (uintptr_t)untouched;
  stackpack_context_save(&context, STACKPACK_RBX, &rbx);
  stackpack_context_save(&context, STACKPACK_R12, &r12);
  stackpack_context_set(&context, STACKPACK_R13, 13);
  stackpack_context_set(&context, 0, 1); /* rax doesn't outlast a call */
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.pc, (uintptr_t)untouched);
  ck_assert_uint_eq(context.stack_pointer, (uintptr_t)&words[8]);
  ck_assert_uint_eq(context.is_exact, 0);
  ck_assert_uint_eq(context.known, 1 << STACKPACK_RBX | 1 << STACKPACK_RBP | 1 << STACKPACK_R12 |
                                       1 << STACKPACK_R13 | 1 << STACKPACK_R15);
  ck_assert_uint_eq(context.in_memory, context.known & ~(1u << STACKPACK_R13));
  ck_assert_uint_eq(context.registers[STACKPACK_RBP], (uintptr_t)&words[6]);
  ck_assert_uint_eq(context.registers[STACKPACK_RBX], (uintptr_t)&words[5]);
  ck_assert_uint_eq(context.registers[STACKPACK_R15], (uintptr_t)&words[1]);
  ck_assert_uint_eq(context.registers[STACKPACK_R12], (uintptr_t)&r12);
  ck_assert_uint_eq(context.registers[STACKPACK_R13], 13);

  /* The next frame saves none: all stay where they are. */
  const struct stackpack_context before = context;
  words[8] = 0x1234;
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.pc, 0x1234);
  ck_assert_uint_eq(context.known, before.known);
  ck_assert_mem_eq(context.registers, before.registers, sizeof context.registers);
  expect_not_unwound(context, STACKPACK_UNWINDER_NO_TABLE);
  end_stack();
}

TEST(a_frame_found_by_a_register) {
  uintptr_t *words = make_stack(), rbp = (uintptr_t)&words[3];
  struct stackpack_context context = context_at(framed, words);
  expect_not_unwound(context, STACKPACK_UNWINDER_REGISTER);
  words[4] = (uintptr_t)untouched;
  stackpack_context_save(&context, STACKPACK_RBP, &rbp);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.pc, (uintptr_t)untouched);
  ck_assert_uint_eq(context.stack_pointer, (uintptr_t)&words[5]);
  ck_assert_uint_eq(context.registers[STACKPACK_RBP], (uintptr_t)&words[3]);
  end_stack();
}

TEST(a_register_that_is_computed) {
  uintptr_t *words = make_stack();
  struct stackpack_context context = context_at(computed, words);
  words[0] = (uintptr_t)untouched;
  words[3] = 77;
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.known, 1 << STACKPACK_RBX);
  ck_assert_uint_eq(context.in_memory, 0);
  ck_assert_uint_eq(context.registers[STACKPACK_RBX], (uintptr_t)&words[3]);
  end_stack();
}

/* A part of a function that begins with a place in the red zone: GCC's has saved the register there, but
 * Clang's leaves the caller's value in the register. */
TEST(a_register_that_may_be_saved) {
  uintptr_t *words = make_stack(), rbx = 3;
  struct stackpack_context context = context_at(part, &words[8]);
  words[8] = (uintptr_t)anchor_return;
  words[6] = 4;
  stackpack_context_save(&context, STACKPACK_RBX, &rbx);
  context.is_exact = 1;
  expect_not_unwound(context, STACKPACK_UNWINDER_BAD_TABLE);
  words[6] = rbx;
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.registers[STACKPACK_RBX], (uintptr_t)&words[6]);
  ck_assert_uint_eq(context.seconds[STACKPACK_RBX], (uintptr_t)&rbx);
  end_stack();
}

/* As in AArch64's _dl_runtime_resolve: a saved argument looks like the exception that a function
 * throws, but such functions save no other registers that a call needn't preserve. */
TEST(saved_arguments) {
  uintptr_t *words = make_stack(), argument[] = {0, 0, 1, 0};
  struct stackpack_context context = context_at(arguments, words);
  context.is_exact = 1;
  words[2] = (uintptr_t)argument;
  words[3] = (uintptr_t)anchor_return;
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.pc, (uintptr_t)anchor_return);
  end_stack();
}

/* Where the copying of a handler's registers calls memcpy. */
TEST(a_throw_two_calls_below) {
  uintptr_t *words = make_stack(), exception[] = {0, 0, 1, 0};
  struct stackpack_context context = context_at(untouched, &words[1]);
  context.is_exact = 1;
  words[1] = (uintptr_t)installs;
  words[2] = (uintptr_t)throws;
  words[5] = (uintptr_t)exception;
  words[6] = (uintptr_t)untouched;
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.pc, (uintptr_t)throws);
  expect_not_unwound(context, STACKPACK_UNWINDER_REGISTER);
  end_stack();
}

/* AArch64 adds to the stack pointer then. */
TEST(a_throw_whose_frame_has_gone) {
  uintptr_t *words = make_stack();
  struct stackpack_context context = context_at(thrown, &words[1]);
  context.is_exact = 1;
  words[1] = (uintptr_t)installs;
  expect_not_unwound(context, STACKPACK_UNWINDER_BAD_TABLE);
  end_stack();
}

static struct stackpack_context interrupted_at(uintptr_t *stack_pointer, uintptr_t word) {
  struct stackpack_context context = context_at(untouched, stack_pointer);
  context.is_exact = 1;
  *stack_pointer = word;
  return context;
}

/* At a signal, the rules may leave out a word that was pushed, and take another one for the return
 * address: no call is before that, or it is a 0 where no frame ends. At the stack's end it may be any. */
TEST(words_that_are_no_return_addresses) {
  uintptr_t *words = make_stack();
  const uintptr_t bad[] = {5, (uintptr_t)untouched, (uintptr_t)words + 64};
  for (unsigned i = 0; i < sizeof bad / sizeof *bad; i++)
    expect_not_unwound(interrupted_at(&words[1], bad[i]), STACKPACK_UNWINDER_BAD_TABLE);
  expect_not_unwound(interrupted_at(&words[0], 0), STACKPACK_UNWINDER_BAD_TABLE);
  struct stackpack_context context = interrupted_at(&words[1], 0);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_OUTERMOST);
  context = interrupted_at(&words[WORDS - 1], 5);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  end_stack();
}

/* A function that a just-in-time compiler makes may begin a page, and its call may be near. */
TEST(a_call_at_the_start_of_memory) {
  static const uint8_t code[] = {0x50 /* push %rax */, 0xe8, 0, 0, 0, 0};
  const size_t page = (size_t)getpagesize();
  uintptr_t *words = make_stack();
  uint8_t *memory = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ck_assert_ptr_ne(memory, MAP_FAILED);
  ck_assert_int_eq(mprotect(memory + page, page, PROT_READ | PROT_WRITE), 0);
  memcpy(memory + page, code, sizeof code);
  const uintptr_t after = (uintptr_t)memory + page + sizeof code;
  struct stackpack_context context = interrupted_at(&words[1], after);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  ck_assert_uint_eq(context.pc, after);
  for (unsigned i = 1; i <= sizeof code; i++)
    expect_not_unwound(interrupted_at(&words[1], after - i), STACKPACK_UNWINDER_BAD_TABLE);
  munmap(memory, 2 * page);
  end_stack();
}

TEST(outermost) {
  uintptr_t *words = make_stack();
  struct stackpack_context context = context_at(untouched, words);
  const struct stackpack_context before = context;
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_OUTERMOST);
  ck_assert_mem_eq(&context, &before, sizeof context);
  end_stack();
}

/* The frame's words would be beyond the end, partly or all of them; or below the start. */
TEST(out_of_the_stack) {
  uintptr_t *words = make_stack();
  for (unsigned i = 0; i < WORDS; i++)
    words[i] = (uintptr_t)untouched;
  for (unsigned i = 0; i <= 7; i++)
    expect_not_unwound(context_at(pushes, &words[WORDS - i]), STACKPACK_UNWINDER_OUT_OF_STACK);
  struct stackpack_context context = context_at(pushes, &words[WORDS - 8]);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  expect_not_unwound(context_at(untouched, (uintptr_t *)((char *)words + 4)),
                     STACKPACK_UNWINDER_OUT_OF_STACK);
  const uintptr_t wild[] = {
      0, 8, stack.low - 8, stack.end, UINTPTR_MAX - 7, UINTPTR_MAX, (uintptr_t)1 << 63};
  for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++) {
    expect_not_unwound(context_at(untouched, (uintptr_t *)wild[i]),
                       STACKPACK_UNWINDER_OUT_OF_STACK);
    context = context_at(framed, words);
    stackpack_context_set(&context, STACKPACK_RBP, wild[i] - 8);
    expect_not_unwound(context, STACKPACK_UNWINDER_OUT_OF_STACK);
  }
  stack.low = (uintptr_t)&words[4]; /* %r15, saved by `pushes`, is below */
  expect_not_unwound(context_at(pushes, words), STACKPACK_UNWINDER_OUT_OF_STACK);
  end_stack();
}

TEST(no_code_there) {
  uintptr_t *words = make_stack();
  const uintptr_t wild[] = {
      0, 1, 4096, (uintptr_t)words, stack.end, UINTPTR_MAX, (uintptr_t)1 << 63};
  for (unsigned i = 0; i < sizeof wild / sizeof *wild; i++)
    for (uint32_t is_exact = 0; is_exact < 2; is_exact++)
      expect_not_unwound((struct stackpack_context){.pc = wild[i],
                                                    .stack_pointer = (uintptr_t)words,
                                                    .is_exact = is_exact},
                         STACKPACK_UNWINDER_NO_TABLE);
  end_stack();
}

static int find_index(struct dl_phdr_info *info, size_t size, void *data) {
  (void)size;
  for (unsigned i = 0; i < info->dlpi_phnum; i++)
    if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
      *(uintptr_t *)data = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
  return 1; /* this program is the first */
}

/* The index of the unwind tables counts more entries than its module has memory for. */
TEST(an_index_without_an_end) {
  uintptr_t *words = make_stack(), index = 0;
  words[0] = 0x1234;
  dl_iterate_phdr(find_index, &index);
  uint32_t *count = (uint32_t *)(index + 8);
  void *page = (void *)(index & -(uintptr_t)BYTES);
  const uint32_t before = *count;
  ck_assert_int_eq(mprotect(page, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC), 0);
  for (*count = UINT32_MAX; *count > before + 0x1000000; *count /= 2) {
    stackpack_unwinder_forget(&unwinder);
    expect_not_unwound(context_at(untouched, words), STACKPACK_UNWINDER_BAD_TABLE);
  }
  *count = before;
  stackpack_unwinder_forget(&unwinder);
  struct stackpack_context context = context_at(untouched, words);
  ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
  end_stack();
}

/* More call sites than are remembered; and forgotten ones. */
TEST(many_call_sites) {
  uintptr_t *words = make_stack();
  words[0] = 0x1234;
  for (int round = 0; round < 3; round++) {
    for (uintptr_t pc = (uintptr_t)various; pc < (uintptr_t)various + 2000; pc++) {
      struct stackpack_context context = context_at((const char *)pc, words);
      stackpack_unwinder_step(&unwinder, stack, &context);
      context = context_at(untouched, words);
      ck_assert_int_eq(stackpack_unwinder_step(&unwinder, stack, &context), STACKPACK_UNWOUND);
      ck_assert_uint_eq(context.pc, 0x1234);
      ck_assert_uint_eq(context.stack_pointer, (uintptr_t)&words[1]);
    }
    stackpack_unwinder_forget(&unwinder);
  }
  end_stack();
}

/* ---- A call that lets registers be updated ---- */

/* Calls stackpack_unwinder_call(update, NULL) with 1 to 6 in the registers, and adds up their
 * values, each in a digit of its own. */
extern uint64_t call_with_registers(void (*update)(struct stackpack_context *, void *));
__asm__(".text\n"
        ".type call_with_registers, @function\n"
        "call_with_registers:\n"
        ".cfi_startproc\n"
        "pushq %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\n"
        "pushq %rbx\n.cfi_def_cfa_offset 24\n.cfi_offset %rbx, -24\n"
        "pushq %r12\n.cfi_def_cfa_offset 32\n.cfi_offset %r12, -32\n"
        "pushq %r13\n.cfi_def_cfa_offset 40\n.cfi_offset %r13, -40\n"
        "pushq %r14\n.cfi_def_cfa_offset 48\n.cfi_offset %r14, -48\n"
        "pushq %r15\n.cfi_def_cfa_offset 56\n.cfi_offset %r15, -56\n"
        "subq $8, %rsp\n.cfi_def_cfa_offset 64\n"
        "movl $1, %ebx\n"
        "movl $2, %ebp\n"
        "movl $3, %r12d\n"
        "movl $4, %r13d\n"
        "movl $5, %r14d\n"
        "movl $6, %r15d\n"
        "xorl %esi, %esi\n"
        "callq stackpack_unwinder_call@PLT\n"
        "registers_return:\n"
        "movq %rbx, %rax\n"
        "shlq $8, %rax\n"
        "addq %rbp, %rax\n"
        "shlq $8, %rax\n"
        "addq %r12, %rax\n"
        "shlq $8, %rax\n"
        "addq %r13, %rax\n"
        "shlq $8, %rax\n"
        "addq %r14, %rax\n"
        "shlq $8, %rax\n"
        "addq %r15, %rax\n"
        "addq $8, %rsp\n.cfi_def_cfa_offset 56\n"
        "popq %r15\n.cfi_def_cfa_offset 48\n"
        "popq %r14\n.cfi_def_cfa_offset 40\n"
        "popq %r13\n.cfi_def_cfa_offset 32\n"
        "popq %r12\n.cfi_def_cfa_offset 24\n"
        "popq %rbx\n.cfi_def_cfa_offset 16\n"
        "popq %rbp\n.cfi_def_cfa_offset 8\n"
        "retq\n"
        ".cfi_endproc\n"
        ".size call_with_registers, . - call_with_registers\n");
extern const char registers_return[];

static void update_registers(struct stackpack_context *context, void *closure) {
  ck_assert_ptr_null(closure);
  ck_assert_uint_eq(context->pc, (uintptr_t)registers_return);
  ck_assert_uint_eq(context->known, STACKPACK_PRESERVED_REGISTERS);
  ck_assert_uint_eq(context->in_memory, STACKPACK_PRESERVED_REGISTERS);
  ck_assert_uint_eq(context->is_exact, 0);
  for (unsigned i = 0; i < PRESERVED; i++) {
    ck_assert_uint_eq(value_of(context, preserved[i]), i + 1);
    *(uintptr_t *)context->registers[preserved[i]] += 0x10;
  }
}

TEST(updated_registers) {
  ck_assert_uint_eq(call_with_registers(update_registers), 0x111213141516);
}
