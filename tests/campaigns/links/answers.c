/* answers.c - prints the results of the managed functions, and a sum of the library's answers: one for each byte of their code, with
 * pairs and facts of frames. They are the same before and after packing. */
#include "stackpack.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int64_t run(int64_t n), f1(int64_t n), f6(int64_t n);

static struct stackpack_module modules[64];
static struct stackpack_process process;
static int64_t objects, collections;

void *allocate(int64_t size) {
  objects++;
  return calloc(1, (size_t)size);
}

void collect(void) { collections++; }

static uint64_t mix(uint64_t sum, uint64_t number) { return (sum ^ number) * 0x100000001b3; }

static uint64_t mix_record(uint64_t sum, const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  while (stackpack_pairs_next(&pairs, &base, &derived))
    sum = mix(mix(sum, (uint64_t)base.value ^ base.reg), (uint64_t)derived.value);
  const struct stackpack_frame_facts frame = stackpack_record_frame(record);
  return mix(mix(mix(sum, record->frame_size), (uint64_t)frame.cfa_offset), frame.cfa_register);
}

int main(void) {
  enum { CODE_MAX = 1 << 22, LAST_FUNCTION = 400 };
  for (int64_t n = 1; n <= 5; n++)
    printf("%" PRId64 "\n", run(n));
  printf("%" PRId64 " objects, %" PRId64 " collections\n", objects, collections);
  if (stackpack_process_open(&process, modules, sizeof modules / sizeof *modules) != STACKPACK_OK)
    return 1;
  const uintptr_t functions[] = {(uintptr_t)run, (uintptr_t)f1, (uintptr_t)f6};
  uintptr_t low = functions[0], high = functions[0];
  for (unsigned i = 1; i < sizeof functions / sizeof *functions; i++) {
    low = functions[i] < low ? functions[i] : low;
    high = functions[i] > high ? functions[i] : high;
  }
  high = high - low > CODE_MAX ? low + CODE_MAX : high;
  uint64_t sum = 0, found = 0;
  for (uintptr_t at = low; at < high + LAST_FUNCTION; at++) {
    struct stackpack_record record;
    const enum stackpack_answer answer = stackpack_find(&process, at, &record);
    sum = mix(sum, answer);
    found += answer == STACKPACK_FOUND;
    if (answer == STACKPACK_FOUND)
      sum = mix_record(sum, &record);
  }
  printf("%" PRIu64 " records, %016" PRIx64 "\n", found, sum);
  return 0;
}
