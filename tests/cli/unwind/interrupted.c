/* interrupted.c - signals come at any instruction, on AArch64 and RISC-V; each is unwound to a
 * fixed frame.
 *
 * Some work is called with fixed values in all callee-saved registers. A timer's signals come
 * while it runs: in prologues and epilogues, in the stubs for calls of libraries, in the C
 * library and the dynamic linker. From each, unwinding must get to the frame that called the work, and
 * find the registers' values. It changes them; the work must go on to restore the changed ones.
 *
 *   interrupted SIGNALS PLT SIZE     (the section's address and size in hex, to count those in stubs)
 */
#include "stackpack_unwind.h"

#include <ctype.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* work_between(values, work): loads the preserved registers from values[], calls work, stores them there. */
void work_between(uintptr_t *values, void (*work)(void));
extern const char anchor[];
uintptr_t anchor_stack_pointer;

#ifdef __aarch64__
enum { PRESERVED = 11 };
static const unsigned preserved[PRESERVED] = {19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29};
__asm__(".text\n"
        ".globl work_between\n"
        ".type work_between, %function\n"
        "work_between:\n"
        ".cfi_startproc\n"
        "sub sp, sp, #112\n"
        ".cfi_def_cfa_offset 112\n"
        "stp x19, x20, [sp]\n.cfi_offset 19, -112\n.cfi_offset 20, -104\n"
        "stp x21, x22, [sp, #16]\n.cfi_offset 21, -96\n.cfi_offset 22, -88\n"
        "stp x23, x24, [sp, #32]\n.cfi_offset 23, -80\n.cfi_offset 24, -72\n"
        "stp x25, x26, [sp, #48]\n.cfi_offset 25, -64\n.cfi_offset 26, -56\n"
        "stp x27, x28, [sp, #64]\n.cfi_offset 27, -48\n.cfi_offset 28, -40\n"
        "stp x29, x30, [sp, #80]\n.cfi_offset 29, -32\n.cfi_offset 30, -24\n"
        "str x0, [sp, #96]\n"
        "adrp x9, anchor_stack_pointer\n"
        "mov x10, sp\n"
        "str x10, [x9, :lo12:anchor_stack_pointer]\n"
        "mov x9, x1\n"
        "ldp x19, x20, [x0]\n"
        "ldp x21, x22, [x0, #16]\n"
        "ldp x23, x24, [x0, #32]\n"
        "ldp x25, x26, [x0, #48]\n"
        "ldp x27, x28, [x0, #64]\n"
        "ldr x29, [x0, #80]\n"
        "blr x9\n"
        ".globl anchor\nanchor:\n"
        "ldr x0, [sp, #96]\n"
        "stp x19, x20, [x0]\n"
        "stp x21, x22, [x0, #16]\n"
        "stp x23, x24, [x0, #32]\n"
        "stp x25, x26, [x0, #48]\n"
        "stp x27, x28, [x0, #64]\n"
        "str x29, [x0, #80]\n"
        "ldp x19, x20, [sp]\n.cfi_restore 19\n.cfi_restore 20\n"
        "ldp x21, x22, [sp, #16]\n.cfi_restore 21\n.cfi_restore 22\n"
        "ldp x23, x24, [sp, #32]\n.cfi_restore 23\n.cfi_restore 24\n"
        "ldp x25, x26, [sp, #48]\n.cfi_restore 25\n.cfi_restore 26\n"
        "ldp x27, x28, [sp, #64]\n.cfi_restore 27\n.cfi_restore 28\n"
        "ldp x29, x30, [sp, #80]\n.cfi_restore 29\n.cfi_restore 30\n"
        "add sp, sp, #112\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size work_between, . - work_between\n");
#else
enum { PRESERVED = 12 };
static const unsigned preserved[PRESERVED] = {8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27};
#define ALL "8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27"
__asm__(".text\n"
        ".globl work_between\n"
        ".type work_between, @function\n"
        "work_between:\n"
        ".cfi_startproc\n"
        "addi sp, sp, -256\n"
        ".cfi_def_cfa_offset 256\n"
        "sd ra, 0(sp)\n"
        ".cfi_offset 1, -256\n"
        ".irp register, " ALL "\n"
        "sd x\\register, 8 + 8 * \\register(sp)\n"
        ".cfi_offset \\register, 8 + 8 * \\register - 256\n"
        ".endr\n"
        "sd a0, 8(sp)\n"
        "la t0, anchor_stack_pointer\n"
        "sd sp, 0(t0)\n"
        "mv t0, a0\n"
        ".irp register, " ALL "\n"
        "ld x\\register, 0(t0)\n"
        "addi t0, t0, 8\n"
        ".endr\n"
        "jalr a1\n"
        ".globl anchor\nanchor:\n"
        "ld t0, 8(sp)\n"
        ".irp register, " ALL "\n"
        "sd x\\register, 0(t0)\n"
        "addi t0, t0, 8\n"
        "ld x\\register, 8 + 8 * \\register(sp)\n"
        ".cfi_restore \\register\n"
        ".endr\n"
        "ld ra, 0(sp)\n"
        ".cfi_restore 1\n"
        "addi sp, sp, 256\n"
        ".cfi_def_cfa_offset 0\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size work_between, . - work_between\n");
#endif

static struct stackpack_unwinder unwinder;
static struct stackpack_process process;
static struct stackpack_module modules[8];
static const struct stackpack_walker walker = {.process = &process,
                                               .managed = STACKPACK_BY_UNWINDING,
                                               .native = STACKPACK_BY_UNWINDING,
                                               .unwind = stackpack_unwinder_step,
                                               .unwinder = &unwinder};
static struct stackpack_stack stack;
static uintptr_t expected[PRESERVED];
static volatile sig_atomic_t working;
static uintptr_t plt, plt_size;
static unsigned long signals, in_stubs, frames, doubled, wrong;

/* ---- A signal ---- */

static const char *check_registers(const struct stackpack_context *context) {
  for (unsigned i = 0; i < PRESERVED; i++) {
    const unsigned reg = preserved[i];
    if (((context->known & context->in_memory) >> reg & 1) == 0)
      return "a register that isn't known";
    uintptr_t *place = (uintptr_t *)context->registers[reg];
    if (*place != expected[i])
      return "another register";
    *place = expected[i] += 0x10000;
    if ((context->doubled >> reg & 1) != 0)
      *(uintptr_t *)context->seconds[reg] = expected[i];
    doubled += context->doubled >> reg & 1;
  }
  return NULL;
}

/* NULL, or the fault. With `tell`, the frames are printed. */
static const char *unwind(const struct stackpack_context *context, bool tell) {
  struct stackpack_walk walk;
  enum stackpack_walk_answer answer;
  stackpack_walk_start(&walk, &walker, stack, context);
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(&walk)) &&
         walk.context.stack_pointer <= anchor_stack_pointer) {
    if (tell)
      fprintf(stderr, "  at %#lx, stack pointer %#lx\n", (long)walk.context.pc,
              (long)walk.context.stack_pointer);
    else if (walk.context.stack_pointer == anchor_stack_pointer &&
             walk.context.pc == (uintptr_t)anchor)
      return check_registers(&walk.context);
    frames++;
  }
  return stackpack_walk_is_frame(answer) ? "it missed the anchor"
         : answer == STACKPACK_WALK_NOT_UNWOUND
             ? stackpack_unwinder_text(stackpack_unwinder_reason(&unwinder))
             : stackpack_walk_text(answer);
}

static void unwind_from(struct stackpack_context *context, void *closure) {
  const uintptr_t pc = *(const uintptr_t *)closure;
  const char *what = unwind(context, false);
  if (what == NULL)
    return;
  wrong++;
  fprintf(stderr, "from %#lx: %s\n", (long)pc, what);
  unwind(context, true);
}

/* Once: the next time is when the handler is done, so that the work goes on in between. */
static void set_timer(void) {
  const struct itimerval soon = {{0, 0}, {0, 500 + (long)(signals * 7919 % 1000)}};
  setitimer(ITIMER_REAL, &soon, NULL);
}

/* Unwinds from the instruction itself, and from here, through the signal's frame. */
static void at_signal(int number, siginfo_t *info, void *ucontext) {
  (void)number, (void)info;
  struct stackpack_context context = stackpack_context_at_signal(ucontext);
  uintptr_t pc = context.pc;
  if (working) {
    signals++;
    in_stubs += pc - plt < plt_size;
    unwind_from(&context, &pc);
    stackpack_unwinder_call(unwind_from, &pc);
  }
  set_timer();
}

/* ---- The dynamic linker ---- */

#ifdef __aarch64__
/* The target of a stub's header, where functions are looked up lazily: the third word of the table
 * that the dynamic section names. 0 where there is none. */
static uintptr_t find_resolver(void) {
  for (const ElfW(Dyn) *entry = _DYNAMIC; entry->d_tag != DT_NULL; entry++)
    if (entry->d_tag == DT_PLTGOT)
      return ((const uintptr_t *)entry->d_un.d_ptr)[2];
  return 0;
}

/* At its first instruction, the header has pushed a word and the return address: signals seldom come there. */
static bool resolver_is_passed(void) {
  const uintptr_t resolver = find_resolver();
  uintptr_t pushed[] = {0, (uintptr_t)anchor}, values[PRESERVED] = {0};
  struct stackpack_context context = {
      .pc = resolver, .stack_pointer = (uintptr_t)pushed, .is_exact = 1};
  for (unsigned i = 0; i < PRESERVED; i++)
    stackpack_context_save(&context, preserved[i], &values[i]);
  stackpack_context_set(&context, 30, (uintptr_t)anchor);
  return resolver == 0 ||
         (stackpack_unwinder_step(&unwinder, stack, &context) == STACKPACK_UNWOUND &&
          context.pc == (uintptr_t)anchor && context.stack_pointer == (uintptr_t)(pushed + 2) &&
          context.registers[19] == (uintptr_t)&values[0]);
}

/* ---- Rules that aren't exact ---- */

/* Functions whose rules pass over prologues and epilogues, and over code without the frame. */
extern const char in_prologue[], in_frame[], in_epilogue[], without_frame[], in_pointed_frame[],
    in_pointed_epilogue[], without_pointed_frame[], in_leaf[], in_part[], before_save[],
    after_save[];
__asm__(".text\n"
        ".cfi_startproc\n"
        "sub sp, sp, #32\n"
        "in_prologue: str x19, [sp]\n"
        ".cfi_def_cfa_offset 32\n"
        "in_frame: nop\n"
        "add sp, sp, #32\n"
        "in_epilogue: ret\n"
        "without_frame: ret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "stp x29, x30, [sp, #-16]!\n"
        "mov x29, sp\n"
        ".cfi_def_cfa 29, 16\n"
        ".cfi_offset 30, -8\n"
        ".cfi_offset 29, -16\n"
        "in_pointed_frame: nop\n"
        "ldp x29, x30, [sp], #16\n"
        "in_pointed_epilogue: ret\n"
        ".fill 400, 4, 0xd503201f\n" /* nop */
        "without_pointed_frame: ret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "in_leaf: ldr x0, [sp, #16]\n"
        "ret\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n"
        "sub sp, sp, #16\n"
        ".cfi_def_cfa_offset 16\n"
        ".cfi_offset 30, -8\n"
        "before_save: stp x0, x30, [sp]\n"
        "after_save: nop\n"
        ".cfi_endproc\n"
        ".cfi_startproc\n" /* of several functions' epilogues */
        "in_part: nop\n"
        "ldp x20, x19, [sp, #16]\n"
        "ret\n"
        ".cfi_endproc\n");

static bool is_unwound_at(const char *pc) {
  uintptr_t words[] = {0, (uintptr_t)anchor, 0, 0, 0, (uintptr_t)anchor}, values[PRESERVED] = {0};
  struct stackpack_context context = {
      .pc = (uintptr_t)pc, .stack_pointer = (uintptr_t)words, .is_exact = 1};
  for (unsigned i = 0; i < PRESERVED; i++)
    stackpack_context_save(&context, preserved[i], &values[i]);
  stackpack_context_set(&context, STACKPACK_FRAME_POINTER, (uintptr_t)words);
  stackpack_context_set(&context, 30, (uintptr_t)anchor);
  return stackpack_unwinder_step(&unwinder, stack, &context) == STACKPACK_UNWOUND &&
         context.pc == (uintptr_t)anchor;
}

static bool rules_are_checked(void) {
  return is_unwound_at(in_frame) && is_unwound_at(in_pointed_frame) &&
         !is_unwound_at(in_prologue) && !is_unwound_at(in_epilogue) &&
         !is_unwound_at(without_frame) && !is_unwound_at(in_pointed_epilogue) &&
         !is_unwound_at(without_pointed_frame) && is_unwound_at(in_leaf) &&
         is_unwound_at(after_save) && !is_unwound_at(before_save) && !is_unwound_at(in_part);
}
#else
static bool resolver_is_passed(void) { return true; }
static bool rules_are_checked(void) { return true; }
#endif

/* ---- Work ---- */

static long numbers[64];

static int compare(const void *a, const void *b) {
  const long x = *(const long *)a, y = *(const long *)b;
  return (x > y) - (x < y);
}

__attribute__((noinline)) static long deep(long n) {
  char text[32];
  if (n == 0)
    return (long)strlen("work");
  snprintf(text, sizeof text, "%ld %lx", n, n * n);
  return deep(n - 1) + atol(text) + (long)strlen(text);
}

/* Calls through stubs, each of a few instructions. */
__attribute__((noinline)) static long stubs(long n) {
  volatile int value = (int)n;
  for (long i = 0; i < n; i++)
    value = abs(value) + toupper(value % 128) - (int)labs(value);
  return value;
}

static void work(void) {
  working = 1;
  for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
    numbers[i] = random() % 1000;
  qsort(numbers, sizeof numbers / sizeof *numbers, sizeof *numbers, compare);
  numbers[0] += deep(6) + stubs(200);
  working = 0;
}

static void find_stack(void) {
  pthread_attr_t attributes;
  void *low;
  size_t size;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0 ||
      pthread_attr_getstack(&attributes, &low, &size) != 0)
    abort();
  pthread_attr_destroy(&attributes);
  stack = (struct stackpack_stack){(uintptr_t)low, (uintptr_t)low + size};
}

int main(int argc, char **argv) {
  if (argc != 4 || stackpack_unwinder_open(&unwinder) != STACKPACK_OK)
    return 2;
  const unsigned long enough = strtoul(argv[1], NULL, 10);
  plt = strtoul(argv[2], NULL, 16);
  plt_size = strtoul(argv[3], NULL, 16);
  (void)stackpack_process_open(&process, modules, 8); /* no module has stack maps */
  find_stack();
  if (!resolver_is_passed()) {
    fprintf(stderr, "at the dynamic linker's first instruction: %s\n",
            stackpack_unwinder_text(stackpack_unwinder_reason(&unwinder)));
    return 1;
  }
  if (!rules_are_checked()) {
    fprintf(stderr, "at instructions that rules pass over: a guess, or a frame isn't passed\n");
    return 1;
  }
  for (unsigned i = 0; i < PRESERVED; i++)
    expected[i] = 0x5a5a5a5a00001000 + i; /* a unique word: the same one counts as a copy */
  const struct sigaction action = {.sa_sigaction = at_signal, .sa_flags = SA_SIGINFO | SA_RESTART};
  sigaction(SIGALRM, &action, NULL);
  set_timer();
  uintptr_t values[PRESERVED];
  while (signals < enough) {
    memcpy(values, expected, sizeof values);
    work_between(values, work);
    if (memcmp(values, expected, sizeof values) != 0) {
      fprintf(stderr, "the work hasn't restored what was changed\n");
      wrong++;
    }
  }
  printf("signals %lu\nin_stubs %lu\nframes %lu\ndoubled %lu\nwrong %lu\n", signals, in_stubs,
         frames, doubled, wrong);
  stackpack_unwinder_close(&unwinder);
  return wrong != 0;
}
