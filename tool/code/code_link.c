/* code_link.c - see code_link.h. */
#include "tool/code/code_link.h"

enum { FAR = 1 << 16 }; /* more than vectors have bytes */

enum code_stack_base link_base(const struct link_machine *machine, unsigned number) {
  return number == machine->stack   ? CODE_STACK_POINTER
         : number == machine->frame ? CODE_FRAME_POINTER
                                    : CODE_NO_BASE;
}

void link_set_direct(struct code_instruction *instruction, enum code_kind kind, uint64_t target) {
  instruction->kind = (uint8_t)kind;
  instruction->target_kind = CODE_DIRECT;
  instruction->target = target;
}

void link_set_part(struct code_instruction *instruction, enum part_use part, unsigned to,
                   unsigned from, int64_t distance) {
  struct code_parts *parts = &instruction->parts;
  parts->part = (uint8_t)part;
  parts->to = (uint8_t)to;
  parts->from = (uint8_t)from;
  parts->distance = (uint64_t)distance;
}

void link_set_address(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                      int32_t offset) {
  const bool is_frame = from == machine->frame && (offset == 0 || offset == machine->callers_frame);
  stack->base = (uint8_t)link_base(machine, from);
  stack->offset = is_frame ? machine->callers_frame : offset;
  stack->size = is_frame ? 16 : 1;
  stack->is_read = false;
  stack->is_address = true;
}

void link_set_anywhere(const struct link_machine *machine, struct code_stack *stack, unsigned from,
                       bool is_read) {
  if (link_base(machine, from) == CODE_NO_BASE)
    return;
  stack->base = (uint8_t)link_base(machine, from);
  stack->offset = -FAR;
  stack->size = 2 * FAR;
  stack->is_read = is_read;
}

void link_set_sum(const struct link_machine *machine, struct code_stack *stack, unsigned to,
                  unsigned from, int32_t distance) {
  const enum code_stack_base base = link_base(machine, from);
  if (to == machine->stack && from == to) {
    stack->growth = -distance;
  } else if (to == machine->stack && from != machine->frame) {
    stack->growth = CODE_STACK_LOST;
  } else if (link_base(machine, to) != CODE_NO_BASE && to != from && base != CODE_NO_BASE) {
    stack->copy = (uint8_t)base;
    stack->copy_offset = distance;
  } else if (to != machine->frame && base != CODE_NO_BASE) {
    link_set_address(machine, stack, from, distance);
  }
}

static bool has(uint32_t registers, unsigned number) { return (registers >> number & 1) != 0; }

/* Those that calls preserve, as a set of struct code_stack's. */
static uint16_t preserved_of(const struct link_machine *machine, uint32_t registers) {
  enum { RUN = 10 };
  return (uint16_t)(has(registers, machine->frame) |
                    link_field(registers, machine->preserved, RUN) << 1 |
                    ((registers & machine->also) != 0) << (RUN + 1));
}

/* There may be another pointer to the frame then. */
static void hand(const struct link_machine *machine, struct code_stack *stack, unsigned number) {
  const bool is_frame = number == machine->frame;
  if (link_base(machine, number) == CODE_NO_BASE)
    return;
  stack->handed = (uint8_t)link_base(machine, number);
  stack->handed_offset = is_frame ? machine->callers_frame : 0;
  stack->handed_size = is_frame ? 16 : 1;
}

void link_set_saved(const struct link_machine *machine, struct code_stack *stack, unsigned number,
                    int32_t offset, bool is_load) {
  if (!is_load)
    hand(machine, stack, number);
  if (stack->base == CODE_NO_BASE)
    return;
  uint16_t *registers = is_load ? stack->loads : stack->saves;
  registers[offset / 8] = preserved_of(machine, (uint32_t)1 << number);
  if (number != machine->link)
    return;
  stack->link = is_load ? CODE_LINK_LOADED : CODE_LINK_SAVED;
  stack->link_offset = stack->offset + offset;
}

/* An instruction that reads the stack pointer or the frame pointer for something else than to use
 * memory, or to make one of the other. */
static void set_handed(const struct link_machine *machine, struct code_instruction *instruction) {
  struct code_stack *stack = &instruction->stack;
  if (instruction->kind != CODE_OTHER || stack->copy != CODE_NO_BASE || stack->growth != 0)
    return;
  if (has(instruction->parts.reads, machine->frame) && stack->base != CODE_FRAME_POINTER)
    hand(machine, stack, machine->frame);
  else if (has(instruction->parts.reads, machine->stack) && stack->base != CODE_STACK_POINTER)
    hand(machine, stack, machine->stack);
}

void link_finish(const struct link_machine *machine, struct code_instruction *instruction) {
  const struct code_parts *parts = &instruction->parts;
  struct code_stack *stack = &instruction->stack;
  const uint32_t written = parts->writes | parts->may_write;
  stack->changes = preserved_of(machine, written);
  stack->loses_frame = has(written, machine->frame) && stack->copy != CODE_STACK_POINTER;
  set_handed(machine, instruction);
  if (has(written, machine->stack) && stack->growth == 0 && stack->copy == CODE_NO_BASE &&
      parts->part != CODE_ADD && parts->part != CODE_SUBTRACT)
    stack->growth = CODE_STACK_LOST;
  stack->reads_link |= has(parts->reads, machine->link) && stack->link != CODE_LINK_SAVED;
  if (has(written, machine->link) && stack->link == CODE_LINK_KEPT)
    stack->link = instruction->kind == CODE_CALL ? CODE_LINK_CALLED : CODE_LINK_CHANGED;
}

bool link_stores(const struct code_instruction *instruction) {
  const struct code_stack *stack = &instruction->stack;
  return stack->base != CODE_NO_BASE && !stack->is_read && !stack->is_address;
}

void link_store_made(const struct code_instruction *instruction, struct code_state *state) {
  const struct code_stack *stack = &instruction->stack;
  struct code_value made = code_sum(state, instruction->parts.reads);
  made.is_made = true;
  if (stack->size >= FAR)
    code_store_anywhere(state, made);
  for (int32_t more = 0; more < stack->size && stack->size < FAR; more += 8)
    code_store(state, stack->base, stack->offset + more, made);
}

bool link_has_numbers(const struct code_state *state) {
  return state->slots == NULL || state->slots->is_fixed;
}

struct code_value link_upper(const struct code_state *state, uint64_t address, bool is_number) {
  if (is_number && !link_has_numbers(state))
    return (struct code_value){0};
  return (struct code_value){.kind = CODE_ADDRESS, .table = address, .is_upper = true};
}

struct code_value link_address(uint64_t address) {
  return (struct code_value){.kind = CODE_ADDRESS, .table = address};
}

struct code_value link_sum(struct code_value a, struct code_value b, uint8_t shift,
                           bool is_unsigned) {
  const bool is_first = a.kind == CODE_ADDRESS;
  const struct code_value address = is_first ? a : b, entry = is_first ? b : a;
  if (address.kind != CODE_ADDRESS)
    return (struct code_value){0};
  if (entry.kind != CODE_ENTRY || entry.size >= 8 || (!is_first && shift != 0))
    return (struct code_value){
        .kind = CODE_SUM, .table = address.table, .is_upper = address.is_upper};
  return (struct code_value){.kind = CODE_TARGET,
                             .table = entry.table,
                             .base = address.table,
                             .size = entry.size,
                             .shift = is_first ? shift : 0,
                             .is_unsigned = is_first ? is_unsigned : entry.is_unsigned};
}

void link_assign(const struct link_machine *machine, const struct code_instruction *instruction,
                 struct code_state *state, unsigned to, struct code_value result, uint32_t taken) {
  const struct code_parts *parts = &instruction->parts;
  const bool is_computed = instruction->kind == CODE_OTHER && parts->part != CODE_LOAD &&
                           parts->part != CODE_ACCESS && instruction->stack.size == 0;
  uint32_t lost = parts->writes | parts->may_write;
  const struct code_value sum =
      is_computed ? code_sum(state, parts->reads & ~((uint32_t)1 << machine->stack)) : result;
  if (result.kind == CODE_UNKNOWN && sum.kind != CODE_UNKNOWN)
    result = sum;
  if (parts->part == CODE_LOWER && result.kind == CODE_ADDRESS)
    state->made = result.table;
  if (instruction->kind == CODE_CALL)
    code_lose(state, machine->clobbers | (state->slots != NULL ? state->slots->lost : 0),
              machine->result);
  const bool swaps = link_stores(instruction) && lost != 0; /* what it stores for what was there */
  const uint32_t made = instruction->kind == CODE_OTHER ? ~taken : 0;
  for (; lost != 0; lost &= lost - 1) {
    const unsigned number = (unsigned)__builtin_ctz(lost);
    struct code_value *value = &state->registers[number];
    struct code_value written = swaps ? code_load_anywhere(state) : (struct code_value){0};
    written.is_made |= has(made, number);
    *value = has(parts->writes, number) ? written : code_either(state, *value, written);
  }
  if (result.kind == CODE_SUM || result.kind == CODE_TARGET)
    state->summed = result;
  if ((result.kind != CODE_UNKNOWN || result.is_made) && to != CODE_NO_REGISTER)
    state->registers[to] = result;
}

/* Linux, include/uapi/asm-generic/unistd.h: files, memory, time, and what the process is; not
 * signals, nor what makes threads or traces them. */
const uint16_t link_system_leaves[] = {
    /* getcwd, fcntl, ioctl, mkdirat, unlinkat, ftruncate, faccessat, chdir, openat, close, pipe2 */
    17, 25, 29, 34, 35, 46, 48, 49, 56, 57, 59,
    /* getdents64, lseek, read, write, readv, writev, pread64, pwrite64, readlinkat, newfstatat */
    61, 62, 63, 64, 65, 66, 67, 68, 78, 79,
    /* fstat, fsync, exit, exit_group, set_tid_address, futex, set_robust_list, nanosleep */
    80, 82, 93, 94, 96, 98, 99, 101,
    /* clock_gettime, clock_nanosleep, sched_yield, uname, gettimeofday, getpid, getuid, geteuid */
    113, 115, 124, 160, 169, 172, 174, 175,
    /* getgid, getegid, gettid, brk, munmap, mremap, mmap, madvise, prlimit64, getrandom */
    176, 177, 178, 214, 215, 216, 222, 233, 261, 278, CODE_NO_NUMBER};
