/* walk_root.c - from the locations of a record to addresses, in the frame that a walk is at. */
#include "runtime/cache.h"
#include "runtime/walk.h"

enum { WORD = sizeof(uintptr_t) };

/* The address register + offset. */
static enum stackpack_walk_answer find_address(struct stackpack_walk *walk,
                                               const struct stackpack_location *location,
                                               uintptr_t *address) {
  if (!walk_find_register(&walk->context, location->reg, address))
    return STACKPACK_WALK_REGISTER_UNKNOWN;
  *address += (uintptr_t)location->value;
  return STACKPACK_WALK_MANAGED;
}

/* The place of the word at an address in the frame. */
static enum stackpack_walk_answer check_slot(const struct stackpack_walk *walk, uintptr_t address,
                                             uintptr_t **place) {
  if (address % WORD != 0)
    return STACKPACK_WALK_MISALIGNED;
  if (!walk_has_word(&walk->private_.stack, address))
    return STACKPACK_WALK_OUT_OF_STACK;
  *place = (uintptr_t *)address;
  return STACKPACK_WALK_MANAGED;
}

static enum stackpack_walk_answer find_register(struct stackpack_walk *walk,
                                                const struct stackpack_location *location,
                                                uintptr_t **place) {
  const struct stackpack_context *context = &walk->context;
  if (location->value != 0 || location->reg == STACKPACK_STACK_POINTER)
    return STACKPACK_WALK_BAD_LOCATION;
  if (location->reg >= STACKPACK_REGISTERS || !walk_knows(context, location->reg) ||
      (context->in_memory >> location->reg & 1) == 0)
    return STACKPACK_WALK_REGISTER_UNKNOWN;
  *place = (uintptr_t *)context->registers[location->reg];
  return STACKPACK_WALK_MANAGED;
}

enum stackpack_walk_answer walk_place(struct stackpack_walk *walk,
                                      const struct stackpack_location *location, uint32_t word,
                                      uintptr_t **place, uintptr_t *value) {
  enum stackpack_walk_answer answer;
  *place = NULL;
  *value = (uintptr_t)location->value;
  switch (location->kind) {
  case STACKPACK_CONSTANT:
  case STACKPACK_LARGE_CONSTANT:
    return STACKPACK_WALK_MANAGED;
  case STACKPACK_DIRECT:
    return find_address(walk, location, value);
  case STACKPACK_REGISTER:
    return find_register(walk, location, place);
  case STACKPACK_INDIRECT:
    answer = find_address(walk, location, value);
    return answer == STACKPACK_WALK_MANAGED ? check_slot(walk, *value + word * WORD, place)
                                            : answer;
  default:
    return STACKPACK_WALK_BAD_LOCATION;
  }
}

/* The number of references in a location: a spill slot may hold a vector. ANY: a value outside
 * memory and registers is as many as are needed. 0: no whole words. */
enum { ANY = UINT16_MAX };
static uint32_t words_of(const struct stackpack_location *location) {
  switch (location->kind) {
  case STACKPACK_INDIRECT:
    return location->size % WORD == 0 ? location->size / WORD : 0;
  case STACKPACK_REGISTER:
    return location->size == WORD;
  default:
    return ANY;
  }
}

/* The number of roots in a pair; 0 if its locations have different numbers. */
static uint32_t words_of_pair(const struct stackpack_location *base,
                              const struct stackpack_location *derived) {
  const uint32_t of_base = words_of(base), of_derived = words_of(derived);
  if (of_base == ANY)
    return of_derived == ANY ? 1 : of_derived;
  return of_derived == of_base || of_derived == ANY ? of_base : 0;
}

enum stackpack_walk_answer walk_check_roots(const struct stackpack_walk *walk) {
  if (walk->private_.state == WALK_DONE || walk->private_.answer != STACKPACK_WALK_MANAGED)
    return walk->private_.answer;
  return walk->record.kind == STACKPACK_STATEPOINT ? STACKPACK_WALK_MANAGED
                                                   : STACKPACK_WALK_NOT_STATEPOINT;
}

enum stackpack_walk_answer walk_begin_roots(struct stackpack_walk *walk) {
  const enum stackpack_walk_answer answer = walk_check_roots(walk);
  if (answer != STACKPACK_WALK_MANAGED)
    return answer;
  walk->private_.state = WALK_AT_ROOTS;
  walk->private_.pair = walk->private_.word = walk->private_.words = 0;
  walk->private_.pairs.is_corrupt = false;
  return STACKPACK_WALK_MANAGED;
}

/* Takes the next pair: from the cache's row, or else from the table. False after the last one. */
static bool next_pair(struct stackpack_walk *walk) {
  struct stackpack_location *base = &walk->private_.base, *derived = &walk->private_.derived;
  const struct row *row = walk_row(walk);
  const uint32_t nth = walk->private_.pair++;
  assert(walk->private_.state == WALK_AT_ROOTS ||
         (walk->private_.state == WALK_AT_PAIRS && row == NULL));
  if (row != NULL) {
    if (nth >= row->head.count)
      return false;
    *base = row_location(row->head, row->pairs[nth].base);
    *derived = row_location(row->head, row->pairs[nth].derived);
    return true;
  }
  if (walk->private_.state == WALK_AT_ROOTS) {
    walk->private_.state = WALK_AT_PAIRS;
    walk->private_.pairs = stackpack_pairs(&walk->record);
    for (uint32_t i = 0; i < nth; i++) /* if the cache has forgotten the row */
      stackpack_pairs_next(&walk->private_.pairs, base, derived);
  }
  return stackpack_pairs_next(&walk->private_.pairs, base, derived);
}

/* Goes to the next word of the pair at hand, or of the next pair. False after the last one. */
static bool next_word(struct stackpack_walk *walk) {
  if (++walk->private_.word < walk->private_.words)
    return true;
  walk->private_.word = 0;
  if (!next_pair(walk))
    return false;
  walk->private_.words = words_of_pair(&walk->private_.base, &walk->private_.derived);
  return true;
}

static enum stackpack_walk_answer read_root(struct stackpack_walk *walk,
                                            struct stackpack_root *root) {
  const uint32_t word = walk->private_.word;
  if (walk->private_.words == 0)
    return STACKPACK_WALK_BAD_LOCATION;
  assert(word < walk->private_.words);
  enum stackpack_walk_answer answer =
      walk_place(walk, &walk->private_.base, word, &root->base, &root->base_value);
  if (answer == STACKPACK_WALK_MANAGED)
    answer = walk_place(walk, &walk->private_.derived, word, &root->derived, &root->derived_value);
  if (answer != STACKPACK_WALK_MANAGED)
    return answer;
  if (root->base != NULL)
    root->base_value = *root->base;
  if (root->derived != NULL)
    root->derived_value = *root->derived;
  return STACKPACK_WALK_MANAGED;
}

bool stackpack_walk_root(struct stackpack_walk *walk, struct stackpack_root *root) {
  enum stackpack_walk_answer answer = STACKPACK_WALK_MANAGED;
  if (walk->private_.state != WALK_AT_ROOTS && walk->private_.state != WALK_AT_PAIRS)
    answer = walk_begin_roots(walk);
  if (answer == STACKPACK_WALK_MANAGED) {
    if (next_word(walk))
      answer = read_root(walk, root);
    else if (!walk->private_.pairs.is_corrupt)
      return false;
    else
      answer = STACKPACK_WALK_CORRUPT;
  }
  if (walk_is_stop(answer))
    walk_end(walk, answer);
  return answer == STACKPACK_WALK_MANAGED;
}

void *stackpack_walk_address(struct stackpack_walk *walk,
                             const struct stackpack_location *location) {
  uintptr_t *place, value;
  if (walk->private_.state == WALK_DONE ||
      walk_place(walk, location, 0, &place, &value) != STACKPACK_WALK_MANAGED)
    return NULL;
  return location->kind == STACKPACK_DIRECT ? (void *)value : place;
}
