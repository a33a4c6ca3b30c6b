/* main.c - starts the threads, and checks their result.
 *
 * The sum of all lists' checksums is independent of the threads' meetings. So main.c also computes
 * it without threads, lists and a collector, with arrays and qsort.
 */
#include "die.h"
#include "managed.h"
#include "native.h"
#include "numbers.h"
#include "options.h"
#include "world.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

enum { MOST_THREADS = 64 };

struct options {
  uint64_t threads, lists, length, seed, heap_kilobytes, pauses;
  bool stress, statistics;
};

/* A thread's work, and its result. */
struct job {
  pthread_t id;
  const struct options *options;
  uint64_t seed, sum;
  bool is_parked;
};

/* ---- With threads and a collector ---- */

static void *run_job(void *argument) {
  struct job *job = argument;
  struct thread thread;
  world_attach(&thread, job->seed);
  if (job->is_parked)
    job->sum = thread_run(&thread, (managed_function *)lists_run_parked, job->seed,
                          job->options->length, 0);
  else
    job->sum = thread_run(&thread, (managed_function *)lists_run, job->seed, job->options->lists,
                          job->options->length);
  world_detach(&thread);
  return NULL;
}

static void start_job(struct job *job) {
  if (pthread_create(&job->id, NULL, run_job, job) != 0)
    die("cannot start a thread");
}

/* The first job is parked: it is in native code before the others start, and continues when they
 * have ended. */
static uint64_t run_jobs(struct job *jobs, uint64_t count) {
  start_job(&jobs[0]);
  native_await_waiter();
  for (uint64_t i = 1; i < count; i++)
    start_job(&jobs[i]);
  for (uint64_t i = 1; i < count; i++)
    pthread_join(jobs[i].id, NULL);
  native_end();
  pthread_join(jobs[0].id, NULL);

  struct thread thread;
  world_attach(&thread, 1);
  uint64_t sum = thread_run(&thread, (managed_function *)lists_drain, 0, 0, 0);
  world_detach(&thread);
  for (uint64_t i = 0; i < count; i++)
    sum += jobs[i].sum;
  return sum;
}

/* ---- Without ---- */

static int compare_numbers(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return (a > b) - (a < b);
}

static uint64_t expected_list(uint64_t *numbers, uint64_t length, uint64_t number) {
  for (uint64_t i = 0; i < length; i++)
    numbers[i] = number = random_next(number);
  qsort(numbers, length, sizeof numbers[0], compare_numbers);
  uint64_t checksum = 0;
  for (uint64_t i = 0; i < length; i++)
    checksum = checksum_add(checksum, numbers[i]);
  return checksum;
}

static uint64_t expected_sum(const struct job *jobs, uint64_t count) {
  uint64_t length = jobs[0].options->length, sum = 0;
  uint64_t *numbers = calloc(length, sizeof *numbers);
  if (!numbers)
    die("out of memory");
  for (uint64_t i = 0; i < count; i++) {
    uint64_t seed = jobs[i].seed, lists = jobs[i].is_parked ? 1 : jobs[i].options->lists;
    for (uint64_t j = 0; j < lists; j++) {
      seed = random_next(seed);
      sum += expected_list(numbers, length, seed);
    }
  }
  free(numbers);
  return sum;
}

int main(int argc, char **argv) {
  struct options options = {
      .threads = 4, .lists = 200, .length = 60, .seed = 1, .heap_kilobytes = 256, .pauses = 50};
  options_take(
      argc, argv,
      (const struct option_row[]){
          {"threads", "how many threads run, beside one in native code", NULL, &options.threads, 1,
           MOST_THREADS},
          {"lists", "how many lists each makes", NULL, &options.lists, 1, 1000000},
          {"length", "the lists' length", NULL, &options.length, 1, 1000000},
          {"seed", "another N, other numbers and other pauses", NULL, &options.seed, 1, UINT32_MAX},
          {"heap", "the size of each of the two spaces, in KiB", NULL, &options.heap_kilobytes, 1,
           1000000},
          {"pauses", "a random pause at one in N places where threads meet; 0: none", NULL,
           &options.pauses, 0, 1000000},
          {"stress", "collect at every allocation and poll", .flag = &options.stress},
          {"statistics", "say on stderr what the collections did", .flag = &options.statistics},
          {0},
      });
  world_open(options.heap_kilobytes * 1024, options.stress, options.pauses);
  struct job jobs[1 + MOST_THREADS];
  uint64_t count = 1 + options.threads, seed = options.seed;
  for (uint64_t i = 0; i < count; i++) {
    seed = random_next(seed);
    jobs[i] = (struct job){.options = &options, .seed = seed, .is_parked = i == 0};
  }
  uint64_t sum = run_jobs(jobs, count), expected = expected_sum(jobs, count);
  if (options.statistics)
    world_report(stderr);
  world_close();
  if (sum != expected)
    die("the lists' sum is %016" PRIx64 ", but should be %016" PRIx64, sum, expected);
  printf("%016" PRIx64 "\n", sum);
  return 0;
}
