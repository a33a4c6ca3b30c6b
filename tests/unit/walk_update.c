/* walk_update.c - tests the updating of a frame's references against a simple model, on random sets of
 * pairs.
 *
 * The model reads everything first and writes it afterwards: it has for each place the referenced
 * object, the offset in it, and whether it is a base. So the order is irrelevant to it. Objects
 * move from one range of addresses to another, far away; a reference that is forwarded twice, or not
 * at all, is in neither.
 */
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { RETURN_ADDRESS = 0x1010, CONSTANT = 4711, OBJECT_BYTES = 4096 };

/* Where objects are, and where they go. */
static const uintptr_t from = 0x100000000, to = 0x500000000;

/* The registers that a root may be in. */
static const uint8_t registers[] = {STACKPACK_RBX, STACKPACK_R12, STACKPACK_R13, STACKPACK_R14,
                                    STACKPACK_R15};
enum { REGISTERS = sizeof registers };

struct place {
  uint32_t object; /* 0: null */
  uint32_t distance;
  bool is_base, is_derived;
};

/* A frame: its words, then its registers, are the places. */
struct frame {
  uint32_t words, objects;
  struct place *places;
  uintptr_t *stack; /* the words, and a return address */
  struct stackpack_registers block;
  uint64_t forwarded; /* calls of forward */
};

struct shape {
  uint32_t words, pairs, objects;
  unsigned registers, aliases, constants; /* in so many of a hundred places */
};

/* ---- Making up a frame ---- */

static struct stackpack_location location_of(struct numbers *numbers, const struct shape *shape,
                                             uint32_t place) {
  if (place >= shape->words)
    return model_location(STACKPACK_REGISTER, 8, registers[place - shape->words], 0);
  if (numbers_chance(numbers, shape->aliases)) /* %rbp is in the middle */
    return model_location(STACKPACK_INDIRECT, 8, STACKPACK_RBP,
                          ((int64_t)place - shape->words / 2) * 8);
  return model_slot((int32_t)place * 8);
}

static uint32_t choose_place(struct numbers *numbers, const struct shape *shape) {
  if (numbers_chance(numbers, shape->registers))
    return shape->words + (uint32_t)numbers_below(numbers, REGISTERS);
  return (uint32_t)numbers_below(numbers, shape->words);
}

/* A place that refers to the same object: one of the next few, or the place itself. */
static uint32_t choose_base(struct numbers *numbers, const struct frame *frame, uint32_t derived) {
  if (numbers_chance(numbers, 60))
    return derived;
  for (uint32_t i = 0; i < 50; i++) {
    const uint32_t place = (uint32_t)numbers_below(numbers, frame->words + REGISTERS);
    if (frame->places[place].object == frame->places[derived].object)
      return place;
  }
  return derived;
}

static void add_pair(struct numbers *numbers, const struct shape *shape, struct frame *frame,
                     struct model_record *record) {
  const uint32_t derived = choose_place(numbers, shape);
  if (numbers_chance(numbers, shape->constants)) {
    const struct stackpack_location here = location_of(numbers, shape, derived);
    const struct stackpack_location object = model_location(STACKPACK_DIRECT, 8, STACKPACK_RSP, 8);
    model_add_pair(record, numbers_chance(numbers, 50) ? model_constant(CONSTANT) : object, here);
    return;
  }
  const uint32_t base = choose_base(numbers, frame, derived);
  model_add_pair(record, location_of(numbers, shape, base), location_of(numbers, shape, derived));
  frame->places[base].is_base = true;
  frame->places[derived].is_derived = true;
}

static uintptr_t *word_of(struct frame *frame, uint32_t place) {
  return place < frame->words ? &frame->stack[place]
                              : &frame->block.values[registers[place - frame->words]];
}

static void fill(struct frame *frame) {
  for (uint32_t i = 0; i < frame->words + REGISTERS; i++) {
    const struct place *place = &frame->places[i];
    *word_of(frame, i) = (place->object == 0 ? 0 : from + place->object * OBJECT_BYTES) +
                         (place->is_base ? 0 : place->distance);
  }
}

static void make_up(struct numbers *numbers, const struct shape *shape, struct frame *frame,
                    struct model *model) {
  *frame = (struct frame){.words = shape->words, .objects = shape->objects};
  frame->places = calloc(shape->words + REGISTERS, sizeof *frame->places);
  frame->stack = calloc(shape->words + 1, sizeof *frame->stack);
  for (uint32_t i = 0; i < frame->words + REGISTERS; i++) {
    frame->places[i].object = (uint32_t)numbers_below(numbers, shape->objects + 1);
    frame->places[i].distance = (uint32_t)numbers_below(numbers, OBJECT_BYTES);
  }
  model_add_function(model, 0x1000, shape->words * 8, 0x1100);
  struct model_record *record = model_add_record(model, RETURN_ADDRESS - 0x1000);
  for (uint32_t i = 0; i < shape->pairs; i++)
    add_pair(numbers, shape, frame, record);
  frame->block.known = STACKPACK_PRESERVED_REGISTERS;
  frame->block.values[STACKPACK_RBP] = (uintptr_t)&frame->stack[shape->words / 2];
  fill(frame);
}

/* ---- Updating it ---- */

static uintptr_t forward(void *closure, uintptr_t base) {
  struct frame *frame = closure;
  const uintptr_t offset = base - from;
  ck_assert_msg(offset % OBJECT_BYTES == 0 && offset / OBJECT_BYTES <= frame->objects,
                "%#lx is not the start of an object that is yet to move", base);
  frame->forwarded++;
  return to + offset;
}

static uintptr_t expected(const struct place *place) {
  if (!place->is_base && !place->is_derived)
    return (place->object == 0 ? 0 : from + place->object * OBJECT_BYTES) + place->distance;
  return (place->object == 0 ? 0 : to + place->object * OBJECT_BYTES) +
         (place->is_base ? 0 : place->distance);
}

static void compare(struct frame *frame) {
  uint64_t bases = 0;
  for (uint32_t i = 0; i < frame->words + REGISTERS; i++) {
    bases += frame->places[i].is_base && frame->places[i].object != 0;
    ck_assert_msg(*word_of(frame, i) == expected(&frame->places[i]),
                  "place %u of %u: %#lx, not %#lx", i, frame->words, *word_of(frame, i),
                  expected(&frame->places[i]));
  }
  ck_assert_uint_eq(frame->forwarded, bases);
}

static void update(struct frame *frame, const struct stackpack_walker *walker) {
  const struct stackpack_stack stack = {(uintptr_t)frame->stack,
                                        (uintptr_t)(frame->stack + frame->words + 1)};
  const struct stackpack_context context =
      stackpack_context_at_call(RETURN_ADDRESS, stack.low, &frame->block);
  struct stackpack_walk walk;
  struct stackpack_root root;
  stackpack_walk_start(&walk, walker, stack, &context);
  ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
  if (frame->words % 2 != 0) /* regardless of earlier reads */
    stackpack_walk_root(&walk, &root);
  ck_assert_int_eq(stackpack_walk_update(&walk, forward, frame), STACKPACK_WALK_MANAGED);
  ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_END);
}

static void check(const struct shape *shape, uint64_t seed) {
  static const struct model_options options = {.section_address = 0x200000,
                                               .open_address = 0x200000};
  enum { CACHE_SHIFT = 5 };
  static uint64_t cache_memory[(STACKPACK_CACHE_LINE << CACHE_SHIFT) / sizeof(uint64_t)];
  struct stackpack_cache cache;
  struct numbers numbers = {seed};
  struct model model = {0};
  struct frame frame;
  make_up(&numbers, shape, &frame, &model);
  model_finish(&model);
  struct packed_model packed = packed_model_open(&model, &options);
  struct stackpack_walker walker = {.table = &packed.table};
  stackpack_cache_open(&cache, cache_memory, CACHE_SHIFT);
  for (unsigned i = 0; i < 3; i++) { /* without a cache, with an empty one, and from it */
    walker.cache = i == 0 ? NULL : &cache;
    frame.forwarded = 0;
    fill(&frame);
    update(&frame, &walker);
    compare(&frame);
  }
  packed_model_free(&packed);
  model_free(&model);
  free(frame.places);
  free(frame.stack);
}

static void check_many(struct shape shape, uint64_t rounds) {
  for (uint64_t seed = 1; seed <= rounds; seed++)
    check(&shape, seed);
}

TEST(slots_in_a_row) {
  const uint64_t rounds = numbers_setting("ROUNDS", 60);
  check_many((struct shape){.words = 1, .pairs = 1, .objects = 1}, 10);
  check_many((struct shape){.words = 8, .pairs = 6, .objects = 3}, rounds);
  check_many((struct shape){.words = 60, .pairs = 40, .objects = 10}, rounds);
  check_many((struct shape){.words = 100, .pairs = 90, .objects = 10}, rounds);
  for (uint32_t words = 120; words < 136; words++) /* the update of near places ends at 128 */
    check_many((struct shape){.words = words, .pairs = 40, .objects = 4}, rounds / 10);
  for (uint32_t pairs = 20; pairs < 200; pairs += 12) /* in several groups */
    check_many((struct shape){.words = 150, .pairs = pairs, .objects = 4}, rounds / 10);
  check_many((struct shape){.words = 255, .pairs = 50, .objects = 4}, rounds);
  check_many((struct shape){.words = 300, .pairs = 30, .objects = 4}, rounds);
}

TEST(places_of_all_kinds) {
  const uint64_t rounds = numbers_setting("ROUNDS", 60);
  check_many((struct shape){9, 12, 3, .registers = 30, .aliases = 0, .constants = 0}, rounds);
  check_many((struct shape){8, 12, 3, .registers = 0, .aliases = 30, .constants = 0}, rounds);
  check_many((struct shape){8, 12, 3, .registers = 0, .aliases = 0, .constants = 20}, rounds);
  check_many((struct shape){21, 40, 4, .registers = 20, .aliases = 20, .constants = 10}, rounds);
  check_many((struct shape){2, 5, 1, .registers = 70, .aliases = 20, .constants = 10}, rounds);
}

/* Frames larger than the update's own memory. */
TEST(many_pairs) {
  const uint64_t rounds = numbers_setting("ROUNDS", 60) / 100 + 1;
  check_many((struct shape){5000, 20, 5, .registers = 10, .aliases = 10, .constants = 5}, rounds);
  check_many((struct shape){5000, 9000, 100, .registers = 1, .aliases = 20, .constants = 1},
             rounds);
  check_many((struct shape){50000, 30000, 500, .registers = 1, .aliases = 0, .constants = 1}, 1);
}

/* A place outside the stack's bounds stays unwritten. */
TEST(places_out_of_the_stack) {
  enum { LOWEST = -1, DERIVED = 3, HIGHEST = 5, WORDS = 8 };
  static const struct model_options options = {.section_address = 0x200000,
                                               .open_address = 0x200000};
  struct model model = {0};
  struct frame frame = {.objects = 1};
  model_add_function(&model, 0x1000, WORDS * 8, 0x1100);
  struct model_record *others = model_add_record(&model, RETURN_ADDRESS - 0x1000 + 16);
  struct stackpack_location words_at[WORDS + 1], *at = words_at + 1;
  for (int i = LOWEST; i < WORDS; i++) { /* all words are places of one class */
    at[i] = model_location(STACKPACK_INDIRECT, 8, STACKPACK_RSP, i * 8);
    model_add_pair(others, at[i], at[i]);
  }
  struct model_record *record = model_add_record(&model, RETURN_ADDRESS - 0x1000);
  model_add_pair(record, at[LOWEST], at[LOWEST]);
  model_add_pair(record, at[HIGHEST], at[DERIVED]);
  model_finish(&model);
  struct packed_model packed = packed_model_open(&model, &options);
  const struct stackpack_walker walker = {.table = &packed.table};
  for (unsigned start = 0; start < 2; start++)
    for (unsigned words = 2; words <= WORDS; words++) {
      uintptr_t memory[WORDS + 1] = {0};
      uintptr_t *const pointer = memory + 1;
      const bool is_inside = start == 0 && words > HIGHEST;
      const struct stackpack_stack stack = {(uintptr_t)(memory + start),
                                            (uintptr_t)(pointer + words)};
      const struct stackpack_context context =
          stackpack_context_at_call(RETURN_ADDRESS, (uintptr_t)pointer, &frame.block);
      struct stackpack_walk walk;
      pointer[LOWEST] = pointer[HIGHEST] = from;
      pointer[DERIVED] = from + 1;
      stackpack_walk_start(&walk, &walker, stack, &context);
      ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
      ck_assert_int_eq(stackpack_walk_update(&walk, forward, &frame),
                       is_inside ? STACKPACK_WALK_MANAGED : STACKPACK_WALK_OUT_OF_STACK);
      ck_assert_uint_eq(pointer[LOWEST], is_inside ? to : from);
      ck_assert_uint_eq(pointer[HIGHEST], is_inside ? to : from);
      ck_assert_uint_eq(pointer[DERIVED], (is_inside ? to : from) + 1);
    }
  packed_model_free(&packed);
  model_free(&model);
}

/* ---- Other places ---- */

enum { OTHER_WORDS = 16, PLACES = 6 };
static uintptr_t memory[OTHER_WORDS];

/* A walk at a frame at the start of the memory, whose words are references; with the frame pointer in its middle. */
static struct stackpack_walk start_at_memory(const struct stackpack_walker *walker,
                                             struct frame *frame) {
  const struct stackpack_stack stack = {(uintptr_t)memory, (uintptr_t)(memory + OTHER_WORDS)};
  struct stackpack_walk walk;
  for (unsigned i = 0; i < OTHER_WORDS; i++)
    memory[i] = from;
  *frame = (struct frame){.objects = 1, .block.known = STACKPACK_PRESERVED_REGISTERS};
  frame->block.values[STACKPACK_RBP] = (uintptr_t)&memory[OTHER_WORDS / 2];
  const struct stackpack_context context =
      stackpack_context_at_call(RETURN_ADDRESS, stack.low, &frame->block);
  stackpack_walk_start(&walk, walker, stack, &context);
  ck_assert_int_eq(stackpack_walk_next(&walk), STACKPACK_WALK_MANAGED);
  return walk;
}

/* A table of one record, of pairs. */
static struct packed_model table_of(const struct stackpack_location *pairs, size_t count) {
  static const struct model_options options = {.section_address = 0x200000,
                                               .open_address = 0x200000};
  struct model model = {0};
  model_add_function(&model, 0x1000, OTHER_WORDS * 8 - 8, 0x1100);
  struct model_record *record = model_add_record(&model, RETURN_ADDRESS - 0x1000);
  for (size_t i = 0; i < count; i++)
    model_add_pair(record, pairs[2 * i], pairs[2 * i + 1]);
  model_finish(&model);
  const struct packed_model packed = packed_model_open(&model, &options);
  model_free(&model);
  return packed;
}

/* Tables whose usual locations aren't all words at the stack pointer: no other words change. */
TEST(usual_locations_of_other_kinds) {
  static const struct {
    uint8_t kind;
    uint16_t size, reg;
    int64_t first, step;
    enum stackpack_walk_answer answer;
    unsigned changed; /* words: a bit each */
  } ways[] = {
      {STACKPACK_INDIRECT, 8, STACKPACK_RSP, 0, 8, STACKPACK_WALK_MANAGED, 0x3f},
      {STACKPACK_INDIRECT, 8, STACKPACK_RSP, 0, 16, STACKPACK_WALK_MANAGED, 0x555},
      {STACKPACK_INDIRECT, 8, STACKPACK_RBP, 0, 8, STACKPACK_WALK_MANAGED, 0x3f00},
      {STACKPACK_INDIRECT, 8, STACKPACK_RSP, 4, 8, STACKPACK_WALK_MISALIGNED, 0},
      {STACKPACK_INDIRECT, 4, STACKPACK_RSP, 0, 8, STACKPACK_WALK_BAD_LOCATION, 0},
      {STACKPACK_DIRECT, 8, STACKPACK_RSP, 0, 8, STACKPACK_WALK_MANAGED, 0},
  };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct stackpack_location pairs[2 * PLACES];
    struct frame frame;
    for (unsigned k = 0; k < 2 * PLACES; k++)
      pairs[k] = model_location(ways[i].kind, ways[i].size, ways[i].reg,
                                ways[i].first + ways[i].step * (k / 2));
    struct packed_model packed = table_of(pairs, PLACES);
    const struct stackpack_walker walker = {.table = &packed.table};
    struct stackpack_walk walk = start_at_memory(&walker, &frame);
    ck_assert_int_eq(stackpack_walk_update(&walk, forward, &frame), ways[i].answer);
    for (unsigned k = 0; k < OTHER_WORDS; k++)
      ck_assert_msg(memory[k] == ((ways[i].changed >> k & 1) != 0 ? to : from), "%zu: %u", i, k);
    packed_model_free(&packed);
  }
}

/* No root changes where a register is unknown, the first one, too. */
TEST(registers_that_are_unknown) {
  const struct stackpack_location rax = model_location(STACKPACK_REGISTER, 8, 0, 0);
  const struct stackpack_location ways[][4] = {{model_slot(0), model_slot(0), rax, rax},
                                               {model_slot(0), model_slot(0), model_slot(0), rax},
                                               {model_slot(0), model_slot(0), rax, model_slot(8)}};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    struct frame frame;
    struct packed_model packed = table_of(ways[i], 2);
    const struct stackpack_walker walker = {.table = &packed.table};
    struct stackpack_walk walk = start_at_memory(&walker, &frame);
    ck_assert_int_eq(stackpack_walk_update(&walk, forward, &frame),
                     STACKPACK_WALK_REGISTER_UNKNOWN);
    ck_assert(memory[0] == from && memory[1] == from);
    packed_model_free(&packed);
  }
}

/* A pair of constants is one root, without a place. */
TEST(roots_of_constants) {
  const struct stackpack_location pairs[] = {model_constant(CONSTANT), model_constant(CONSTANT)};
  struct frame frame;
  struct stackpack_root root;
  struct packed_model packed = table_of(pairs, 1);
  const struct stackpack_walker walker = {.table = &packed.table};
  struct stackpack_walk walk = start_at_memory(&walker, &frame);
  ck_assert(stackpack_walk_root(&walk, &root));
  ck_assert(root.base == NULL && root.derived == NULL);
  ck_assert(!stackpack_walk_root(&walk, &root));
  packed_model_free(&packed);
}

/* ---- Values ---- */

TEST(values_of_locations) {
  uint64_t slots[2] = {0x8877665544332211, 0xffeeddccbbaa9900};
  struct stackpack_walk walk = {.context = {.stack_pointer = (uintptr_t)slots}};
  walk.private_.stack = (struct stackpack_stack){(uintptr_t)slots, (uintptr_t)(slots + 2)};
  stackpack_context_set(&walk.context, 3, 0x1122334455667788);
  stackpack_context_save(&walk.context, 12, (uintptr_t *)&slots[1]);
  enum { SP = STACKPACK_STACK_POINTER };
  const struct {
    struct stackpack_location location;
    uint64_t value;
  } known[] = {{{STACKPACK_CONSTANT, 8, 0, -5}, (uint64_t)-5},
               {{STACKPACK_LARGE_CONSTANT, 8, 0, INT64_MIN}, (uint64_t)INT64_MIN},
               {{STACKPACK_DIRECT, 8, SP, 16}, (uintptr_t)(slots + 2)},
               {{STACKPACK_DIRECT, 8, 3, 1}, 0x1122334455667789},
               {{STACKPACK_INDIRECT, 8, SP, 8}, slots[1]},
               {{STACKPACK_INDIRECT, 4, SP, 0}, 0x44332211},
               {{STACKPACK_INDIRECT, 2, SP, 3}, 0x5544},
               {{STACKPACK_INDIRECT, 1, SP, 15}, 0xff},
               {{STACKPACK_REGISTER, 8, 3, 0}, 0x1122334455667788},
               {{STACKPACK_REGISTER, 1, 3, 1}, 0x77},
               {{STACKPACK_REGISTER, 4, 12, 0}, 0xbbaa9900},
               {{STACKPACK_REGISTER, 8, SP, 0}, (uintptr_t)slots}};
  const struct stackpack_location unknown[] = {{STACKPACK_INDIRECT, 8, SP, 9},
                                               {STACKPACK_INDIRECT, 1, SP, 16},
                                               {STACKPACK_INDIRECT, 1, SP, -1},
                                               {STACKPACK_INDIRECT, 16, SP, 0},
                                               {STACKPACK_INDIRECT, 0, SP, 0},
                                               {STACKPACK_INDIRECT, 8, 4, 0},
                                               {STACKPACK_INDIRECT, 8, 3, 0},
                                               {STACKPACK_REGISTER, 8, 3, 1},
                                               {STACKPACK_REGISTER, 8, 3, -1},
                                               {STACKPACK_REGISTER, 1, 3, 8},
                                               {STACKPACK_REGISTER, 16, 3, 0},
                                               {STACKPACK_REGISTER, 8, 4, 0},
                                               {STACKPACK_REGISTER, 8, 400, 0},
                                               {STACKPACK_DIRECT, 8, UINT16_MAX, 0},
                                               {0, 8, SP, 0},
                                               {77, 8, SP, 0}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint64_t value = 0;
    ck_assert(stackpack_walk_value(&walk, &known[i].location, &value));
    ck_assert_uint_eq(value, known[i].value);
  }
  for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
    uint64_t value;
    ck_assert(!stackpack_walk_value(&walk, &unknown[i], &value));
  }
}
