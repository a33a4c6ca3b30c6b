/* sizes_raw.c - see sizes.h.
 *
 * In a raw stack map nearly everything is a record's: its header, its locations, its live-outs and
 * its padding. The header of each object file's map, its constants and the gaps between maps belong
 * to no function.
 */
#include "tool/sizes/sizes.h"

#include "format/search.h"
#include "format/stackmap_v3.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum part {
  PART_HEADERS,
  PART_FUNCTIONS,
  PART_CONSTANTS,
  PART_RECORDS,
  PART_LOCATIONS,
  PART_LIVE_OUTS,
  PART_PADDING,
  PARTS
};

static const uint32_t discarded = UINT32_MAX; /* a function at address 0, outside all tables */

/* The number of the function with an address, and with this frame size if there are several;
 * `discarded` if there is none. */
static uint32_t function_at(const struct safepoints *table, uint64_t address, uint64_t frame_size) {
  const struct safepoint_function *functions = table->functions;
  const size_t start = SEARCH_BELOW(functions, table->function_count, address, address);
  const size_t end = SEARCH_UP_TO(functions, table->function_count, address, address);
  const size_t i = start + SEARCH_BELOW(functions + start, end - start, frame_size, frame_size);
  return i < end ? (uint32_t)i : UINT32_MAX;
}

static void give(struct sizes *sizes, enum part part, uint32_t function, uint64_t bytes) {
  if (function != discarded) {
    sizes_give(sizes, part, function, bytes * 8);
  } else {
    sizes->discarded += bytes * 8;
    sizes->parts[part].owned += bytes * 8;
  }
}

static void divide_record(struct sizes *sizes, const struct stackmap_v3_record *record,
                          uint64_t size, uint32_t function) {
  const uint64_t locations = (uint64_t)record->locations * STACKMAP_V3_LOCATION_SIZE;
  const uint64_t live_outs =
      STACKMAP_V3_LIVE_OUTS_SIZE + (uint64_t)record->live_outs * STACKMAP_V3_LIVE_OUT_SIZE;
  assert(size >= STACKMAP_V3_RECORD_SIZE + locations + live_outs);
  give(sizes, PART_RECORDS, function, STACKMAP_V3_RECORD_SIZE);
  give(sizes, PART_LOCATIONS, function, locations);
  give(sizes, PART_LIVE_OUTS, function, live_outs);
  give(sizes, PART_PADDING, function, size - STACKMAP_V3_RECORD_SIZE - locations - live_outs);
}

static bool divide_section(struct sizes *sizes, const struct safepoints *table,
                           const uint8_t *bytes, size_t size, struct problem *problem) {
  struct stackmap_v3_reader reader = stackmap_v3_open(bytes, size);
  struct stackmap_v3_function function;
  struct stackmap_v3_record record;
  while (stackmap_v3_next_map(&reader)) {
    sizes->parts[PART_HEADERS].bits += STACKMAP_V3_MAP_SIZE * 8;
    sizes->parts[PART_CONSTANTS].bits += (uint64_t)reader.constants * STACKMAP_V3_CONSTANT_SIZE * 8;
    while (stackmap_v3_next_function(&reader, &function)) {
      const uint32_t number = function_at(table, function.address, function.frame_size);
      size_t start = reader.position;
      give(sizes, PART_FUNCTIONS, number, STACKMAP_V3_FUNCTION_SIZE);
      for (uint64_t i = 0; i < function.records && stackmap_v3_next_record(&reader, &record); i++) {
        divide_record(sizes, &record, reader.position - start, number);
        start = reader.position;
      }
    }
  }
  return reader.error == NULL || problem_set(problem, "%s", reader.error);
}

/* All bytes of a part have owners, except in the parts about whole maps. The padding is the rest
 * of the sections' size. */
static void sum_up(struct sizes *sizes, uint64_t size) {
  static const char *const names[PARTS] = {
      [PART_HEADERS] = "headers", [PART_FUNCTIONS] = "functions", [PART_CONSTANTS] = "constants",
      [PART_RECORDS] = "records", [PART_LOCATIONS] = "locations", [PART_LIVE_OUTS] = "live-outs",
      [PART_PADDING] = "padding",
  };
  sizes->bits = size * 8;
  sizes->part_count = PARTS;
  uint64_t rest = sizes->bits;
  for (unsigned i = 0; i < PARTS; i++) {
    struct sizes_part *part = &sizes->parts[i];
    part->name = names[i];
    if (i != PART_HEADERS && i != PART_CONSTANTS)
      part->bits = i == PART_PADDING ? rest : part->owned;
    assert(part->owned <= part->bits && part->bits <= rest);
    rest -= part->bits;
  }
}

bool sizes_of_raw(struct sizes *sizes, const struct image *image, const struct loaded *loaded,
                  struct problem *problem) {
  bool ok = true;
  sizes_open(sizes, loaded->table.function_count);
  EACH_SECTION(image, section) {
    uint8_t *copy;
    if (!ok || strcmp(section->name, loaded->raw->name) != 0)
      continue;
    const uint8_t *bytes = load_section(image, section, &copy, problem);
    ok = bytes != NULL &&
         divide_section(sizes, &loaded->table, bytes, section->header.sh_size, problem);
    free(copy);
  }
  sum_up(sizes, loaded->raw_size);
  return ok;
}

/* ---- For both ---- */

void sizes_open(struct sizes *sizes, uint32_t functions) {
  *sizes = (struct sizes){.functions = calloc((size_t)functions + 1, sizeof *sizes->functions)};
}

void sizes_free(struct sizes *sizes) {
  free(sizes->functions);
  *sizes = (struct sizes){0};
}
