/* measure.c - measures all rivals on one program's records, and prints the results as JSON.
 *
 * measure RAW PACKED [STACKS]: a program before and after packing, and stacks that were recorded
 * (see record_stacks.c). measure --few ... leaves out all but the packed table, with a small cache
 * and alone, and the hash table.
 * measure --count RIVAL RAW PACKED [STACKS] makes only one pass of that rival, in counted_pass, for a
 * tool that counts instructions, after a first pass, uncounted: over the stacks' addresses,
 * if there are any, or else over all addresses.
 *
 * The figures that times give on a machine with other work, too: the rivals take turns in
 * many rounds, each number is a median over the rounds, and long passes count processor time. The
 * columns:
 *
 *   start     from nothing to the first answer, the file's bytes in memory but in no cache warm
 *        a look-up and the visit, over all addresses in random order, one after another
 *   evicted   the same, alone, after all of the rival's memory was flushed from the caches; but not
 *             its code, as its twin has just looked up a few other addresses
 *   walk      a look-up and the visit, over the return addresses of recorded stacks
 *   walk evicted   the same; the rival's memory is flushed before each stack
 *   lines, pages   cache lines and pages of the rival's memory that a look-up with its visit touches
 *
 * A twin is the same rival once more, in other memory. To flush large memory takes milliseconds, and
 * meanwhile the machine does other things, too, with data that enter the caches: so warm memory
 * must be warmed after that, and only a twin can do so without touching the flushed memory.
 *
 * The sum of each rival's visits is compared with the records first: a rival that visits anything
 * else is an error.
 */
#include "../unit/bytes.h"
#include "../unit/numbers.h"
#include "rival.h"
#include "timing.h"
#include "touched.h"

#include "format/search.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  ROUNDS = 11,
  START_ROUNDS = 5,
  PASS_LOOK_UPS = 50000,   /* at least: a processor learns a shorter pass by heart */
  PASS_ADDRESSES = 200000, /* at most */
  LINEAR_LOOK_UPS = 5,
  EVICTED_LOOK_UPS = 150,
  CODE_LOOK_UPS = 8,
  WALKED_STACKS = 100,
  TOUCHED_LOOK_UPS = 200,
};
static const size_t flushed_at_most = (size_t)1 << 28; /* more would take minutes */

static const struct rival *const all_rivals[] = {
    &rival_packed, &rival_cached,   &rival_large_cache, &rival_hash, &rival_sorted, &rival_chained,
    &rival_ocaml,  &rival_wasmtime, &rival_raw,         &rival_ark,  &rival_perry};
static const struct rival *const few_rivals[] = {&rival_packed, &rival_cached, &rival_hash};
enum {
  RIVALS = sizeof all_rivals / sizeof all_rivals[0],
  FEW_RIVALS = sizeof few_rivals / sizeof few_rivals[0]
};

struct stacks {
  uint64_t *addresses; /* records' only */
  size_t *ends;        /* of each stack in addresses */
  size_t count, address_count;
};

/* The addresses to look up, in random order. */
struct order {
  const struct site **sites;
  uint64_t *addresses; /* the same: a pass shouldn't measure how sites are found */
  size_t count;
};

struct result {
  double start, warm, evicted, walk, walk_evicted, lines,
      pages; /* nanoseconds; < 0: not measured */
};

static void fail(const char *rival, const char *what) {
  fprintf(stderr, "measure: %s: %s\n", rival, what);
  exit(1);
}

/* ---- Time ---- */

static double now(void) { return read_clock(CLOCK_MONOTONIC); }

/* The cost of two readings of the clock. */
static double clock_cost(void) {
  double costs[101];
  for (size_t i = 0; i < 101; i++) {
    const double start = now();
    costs[i] = now() - start;
  }
  return median(costs, 101);
}

/* ---- Caches ---- */

static void flush(const struct region *region) {
#ifdef __x86_64__
  for (size_t i = 0; i < region->size; i += 64)
    __builtin_ia32_clflush(region->start + i);
#else
  (void)region;
#endif
}

static bool can_flush(const struct contender *contender) {
#ifdef __x86_64__
  return contender->file.size + contender->heap.size <= flushed_at_most;
#else
  (void)contender;
  return false;
#endif
}

/* Throws all of a rival's memory out of the caches. */
static void evict(const struct contender *contender) {
  flush(&contender->file);
  flush(&contender->heap);
#ifdef __x86_64__
  __builtin_ia32_mfence();
#endif
}

/* ---- Measuring one rival ---- */

/* Makes the compiler believe that a result is needed. */
static inline void keep(uint64_t sum) { __asm__ volatile("" : : "r"(sum)); }

static uint64_t expected_sum(const struct subject *subject, const struct rival *rival,
                             const struct site *site) {
  uint64_t sum = site->frame_size;
  if (rival->visits == VISITS_PAIRS)
    for (uint32_t i = 0; i < site->pairs; i++)
      sum += visit_pair(subject->pairs[site->first_pair + i].base,
                        subject->pairs[site->first_pair + i].derived);
  else
    for (uint32_t i = 0; i < site->slots; i++)
      sum += visit_slot(subject->slots[site->first_slot + i]);
  return sum;
}

static size_t look_ups_for(const struct rival *rival, const struct order *order) {
  const size_t most = rival->linear ? LINEAR_LOOK_UPS : PASS_ADDRESSES;
  return order->count < most ? order->count : most;
}

/* From nothing to an answer; leaves the rival started. */
static double time_start(struct contender *contender, const struct rival *rival, uint64_t address) {
  double times[START_ROUNDS];
  size_t rounds = 0;
  while (rounds < START_ROUNDS && (rounds == 0 || times[rounds - 1] < 3e9)) {
    region_free(&contender->heap);
    if (can_flush(contender))
      evict(contender);
    const double start = now();
    if (rival->start != NULL)
      rival->start(contender);
    keep(rival->look_up(contender, address));
    times[rounds++] = now() - start;
  }
  return median(times, rounds);
}

/* Its own function, so that a tool can count its instructions. */
__attribute__((noinline)) static uint64_t counted_pass(const struct contender *contender,
                                                       const struct rival *rival,
                                                       const struct order *order, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++)
    sum += rival->look_up(contender, order->addresses[i]);
  return sum;
}

static void check(const struct contender *contender, const struct rival *rival,
                  const struct order *order) {
  const size_t count = rival->linear ? look_ups_for(rival, order) : order->count;
  uint64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    const uint64_t expected = expected_sum(contender->subject, rival, order->sites[i]);
    if (rival->look_up(contender, order->sites[i]->address) != expected)
      fail(rival->name, "visits something else than the records say");
    sum += expected;
  }
  if (counted_pass(contender, rival, order, count) != sum)
    fail(rival->name, "visits something else in a pass than one by one");
}

/* Nanoseconds a look-up, over a pass long enough for the clock, after one that brings the rival's memory
 * back into the caches. */
static double time_pass(const struct contender *contender, const struct rival *rival,
                        const struct order *order) {
  const size_t count = look_ups_for(rival, order);
  uint64_t sum = rival->linear ? 0 : counted_pass(contender, rival, order, count);
  const double start = processor_time();
  sum += counted_pass(contender, rival, order, count);
  keep(sum);
  return (processor_time() - start) / (double)count;
}

/* Looks up some addresses in a rival's twin, so that the code is in the caches. They are others
 * each time, unknown to a small cache. */
static void warm_code(const struct contender *twin, const struct rival *rival,
                      const struct order *order, size_t number) {
  for (size_t i = 0; i < CODE_LOOK_UPS; i++) {
    const size_t other = (number * CODE_LOOK_UPS + i) % order->count;
    keep(rival->look_up(twin, order->sites[order->count - 1 - other]->address));
  }
}

static double time_evicted(const struct contender *contender, const struct contender *twin,
                           const struct rival *rival, const struct order *order, size_t number,
                           double cost) {
  const uint64_t address = order->sites[number % order->count]->address;
  evict(contender);
  warm_code(twin, rival, order, number);
  const double start = now();
  keep(rival->look_up(contender, address));
  return now() - start - cost;
}

static uint64_t walk_stack(const struct contender *contender, const struct rival *rival,
                           const struct stacks *stacks, size_t number) {
  const size_t from = number == 0 ? 0 : stacks->ends[number - 1], to = stacks->ends[number];
  uint64_t sum = 0;
  for (size_t i = from; i < to; i++)
    sum += rival->look_up(contender, stacks->addresses[i]);
  return sum;
}

static double time_walks(const struct contender *contender, const struct rival *rival,
                         const struct stacks *stacks) {
  uint64_t sum = 0;
  const double start = processor_time();
  for (size_t i = 0; i < stacks->count; i++)
    sum += walk_stack(contender, rival, stacks, i);
  keep(sum);
  return (processor_time() - start) / (double)stacks->address_count;
}

/* Some of the stacks, each with cold caches: nanoseconds an address. */
static double time_walks_evicted(const struct contender *contender, const struct contender *twin,
                                 const struct rival *rival, const struct stacks *stacks,
                                 double cost) {
  const size_t step = stacks->count / WALKED_STACKS + 1;
  double time = 0;
  size_t addresses = 0;
  for (size_t i = 0; i < stacks->count; i += step) {
    evict(contender);
    keep(walk_stack(twin, rival, stacks, (i + step) % stacks->count));
    const double start = now();
    keep(walk_stack(contender, rival, stacks, i));
    time += now() - start - cost;
    addresses += stacks->ends[i] - (i == 0 ? 0 : stacks->ends[i - 1]);
  }
  return time / (double)addresses;
}

static void count_touched(const struct contender *contender, const struct rival *rival,
                          const struct order *order, struct result *result) {
  const size_t count = order->count < TOUCHED_LOOK_UPS ? order->count : TOUCHED_LOOK_UPS;
  size_t lines = 0, pages = 0;
  for (size_t i = 0; i < count; i++) {
    touched_begin(contender);
    keep(rival->look_up(contender, order->sites[i]->address));
    const struct touched touched = touched_end();
    lines += touched.lines;
    pages += touched.pages;
  }
  result->lines = (double)lines / (double)count;
  result->pages = (double)pages / (double)count;
}

/* ---- All of them ---- */

struct bench {
  struct subject subject;
  struct order order;
  struct stacks stacks;
  struct contender contenders[RIVALS], twins[RIVALS];
  struct result results[RIVALS];
  const struct rival *const *rivals; /* the ones that take part */
  size_t rival_count;
};

static void prepare(struct bench *bench, size_t rival, struct contender *contender) {
  *contender = (struct contender){.subject = &bench->subject};
  if (bench->rivals[rival]->prepare != NULL)
    bench->rivals[rival]->prepare(contender);
}

static void prepare_and_start(struct bench *bench, size_t rival, struct contender *contender) {
  prepare(bench, rival, contender);
  if (bench->rivals[rival]->start != NULL)
    bench->rivals[rival]->start(contender);
}

/* A large cache remembers all, after this. */
static void prepare_twin(struct bench *bench, size_t i) {
  const struct rival *rival = bench->rivals[i];
  struct contender *twin = &bench->twins[i];
  prepare_and_start(bench, i, twin);
  keep(counted_pass(twin, rival, &bench->order, look_ups_for(rival, &bench->order)));
}

static void prepare_all(struct bench *bench) {
  for (size_t i = 0; i < bench->rival_count; i++) {
    struct contender *contender = &bench->contenders[i];
    prepare(bench, i, contender);
    bench->results[i] = (struct result){-1, -1, -1, -1, -1, -1, -1};
    if (bench->rivals[i]->look_up == NULL)
      continue;
    bench->results[i].start =
        time_start(contender, bench->rivals[i], bench->order.sites[0]->address);
    check(contender, bench->rivals[i], &bench->order);
    if (can_flush(contender) && !bench->rivals[i]->linear)
      prepare_twin(bench, i);
  }
}

static void release(struct contender *contender) {
  region_free(&contender->file);
  region_free(&contender->heap);
  free(contender->cache);
}

typedef double one_time(const struct bench *bench, size_t rival, size_t round);

static double one_pass(const struct bench *bench, size_t rival, size_t round) {
  (void)round;
  return time_pass(&bench->contenders[rival], bench->rivals[rival], &bench->order);
}

static double one_evicted(const struct bench *bench, size_t rival, size_t round) {
  return time_evicted(&bench->contenders[rival], &bench->twins[rival], bench->rivals[rival],
                      &bench->order, round, clock_cost());
}

static double one_walk(const struct bench *bench, size_t rival, size_t round) {
  (void)round;
  return time_walks(&bench->contenders[rival], bench->rivals[rival], &bench->stacks);
}

static double one_walk_evicted(const struct bench *bench, size_t rival, size_t round) {
  (void)round;
  return time_walks_evicted(&bench->contenders[rival], &bench->twins[rival], bench->rivals[rival],
                            &bench->stacks, clock_cost());
}

static bool takes_part(const struct bench *bench, size_t rival, bool linear, bool flushed) {
  return bench->rivals[rival]->look_up != NULL && (linear || !bench->rivals[rival]->linear) &&
         (!flushed || can_flush(&bench->contenders[rival]));
}

/* The rivals take turns; each gets the median of its times. */
static void take_turns(struct bench *bench, one_time *time, size_t rounds, bool linear,
                       bool flushed, size_t result_offset) {
  double times[RIVALS][EVICTED_LOOK_UPS];
  for (size_t round = 0; round < rounds; round++)
    for (size_t i = 0; i < bench->rival_count; i++)
      if (takes_part(bench, i, linear, flushed))
        times[i][round] = time(bench, i, round);
  for (size_t i = 0; i < bench->rival_count; i++)
    if (takes_part(bench, i, linear, flushed))
      *(double *)((char *)&bench->results[i] + result_offset) = median(times[i], rounds);
}

static void measure_all(struct bench *bench) {
  take_turns(bench, one_pass, ROUNDS, true, false, offsetof(struct result, warm));
  take_turns(bench, one_evicted, EVICTED_LOOK_UPS, false, true, offsetof(struct result, evicted));
  if (bench->stacks.count > 0) {
    take_turns(bench, one_walk, ROUNDS, false, false, offsetof(struct result, walk));
    take_turns(bench, one_walk_evicted, 3, false, true, offsetof(struct result, walk_evicted));
  }
  for (size_t i = 0; i < bench->rival_count; i++)
    if (touched_works() && takes_part(bench, i, false, false))
      count_touched(&bench->contenders[i], bench->rivals[i], &bench->order, &bench->results[i]);
}

/* ---- Input ---- */

static void list_addresses(struct order *order) {
  order->addresses = test_reallocate(order->addresses, order->count * sizeof *order->addresses);
  for (size_t i = 0; i < order->count; i++)
    order->addresses[i] = order->sites[i]->address;
}

static void shuffle(struct bench *bench) {
  const struct subject *subject = &bench->subject;
  struct numbers numbers = {1};
  const size_t times = (PASS_LOOK_UPS + subject->site_count - 1) / subject->site_count;
  bench->order.count = subject->site_count * times;
  bench->order.sites = test_allocate(bench->order.count * sizeof *bench->order.sites);
  for (size_t i = 0; i < bench->order.count; i++)
    bench->order.sites[i] = &subject->sites[i % subject->site_count];
  for (size_t i = bench->order.count; i > 1; i--) {
    const size_t other = numbers_below(&numbers, i);
    const struct site *site = bench->order.sites[i - 1];
    bench->order.sites[i - 1] = bench->order.sites[other];
    bench->order.sites[other] = site;
  }
  list_addresses(&bench->order);
}

static const struct site *find_site(const struct subject *subject, uint64_t address) {
  const size_t up_to = SEARCH_UP_TO(subject->sites, subject->site_count, address, address);
  const struct site *last = up_to == 0 ? NULL : &subject->sites[up_to - 1];
  return last != NULL && last->address == address ? last : NULL;
}

/* Reads one stack, and keeps its addresses with a record. */
static bool read_stack(struct bench *bench, FILE *file) {
  struct stacks *stacks = &bench->stacks;
  uint64_t count, address;
  if (fread(&count, sizeof count, 1, file) != 1)
    return false;
  for (; count > 0 && fread(&address, sizeof address, 1, file) == 1; count--) {
    if (find_site(&bench->subject, address) == NULL)
      continue;
    stacks->addresses =
        test_reallocate(stacks->addresses, (stacks->address_count + 1) * sizeof(uint64_t));
    stacks->addresses[stacks->address_count++] = address;
  }
  return true;
}

/* A file of stacks: the number of addresses, then the addresses, youngest first; and so on. */
static void read_stacks(struct bench *bench, const char *path) {
  struct stacks *stacks = &bench->stacks;
  FILE *file = fopen(path, "rb");
  if (file == NULL)
    fail(path, strerror(errno));
  for (size_t before = 0; read_stack(bench, file); before = stacks->address_count) {
    if (stacks->address_count == before)
      continue;
    stacks->ends = test_reallocate(stacks->ends, (stacks->count + 1) * sizeof(size_t));
    stacks->ends[stacks->count++] = stacks->address_count;
  }
  fclose(file);
}

/* ---- Output ---- */

static json_t *number_or_null(double number) {
  return number < 0 ? json_null() : json_real(number);
}

static json_t *describe(const struct bench *bench, size_t i) {
  static const char *const visits[] = {"nothing", "slots", "pairs"};
  const struct contender *contender = &bench->contenders[i];
  const struct result *result = &bench->results[i];
  const struct rival *rival = bench->rivals[i];
  const size_t file = rival->prepare != NULL ? contender->file.size : bench->subject.raw_size;
  return json_pack("{s:s, s:s, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", rival->name,
                   "visits", visits[rival->visits], "file_bytes", (json_int_t)file, "heap_bytes",
                   (json_int_t)contender->heap.size, "start_ns", number_or_null(result->start),
                   "warm_ns", number_or_null(result->warm), "evicted_ns",
                   number_or_null(result->evicted), "walk_ns", number_or_null(result->walk),
                   "walk_evicted_ns", number_or_null(result->walk_evicted), "lines",
                   number_or_null(result->lines), "pages", number_or_null(result->pages));
}

static void print_all(const struct bench *bench) {
  json_t *list = json_array();
  for (size_t i = 0; i < bench->rival_count; i++)
    json_array_append_new(list, describe(bench, i));
  json_t *all = json_pack(
      "{s:I, s:I, s:I, s:I, s:I, s:o}", "records", (json_int_t)bench->subject.record_count,
      "looked_up", (json_int_t)bench->subject.site_count, "raw_bytes",
      (json_int_t)bench->subject.raw_size, "stacks", (json_int_t)bench->stacks.count,
      "stack_addresses", (json_int_t)bench->stacks.address_count, "rivals", list);
  json_dumpf(all, stdout, JSON_INDENT(1));
  putchar('\n');
  json_decref(all);
}

/* The addresses in the order of the stacks. */
static void order_by_stacks(struct bench *bench) {
  bench->order.count = bench->stacks.address_count;
  bench->order.sites =
      test_reallocate(bench->order.sites, bench->order.count * sizeof *bench->order.sites);
  for (size_t i = 0; i < bench->order.count; i++)
    bench->order.sites[i] = find_site(&bench->subject, bench->stacks.addresses[i]);
  list_addresses(&bench->order);
}

static void count_one(struct bench *bench, const char *name) {
  for (size_t i = 0; i < bench->rival_count; i++) {
    struct contender *contender = &bench->contenders[i];
    if (strcmp(bench->rivals[i]->name, name) != 0 || bench->rivals[i]->look_up == NULL)
      continue;
    prepare_and_start(bench, i, contender);
    if (bench->stacks.count > 0)
      order_by_stacks(bench);
    const size_t count = look_ups_for(bench->rivals[i], &bench->order);
    for (size_t address = 0; address < count; address++)
      keep(bench->rivals[i]->look_up(contender, bench->order.sites[address]->address));
    counted_pass(contender, bench->rivals[i], &bench->order, count);
    printf("%zu\n", count);
    return;
  }
  fail(name, "no such rival");
}

int main(int argc, char **argv) {
  static struct bench bench;
  struct problem problem = {0};
  const bool count = argc > 2 && strcmp(argv[1], "--count") == 0;
  const bool few = argc > 1 && strcmp(argv[1], "--few") == 0;
  char **const files = argv + 1 + (few ? 1 : count ? 2 : 0);
  const int file_count = (int)(argv + argc - files);
  bench.rivals = few ? few_rivals : all_rivals;
  bench.rival_count = few ? FEW_RIVALS : RIVALS;
  if (file_count != 2 && file_count != 3)
    fail("usage", "measure [--few | --count RIVAL] RAW PACKED [STACKS]");
  if (!subject_open(&bench.subject, files[0], files[1], &problem)) {
    problem_print(&problem, files[0]);
    return 2;
  }
  shuffle(&bench);
  if (file_count == 3)
    read_stacks(&bench, files[2]);
  if (count) {
    count_one(&bench, argv[2]);
    return 0;
  }
  prepare_all(&bench);
  measure_all(&bench);
  print_all(&bench);
  for (size_t i = 0; i < bench.rival_count; i++) {
    release(&bench.contenders[i]);
    release(&bench.twins[i]);
  }
  free(bench.order.sites);
  free(bench.order.addresses);
  free(bench.stacks.addresses);
  free(bench.stacks.ends);
  subject_close(&bench.subject);
  return 0;
}
