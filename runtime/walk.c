/* walk.c - a walk over a stack: its start, its frames, its end.
 *
 * A stack is a row of pending calls. Two numbers identify a frame: the address at which its
 * function goes on (the key of its record), and its stack pointer then (the base of its slots'
 * addresses). Both belong to the caller's side of a call, so the callee's prologue has no effect on
 * them; and one step computes the caller's two numbers from a frame's.
 *
 * A managed frame is passed here, by the table's facts (format/frames.h): its end, where the
 * caller's stack pointer will be, and the saved places of the return address and the caller's
 * registers. These are exact: pushed arguments count, and the end of a frame of variable size is
 * relative to the register that the function keeps for it. The rest is elsewhere:
 *
 *   walk_step.c    steps past native frames, and past managed ones without facts
 *   walk_root.c    the locations in the frame's record, as addresses
 *   walk_update.c  new values for the roots there
 *
 * A walk trusts no word on a stack. It may have been overwritten, and the table may be of another
 * program. So each frame must be within the bounds that the user declares, and above the one
 * before; and the user gets the reason for the walk's end, as only he can say how this stack should
 * end.
 *
 * Besides the stack pointer, a walk follows the callee-saved registers. A function may keep a
 * reference in one of them during a call, or address its slots from it. The register's value is
 * then in memory, where some younger frame has saved it, or in the block of the stub that managed
 * code has called; and the function will load a value that is written there.
 */
#include "runtime/walk.h"

#include "runtime/cache.h"

#include <assert.h>

enum { WORD = sizeof(uintptr_t) };

/* ---- Where a walk starts ---- */

struct stackpack_context stackpack_context_at_call(uintptr_t return_address,
                                                   uintptr_t stack_pointer,
                                                   struct stackpack_registers *registers) {
  struct stackpack_context context = {.pc = return_address, .stack_pointer = stack_pointer};
  if (registers != NULL)
    for (unsigned reg = 0; reg < STACKPACK_REGISTERS; reg++)
      if ((registers->known >> reg & 1) != 0)
        stackpack_context_save(&context, reg, &registers->values[reg]);
  return context;
}

/* ---- Frames ---- */

static inline __attribute__((always_inline)) enum stackpack_answer
find_in_table(struct stackpack_walk *walk, uintptr_t address) {
  const struct stackpack_walker *walker = walk->private_.walker;
  const enum stackpack_answer answer = walker->process != NULL
                                           ? stackpack_find(walker->process, address, &walk->record)
                                           : record_find(walker->table, address, &walk->record);
  walk_set_slot(walk, walker->cache != NULL && answer == STACKPACK_FOUND
                          ? cache_remember(walker->cache, &walk->record)
                          : 0);
  return answer;
}

static inline __attribute__((always_inline)) enum stackpack_answer find(struct stackpack_walk *walk,
                                                                        uintptr_t address) {
  struct stackpack_cache *cache = walk->private_.walker->cache;
  const uint32_t slot = cache != NULL ? cache_look_up(cache, address, &walk->record) : 0;
  if (slot == 0)
    return find_in_table(walk, address);
  walk_set_slot(walk, slot);
  return STACKPACK_FOUND;
}

/* Whether the record found belongs to the frame at hand. A return address may be the end of its
 * function, and the record is the one of the call before it; an exact address is the start of the
 * next instruction. There, a statepoint's call has returned already: its result may be a reference,
 * in a register that every record leaves out. */
static bool is_of_frame(const struct stackpack_walk *walk) {
  return !walk->context.is_exact || (walk->record.kind != STACKPACK_STATEPOINT &&
                                     record_function_end(&walk->record) > walk->context.pc);
}

/* An address without a record. A look-up takes it for a return address, and answers for the
 * function of the byte before it; where a function was interrupted, the byte at the address
 * counts. */
static __attribute__((noinline)) enum stackpack_walk_answer
without_record(struct stackpack_walk *walk, enum stackpack_answer answer) {
  if (walk->context.is_exact)
    answer = find(walk, walk->context.pc + 1);
  return answer == STACKPACK_NOT_MANAGED ? STACKPACK_WALK_NATIVE : STACKPACK_WALK_NOT_SAFEPOINT;
}

/* A stack map at a function's first byte may have the same address as the return address before it:
 * a frame that waits has the statepoint, and an interrupted one the stack map. */
static void prefer_by_context(struct stackpack_walk *walk) {
  struct stackpack_record next = walk->record;
  while ((next.kind == STACKPACK_STATEPOINT) == (walk->context.is_exact != 0))
    if (!stackpack_record_next(&next))
      return;
  walk->record = next;
  walk_set_entry(walk, NULL);
}

static inline __attribute__((always_inline)) enum stackpack_walk_answer
look_up(struct stackpack_walk *walk) {
  const enum stackpack_answer answer = find(walk, walk->context.pc);
  switch (answer) {
  case STACKPACK_FOUND:
    if (walk->record.kind == STACKPACK_STATEPOINT && !walk->context.is_exact)
      return STACKPACK_WALK_MANAGED;
    prefer_by_context(walk);
    return is_of_frame(walk) ? STACKPACK_WALK_MANAGED : STACKPACK_WALK_NOT_SAFEPOINT;
  case STACKPACK_NOT_MANAGED:
  case STACKPACK_NOT_SAFEPOINT:
    return without_record(walk, answer);
  case STACKPACK_CORRUPT:
    break;
  }
  return STACKPACK_WALK_CORRUPT;
}

/* Looks at the frame that the walk has come to. */
static inline __attribute__((always_inline)) enum stackpack_walk_answer
arrive(struct stackpack_walk *walk) {
  if (walk->context.stack_pointer == walk->private_.stack.end)
    return STACKPACK_WALK_END;
  const enum stackpack_walk_answer answer = look_up(walk);
  if (answer != STACKPACK_WALK_NATIVE || walk->private_.walker->native != STACKPACK_BY_TABLE)
    return answer;
  return walk->private_.is_unsure ? STACKPACK_WALK_SIZE_UNKNOWN : STACKPACK_WALK_AT_NATIVE;
}

/* ---- From a managed frame to its caller ---- */

/* The registers of the caller's frame: the saved ones, and the ones that this frame has left
 * unchanged. */
static inline void take_saved(struct stackpack_context *context, const struct step *step,
                              uintptr_t cfa) {
  context->known = (context->known & step->kept) | step->saved;
  if (step->saved == 0)
    return;
  assert(step->first_word > 0 && step->first_word <= step->words);
  context->in_memory |= step->saved;
  context->doubled &= ~step->saved;
  uintptr_t address = cfa - step->first_word * (uintptr_t)WORD;
  const uint8_t *end = step->places + (step->words + 1 - step->first_word);
  for (const uint8_t *place = step->places; place < end; place++, address -= WORD)
    if (*place < STACKPACK_REGISTERS)
      context->registers[*place] = address;
}

/* Where the function has left its return address in a register. */
static enum stackpack_walk_answer find_return(const struct stackpack_walk *walk, uintptr_t *pc) {
  const unsigned reg = record_of(&walk->record)->table->frames.machine.return_register;
  if (reg >= STACKPACK_REGISTERS || !walk_knows(&walk->context, reg))
    return STACKPACK_WALK_SIZE_UNKNOWN;
  *pc = walk_register(&walk->context, reg);
  return STACKPACK_WALK_NATIVE;
}

/* Why a frame can't end there. */
static enum stackpack_walk_answer refuse_end(const struct stackpack_walk *walk, uintptr_t cfa) {
  if (cfa % WORD != 0)
    return STACKPACK_WALK_MISALIGNED;
  return cfa <= walk->context.stack_pointer ? STACKPACK_WALK_NO_PROGRESS
                                            : STACKPACK_WALK_OUT_OF_STACK;
}

/* The end of the frame, the CFA, by a register and an offset; at least so many words above. */
static inline __attribute__((always_inline)) enum stackpack_walk_answer
find_end(const struct stackpack_walk *walk, unsigned reg, int32_t offset, unsigned words,
         uintptr_t *end) {
  const struct stackpack_context *context = &walk->context;
  const uintptr_t stack_pointer = context->stack_pointer;
  uintptr_t cfa = stack_pointer;
  assert(stack_pointer <= walk->private_.stack.end); /* by check_arrival */
  if (reg != STACKPACK_STACK_POINTER) {
    if (!walk_knows(context, reg))
      return STACKPACK_WALK_REGISTER_UNKNOWN;
    cfa = walk_register(context, reg);
  }
  cfa += (uintptr_t)offset;
  const uintptr_t size = cfa - stack_pointer;
  if (size % WORD != 0 || size < words * (uintptr_t)WORD ||
      size > walk->private_.stack.end - stack_pointer)
    return refuse_end(walk, cfa);
  *end = cfa;
  return STACKPACK_WALK_NATIVE;
}

/* The return address of a frame, by its word below the end. 0: it is in a register. */
static inline enum stackpack_walk_answer read_return(const struct stackpack_walk *walk,
                                                     uintptr_t cfa, unsigned word, uintptr_t *pc) {
  if (word == 0)
    return find_return(walk, pc);
  assert(word * (uintptr_t)WORD <= cfa - walk->context.stack_pointer);
  *pc = *(const uintptr_t *)(cfa - word * (uintptr_t)WORD);
  return STACKPACK_WALK_NATIVE;
}

static inline void go_to(struct stackpack_context *context, uintptr_t stack_pointer, uintptr_t pc) {
  context->stack_pointer = stack_pointer;
  context->pc = walk_strip_signature(pc);
  context->is_exact = 0;
}

/* Goes to the caller's frame. */
static inline __attribute__((always_inline)) enum stackpack_walk_answer
take_step(struct stackpack_walk *walk, const struct step *step) {
  uintptr_t cfa, pc;
  assert(step->words > 0 && step->return_word <= step->words); /* so the walk goes up */
  enum stackpack_walk_answer answer =
      find_end(walk, step->cfa_register, step->cfa_offset, step->words, &cfa);
  if (answer == STACKPACK_WALK_NATIVE)
    answer = read_return(walk, cfa, step->return_word, &pc);
  if (answer != STACKPACK_WALK_NATIVE)
    return answer;
  take_saved(&walk->context, step, cfa);
  go_to(&walk->context, cfa, pc);
  return STACKPACK_WALK_NATIVE;
}

/* The word below a frame's end that has a register's value; 0: there is none. */
static inline unsigned word_of(const struct frame_view *view, unsigned reg) {
  for (unsigned word = 0; word < view->place_count; word++)
    if (view->places[word] == reg)
      return word + 1;
  return 0;
}

static inline unsigned words_of(const struct frame_view *view) {
  return view->place_count > 0 ? view->place_count : 1; /* a frame has one word at least */
}

static inline uint32_t kept_by(const struct frame_view *view) {
  return STACKPACK_PRESERVED_REGISTERS & ~view->lost;
}

/* The step by the table's facts, for the cache. */
static struct step step_of(const struct frame_view *view, unsigned return_register) {
  assert(view->cfa_offset == (int32_t)view->cfa_offset && view->cfa_register < STACKPACK_REGISTERS);
  struct step step = {.cfa_offset = (int32_t)view->cfa_offset,
                      .kept = kept_by(view),
                      .words = (uint8_t)words_of(view),
                      .cfa_register = view->cfa_register,
                      .return_word = (uint8_t)word_of(view, return_register)};
  for (uint8_t word = view->place_count; word > 0; word--) {
    const uint8_t reg = view->places[word - 1];
    if (reg == return_register || reg >= STACKPACK_REGISTERS)
      continue;
    step.saved |= 1u << reg;
    step.first_word = word;
    step.places = view->places + word - 1;
  }
  return step;
}

/* The same as take_saved, by the facts: without a cache, a step is used once. */
static inline void take_places(struct stackpack_context *context, const struct frame_view *view,
                               unsigned return_register, uintptr_t cfa) {
  const uint8_t *end = view->places + view->place_count;
  uint64_t saved = 0;
  for (const uint8_t *place = view->places; place < end; place++) {
    const uint8_t reg = *place;
    cfa -= WORD;
    if (reg < STACKPACK_REGISTERS) {
      context->registers[reg] = cfa;
      saved |= (uint64_t)1 << reg;
    }
  }
  saved &= ~((uint64_t)1 << return_register);
  context->known = (context->known & kept_by(view)) | (uint32_t)saved;
  context->in_memory |= (uint32_t)saved;
  context->doubled &= ~(uint32_t)saved;
}

/* A managed frame whose step is absent from the cache. */
static inline enum stackpack_walk_answer by_table(struct stackpack_walk *walk) {
  const unsigned return_register = record_of(&walk->record)->table->frames.machine.return_register;
  const struct frame_view view = record_view(&walk->record);
  struct cache_entry *entry = walk_entry(walk);
  uintptr_t cfa, pc;
  if (!view.is_known)
    return walk_step_without_facts(walk);
  if (view.cfa_register >= STACKPACK_REGISTERS)
    return STACKPACK_WALK_REGISTER_UNKNOWN;
  if (view.cfa_offset != (int32_t)view.cfa_offset)
    return STACKPACK_WALK_CORRUPT; /* frames.h has no facts of such ones */
  if (entry != NULL)
    entry->step = step_of(&view, return_register);
  enum stackpack_walk_answer answer =
      find_end(walk, view.cfa_register, (int32_t)view.cfa_offset, words_of(&view), &cfa);
  if (answer == STACKPACK_WALK_NATIVE)
    answer = read_return(walk, cfa, word_of(&view, return_register), &pc);
  if (answer != STACKPACK_WALK_NATIVE)
    return answer;
  take_places(&walk->context, &view, return_register, cfa);
  go_to(&walk->context, cfa, pc);
  return STACKPACK_WALK_NATIVE;
}

static enum stackpack_walk_answer check_arrival(const struct stackpack_walk *walk) {
  const uintptr_t stack_pointer = walk->context.stack_pointer;
  const struct stackpack_stack *stack = &walk->private_.stack;
  if (stack_pointer % WORD != 0)
    return STACKPACK_WALK_MISALIGNED;
  return stack_pointer < stack->low || stack_pointer > stack->end ? STACKPACK_WALK_OUT_OF_STACK
                                                                  : STACKPACK_WALK_NATIVE;
}

/* From a frame that is absent from the cache, or to the first one. */
static enum stackpack_walk_answer go_otherwise(struct stackpack_walk *walk) {
  enum stackpack_walk_answer answer = STACKPACK_WALK_NATIVE;
  if (walk->private_.state != WALK_AT_START) {
    if (walk->private_.answer != STACKPACK_WALK_MANAGED)
      answer = walk_step_native(walk);
    else if (walk->private_.walker->managed == STACKPACK_BY_UNWINDING)
      answer = walk_step_by_unwinding(walk);
    else
      answer = by_table(walk);
  }
  return answer == STACKPACK_WALK_NATIVE ? check_arrival(walk) : answer;
}

/* ---- The walk ---- */

void stackpack_walk_start(struct stackpack_walk *walk, const struct stackpack_walker *walker,
                          struct stackpack_stack stack, const struct stackpack_context *context) {
  assert(walker->process != NULL || walker->table != NULL);
  walk->managed_frames = 0;
  walk->private_.walker = walker;
  walk->private_.stack = stack;
  walk->private_.segment_frames = 0;
  walk->private_.is_unsure = false;
  walk_set_entry(walk, NULL);
  walk->private_.state = WALK_AT_START;
  walk->context = *context;
  if (walker->cache != NULL)
    cache_begin(walker->cache, walker->process != NULL ? process_generation(walker->process) : 0);
}

void stackpack_walk_resume(struct stackpack_walk *walk, struct stackpack_stack stack,
                           const struct stackpack_context *context) {
  const struct stackpack_stack *before = &walk->private_.stack;
  const uint64_t managed_frames = walk->managed_frames;
  const bool is_same = before->low == stack.low && before->end == stack.end;
  const bool is_above = context->stack_pointer > walk->context.stack_pointer;
  stackpack_walk_start(walk, walk->private_.walker, stack, context);
  walk->managed_frames = managed_frames;
  if (is_same && !is_above)
    walk_end(walk, STACKPACK_WALK_NO_PROGRESS);
}

/* Notes the frame that the walk has come to. */
static enum stackpack_walk_answer conclude(struct stackpack_walk *walk,
                                           enum stackpack_walk_answer answer) {
  assert(walk->private_.state != WALK_DONE);
  walk->private_.state = WALK_AT_FRAME;
  walk->private_.answer = answer;
  if (answer == STACKPACK_WALK_MANAGED) {
    walk->managed_frames++;
    walk->private_.segment_frames++;
  }
  if (stackpack_walk_is_frame(answer))
    return answer;
  if (!walk_is_stop(answer) && walk->private_.segment_frames == 0)
    answer = STACKPACK_WALK_NO_MANAGED;
  return walk_end(walk, answer);
}

/* Out of line, as is next_otherwise: so the common case of stackpack_walk_next saves no registers.
 * At a frame that is absent from the cache, or at the stack's end. */
static __attribute__((noinline)) enum stackpack_walk_answer
look_around(struct stackpack_walk *walk) {
  return conclude(walk, arrive(walk));
}

/* From a frame whose step is absent from the cache, or to the first one. */
static __attribute__((noinline)) enum stackpack_walk_answer
next_otherwise(struct stackpack_walk *walk) {
  if (walk->private_.state == WALK_DONE)
    return walk->private_.answer;
  const enum stackpack_walk_answer answer = go_otherwise(walk);
  return conclude(walk, answer == STACKPACK_WALK_NATIVE ? arrive(walk) : answer);
}

enum stackpack_walk_answer stackpack_walk_next(struct stackpack_walk *walk) {
  const struct stackpack_walker *walker = walk->private_.walker;
  struct cache_entry *entry = walk_entry(walk);
  if (entry == NULL || entry->step.words == 0 || walker->managed == STACKPACK_BY_UNWINDING)
    return next_otherwise(walk);
  assert(walk->private_.answer == STACKPACK_WALK_MANAGED); /* and it stays so */
  const enum stackpack_walk_answer answer = take_step(walk, &entry->step);
  if (answer != STACKPACK_WALK_NATIVE)
    return conclude(walk, answer);
  entry = cache_find_caller(walker->cache, entry, walk->context.pc);
  if (entry == NULL || walk->context.stack_pointer == walk->private_.stack.end)
    return look_around(walk);
  cache_record(entry, &walk->record);
  walk->private_.entry = entry;
  walk->private_.state = WALK_AT_FRAME;
  walk->managed_frames++;
  return STACKPACK_WALK_MANAGED;
}

const char *stackpack_walk_text(enum stackpack_walk_answer answer) {
  static const char *const texts[] = {
      [STACKPACK_WALK_MANAGED] = "a managed frame",
      [STACKPACK_WALK_NATIVE] = "a native frame",
      [STACKPACK_WALK_END] = "the stack's end",
      [STACKPACK_WALK_AT_NATIVE] = "native code; frames above it were not looked at",
      [STACKPACK_WALK_NO_MANAGED] = "no managed frame was met",
      [STACKPACK_WALK_NOT_SAFEPOINT] = "a managed function waits where there is no safepoint",
      [STACKPACK_WALK_CORRUPT] = "the stack map is damaged",
      [STACKPACK_WALK_OUT_OF_STACK] = "a frame or a slot outside the stack's bounds",
      [STACKPACK_WALK_MISALIGNED] = "a misaligned frame or slot",
      [STACKPACK_WALK_NO_PROGRESS] = "a frame that isn't above the one it called",
      [STACKPACK_WALK_SIZE_UNKNOWN] =
          "a frame of unknown or uncertain size, which needs unwind tables",
      [STACKPACK_WALK_NO_FRAME_POINTER] = "a function without a frame pointer",
      [STACKPACK_WALK_REGISTER_UNKNOWN] =
          "an unknown register that a root or a frame's end depends on",
      [STACKPACK_WALK_NOT_UNWOUND] = "a frame that the unwinder can't pass",
      [STACKPACK_WALK_DISAGREEMENT] =
          "frame size, frame pointer and unwinder that contradict each other",
      [STACKPACK_WALK_NOT_STATEPOINT] = "a record that isn't a statepoint's",
      [STACKPACK_WALK_BAD_LOCATION] = "a root that isn't a word in memory or in a register",
  };
  return (size_t)answer < sizeof texts / sizeof *texts ? texts[answer] : "an unknown answer";
}
