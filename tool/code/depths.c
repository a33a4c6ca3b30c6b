/* depths.c - see depths.h.
 *
 * LLVM says one frame size for all of a function. Where arguments are pushed for a call, the frame
 * is larger there; unwind tables tell, but a function that is `nounwind` and has no attribute
 * `uwtable` has none. So its code is followed, from its start, along every jump, and what has been
 * pushed is added up:
 *
 *     push %rbx           8
 *     sub  $16, %rsp     24
 *     push $7            32
 *     call f             32: here LLVM says 24
 *     add  $8, %rsp      24
 *     ...
 *     pop  %rbx; ret      0
 *
 * What is told must be proven, as a frame that is taken for too small is a lost root. A depth at a
 * call counts only if
 *
 *   - every way from the function's start to every place of it brings the same depth there;
 *   - a return can be reached from there, without a stack pointer that is made anew of the frame pointer;
 *     and all returns, and jumps to other functions, that can be reached in the function happen at depth
 *     0. So no callee has taken its arguments off the stack, as those of some calling conventions do. A
 *     jump alone proves nothing: a function of such a convention may leave room for other arguments than
 *     its own;
 *   - no call leads into the function, but to its start: `call 1f; 1: pop %rcx`, by which code finds
 *     its own address, takes off what the call has pushed;
 *   - the function has no unwind table, and so no landing pads, which no jump leads to.
 *
 * Where a call doesn't return, the code after it seems to be reached with the call's depth. That
 * does no harm: it is reached by a jump, too, and then the depths agree or nothing is told; or it
 * is dead.
 *
 * Jumps with a computed target, as a `switch` has, lead to code that nothing else seems to lead to:
 * all of it is entered with the depth of these jumps, which must be the same for all. They may also
 * lead to what seems to follow on a call, if that doesn't return. So what follows on a call must
 * have no smaller depth than they have. Then each mistake, this one and arguments that a callee has
 * taken, makes a depth too large, none makes up for another, and a return at depth 0 shows that
 * there is none. Without a return, such a jump may be one to another function.
 *
 * This is for machines whose calls push the return address. Elsewhere arguments aren't pushed, and
 * a walk needs more than the size: where the return address was saved.
 */
#include "tool/code/depths.h"

#include "format/search.h"
#include "tool/code/code.h"

#include <stdlib.h>

enum { DEPTH_UNKNOWN = INT32_MIN, DEPTH_MAX = 1 << 28, RETURN_ADDRESS = 8, TIMES = 16 };
#define SIZE_LIMIT (1u << 31)

/* What is known before an instruction: of the stack pointer and of the frame pointer, how many
 * bytes they are below where the stack pointer was at the function's start. */
struct depth {
  int32_t stack, frame;
};

/* What is known of an instruction, or of the byte within one. */
struct place {
  struct depth depth;
  uint32_t next, target;     /* where control goes from here: offsets plus 1, or 0 */
  bool is_reached, is_sound; /* is_sound: a return can be reached */
  bool is_after_call;
  bool is_computed; /* of a jump: its target is */
  bool is_entry;    /* nothing seems to lead here but such a jump */
};

struct function {
  const struct code_architecture *architecture;
  const uint8_t *bytes;
  uint64_t address;
  uint32_t size;
  struct place *places; /* by offset */
  uint32_t *
      work; /* offsets of what is yet to be followed: each is reached once or, with less known, twice */
  uint32_t work_count;
  bool is_computed;        /* the target of some jump is */
  struct depth jump_depth; /* before such jumps */
  bool is_unclear;         /* nothing is to be told */
};

/* ---- Following ---- */

/* Control comes to a place. What it brings of the frame pointer in different ways isn't known. */
static void reach(struct function *function, uint64_t offset, struct depth depth) {
  if (offset >= function->size) {
    function->is_unclear = true; /* it runs on into another function */
    return;
  }
  struct place *place = &function->places[offset];
  if (!place->is_reached) {
    *place = (struct place){.depth = depth, .is_reached = true};
  } else {
    function->is_unclear |= place->depth.stack != depth.stack;
    if (place->depth.frame == depth.frame || place->depth.frame == DEPTH_UNKNOWN)
      return;
    place->depth.frame = DEPTH_UNKNOWN;
  }
  function->work[function->work_count++] = (uint32_t)offset;
}

static int32_t sum(int32_t depth, int32_t growth) {
  const int64_t bytes = (int64_t)depth + growth;
  return depth == DEPTH_UNKNOWN || bytes > DEPTH_MAX || bytes < -DEPTH_MAX ? DEPTH_UNKNOWN
                                                                           : (int32_t)bytes;
}

static struct depth after(struct depth depth, const struct code_stack *use) {
  if (use->copy == CODE_STACK_POINTER)
    depth.frame = sum(depth.stack, -use->copy_offset);
  else if (use->copy == CODE_FRAME_POINTER)
    depth.stack = sum(depth.frame, -use->copy_offset);
  else
    depth.stack = use->growth == CODE_STACK_LOST ? DEPTH_UNKNOWN : sum(depth.stack, use->growth);
  if (use->loses_frame)
    depth.frame = DEPTH_UNKNOWN;
  return depth;
}

/* Control leaves the function here. */
static void leave(struct function *function, struct depth depth) {
  function->is_unclear |= depth.stack != 0;
}

static void jump_somewhere(struct function *function, struct place *place, struct depth depth) {
  if (!function->is_computed)
    function->jump_depth = depth;
  function->is_unclear |= function->jump_depth.stack != depth.stack;
  if (function->jump_depth.frame != depth.frame)
    function->jump_depth.frame = DEPTH_UNKNOWN;
  function->is_computed = place->is_computed = true;
}

static void jump(struct function *function, struct place *place,
                 const struct code_instruction *instruction, struct depth depth) {
  const uint64_t target = instruction->target - function->address;
  if (instruction->target_kind != CODE_DIRECT) {
    jump_somewhere(function, place, depth);
  } else if (target < function->size) {
    place->target = (uint32_t)target + 1;
    reach(function, target, depth);
  } else {
    leave(function, depth);
  }
}

/* Whether a call leads into the function, but not to its start. */
static bool is_own_place(const struct function *function,
                         const struct code_instruction *instruction) {
  const uint64_t target = instruction->target - function->address;
  return instruction->target_kind == CODE_DIRECT && target > 0 && target < function->size;
}

static void follow(struct function *function, uint32_t offset) {
  struct place *place = &function->places[offset];
  struct code_instruction instruction;
  function->architecture->decode(function->bytes + offset, function->size - offset,
                                 function->address + offset, &instruction);
  const struct depth depth = after(place->depth, &instruction.stack);
  switch (instruction.kind) {
  case CODE_RETURN:
    leave(function, place->depth);
    place->is_sound = true;
    return;
  case CODE_STOP:
    return;
  case CODE_INVALID:
    function->is_unclear = true;
    return;
  case CODE_JUMP:
    jump(function, place, &instruction, depth);
    return;
  case CODE_BRANCH:
    jump(function, place, &instruction, depth);
    break;
  case CODE_CALL:
    function->is_unclear |= is_own_place(function, &instruction);
    break;
  default:
    break;
  }
  const uint32_t next = offset + instruction.length;
  const bool ends = next >= function->size;
  if (ends && (instruction.kind == CODE_CALL || instruction.kind == CODE_PADDING))
    return; /* the call doesn't return */
  if (instruction.stack.copy != CODE_FRAME_POINTER)
    place->next = next + 1;
  reach(function, next, depth);
  if (next < function->size && instruction.kind == CODE_CALL)
    function->places[next].is_after_call = true;
}

static void follow_work(struct function *function) {
  while (function->work_count > 0 && !function->is_unclear)
    follow(function, function->work[--function->work_count]);
}

/* Follows what nothing leads to but jumps with computed targets. */
static void enter_jumps(struct function *function) {
  struct code_instruction instruction;
  for (uint32_t i = 0; i < function->size && !function->is_unclear; i += instruction.length) {
    struct place *place = &function->places[i];
    function->architecture->decode(function->bytes + i, function->size - i, function->address + i,
                                   &instruction);
    if (place->is_reached || instruction.kind == CODE_PADDING || instruction.kind == CODE_STOP)
      continue;
    reach(function, i, function->jump_depth);
    place->is_entry = true;
    follow_work(function);
  }
  for (uint32_t i = 0; i < function->size; i++) {
    const struct place *place = &function->places[i];
    function->is_unclear |=
        (place->is_after_call && place->depth.stack < function->jump_depth.stack) ||
        ((place->is_after_call || place->is_entry) && place->depth.frame != DEPTH_UNKNOWN &&
         place->depth.frame != function->jump_depth.frame);
  }
}

/* Finds the places from which a return can be reached. Most jumps lead forward: so from the last
 * place to the first, a few times. What a further time would find isn't told. */
static void find_sound(struct function *function) {
  bool found = true, is_jump_sound = false;
  for (unsigned time = 0; found && time < TIMES; time++) {
    found = false;
    for (uint32_t i = function->size; i-- > 0;) {
      struct place *place = &function->places[i];
      if (!place->is_reached || place->is_sound)
        continue;
      place->is_sound = (place->next != 0 && function->places[place->next - 1].is_sound) ||
                        (place->target != 0 && function->places[place->target - 1].is_sound) ||
                        (place->is_computed && is_jump_sound);
      is_jump_sound |= place->is_entry && place->is_sound;
      found |= place->is_sound;
    }
  }
}

/* False if nothing is to be told of the function's frames. */
static bool follow_all(struct function *function) {
  reach(function, 0, (struct depth){0, DEPTH_UNKNOWN});
  follow_work(function);
  if (function->is_computed && !function->is_unclear)
    enter_jumps(function);
  if (!function->is_unclear)
    find_sound(function);
  return !function->is_unclear;
}

/* ---- Telling ---- */

/* The frame's end, and the return address. What the function has done with registers isn't
 * known. */
static bool tell(struct safepoints *table, struct safepoint *record, int32_t depth,
                 uint32_t preserved) {
  const struct frame_machine *machine = &table->frame_machine;
  struct frame_facts facts = {.cfa_register = machine->stack_pointer,
                              .return_register = machine->return_register,
                              .cfa_offset = depth + machine->pushed_by_call,
                              .saved = (uint32_t)1 << machine->return_register,
                              .lost = preserved};
  facts.offsets[machine->return_register] = -RETURN_ADDRESS;
  const uint64_t size = table->functions[record->function].frame_size;
  if (!frames_has_room(machine, size, &facts))
    return true;
  uint64_t words[FRAME_WORDS_MAX];
  const uint32_t number = intern_add(&table->frames, words, frame_words(&facts, words));
  if (number != INTERN_FAILED)
    record->frame = number + 1;
  return number != INTERN_FAILED;
}

static bool tell_function(struct safepoints *table, const struct safepoint_function *of,
                          const struct function *function) {
  for (uint32_t i = 0; i < of->records; i++) {
    struct safepoint *record = &table->records[of->first_record + i];
    const uint64_t offset = record->address - function->address;
    if (offset >= function->size || safepoints_kind(table, record) != SAFEPOINT_STATEPOINT)
      continue;
    const struct place *place = &function->places[offset];
    if (place->is_reached && place->is_sound && place->depth.stack != DEPTH_UNKNOWN &&
        !tell(table, record, place->depth.stack, function->architecture->preserved))
      return false;
  }
  return true;
}

/* Whether a function has records, and nothing is known of any frame. */
static bool is_untold(const struct safepoints *table, const struct safepoint_function *function) {
  for (uint32_t i = 0; i < function->records; i++)
    if (table->records[function->first_record + i].frame != 0)
      return false;
  return function->records > 0;
}

static bool is_unwound(const struct code_ranges *unwound, uint64_t start, uint64_t end) {
  const size_t before = SEARCH_BELOW(unwound->items, unwound->count, start, end);
  return before > 0 && unwound->items[before - 1].end > start;
}

/* The function's code; no bytes if it isn't in one piece. */
static struct function code_of(const struct safepoint_function *function, const struct code *code) {
  const uint64_t size = function->end - function->address;
  for (unsigned i = 0; function->end > function->address && i < code->count; i++) {
    const struct code_part *part = &code->parts[i];
    const uint64_t at = function->address - part->address;
    if (at < part->size && size <= part->size - at && size < SIZE_LIMIT)
      return (struct function){
          .bytes = part->bytes + at, .address = function->address, .size = (uint32_t)size};
  }
  return (struct function){.size = 0};
}

/* False without memory. */
static bool tell_one(struct safepoints *table, const struct safepoint_function *of,
                     struct function *function) {
  function->places = calloc(function->size, sizeof *function->places);
  function->work = malloc((size_t)function->size * 2 * sizeof *function->work);
  bool ok = function->places != NULL && function->work != NULL;
  if (ok && follow_all(function))
    ok = tell_function(table, of, function);
  free(function->places);
  free(function->work);
  return ok;
}

bool depths_tell_frames(struct safepoints *table, const struct code *code) {
  const struct code_architecture *architecture = code_architecture(table->machine);
  if (architecture == NULL || architecture->has_link || code->machine == NULL)
    return true;
  table->frame_machine = eh_frame_machine(code->machine);
  bool ok = true;
  uint64_t left = 0; /* bytes: functions that overlap are not followed again and again */
  for (unsigned i = 0; i < code->count; i++)
    left += code->parts[i].size;
  for (uint32_t i = 0; ok && i < table->function_count; i++) {
    const struct safepoint_function *of = &table->functions[i];
    struct function function = code_of(of, code);
    if (function.size == 0 || function.size > left || !is_untold(table, of) ||
        is_unwound(&code->unwound, of->address, of->end))
      continue;
    left -= function.size;
    function.architecture = architecture;
    ok = tell_one(table, of, &function);
  }
  return ok;
}
