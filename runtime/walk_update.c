/* walk_update.c - new values for the references of a frame, when objects have moved.
 *
 * An object's start, the base, identifies it. Of a derived reference only the distance to its base
 * has a meaning, and that must be taken before either is overwritten. The pairs of one frame are
 * entangled: most list one place as both, many derived references can share a base, and a place
 * that is one pair's base may be another's derived. The result must be, in any order of the pairs:
 *
 * - A place that is a base in any pair gets forward(its value), once.
 * - Any other place that is derived in a pair gets forward(the base) + its distance from the base.
 *
 * The base's place is written even where no pair lists it as derived. LLVM leaves such a pair out
 * when the function has no use for the base after the call. But the function may still be waiting
 * when the next collection comes, and then the distance is taken again: from the base in its place.
 *
 * Any number of pairs needs no allocation, as the derived references' places hold the distances
 * meanwhile:
 *
 *   1. for each derived place that is no base   *derived -= *base
 *   2. for each base                            *base = forward(*base)
 *   3. for each derived place as in 1           *derived += *base
 *
 * Two bits are remembered for each place: whether it is a base, and whether it is done. In nearly
 * all frames the places are 128 words or fewer at the stack pointer: one mask has the bases,
 * straight from the live sets' masks, and only moves (row.h) read a second place. Of other rows
 * (row.h) these bits are few, too. Otherwise the bits of a part of the stack are on hand, the
 * window, and a frame that is larger is gone through window by window. Registers have bits of their
 * own, as their places may be anywhere.
 */
#include "runtime/cache.h"
#include "runtime/walk.h"

#include <assert.h>
#include <string.h>

enum { WORD = sizeof(uintptr_t), WINDOW_WORDS = 4096 };

/* ---- Rows ---- */

/* A row whose places are all there. Bit n of a set is for place n. */
struct open_row {
  const struct row *row;
  uintptr_t *slots;
  uintptr_t *const *registers;
  uint64_t bases[ROW_PLACES / 64], done[ROW_PLACES / 64];
};

/* Adds n to a set; false if it is in it already. */
static bool add(uint64_t *set, size_t n) {
  assert(n < ROW_PLACES);
  const uint64_t bit = (uint64_t)1 << n % 64;
  const bool is_new = (set[n / 64] & bit) == 0;
  set[n / 64] |= bit;
  return is_new;
}

static inline uintptr_t *place_of(const struct open_row *open, size_t place) {
  assert(place < ROW_SLOTS + STACKPACK_REGISTERS); /* by knows_registers */
  return place < ROW_SLOTS ? open->slots + place : open->registers[place - ROW_SLOTS];
}

/* Whether the slots are within the stack; and where. */
static bool find_slots(struct stackpack_walk *walk, const struct row *row, uintptr_t **slots) {
  const struct stackpack_location first = row_location(row->head, 0);
  uintptr_t value;
  *slots = NULL;
  return row->head.slots == 0 ||
         (walk_place(walk, &first, 0, slots, &value) == STACKPACK_WALK_MANAGED &&
          (walk->private_.stack.end - value) / WORD >= row->head.slots);
}

/* Whether the context has the places of all registers. */
static bool knows_registers(const struct stackpack_context *context, const struct row *row) {
  const uint32_t in_memory = context->known & context->in_memory & WALK_REGISTERS;
  for (unsigned i = 0; i < row->head.count; i++) {
    const unsigned base = row->pairs[i].base, derived = row->pairs[i].derived;
    if ((base >= ROW_SLOTS && (in_memory >> (base - ROW_SLOTS) & 1) == 0) ||
        (derived >= ROW_SLOTS && (in_memory >> (derived - ROW_SLOTS) & 1) == 0))
      return false;
  }
  return true;
}

/* False if one of its places is unknown. */
static inline bool open_row(struct open_row *open, struct stackpack_walk *walk,
                            const struct row *row) {
  if ((row->head.has_registers && !knows_registers(&walk->context, row)) ||
      !find_slots(walk, row, &open->slots))
    return false;
  open->row = row;
  open->registers = (uintptr_t *const *)walk->context.registers;
  return true;
}

static inline void update_base(uintptr_t *place, stackpack_forward *forward, void *closure) {
  if (*place != 0)
    *place = forward(closure, *place);
}

/* Adds to each derived place that is no base `sign` times its base. */
static void add_bases(struct open_row *open, uintptr_t sign) {
  memset(open->done, 0, sizeof open->done);
  for (size_t i = 0; i < open->row->head.count; i++) {
    const size_t base = open->row->pairs[i].base, derived = open->row->pairs[i].derived;
    if (base != derived && (open->bases[derived / 64] >> derived % 64 & 1) == 0 &&
        add(open->done, derived))
      *place_of(open, derived) += sign * *place_of(open, base);
  }
}

static void update_derived(struct open_row *open, stackpack_forward *forward, void *closure) {
  memset(open->bases, 0, sizeof open->bases);
  for (size_t i = 0; i < open->row->head.count; i++)
    add(open->bases, open->row->pairs[i].base);
  add_bases(open, (uintptr_t)-1);
  for (size_t i = 0; i < ROW_PLACES / 64; i++)
    for (uint64_t bits = open->bases[i]; bits != 0; bits &= bits - 1)
      update_base(place_of(open, i * 64 + (size_t)__builtin_ctzll(bits)), forward, closure);
  add_bases(open, 1);
}

/* In a plain row each place is in one pair. */
static inline void update_row(struct open_row *open, stackpack_forward *forward, void *closure) {
  if (!open->row->head.is_plain)
    update_derived(open, forward, closure);
  else
    for (size_t i = 0; i < open->row->head.count; i++)
      update_base(place_of(open, open->row->pairs[i].base), forward, closure);
}

/* ---- Near places ---- */

static inline uintptr_t *near_place(uintptr_t start, unsigned place) {
  return (uintptr_t *)(start + place * (uintptr_t)WORD);
}

/* Updates the places whose bits are set. */
static inline __attribute__((always_inline)) void
update_bases(uintptr_t *places, uint64_t bits, stackpack_forward *forward, void *closure) {
  for (; bits != 0; bits &= bits - 1)
    update_base(places + __builtin_ctzll(bits), forward, closure);
}

/* Updates a live set whose places are near each other. False: not all of them are in the stack. */
static inline __attribute__((always_inline)) bool
update_near(const struct stackpack_walk *walk, const struct row_moves *moves,
            const struct row_pair *pairs, stackpack_forward *forward, void *closure) {
  const struct stackpack_stack *stack = &walk->private_.stack;
  const uintptr_t start = walk->context.stack_pointer + (uintptr_t)moves->value;
  const struct row_pair *end = pairs + moves->count;
  const uintptr_t low = (uintptr_t)near_place(start, moves->low);
  const uintptr_t high = (uintptr_t)near_place(start, moves->high);
  assert(moves->count <= ROW_MOVES_ROOM && moves->high < ROW_NEAR);
  if (moves->low > moves->high)
    return true;
  if (start % WORD != 0 || !walk_has_word(stack, low) || !walk_has_word(stack, high))
    return false;
  for (const struct row_pair *pair = pairs; pair < end; pair++)
    *near_place(start, pair->derived) -= *near_place(start, pair->base);
  update_bases(near_place(start, 0), moves->bases[0], forward, closure);
  update_bases(near_place(start, 64), moves->bases[1], forward, closure);
  for (const struct row_pair *pair = pairs; pair < end; pair++)
    *near_place(start, pair->derived) += *near_place(start, pair->base);
  return true;
}

/* The same of the frame at hand, by the table. False: this way can't update it. */
static inline __attribute__((always_inline)) bool
update_new_near(const struct stackpack_walk *walk, stackpack_forward *forward, void *closure) {
  struct row_moves moves;
  struct row_pair pairs[ROW_MOVES_ROOM];
  return row_read_moves(&moves, pairs, record_of(&walk->record)) &&
         update_near(walk, &moves, pairs, forward, closure);
}

/* The same by the cache or the table. */
static inline __attribute__((always_inline)) bool
update_as_near(const struct stackpack_walk *walk, stackpack_forward *forward, void *closure) {
  const struct cache_entry *entry = walk_entry(walk);
  if (entry == NULL)
    return update_new_near(walk, forward, closure);
  return entry->moves.count != ROW_NOT_NEAR &&
         update_near(walk, &entry->moves, entry->row.pairs + entry->row.head.count, forward,
                     closure);
}

/* ---- Any places ---- */

/* A set of places: of the window's words, and of registers. */
struct places {
  uint64_t words[WINDOW_WORDS / 64];
  uint64_t registers;
};

struct update {
  struct stackpack_walk *walk;
  stackpack_forward *forward;
  void *closure;
  uintptr_t first;  /* the lowest place of all */
  uintptr_t window; /* where the window starts */
  uintptr_t next;   /* the lowest place seen above it; UINTPTR_MAX: none */
  struct places bases, done;
};

/* Whether a place wasn't in a set yet, and is the window's business; then it is in now. */
static bool put(struct update *update, struct places *places,
                const struct stackpack_location *location, const uintptr_t *place) {
  const uintptr_t address = (uintptr_t)place, word = (address - update->window) / WORD;
  uint64_t *bits = &places->registers;
  unsigned bit = location->reg;
  if (location->kind == STACKPACK_REGISTER) {
    if (update->window != update->first)
      return false;
  } else if (address < update->window) {
    return false;
  } else if (word >= WINDOW_WORDS) {
    update->next = address < update->next ? address : update->next;
    return false;
  } else {
    bits = &places->words[word / 64];
    bit = word % 64;
  }
  assert(bit < 64);
  const bool is_new = (*bits >> bit & 1) == 0;
  *bits |= (uint64_t)1 << bit;
  return is_new;
}

/* Whether a place that is the window's business is in a set. */
static bool has(const struct update *update, const struct places *places,
                const struct stackpack_location *location, const uintptr_t *place) {
  if (location->kind == STACKPACK_REGISTER)
    return (places->registers >> location->reg & 1) != 0;
  const uintptr_t word = ((uintptr_t)place - update->window) / WORD;
  assert(word < WINDOW_WORDS); /* put has it in the window */
  return (places->words[word / 64] >> word % 64 & 1) != 0;
}

/* ---- Each root, and one window ---- */

typedef void visit_root(struct update *update, const struct stackpack_root *root);

static void find_first(struct update *update, const struct stackpack_root *root) {
  const struct stackpack_location *base = &update->walk->private_.base;
  const struct stackpack_location *derived = &update->walk->private_.derived;
  if (root->base != NULL && base->kind != STACKPACK_REGISTER &&
      (uintptr_t)root->base < update->first)
    update->first = (uintptr_t)root->base;
  if (root->derived != NULL && derived->kind != STACKPACK_REGISTER &&
      (uintptr_t)root->derived < update->first)
    update->first = (uintptr_t)root->derived;
}

static void mark_base(struct update *update, const struct stackpack_root *root) {
  if (root->base != NULL)
    put(update, &update->bases, &update->walk->private_.base, root->base);
}

/* Whether the root's derived place is to be changed by its base, for the first time. */
static bool is_derived(struct update *update, const struct stackpack_root *root) {
  const struct stackpack_location *derived = &update->walk->private_.derived;
  return root->base != NULL && root->derived != NULL && root->base != root->derived &&
         put(update, &update->done, derived, root->derived) &&
         !has(update, &update->bases, derived, root->derived);
}

static void take_distance(struct update *update, const struct stackpack_root *root) {
  if (is_derived(update, root))
    *root->derived -= *root->base;
}

static void forward_base(struct update *update, const struct stackpack_root *root) {
  if (root->base != NULL && put(update, &update->done, &update->walk->private_.base, root->base) &&
      *root->base != 0)
    *root->base = update->forward(update->closure, *root->base);
}

static void add_base(struct update *update, const struct stackpack_root *root) {
  if (is_derived(update, root))
    *root->derived += *root->base;
}

/* ---- All roots, window by window ---- */

static enum stackpack_walk_answer each_root(struct update *update, visit_root *visit) {
  struct stackpack_root root;
  const enum stackpack_walk_answer answer = walk_begin_roots(update->walk);
  if (answer != STACKPACK_WALK_MANAGED)
    return answer;
  while (stackpack_walk_root(update->walk, &root))
    visit(update, &root);
  return update->walk->private_.answer;
}

static void each_window(struct update *update, visit_root *visit) {
  update->next = update->first;
  while (update->next != UINTPTR_MAX) {
    update->window = update->next;
    update->next = UINTPTR_MAX;
    memset(&update->bases, 0, sizeof update->bases);
    memset(&update->done, 0, sizeof update->done);
    each_root(update, mark_base);
    each_root(update, visit);
    assert(update->next > update->window);
  }
}

static enum stackpack_walk_answer update_all(struct stackpack_walk *walk,
                                             stackpack_forward *forward, void *closure) {
  struct update update;
  update.walk = walk;
  update.forward = forward;
  update.closure = closure;
  update.first = UINTPTR_MAX - 1; /* there may be registers only */
  const enum stackpack_walk_answer answer = each_root(&update, find_first);
  if (answer != STACKPACK_WALK_MANAGED)
    return answer;
  each_window(&update, take_distance);
  each_window(&update, forward_base);
  each_window(&update, add_base);
  return answer;
}

/* Copies the update of registers with two places to the second place. */
static void update_seconds(const struct stackpack_context *context) {
  for (uint32_t bits = context->doubled & context->in_memory; bits != 0; bits &= bits - 1) {
    const unsigned reg = (unsigned)__builtin_ctz(bits);
    *(uintptr_t *)context->seconds[reg] = *(const uintptr_t *)context->registers[reg];
  }
}

/* Updates a live set that is a row. False: it is none, or a place is unknown. */
static inline bool update_row_of(struct stackpack_walk *walk, const struct row *row,
                                 stackpack_forward *forward, void *closure) {
  struct open_row open;
  if (!open_row(&open, walk, row))
    return false;
  update_row(&open, forward, closure);
  return true;
}

/* The same of one that is read from the table. */
static bool update_new_row(struct stackpack_walk *walk, stackpack_forward *forward, void *closure) {
  struct row row;
  return row_read(&row, record_of(&walk->record)) && update_row_of(walk, &row, forward, closure);
}

static bool update_as_row(struct stackpack_walk *walk, stackpack_forward *forward, void *closure) {
  const struct row *row = walk_row(walk);
  return row != NULL ? update_row_of(walk, row, forward, closure)
                     : update_new_row(walk, forward, closure);
}

/* Updates any live set. */
static __attribute__((noinline)) enum stackpack_walk_answer
update_otherwise(struct stackpack_walk *walk, stackpack_forward *forward, void *closure) {
  return update_as_row(walk, forward, closure) ? STACKPACK_WALK_MANAGED
                                               : update_all(walk, forward, closure);
}

enum stackpack_walk_answer stackpack_walk_update(struct stackpack_walk *walk,
                                                 stackpack_forward *forward, void *closure) {
  enum stackpack_walk_answer answer = walk_check_roots(walk);
  if (answer == STACKPACK_WALK_MANAGED) {
    if (!update_as_near(walk, forward, closure))
      answer = update_otherwise(walk, forward, closure);
    if (answer == STACKPACK_WALK_MANAGED)
      update_seconds(&walk->context);
  }
  return walk_is_stop(answer) ? walk_end(walk, answer) : answer;
}
