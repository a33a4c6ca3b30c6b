/* memory.c - opens raw stack maps that are bytes in memory: a JIT's, or a linker script's.
 *
 * The same reader as for files and loaded modules (raw.c) serves them; only the code's place is the
 * caller's word, in place of program headers. A function without an unwind table ends where
 * the next one starts, or with its code.
 */
#include "elf/evidence.h"
#include "format/array.h"
#include "format/search.h"
#include "format/stackmap_v3.h"
#include "runtime/raw_encode.h"

#include <string.h>

struct source {
  const struct stackpack_maps *maps;
  struct safepoints safepoints;
  struct evidence evidence;
  struct code_ranges places; /* of the code, sorted */
};

static bool find_code(struct source *source) {
  const struct stackpack_maps *maps = source->maps;
  struct evidence *evidence = &source->evidence;
  evidence->code.machine = machine_find(source->safepoints.machine);
  evidence->unwind =
      (struct section_bytes){maps->unwind.bytes, maps->unwind.size, maps->unwind.address};
  for (size_t i = 0; i < maps->code_count; i++) {
    const struct stackpack_bytes *code = &maps->code[i];
    if (!code_ranges_add(&source->places, code->address, code->address + code->size) ||
        (code->bytes != NULL && !code_add(&evidence->code, code->address, code->bytes, code->size)))
      return false;
  }
  code_ranges_sort(&source->places);
  for (size_t i = 0; i < maps->id_count; i++)
    if (!statepoint_ids_add(&evidence->ids, maps->ids[i].first, maps->ids[i].last))
      return false;
  statepoint_ids_sort(&evidence->ids);
  const bool ok =
      evidence->unwind.bytes == NULL || eh_frame_add(&evidence->code.unwound, &evidence->unwind);
  code_sort(&evidence->code);
  return ok;
}

static enum stackpack_error read_maps(struct source *source) {
  const struct stackpack_maps *maps = source->maps;
  const struct statepoint_signs signs = evidence_signs(&source->evidence);
  uint8_t *copy = NULL;
  if (maps->base != 0 && maps->size > 0) {
    copy = malloc(maps->size);
    if (copy == NULL)
      return STACKPACK_NO_MEMORY;
    memcpy(copy, maps->bytes, maps->size);
    stackmap_v3_move(copy, maps->size, maps->base, false);
  }
  const bool ok =
      safepoints_add_v3(&source->safepoints, copy != NULL ? copy : maps->bytes, maps->size, &signs);
  free(copy);
  if (ok)
    return STACKPACK_OK;
  return source->safepoints.no_memory ? STACKPACK_NO_MEMORY : STACKPACK_BAD_STACK_MAP;
}

/* The end of the code that an address is in; 0: in none. */
static uint64_t code_end(const struct source *source, uint64_t address) {
  const struct code_ranges *places = &source->places;
  const size_t after = SEARCH_UP_TO(places->items, places->count, start, address);
  return after > 0 && address < places->items[after - 1].end ? places->items[after - 1].end : 0;
}

/* All records must be in the code of their function. */
static bool are_inside(const struct source *source) {
  const struct safepoints *safepoints = &source->safepoints;
  for (uint32_t i = 0; i < safepoints->record_count; i++) {
    const struct safepoint *record = &safepoints->records[i];
    const uint64_t function = safepoints->functions[record->function].address;
    if (record->address > code_end(source, function))
      return false;
  }
  return true;
}

/* Gives each function that the unwind table lacks a range up to the next one, or the code's end. */
static enum stackpack_error add_extents(struct source *source) {
  const struct safepoints *safepoints = &source->safepoints;
  struct code *code = &source->evidence.code;
  uint64_t *starts = malloc((safepoints->function_count + 1) * sizeof *starts);
  enum stackpack_error error = starts != NULL ? STACKPACK_OK : STACKPACK_NO_MEMORY;
  for (uint32_t i = 0; error == STACKPACK_OK && i < safepoints->function_count; i++)
    starts[i] = safepoints->functions[i].address;
  const size_t count =
      error == STACKPACK_OK ? array_sort_words(starts, safepoints->function_count) : 0;
  for (size_t i = 0; error == STACKPACK_OK && i < count; i++) {
    const uint64_t next = i + 1 < count ? starts[i + 1] : UINT64_MAX;
    const uint64_t last = code_end(source, starts[i]), end = next < last ? next : last;
    const size_t unwound = SEARCH_UP_TO(code->unwound.items, code->unwound.count, start, starts[i]);
    if (last == 0)
      error = STACKPACK_BAD_STACK_MAP;
    else if ((unwound == 0 || code->unwound.items[unwound - 1].start != starts[i]) &&
             !code_ranges_add(&code->named, starts[i], end))
      error = STACKPACK_NO_MEMORY;
  }
  code_ranges_sort(&code->named);
  free(starts);
  return error;
}

static enum stackpack_error read(struct source *source) {
  struct map_entries entries = {0};
  if (!find_code(source))
    return STACKPACK_NO_MEMORY;
  enum stackpack_error error = read_maps(source);
  if (error == STACKPACK_OK)
    error = add_extents(source);
  if (error == STACKPACK_OK && !are_inside(source))
    error = STACKPACK_BAD_STACK_MAP;
  if (error == STACKPACK_OK && !evidence_finish(&source->evidence, &source->safepoints, &entries))
    error = STACKPACK_NO_MEMORY;
  map_entries_free(&entries);
  return error;
}

/* The memory's own. */
static void **owned_of(struct stackpack_memory *memory) { return (void **)&memory->private_[0]; }

enum stackpack_error stackpack_memory_open(struct stackpack_memory *memory,
                                           const struct stackpack_maps *maps) {
  struct source *source = calloc(1, sizeof *source);
  *memory = (struct stackpack_memory){0};
  if (source == NULL)
    return STACKPACK_NO_MEMORY;
  source->maps = maps;
  source->safepoints.machine = THIS_MACHINE;
  enum stackpack_error error = read(source);
  if (error == STACKPACK_OK)
    error = raw_encode(&source->safepoints, 0, &memory->table, owned_of(memory));
  safepoints_free(&source->safepoints);
  evidence_free(&source->evidence);
  code_ranges_free(&source->places);
  free(source);
  return error;
}

void stackpack_memory_close(struct stackpack_memory *memory) {
  free(*owned_of(memory));
  *memory = (struct stackpack_memory){0};
}
