/* stack.c - see stack.h. */
#include "tool/calls/stack.h"

#include "format/array.h"

enum { WORD = 8, DEPTH_MAX = 1 << 29 };

static void note(struct stack_notes *notes, uint64_t address, struct stack_depth depth) {
  struct stack_depth *noted = &notes->depths[address - notes->start];
  if (!noted->is_noted)
    (void)ARRAY_ADD(notes->noted, notes->noted_count, notes->noted_capacity,
                    (uint32_t)(address - notes->start));
  *noted = depth;
  noted->is_noted = true;
}

void stack_open(struct stack_notes *notes, struct stack *stack, uint64_t start, int32_t depth) {
  const bool is_part = depth != 0, is_known = depth != STACK_UNKNOWN_DEPTH;
  *stack = (struct stack){.depth.bytes = is_known ? depth : 0,
                          .depth.certainty = is_known ? STACK_EXACT : STACK_LOST,
                          .depth.frame_certainty = is_part ? STACK_LOST : STACK_OTHER,
                          .depth.changed = is_known ? 0 : CODE_PRESERVED_FRAME,
                          .depth.link = is_part && notes->has_link ? LINK_SAVED : LINK_OWN};
  stack->jumped = stack->depth;
  while (notes->noted_count > 0)
    notes->depths[notes->noted[--notes->noted_count]].is_noted = false;
  notes->start = start;
  notes->is_read = notes->is_read_surely = notes->is_written = false;
  notes->has_right = notes->has_wrong = notes->has_return = notes->has_odd_return = false;
  notes->has_other_back = notes->has_plain_return = false;
  notes->has_frame_back = notes->has_frame_return = false;
  notes->has_link_back = notes->has_kept_return = false;
  notes->placed = notes->overwritten = notes->lost = 0;
  notes->changed_back = notes->unchanged_return = 0;
  notes->is_part = is_part;
  notes->has_place = !notes->has_link;
  notes->place = 0;
  notes->is_saved = notes->is_loaded = false;
  notes->early_count = 0;
}

static uint8_t joined_link(const struct stack_depth *a, const struct stack_depth *b) {
  const uint8_t least = a->link < b->link ? a->link : b->link;
  return a->link != b->link && least == LINK_OWN ? LINK_SAVED : least;
}

static uint8_t joined_frame(const struct stack_depth *a, const struct stack_depth *b) {
  if (a->frame_certainty > STACK_LOST && b->frame_certainty > STACK_LOST && a->frame != b->frame)
    return STACK_OTHER;
  return a->frame_certainty < b->frame_certainty ? a->frame_certainty : b->frame_certainty;
}

/* The join of two states of a place. */
static struct stack_depth join(const struct stack_depth *known, const struct stack_depth *other) {
  struct stack_depth depth = *known;
  if (other->certainty == STACK_OTHER)
    depth.certainty = STACK_OTHER;
  depth.frame_certainty = joined_frame(known, other);
  depth.by_frame &= other->by_frame;
  depth.changed |= other->changed;
  depth.saved |= other->saved;
  depth.link = joined_link(known, other);
  depth.is_loaded &= other->is_loaded;
  depth.link_copies &= other->link_copies;
  return depth;
}

/* Whether the cases of all switches before this place have the same depth. One at the function's
 * start may be a jump to another function as well. */
static bool has_one_depth(const struct stack *stack) {
  return stack->has_switched && !stack->has_other_switch && stack->switched.bytes != 0;
}

bool stack_arrive(struct stack_notes *notes, struct stack *stack, uint64_t address, bool goes_on) {
  const struct stack_depth *noted = &notes->depths[address - notes->start];
  const bool goes_on_here = goes_on && noted->is_noted;
  const bool is_same_depth = noted->certainty != STACK_EXACT ||
                             stack->depth.certainty != STACK_EXACT ||
                             noted->bytes == stack->depth.bytes;
  const bool is_same_link = noted->link != LINK_OWN || stack->depth.link == LINK_OWN ||
                            (noted->link_copies & stack->depth.link_copies) != 0;
  if (goes_on_here) {
    const struct stack_depth joined = join(noted, &stack->depth);
    stack->depth = joined;
    stack->depth.link = is_same_link ? joined.link : LINK_OWN;
    if (!is_same_depth)
      stack->depth.changed = noted->changed;
  } else if (noted->is_noted) {
    stack->depth = *noted;
  } else if (!goes_on) {
    stack->depth = stack->has_switched ? stack->switched : stack->jumped;
    stack->depth.enough = stack->depth.bytes;
    stack->depth.saved = notes->placed;
    stack->depth.link_copies = 0;
    if (stack->depth.certainty == STACK_EXACT && !has_one_depth(stack))
      stack->depth.certainty = notes->is_part ? STACK_LOST : STACK_GUESSED;
  }
  stack->depth.is_decoded = true;
  note(notes, address, stack->depth);
  return !goes_on_here || (is_same_depth && is_same_link);
}

void stack_call(struct stack *stack) { stack->depth.link_copies = 0; }

bool stack_is_level(const struct stack *stack) {
  const struct stack_depth *depth = &stack->depth;
  return depth->certainty >= STACK_GUESSED && depth->bytes == 0 && depth->changed == 0 &&
         depth->link == LINK_OWN;
}

void stack_jump(struct stack_notes *notes, const struct stack *stack, uint64_t target,
                bool is_call) {
  const struct stack_depth *noted = &notes->depths[target - notes->start];
  struct stack_depth depth = stack->depth;
  depth.is_decoded = false;
  if (is_call)
    depth = (struct stack_depth){.certainty = STACK_EXACT};
  if (!noted->is_noted) {
    note(notes, target, depth);
    return;
  }
  if (depth.certainty == STACK_EXACT) {
    const bool is_same = noted->bytes == depth.bytes;
    notes->is_written |= noted->certainty == STACK_EXACT && !is_same; /* one of the two is wrong */
    notes->has_right |= noted->certainty == STACK_GUESSED && is_same;
    notes->has_wrong |= noted->certainty == STACK_GUESSED && !is_same;
  }
  if (noted->is_decoded && depth.certainty == STACK_OTHER && noted->certainty != STACK_OTHER) {
    notes->has_other_back = true;
    notes->has_plain_return |= noted->by_frame;
  }
  notes->is_written |= noted->is_decoded && (noted->link_copies & ~depth.link_copies) != 0;
  notes->has_frame_back |= noted->is_decoded && noted->frame_certainty != STACK_OTHER &&
                           joined_frame(noted, &depth) == STACK_OTHER;
  const uint16_t changed_back = noted->is_decoded ? depth.changed & ~noted->changed : 0;
  notes->changed_back |= changed_back;
  notes->overwritten |= changed_back & ~noted->saved;
  notes->has_link_back |= noted->is_decoded && noted->link == LINK_OWN && depth.link != LINK_OWN;
  const bool is_better = noted->certainty != STACK_OTHER && depth.certainty > noted->certainty;
  struct stack_depth joined = is_better ? join(&depth, noted) : join(noted, &depth);
  joined.is_decoded = noted->is_decoded;
  note(notes, target, joined);
}

bool stack_is_odd(struct stack_notes *notes, const struct stack *stack) {
  const struct stack_depth *depth = &stack->depth;
  notes->has_plain_return |= !depth->by_frame;
  notes->has_frame_return |= depth->by_frame;
  notes->has_kept_return |= notes->has_link && depth->link == LINK_OWN && !depth->is_loaded;
  notes->unchanged_return |= depth->saved & ~depth->changed;
  if (depth->certainty != STACK_OTHER) /* a switch of stacks switches registers, too */
    notes->lost |= depth->changed;
  if (depth->link != LINK_OWN || (depth->changed & CODE_PRESERVED_FRAME) != 0)
    return true;
  if (depth->certainty == STACK_OTHER)
    return true;
  if (depth->certainty == STACK_EXACT)
    return depth->bytes != 0;
  if (depth->certainty == STACK_GUESSED) {
    notes->has_return = true;
    notes->has_odd_return |= depth->bytes != 0;
  }
  return depth->bytes > depth->enough;
}

bool stack_leaves_oddly(struct stack_notes *notes, const struct stack *stack) {
  const struct stack_depth *depth = &stack->depth;
  return depth->certainty > STACK_LOST && depth->bytes == 0 && stack_is_odd(notes, stack);
}

bool stack_has_more(const struct stack_notes *notes, const struct stack *stack) {
  return (stack->depth.certainty == STACK_OTHER && notes->has_link) ||
         (stack->depth.certainty > STACK_LOST && stack->depth.bytes != 0);
}

static uint16_t late_lost(const struct stack_notes *notes) {
  return notes->overwritten | (notes->changed_back & notes->unchanged_return);
}

uint16_t stack_lost_registers(const struct stack_notes *notes) {
  return notes->lost | late_lost(notes);
}

bool stack_was_odd(const struct stack_notes *notes) {
  return (late_lost(notes) & CODE_PRESERVED_FRAME) != 0 || notes->is_written ||
         (notes->has_other_back && notes->has_plain_return) ||
         (notes->has_frame_back && notes->has_frame_return) ||
         (notes->has_link_back && notes->has_kept_return) ||
         (notes->is_loaded && !notes->is_saved && !notes->is_part) ||
         (notes->has_right && notes->has_odd_return) || (notes->has_wrong && notes->has_return);
}

/* ---- Memory ---- */

/* The place of an instruction's memory, from the stack pointer at the start; false if it is
 * unknown. In a part of a function, from the stack pointer at the part's start. */
static bool find_place(const struct stack_notes *notes, const struct stack_depth *depth,
                       const struct code_stack *use, int32_t offset, int64_t *at) {
  const bool by_frame = use->base == CODE_FRAME_POINTER;
  const uint8_t certainty = by_frame ? depth->frame_certainty : depth->certainty;
  *at = (int64_t)offset - (by_frame ? depth->frame : depth->bytes);
  return certainty > STACK_LOST || (certainty == STACK_LOST && notes->has_link && !by_frame);
}

static bool has_return_address(const struct stack_notes *notes, int64_t at, int32_t size) {
  return at < (int64_t)notes->place + WORD && notes->place < at + size;
}

/* Above the function's own part of the stack are its arguments, and its callers' return
 * addresses. */
static bool is_callers(const struct stack_notes *notes, int64_t at, int32_t size) {
  return !notes->is_part && at + size > (notes->has_link ? 0 : WORD);
}

static void use_memory(struct stack_notes *notes, const struct stack_depth *depth,
                       const struct code_stack *use) {
  int64_t at;
  if (use->base == CODE_NO_BASE || !find_place(notes, depth, use, use->offset, &at))
    return;
  if (!notes->has_place && !use->is_read) {
    if (notes->early_count < STACK_EARLY)
      notes->early[notes->early_count] = (struct stack_store){at, use->size};
    notes->early_count++;
  } else if (notes->has_place && has_return_address(notes, at, use->size)) {
    notes->is_read |= use->is_read;
    notes->is_read_surely |= use->is_read && depth->certainty == STACK_EXACT;
    notes->is_written |= !use->is_read;
  }
  notes->is_written |= !use->is_read && !use->is_address && is_callers(notes, at, use->size);
}

/* ---- Registers that calls preserve ---- */

/* The first store of the caller's value says where its place is. A part of a function may have
 * other values in registers from its start on. */
static void save(struct stack_notes *notes, struct stack_depth *depth, uint16_t registers,
                 int64_t at) {
  const uint16_t saved = notes->is_part ? 0 : registers & ~depth->changed & ~notes->placed;
  for (unsigned i = 0; i < CODE_PRESERVED; i++)
    if ((saved >> i & 1) != 0)
      notes->places[i] = at;
  notes->placed |= saved;
  depth->saved |= saved;
}

/* Whether a register's value is loaded from its place. A part of a function loads values that
 * another part saved; and where the depth is guessed, a popped value is taken to be right unless it
 * was pushed from there on. */
static bool is_own_value(const struct stack_notes *notes, const struct stack_depth *depth,
                         const struct code_stack *use, unsigned number, int64_t at) {
  const bool is_pop = use->growth < 0 && use->growth != CODE_STACK_LOST;
  if ((notes->placed >> number & 1) == 0)
    return notes->is_part;
  return at == notes->places[number] ||
         (is_pop && depth->certainty == STACK_GUESSED && depth->bytes < depth->enough);
}

static void load(const struct stack_notes *notes, struct stack_depth *depth,
                 const struct code_stack *use, uint16_t registers, int64_t at) {
  for (unsigned i = 0; i < CODE_PRESERVED; i++)
    if ((registers >> i & 1) != 0 && is_own_value(notes, depth, use, i, at)) {
      depth->changed &= ~(1u << i);
      depth->saved &= ~(1u << i);
    }
}

/* Whether the caller's value of a register is stored at its place once more. */
static bool saves_again(const struct stack_notes *notes, const struct stack_depth *depth,
                        const struct code_stack *use, unsigned number, int64_t at) {
  const int64_t word = (notes->places[number] - at) / WORD;
  return (depth->changed >> number & 1) == 0 && notes->places[number] == at + word * WORD &&
         word >= 0 && word < CODE_WORDS && (use->saves[word] >> number & 1) != 0;
}

/* A store to a register's place makes the register lose its value. A place's address may be the end
 * of the object below it, except for the frame pointer's. */
static void overwrite(struct stack_notes *notes, const struct stack_depth *depth,
                      const struct code_stack *use, int64_t at) {
  const uint16_t endangered =
      use->is_address ? notes->placed & CODE_PRESERVED_FRAME : notes->placed;
  for (unsigned i = 0; endangered >> i != 0; i++)
    if ((endangered >> i & 1) != 0 && at < notes->places[i] + WORD &&
        notes->places[i] < at + use->size && !saves_again(notes, depth, use, i, at))
      notes->overwritten |= 1u << i;
}

static void follow_preserved(struct stack_notes *notes, struct stack_depth *depth,
                             const struct code_stack *use) {
  int64_t at;
  const bool is_known =
      use->base != CODE_NO_BASE && find_place(notes, depth, use, use->offset, &at);
  depth->changed |= use->changes;
  for (unsigned i = 0; i < CODE_WORDS; i++)
    if (use->loads[i] != 0)
      load(notes, depth, use, use->loads[i], is_known ? at + i * WORD : INT64_MAX);
  if (!is_known || use->is_read)
    return;
  for (unsigned i = 0; i < CODE_WORDS; i++)
    if (use->saves[i] != 0)
      save(notes, depth, use->saves[i], at + i * WORD);
  if (notes->placed != 0)
    overwrite(notes, depth, use, at);
}

/* ---- The register for return addresses ---- */

/* Sets the return address's place. */
static void set_place(struct stack_notes *notes, int64_t at) {
  notes->has_place = true;
  notes->place = (int32_t)at;
  notes->is_written |= notes->early_count > STACK_EARLY;
  for (uint32_t i = 0; i < notes->early_count && i < STACK_EARLY; i++)
    notes->is_written |= has_return_address(notes, notes->early[i].at, notes->early[i].size);
}

static void save_link(struct stack_notes *notes, struct stack_depth *depth,
                      const struct code_stack *use) {
  int64_t at;
  if (depth->link == LINK_OTHER) {
    use_memory(notes, depth, use);
  } else if (depth->link == LINK_CALL || !find_place(notes, depth, use, use->link_offset, &at)) {
    notes->is_read = true;
  } else {
    if (!notes->has_place)
      set_place(notes, at);
    notes->is_written |= at != notes->place;
    notes->is_saved = true;
    depth->link = LINK_SAVED;
  }
}

static void load_link(struct stack_notes *notes, struct stack_depth *depth,
                      const struct code_stack *use) {
  int64_t at;
  depth->link = LINK_OTHER;
  if (!find_place(notes, depth, use, use->link_offset, &at))
    return;
  if (!notes->has_place)
    set_place(notes, at);
  if (at != notes->place)
    return;
  notes->is_loaded = true;
  depth->link = LINK_OWN;
  depth->is_loaded = true;
}

/* Whether an instruction puts a copy of the return address into another register, or back. */
static bool copies_link(const struct stack_notes *notes, struct stack_depth *depth,
                        const struct code_instruction *instruction) {
  const struct code_values *values = &instruction->values;
  const struct code_parts *parts = &instruction->parts;
  const uint32_t link = (uint32_t)1 << notes->link;
  const bool is_copy = instruction->kind == CODE_OTHER && values->result == RESULT_COPY &&
                       parts->reads == (uint32_t)1 << values->first &&
                       parts->writes == (uint32_t)1 << values->to;
  const bool is_own = depth->link == LINK_OWN && is_copy && parts->reads == link;
  const bool has_copy = is_own || (is_copy && (depth->link_copies & parts->reads) != 0);
  depth->link_copies &= ~(parts->writes | parts->may_write);
  if (has_copy && parts->writes != link)
    depth->link_copies |= parts->writes;
  return has_copy;
}

static void follow_link(struct stack_notes *notes, struct stack_depth *depth,
                        const struct code_instruction *instruction) {
  const struct code_stack *use = &instruction->stack;
  const bool reads_copy = (depth->link_copies & instruction->parts.reads) != 0;
  const bool is_copy = notes->has_link && copies_link(notes, depth, instruction);
  notes->is_read |= !is_copy && (reads_copy || (use->reads_link && depth->link != LINK_OTHER));
  switch (use->link) {
  case CODE_LINK_SAVED:
    save_link(notes, depth, use);
    return;
  case CODE_LINK_LOADED:
    load_link(notes, depth, use);
    return;
  case CODE_LINK_CALLED:
    depth->link = LINK_CALL;
    break;
  case CODE_LINK_CHANGED:
    depth->link = is_copy ? LINK_OWN : LINK_OTHER;
    depth->is_loaded |= is_copy;
    break;
  default:
    break;
  }
  use_memory(notes, depth, use);
}

/* ---- Instructions ---- */

static void move(struct stack_depth *depth, const struct code_stack *use) {
  const int64_t bytes = (int64_t)depth->bytes + use->growth;
  if (use->copy == CODE_STACK_POINTER) {
    depth->frame = depth->bytes - use->copy_offset;
    depth->frame_certainty = depth->certainty;
  } else if (use->copy == CODE_FRAME_POINTER) {
    const bool is_known = depth->frame_certainty > STACK_LOST;
    depth->bytes = is_known ? depth->frame - use->copy_offset : 0;
    depth->enough = is_known ? depth->enough : 0;
    depth->certainty = depth->frame_certainty;
    depth->by_frame = true;
  } else if (use->growth == CODE_STACK_LOST || bytes > DEPTH_MAX || bytes < -DEPTH_MAX) {
    depth->certainty = STACK_OTHER;
    depth->by_frame = false;
  } else {
    depth->bytes = (int32_t)bytes;
  }
}

/* Others may write to a place whose address another register gets. */
static void hand_over(struct stack_notes *notes, const struct stack_depth *depth,
                      const struct code_stack *use) {
  const struct code_stack handed = {.base = use->handed,
                                    .offset = use->handed_offset,
                                    .size = use->handed_size,
                                    .is_address = true};
  int64_t at;
  use_memory(notes, depth, &handed);
  if (handed.base != CODE_NO_BASE && find_place(notes, depth, &handed, handed.offset, &at))
    overwrite(notes, depth, &handed, at);
}

/* A jump by a pointer at the start's depth is a tail call; but a function may also have its only
 * switch there. */
static bool may_switch(const struct stack *stack, const struct code_instruction *instruction) {
  return instruction->kind == CODE_JUMP && instruction->target_kind == CODE_COMPUTED &&
         (stack->depth.bytes != 0 || !stack->has_switched);
}

void stack_follow(struct stack_notes *notes, struct stack *stack,
                  const struct code_instruction *instruction) {
  const struct code_stack *use = &instruction->stack;
  hand_over(notes, &stack->depth, use);
  if (use->growth != 0 || use->copy != CODE_NO_BASE)
    move(&stack->depth, use);
  if (use->loses_frame)
    stack->depth.frame_certainty = STACK_OTHER;
  follow_preserved(notes, &stack->depth, use);
  follow_link(notes, &stack->depth, instruction);
  if (instruction->kind == CODE_JUMP || instruction->kind == CODE_BRANCH ||
      instruction->kind == CODE_CALL)
    stack->jumped = stack->depth;
  if (may_switch(stack, instruction)) {
    stack->has_other_switch |= stack->has_switched && stack->switched.bytes != stack->depth.bytes;
    const uint16_t changed = stack->switched.changed; /* empty for the first switch */
    stack->switched = stack->depth;
    stack->switched.changed |= changed;
    stack->has_switched = true;
  }
}
