/* subject.c - see subject.h. */
#include "subject.h"

#include "../unit/bytes.h"
#include "elf/elf_image.h"
#include "format/packed.h"
#include "tool/image/load.h"
#include "v3_sites.h"

#include <stdlib.h>
#include <string.h>

static bool read_raw(struct subject *subject, struct problem *problem) {
  const struct load_options options = {0};
  struct loaded loaded;
  if (load_find(&subject->raw_image, &options, &loaded, problem) != LOAD_RAW)
    return problem_set(problem, "no raw stack maps");
  subject->raw_size = loaded.raw->header.sh_size;
  subject->raw = load_section(&subject->raw_image, loaded.raw, &subject->raw_copy, problem);
  return subject->raw != NULL;
}

static int compare_slots(const void *a, const void *b) {
  const slot left = *(const slot *)a, right = *(const slot *)b;
  return (left > right) - (left < right);
}

static void add_slots(struct subject *subject, struct site *site) {
  slot *slots = &subject->slots[site->first_slot];
  uint32_t count = 0;
  for (uint32_t i = 0; i < site->pairs; i++) {
    slots[count++] = subject->pairs[site->first_pair + i].base;
    slots[count++] = subject->pairs[site->first_pair + i].derived;
  }
  qsort(slots, count, sizeof *slots, compare_slots);
  for (uint32_t i = 0; i < count; i++)
    if (i == 0 || slots[i] != slots[i - 1])
      slots[site->slots++] = slots[i];
  subject->slot_count += site->slots;
}

static bool add_pairs(struct subject *subject, struct site *site,
                      const struct stackpack_record *record) {
  struct stackpack_pairs pairs = stackpack_pairs(record);
  struct stackpack_location base, derived;
  while (stackpack_pairs_next(&pairs, &base, &derived)) {
    struct pair *pair = &subject->pairs[subject->pair_count++];
    if (!slot_of(&pair->base, base.kind, base.reg, base.value) ||
        !slot_of(&pair->derived, derived.kind, derived.reg, derived.value))
      return false;
    site->pairs++;
  }
  return !pairs.is_corrupt;
}

static size_t count_pairs(const struct stackpack_table *table) {
  size_t count = 0;
  for (uint32_t i = 0; i < stackpack_table_records(table); i++) {
    struct stackpack_record record;
    struct stackpack_location base, derived;
    if (stackpack_table_record(table, i, &record) != STACKPACK_FOUND)
      return 0;
    struct stackpack_pairs pairs = stackpack_pairs(&record);
    while (stackpack_pairs_next(&pairs, &base, &derived))
      count++;
  }
  return count;
}

static int compare_address(const void *key, const void *site) {
  const uint64_t address = *(const uint64_t *)key, other = ((const struct site *)site)->address;
  return (address > other) - (address < other);
}

/* A packed table's frame sizes have pushed arguments in them, unlike LLVM's, which rivals read.
 * Such sites are marked. */
static void mark_other_sizes(struct subject *subject) {
  struct v3_sites raw = v3_sites_open(subject->raw, subject->raw_size);
  while (v3_sites_next(&raw)) {
    struct site *site = bsearch(&raw.address, subject->sites, subject->record_count,
                                sizeof *subject->sites, compare_address);
    if (site != NULL && site->frame_size != raw.frame_size)
      site->function = UINT64_MAX;
  }
}

/* Records of equal address follow each other; a look-up of one of these would have to choose. */
static size_t leave_out_ambiguous(struct site *sites, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++) {
    const bool alone = (i == 0 || sites[i].address != sites[i - 1].address) &&
                       (i + 1 == count || sites[i].address != sites[i + 1].address);
    if (alone && sites[i].function != UINT64_MAX)
      kept++;
    else
      sites[i].function = UINT64_MAX;
  }
  size_t place = 0;
  for (size_t i = 0; i < count; i++)
    if (sites[i].function != UINT64_MAX)
      sites[place++] = sites[i];
  return kept;
}

static bool read_sites(struct subject *subject, struct problem *problem) {
  struct stackpack_table table;
  if (stackpack_table_open(&table, subject->packed.bytes, subject->packed.size,
                           subject->packed.address) != STACKPACK_OK)
    return problem_set(problem, "a packed table that can't be opened");
  /* without the rest of its section */
  subject->packed.size = packed_size((const struct packed_table *)table.private_);
  const size_t count = stackpack_table_records(&table), pairs = count_pairs(&table);
  subject->record_count = count;
  subject->sites = test_allocate(count * sizeof *subject->sites);
  subject->pairs = test_allocate(pairs * sizeof *subject->pairs);
  subject->slots = test_allocate(2 * pairs * sizeof *subject->slots);
  for (uint32_t i = 0; i < count; i++) {
    struct stackpack_record record;
    if (stackpack_table_record(&table, i, &record) != STACKPACK_FOUND)
      return problem_set(problem, "a broken packed table");
    struct site *site = &subject->sites[i];
    *site = (struct site){.address = record.address,
                          .function = stackpack_record_function(&record),
                          .frame_size = (uint32_t)record.frame_size,
                          .first_pair = (uint32_t)subject->pair_count,
                          .first_slot = (uint32_t)subject->slot_count};
    if (!add_pairs(subject, site, &record))
      return problem_set(problem, "a location that the rivals' tables have no room for");
    add_slots(subject, site);
  }
  mark_other_sizes(subject);
  subject->site_count = leave_out_ambiguous(subject->sites, count);
  return subject->site_count > 0 || problem_set(problem, "no records");
}

bool subject_open(struct subject *subject, const char *raw_path, const char *packed_path,
                  struct problem *problem) {
  *subject = (struct subject){0};
  const bool ok = image_open(&subject->raw_image, raw_path, problem) &&
                  image_open(&subject->packed_image, packed_path, problem) &&
                  read_raw(subject, problem) &&
                  (elf_image_find_packed(&subject->packed_image.elf_image, &subject->packed) ||
                   problem_set(problem, "no packed table")) &&
                  read_sites(subject, problem);
  if (!ok)
    subject_close(subject);
  return ok;
}

void subject_close(struct subject *subject) {
  free(subject->raw_copy);
  free(subject->sites);
  free(subject->pairs);
  free(subject->slots);
  image_close(&subject->packed_image);
  image_close(&subject->raw_image);
}
