/* recorded.c - a frame's cost in recorded stacks: walks with and without updates, beside a hash table's.
 *
 * recorded PACKED STACKS: each recorded stack (record_stacks.c) is laid out in memory, from the frames that have records:
 *
 *   stack pointer -> | frame 0: frame_size bytes | return address 1 | frame 1 ... | return address 2 | ...
 *
 * Each slot has the same value, no null pointer, so each reference is forwarded. The hash table (return address -> frame size
 * and pairs, in words) is the walk that a user would write for such frames, and the floor. Frames of another kind, or with
 * references outside of slots, are left out: there may be none left. All ways take turns, and each gets the least of its times. Prints JSON.
 *
 * The layout is x86-64's: the caller's frame follows the return address.
 */
#include "../unit/bytes.h"
#include "rival.h"
#include "timing.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  ROUNDS = 25,
  FRAMES_MAX = 1024,
  PAIRS_MAX = 4096,
  WORD = 8,
  STACK_BYTES_MAX = 16 << 20,
  CACHE_SHIFT = 11
};

struct entry {
  uint64_t address;     /* 0: free */
  uint32_t frame_words; /* without the return address */
  uint32_t count;
  const struct pair *pairs; /* of words at the stack pointer */
};

struct table {
  struct entry *entries;
  uint64_t mask;
};

struct recorded {
  uint64_t *words, first; /* the frames, and the youngest one's return address */
  size_t word_count, frame_count;
};

struct stacks {
  struct recorded *items;
  size_t count, frame_count;
};

static _Noreturn void fail(const char *what) {
  fprintf(stderr, "recorded: %s\n", what);
  exit(2);
}

/* ---- The hash table ---- */

static inline struct entry *find(const struct table *table, uint64_t address) {
  uint64_t place = hash_address(address, table->mask);
  while (table->entries[place].address != address && table->entries[place].address != 0)
    place = (place + 1) & table->mask;
  return &table->entries[place];
}

static bool is_slot(struct stackpack_location location) {
  return location.kind == STACKPACK_INDIRECT && location.reg == STACKPACK_STACK_POINTER &&
         location.value % WORD == 0;
}

/* The record's pairs. False: one is outside of slots. */
static bool read_pairs(const struct stackpack_record *record, struct pair *pairs, uint32_t *count) {
  struct stackpack_pairs left = stackpack_pairs(record);
  struct stackpack_location base, derived;
  for (*count = 0; stackpack_pairs_next(&left, &base, &derived); ++*count) {
    if (*count == PAIRS_MAX || !is_slot(base) || !is_slot(derived))
      return false;
    pairs[*count] = (struct pair){(slot)(base.value / WORD), (slot)(derived.value / WORD)};
  }
  return true;
}

/* Whether the caller's frame follows this one, the return address between them. */
static bool is_plain(const struct stackpack_record *record) {
  const struct stackpack_frame_facts facts = stackpack_record_frame(record);
  return facts.is_known && facts.cfa_register == STACKPACK_STACK_POINTER &&
         (uint64_t)facts.cfa_offset == record->frame_size + WORD && record->frame_size % WORD == 0;
}

static void fill(struct table *table, const struct stackpack_table *packed) {
  static struct pair pairs[PAIRS_MAX];
  struct stackpack_record record;
  const size_t records = stackpack_table_records(packed);
  table->mask = mask_for(records, 2);
  table->entries = calloc(table->mask + 1, sizeof *table->entries);
  if (table->entries == NULL)
    fail("not enough memory");
  for (size_t i = 0; i < records; i++) {
    uint32_t count;
    if (stackpack_table_record(packed, i, &record) != STACKPACK_FOUND || !is_plain(&record) ||
        !read_pairs(&record, pairs, &count))
      continue;
    struct pair *own = test_allocate((count + 1) * sizeof *own);
    memcpy(own, pairs, count * sizeof *own);
    *find(table, record.address) =
        (struct entry){record.address, (uint32_t)(record.frame_size / WORD), count, own};
  }
}

/* ---- The stacks ---- */

/* Lays out the frames of a stack that are in the table. */
static void lay_out(struct recorded *stack, const struct table *table, const uint64_t *addresses,
                    size_t count) {
  static const uint64_t reference = 0x1000, no_address = 16;
  uint64_t kept[FRAMES_MAX];
  *stack = (struct recorded){0};
  for (size_t i = 0; i < count; i++)
    if (find(table, addresses[i])->address != 0) {
      stack->word_count += find(table, addresses[i])->frame_words + 1;
      kept[stack->frame_count++] = addresses[i];
    }
  stack->words = test_allocate((stack->word_count + 1) * WORD);
  stack->first = kept[0];
  uint64_t *next = stack->words;
  for (size_t i = 0; i < stack->frame_count; i++) {
    for (uint32_t word = 0; word < find(table, kept[i])->frame_words; word++)
      *next++ = reference;
    *next++ = i + 1 < stack->frame_count ? kept[i + 1] : no_address;
  }
}

static struct stacks read_stacks(const struct table *table, const char *path) {
  static uint64_t addresses[FRAMES_MAX];
  struct stacks stacks = {0};
  size_t bytes = 0;
  uint64_t count;
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    fail("the stacks can't be read");
  while (bytes < STACK_BYTES_MAX && fread(&count, WORD, 1, file) == 1 && count <= FRAMES_MAX &&
         fread(addresses, WORD, count, file) == count) {
    struct recorded stack;
    lay_out(&stack, table, addresses, count);
    if (stack.frame_count == 0) {
      free(stack.words);
      continue;
    }
    stacks.items = test_reallocate(stacks.items, (stacks.count + 1) * sizeof *stacks.items);
    stacks.items[stacks.count++] = stack;
    stacks.frame_count += stack.frame_count;
    bytes += stack.word_count * WORD;
  }
  fclose(file);
  return stacks;
}

/* ---- The ways ---- */

struct way {
  const char *name;
  const struct stackpack_walker *walker; /* NULL: by the hash table */
  bool updates;
};

/* The compiler can't see through it: each reference costs a call. */
__attribute__((noinline)) static uintptr_t stay(void *closure, uintptr_t base) {
  __asm__ volatile("" : "+r"(base) : "r"(closure));
  return base;
}

static void update_entry(const struct entry *entry, uint64_t *words) {
  for (uint32_t i = 0; i < entry->count; i++) {
    const struct pair pair = entry->pairs[i];
    const uint64_t base = words[pair.base], moved = stay(NULL, base);
    if (pair.base == pair.derived)
      words[pair.base] = moved;
    else
      words[pair.derived] += moved - base;
  }
}

static size_t walk_hash(const struct table *table, const struct recorded *stack, bool updates) {
  size_t frames = 0;
  uint64_t *words = stack->words;
  const struct entry *entry = find(table, stack->first);
  for (; entry->address != 0; frames++) {
    if (updates)
      update_entry(entry, words);
    words += entry->frame_words;
    entry = find(table, *words++);
  }
  return frames;
}

static size_t walk_stackpack(const struct way *way, const struct recorded *stack) {
  static const uint32_t callee_saved =
      1 << 3 | 1 << 6 | 0xf << 12; /* System V ABI: rbx, rbp, r12 to r15 */
  struct stackpack_walk walk;
  const uintptr_t start = (uintptr_t)stack->words;
  const struct stackpack_stack memory = {start, start + (stack->word_count + 1) * WORD};
  const struct stackpack_context context = {
      .pc = stack->first, .stack_pointer = start, .known = callee_saved};
  stackpack_walk_start(&walk, way->walker, memory, &context);
  while (stackpack_walk_is_frame(stackpack_walk_next(&walk)))
    if (way->updates)
      stackpack_walk_update(&walk, stay, NULL);
  return walk.managed_frames;
}

/* Nanoseconds a frame. */
static double time_way(const struct way *way, const struct table *table,
                       const struct stacks *stacks) {
  size_t frames = 0;
  const double start = processor_time();
  for (size_t i = 0; i < stacks->count; i++)
    frames += way->walker == NULL ? walk_hash(table, &stacks->items[i], way->updates)
                                  : walk_stackpack(way, &stacks->items[i]);
  const double time = processor_time() - start;
  if (frames != stacks->frame_count)
    fail("a walk misses frames");
  return time / (double)frames;
}

static struct stackpack_cache *open_cache(void) {
  const size_t size = (size_t)STACKPACK_CACHE_LINE << CACHE_SHIFT;
  struct stackpack_cache *cache = test_allocate(sizeof *cache);
  void *memory = aligned_alloc(STACKPACK_CACHE_LINE, size);
  if (memory == NULL)
    fail("not enough memory");
  stackpack_cache_open(cache, memory, CACHE_SHIFT);
  return cache;
}

static void print_times(const struct stacks *stacks, const struct way *ways, const double *times,
                        size_t count) {
  json_t *list = json_array();
  for (size_t i = 0; i < count; i++)
    json_array_append_new(list, json_pack("{s:s, s:b, s:f}", "name", ways[i].name, "updates",
                                          ways[i].updates, "frame_ns", times[i]));
  json_t *all = json_pack("{s:I, s:I, s:o}", "stacks", (json_int_t)stacks->count, "frames",
                          (json_int_t)stacks->frame_count, "ways", list);
  json_dumpf(all, stdout, JSON_INDENT(1));
  putchar('\n');
  json_decref(all);
}

int main(int argc, char **argv) {
  struct stackpack_file file;
  struct table table;
  if (argc != 3 || stackpack_file_open(&file, argv[1]) != STACKPACK_OK)
    fail("usage: recorded PACKED STACKS");
  fill(&table, &file.table);
  const struct stacks stacks = read_stacks(&table, argv[2]);
  const struct stackpack_walker plain = {.table = &file.table};
  const struct stackpack_walker cached = {.table = &file.table, .cache = open_cache()};
  const struct way ways[] = {{"hash table", NULL, false},      {"hash table", NULL, true},
                             {"packed", &plain, false},        {"packed", &plain, true},
                             {"with a cache", &cached, false}, {"with a cache", &cached, true}};
  enum { WAYS = sizeof ways / sizeof *ways };
  double least[WAYS];
  for (size_t i = 0; i < WAYS; i++)
    least[i] = 1e18;
  for (unsigned round = 0; round < ROUNDS && stacks.count > 0; round++)
    for (size_t i = 0; i < WAYS; i++) {
      const double time = time_way(&ways[i], &table, &stacks);
      least[i] = time < least[i] ? time : least[i];
    }
  print_times(&stacks, ways, least, stacks.count > 0 ? WAYS : 0);
  return 0;
}
