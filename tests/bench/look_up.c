/* look_up.c - how long a look-up takes, beside the hash table that a user would write.
 *
 * look_up FILE...: for each packed program, finds every record by its address, in random order, and
 * visits the slots of its pairs; and does the same with a hash table (open addressing, half full)
 * from return addresses to frame descriptors, built from the same records. Times are of whole
 * passes, interleaved; the least of several counts, as whatever else runs can only add to it.
 */
#include "stackpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { PASSES = 15 };

struct descriptor {
  uint64_t frame_size;
  size_t slots;
  int64_t offsets[];
};

struct entry {
  uint64_t address; /* 0: free */
  struct descriptor *descriptor;
};

struct bench {
  struct stackpack_file file;
  uint64_t *addresses; /* of all records, shuffled */
  size_t records, mask;
  struct entry *entries;
};

static void *allocate(size_t size) {
  void *memory = calloc(1, size + 1);
  if (memory == NULL)
    exit(2);
  return memory;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static size_t slot_of(const struct bench *bench, uint64_t address) {
  return (address * 0x9e3779b97f4a7c15u >> 24) & bench->mask;
}

static struct descriptor *describe(const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  size_t slots = 0;
  while (stackpack_pairs_next(&pairs, &base, &derived))
    slots += 2;
  struct descriptor *descriptor = allocate(sizeof *descriptor + slots * sizeof(int64_t));
  descriptor->frame_size = record->frame_size;
  pairs = stackpack_pairs(record);
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    descriptor->offsets[descriptor->slots++] = base.value;
    descriptor->offsets[descriptor->slots++] = derived.value;
  }
  return descriptor;
}

static void build(struct bench *bench) {
  bench->records = stackpack_table_records(&bench->file.table);
  bench->addresses = allocate(bench->records * sizeof *bench->addresses);
  bench->mask = 1;
  while (bench->mask < 2 * bench->records)
    bench->mask *= 2;
  bench->entries = allocate(bench->mask-- * sizeof *bench->entries);
  for (uint32_t i = 0; i < bench->records; i++) {
    struct stackpack_record record;
    if (stackpack_table_record(&bench->file.table, i, &record) != STACKPACK_FOUND)
      exit(2);
    bench->addresses[i] = record.address;
    size_t slot = slot_of(bench, record.address);
    while (bench->entries[slot].address != 0)
      slot = (slot + 1) & bench->mask;
    bench->entries[slot] = (struct entry){record.address, describe(&record)};
  }
  uint64_t seed = 1;
  for (size_t i = bench->records; i > 1; i--) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    const size_t other = (size_t)(seed >> 33) % i;
    const uint64_t address = bench->addresses[i - 1];
    bench->addresses[i - 1] = bench->addresses[other];
    bench->addresses[other] = address;
  }
}

static uint64_t pass_packed(const struct bench *bench) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bench->records; i++) {
    struct stackpack_record record;
    struct stackpack_location base, derived;
    if (stackpack_table_find(&bench->file.table, bench->addresses[i], &record) != STACKPACK_FOUND)
      exit(2);
    struct stackpack_pairs pairs = stackpack_pairs(&record);
    sum += record.frame_size;
    while (stackpack_pairs_next(&pairs, &base, &derived))
      sum += (uint64_t)base.value + (uint64_t)derived.value;
  }
  return sum;
}

static uint64_t pass_hash(const struct bench *bench) {
  uint64_t sum = 0;
  for (size_t i = 0; i < bench->records; i++) {
    size_t slot = slot_of(bench, bench->addresses[i]);
    while (bench->entries[slot].address != bench->addresses[i])
      slot = (slot + 1) & bench->mask;
    const struct descriptor *descriptor = bench->entries[slot].descriptor;
    sum += descriptor->frame_size;
    for (size_t k = 0; k < descriptor->slots; k++)
      sum += (uint64_t)descriptor->offsets[k];
  }
  return sum;
}

static void measure(const struct bench *bench, const char *path) {
  double packed = 1e9, hash = 1e9;
  for (int pass = 0; pass < PASSES; pass++) {
    const double start = now();
    const uint64_t a = pass_packed(bench);
    const double middle = now();
    const uint64_t b = pass_hash(bench);
    const double end = now();
    if (a != b)
      exit(1);
    packed = middle - start < packed ? middle - start : packed;
    hash = end - middle < hash ? end - middle : hash;
  }
  printf("%-32s %8zu records  packed %7.1f ns  hash table %6.1f ns  ratio %5.2f\n", path,
         bench->records, packed / (double)bench->records * 1e9, hash / (double)bench->records * 1e9,
         packed / hash);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    struct bench bench = {0};
    const enum stackpack_error error = stackpack_file_open(&bench.file, argv[i]);
    if (error != STACKPACK_OK) {
      fprintf(stderr, "%s: %s\n", argv[i], stackpack_error_text(error));
      return 2;
    }
    build(&bench);
    if (bench.records > 0)
      measure(&bench, argv[i]);
    stackpack_file_close(&bench.file);
  }
  return 0;
}
