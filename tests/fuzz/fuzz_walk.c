/* fuzz_walk.c - walks over broken stacks, by broken tables.
 *
 * The input is a packed table, and its last 8 bytes are a seed, too. From the seed comes a stack,
 * built as managed code would leave it, frame by frame, and then spoilt: return addresses go wild,
 * frame pointers go in circles, the top is cut off. So are the walk's options, and an unwinder of
 * arbitrary answers.
 *
 * Findings: a read or write outside the stack and the registers, a walk with more frames than the
 * stack has words, an end that doesn't last, a base that is forwarded more often than there are
 * places, and an update that stops half-way.
 */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

enum {
  TABLE_MAX = 1 << 16,
  WORDS_MAX = 512,
  PLACES_MAX = WORDS_MAX + STACKPACK_REGISTERS,
  PAIRS_LOOKED_AT = 1 << 12, /* of all frames: a table of some bytes can give each 65535 */
  LOCATION_WORDS_MAX = 8191, /* of a slot for a vector: its size has 16 bits */
};

struct attack {
  struct stackpack_table table;
  uint64_t seed;
  uintptr_t *words;
  uint32_t count;
  struct stackpack_registers registers;
  uint64_t forwarded, pairs;
};

static uint64_t random_number(struct attack *attack) {
  return (uint64_t)next_random(&attack->seed) << 32 | next_random(&attack->seed);
}

static uintptr_t random_place(struct attack *attack) {
  return (uintptr_t)(attack->words + random_below(&attack->seed, attack->count));
}

/* ---- The stack ---- */

static struct stackpack_record random_record(struct attack *attack) {
  struct stackpack_record record = {0};
  const size_t records = stackpack_table_records(&attack->table);
  if (records > 0)
    stackpack_table_record(&attack->table, (uint32_t)(random_number(attack) % records), &record);
  return record;
}

/* Anything that might lie on a stack. */
static uintptr_t random_word(struct attack *attack) {
  switch (random_below(&attack->seed, 6)) {
  case 0:
    return (uintptr_t)random_record(attack).address;
  case 1:
    return (uintptr_t)random_record(attack).address + random_below(&attack->seed, 64) - 32;
  case 2:
    return random_place(attack);
  case 3:
    return random_place(attack) + random_below(&attack->seed, 8);
  case 4:
    return random_below(&attack->seed, 64);
  default:
    return (uintptr_t)random_number(attack);
  }
}

/* Lays frames on each other, each with a frame pointer below its return address. */
static void build_frames(struct attack *attack, struct stackpack_context *context) {
  struct stackpack_record record = random_record(attack);
  uint32_t word = random_below(&attack->seed, 16) % attack->count;
  uintptr_t *pointer = &attack->registers.values[STACKPACK_RBP];
  *context = stackpack_context_at_call((uintptr_t)record.address, (uintptr_t)&attack->words[word],
                                       &attack->registers);
  for (;;) {
    const uint64_t size = record.frame_size < WORDS_MAX * 8 ? record.frame_size / 8
                                                            : 1 + random_below(&attack->seed, 32);
    if (size >= attack->count - word)
      return;
    word += (uint32_t)size;
    if (size > 0) {
      *pointer = (uintptr_t)&attack->words[word - 1];
      pointer = &attack->words[word - 1];
    }
    record = random_record(attack);
    attack->words[word++] = (uintptr_t)record.address;
    if (word == attack->count)
      return;
  }
}

static void spoil(struct attack *attack, struct stackpack_context *context) {
  for (uint32_t i = random_below(&attack->seed, 4); i > 0; i--)
    attack->words[random_below(&attack->seed, attack->count)] = random_word(attack);
  if (random_below(&attack->seed, 8) == 0)
    context->pc = random_word(attack);
  if (random_below(&attack->seed, 8) == 0)
    context->stack_pointer = random_word(attack);
  if (random_below(&attack->seed, 4) == 0)
    context->known &= next_random(&attack->seed);
  context->is_exact = random_below(&attack->seed, 8) == 0;
}

/* ---- The unwinder ---- */

static enum stackpack_unwound unwind(void *unwinder, struct stackpack_stack stack,
                                     struct stackpack_context *context) {
  struct attack *attack = unwinder;
  const uint32_t choice = random_below(&attack->seed, 32);
  if (choice < 2)
    return choice == 0 ? STACKPACK_OUTERMOST : STACKPACK_NOT_UNWOUND;
  context->stack_pointer += random_below(&attack->seed, 16) * 8;
  if (choice == 2)
    context->stack_pointer = random_word(attack);
  context->pc = random_word(attack);
  if (context->stack_pointer % 8 == 0 && context->stack_pointer > stack.low &&
      context->stack_pointer <= stack.end)
    context->pc = *(const uintptr_t *)(context->stack_pointer - 8);
  for (unsigned reg = 0; reg < STACKPACK_REGISTERS; reg++)
    if (random_below(&attack->seed, 2) == 0)
      stackpack_context_save(context, reg, (uintptr_t *)random_place(attack));
    else
      stackpack_context_set(context, reg, random_word(attack));
  return STACKPACK_UNWOUND;
}

/* ---- The walk ---- */

static uintptr_t forward(void *closure, uintptr_t base) {
  struct attack *attack = closure;
  attack->forwarded++;
  return base + 16;
}

static void read_roots(struct attack *attack, struct stackpack_walk *walk) {
  struct stackpack_root root;
  uint64_t count = 0;
  while (stackpack_walk_root(walk, &root)) {
    if ((root.base != NULL && *root.base != root.base_value) ||
        (root.derived != NULL && *root.derived != root.derived_value))
      finding("a root's value is what lies in its place", NULL);
    if (++count > 65535 * (uint64_t)LOCATION_WORDS_MAX)
      finding("roots come to an end", NULL);
  }
  attack->pairs += count;
}

static void update_roots(struct attack *attack, struct stackpack_walk *walk) {
  attack->forwarded = 0;
  const enum stackpack_walk_answer answer = stackpack_walk_update(walk, forward, attack);
  if (answer == STACKPACK_WALK_NATIVE || answer == STACKPACK_WALK_END)
    finding("an update tells of a managed frame, or of a stop", NULL);
  if (attack->forwarded > PLACES_MAX)
    finding("a place is forwarded once", NULL);
  if (answer >= STACKPACK_WALK_NOT_SAFEPOINT &&
      (attack->forwarded != 0 || stackpack_walk_next(walk) != answer))
    finding("an update that can't be made changes nothing, and is the walk's end", NULL);
}

static void walk_on(struct attack *attack, struct stackpack_walk *walk) {
  enum stackpack_walk_answer answer;
  uint32_t frames = 0;
  while (stackpack_walk_is_frame(answer = stackpack_walk_next(walk))) {
    if (++frames > attack->count)
      finding("a walk has no more frames than the stack has words", NULL);
    if (answer != STACKPACK_WALK_MANAGED || attack->pairs > PAIRS_LOOKED_AT)
      continue;
    read_roots(attack, walk);
    if (random_below(&attack->seed, 2) == 0)
      update_roots(attack, walk);
  }
  if (stackpack_walk_next(walk) != answer)
    finding("an end is one for good", NULL);
  if (answer < STACKPACK_WALK_NOT_SAFEPOINT &&
      (answer == STACKPACK_WALK_NO_MANAGED) != (frames == 0 || walk->managed_frames == 0))
    finding("an end without a managed frame is told from others", stackpack_walk_text(answer));
}

static void attack_table(struct attack *attack) {
  enum { CACHE_SHIFT = 5 };
  static uint64_t cache_memory[(STACKPACK_CACHE_LINE << CACHE_SHIFT) / sizeof(uint64_t)];
  struct stackpack_cache cache;
  struct stackpack_context context;
  struct stackpack_walk walk;
  stackpack_cache_open(&cache, cache_memory, CACHE_SHIFT);
  attack->registers.known = STACKPACK_PRESERVED_REGISTERS;
  build_frames(attack, &context);
  spoil(attack, &context);
  const struct stackpack_walker walker = {
      .table = &attack->table,
      .cache = random_below(&attack->seed, 2) == 0 ? &cache : NULL,
      .managed = random_below(&attack->seed, 3) == 0 ? STACKPACK_BY_UNWINDING : STACKPACK_BY_TABLE,
      .native = (enum stackpack_way)random_below(&attack->seed, 3),
      .unwind = random_below(&attack->seed, 2) == 0 ? unwind : NULL,
      .unwinder = attack,
  };
  const uint32_t used = random_below(&attack->seed, 4) == 0
                            ? random_below(&attack->seed, attack->count + 1)
                            : attack->count;
  const struct stackpack_stack stack = {(uintptr_t)attack->words,
                                        (uintptr_t)(attack->words + used)};
  stackpack_walk_start(&walk, &walker, stack, &context);
  walk_on(attack, &walk);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct attack attack = {0};
  const size_t room = size < PACKED_HEADER_SIZE ? PACKED_HEADER_SIZE : size;
  uint8_t *bytes = exact_block(data, size, room);
  memcpy(&attack.seed, bytes + room - sizeof attack.seed, sizeof attack.seed);
  const size_t table_size = repair_header(bytes, room, TABLE_MAX);
  if (table_size > 0) {
    uint8_t *table = exact_block(bytes, room < table_size ? room : table_size, table_size);
    attack.count = 1 + random_below(&attack.seed, WORDS_MAX);
    attack.words = (uintptr_t *)(void *)exact_block(NULL, 0, attack.count * sizeof(uintptr_t));
    if (stackpack_table_open(&attack.table, table, table_size, 0x400000) == STACKPACK_OK)
      for (unsigned i = 0; i < 4; i++)
        attack_table(&attack);
    free(attack.words);
    free(table);
  }
  free(bytes);
  return 0;
}

/* Another seed, after the table, or another table. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed_number) {
  uint64_t seed = seed_number;
  if (size + sizeof seed > max_size || size < sizeof seed || random_below(&seed, 2) == 0)
    return LLVMFuzzerMutate(data, size, max_size);
  if (random_below(&seed, 8) == 0)
    size += sizeof seed;
  for (size_t i = size - sizeof seed; i < size; i++)
    data[i] = (uint8_t)next_random(&seed);
  return size;
}
