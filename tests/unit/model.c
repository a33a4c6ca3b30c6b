/* model.c - see model.h. */
#include "model.h"

#include "v3_writer.h"

#include <stdlib.h>
#include <string.h>

/* ---- Building ------------------------------------------------------------------------------- */

static void *room_for_one(void *items, uint32_t count, uint32_t *capacity, size_t item_size) {
  if (count < *capacity)
    return items;
  *capacity = *capacity * 2 + 16;
  return test_reallocate(items, *capacity * item_size);
}

void model_free(struct model *model) {
  for (uint32_t i = 0; i < model->record_count; i++) {
    struct model_record *record = &model->records[i];
    free(record->deopt.items);
    free(record->pairs.items);
    free(record->set.items);
    free(record->locations.items);
    free(record->live_outs);
  }
  free(model->functions);
  free(model->records);
  free(model->maps);
  free(model->sorted_functions);
  free(model->reach);
  free(model->sorted_records);
  *model = (struct model){0};
}

void model_add_map(struct model *model) {
  model->maps =
      room_for_one(model->maps, model->map_count, &model->map_capacity, sizeof *model->maps);
  model->maps[model->map_count++] = model->function_count;
}

void model_add_function(struct model *model, uint64_t address, uint64_t frame_size, uint64_t end) {
  model->functions = room_for_one(model->functions, model->function_count,
                                  &model->function_capacity, sizeof *model->functions);
  model->functions[model->function_count++] =
      (struct model_function){.address = address,
                              .frame_size = frame_size,
                              .end = end,
                              .first_record = model->record_count};
}

struct model_record *model_add_record(struct model *model, uint32_t offset) {
  model->records = room_for_one(model->records, model->record_count, &model->record_capacity,
                                sizeof *model->records);
  struct model_function *function = &model->functions[model->function_count - 1];
  struct model_record *record = &model->records[model->record_count++];
  *record = (struct model_record){.address = function->address + offset,
                                  .function = model->function_count - 1,
                                  .offset = offset,
                                  .id = MODEL_DEFAULT_ID,
                                  .statepoint = true};
  function->records++;
  return record;
}

struct stackpack_location model_location(uint8_t kind, uint16_t size, uint16_t reg, int64_t value) {
  return (struct stackpack_location){kind, size, reg, value};
}

struct stackpack_location model_slot(int32_t offset) {
  return model_location(STACKPACK_INDIRECT, 8, 7, offset);
}

struct stackpack_location model_constant(uint64_t value) {
  return model_location(value <= INT32_MAX ? STACKPACK_CONSTANT : STACKPACK_LARGE_CONSTANT, 8, 0,
                        (int64_t)value);
}

void model_list_add(struct model_list *list, struct stackpack_location location) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity * 2 + 4;
    list->items = test_reallocate(list->items, list->capacity * sizeof *list->items);
  }
  list->items[list->count++] = location;
}

void model_add_pair(struct model_record *record, struct stackpack_location base,
                    struct stackpack_location derived) {
  model_list_add(&record->pairs, base);
  model_list_add(&record->pairs, derived);
}

void model_add_self(struct model_record *record, int32_t offset) {
  model_add_pair(record, model_slot(offset), model_slot(offset));
}

void model_add_live_out(struct model_record *record, uint16_t reg, uint8_t size) {
  record->live_outs = room_for_one(record->live_outs, record->live_out_count,
                                   &record->live_out_capacity, sizeof *record->live_outs);
  record->live_outs[record->live_out_count++] = (struct stackpack_live_out){reg, size};
}

/* ---- Order and equality --------------------------------------------------------------------- */

int model_compare_locations(struct stackpack_location a, struct stackpack_location b) {
  if (a.kind != b.kind)
    return a.kind < b.kind ? -1 : 1;
  if (a.reg != b.reg)
    return a.reg < b.reg ? -1 : 1;
  if (a.size != b.size)
    return a.size < b.size ? -1 : 1;
  return a.value < b.value ? -1 : a.value > b.value;
}

bool model_same_list(const struct model_list *a, const struct model_list *b) {
  if (a->count != b->count)
    return false;
  for (size_t i = 0; i < a->count; i++)
    if (model_compare_locations(a->items[i], b->items[i]) != 0)
      return false;
  return true;
}

static int compare_pairs(const void *a, const void *b) {
  const struct stackpack_location *x = a, *y = b;
  const int order = model_compare_locations(x[0], y[0]);
  return order != 0 ? order : model_compare_locations(x[1], y[1]);
}

void model_sort_pairs(struct model_list *pairs) {
  const size_t pair_size = 2 * sizeof *pairs->items;
  const size_t count = pairs->count / 2;
  if (count < 2)
    return;
  qsort(pairs->items, count, pair_size, compare_pairs);
  size_t kept = 1;
  for (size_t i = 1; i < count; i++)
    if (compare_pairs(&pairs->items[2 * i], &pairs->items[2 * (kept - 1)]) != 0)
      memmove(&pairs->items[2 * kept++], &pairs->items[2 * i], pair_size);
  pairs->count = 2 * kept;
}

static int compare_functions(const void *a, const void *b) {
  const struct model_function *x = a, *y = b;
  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return x->frame_size < y->frame_size ? -1 : x->frame_size > y->frame_size;
}

static int compare_places(const void *a, const void *b, void *context) {
  const struct model_record *x = *(struct model_record *const *)a;
  const struct model_record *y = *(struct model_record *const *)b;
  const struct model_function *functions = ((const struct model *)context)->functions;
  if (x->address != y->address)
    return x->address < y->address ? -1 : 1;
  return compare_functions(&functions[x->function], &functions[y->function]);
}

static bool same_contents(const struct model_record *a, const struct model_record *b) {
  if (a->id != b->id || a->statepoint != b->statepoint ||
      a->calling_convention != b->calling_convention || a->flags != b->flags ||
      a->live_out_count != b->live_out_count)
    return false;
  for (size_t i = 0; i < a->live_out_count; i++)
    if (a->live_outs[i].reg != b->live_outs[i].reg || a->live_outs[i].size != b->live_outs[i].size)
      return false;
  return model_same_list(&a->deopt, &b->deopt) && model_same_list(&a->set, &b->set) &&
         model_same_list(&a->locations, &b->locations);
}

/* ---- Finishing ------------------------------------------------------------------------------ */

static void sort_functions(struct model *model) {
  uint32_t count = 0;
  struct model_function *sorted = test_allocate(model->function_count * sizeof *sorted);
  for (uint32_t i = 0; i < model->function_count; i++)
    if (model->functions[i].address != 0)
      sorted[count++] = model->functions[i];
  model->discarded_functions = model->function_count - count;
  qsort(sorted, count, sizeof *sorted, compare_functions);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (kept == 0 || compare_functions(&sorted[kept - 1], &sorted[i]) != 0)
      sorted[kept++] = sorted[i];
    else if (sorted[i].end > sorted[kept - 1].end)
      sorted[kept - 1].end = sorted[i].end;
  model->reach = test_allocate(kept * sizeof *model->reach);
  for (uint32_t i = 0; i < kept; i++) {
    const uint64_t before = i == 0 ? 0 : model->reach[i - 1];
    model->reach[i] = sorted[i].end > before ? sorted[i].end : before;
  }
  model->sorted_functions = sorted;
  model->sorted_function_count = kept;
}

/* Whether one of the records before sorted[i], of the same place, says the same. */
static bool is_repeated(const struct model *model, struct model_record *const *sorted,
                        uint32_t kept, const struct model_record *record) {
  for (uint32_t i = kept; i > 0; i--) {
    if (compare_places(&sorted[i - 1], &record, (void *)(uintptr_t)model) != 0)
      return false;
    if (same_contents(sorted[i - 1], record))
      return true;
  }
  return false;
}

static void sort_records(struct model *model) {
  uint32_t count = 0;
  struct model_record **sorted = test_allocate(model->record_count * sizeof *sorted);
  for (uint32_t i = 0; i < model->record_count; i++)
    if (model->functions[model->records[i].function].address != 0)
      sorted[count++] = &model->records[i];
  model->discarded_records = model->record_count - count;
  qsort_r(sorted, count, sizeof *sorted, compare_places, model);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (!is_repeated(model, sorted, kept, sorted[i]))
      sorted[kept++] = sorted[i];
  model->repeated_records = count - kept;
  model->sorted_records = sorted;
  model->sorted_record_count = kept;
}

void model_finish(struct model *model) {
  for (uint32_t i = 0; i < model->record_count; i++) {
    struct model_record *record = &model->records[i];
    for (size_t k = 0; k < record->pairs.count; k++)
      model_list_add(&record->set, record->pairs.items[k]);
    model_sort_pairs(&record->set);
  }
  sort_functions(model);
  sort_records(model);
}

/* ---- Answers -------------------------------------------------------------------------------- */

uint32_t model_find(const struct model *model, uint64_t address) {
  uint32_t from = 0, to = model->sorted_record_count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (model->sorted_records[middle]->address < address)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

/* The number of functions that start at or before an address. */
static uint32_t functions_up_to(const struct model *model, uint64_t address) {
  uint32_t from = 0, to = model->sorted_function_count;
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (model->sorted_functions[middle].address <= address)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static bool has_record(const struct model *model, uint64_t address) {
  const uint32_t record = model_find(model, address);
  return record < model->sorted_record_count && model->sorted_records[record]->address == address;
}

/* An address is managed if it is in the code of a function, or between a function's start and a
 * record that is not after the next function's start. */
static bool is_managed(const struct model *model, uint64_t address) {
  const uint32_t record = model_find(model, address);
  const uint32_t functions = functions_up_to(model, address);
  if (functions == 0)
    return false;
  const uint64_t next = functions < model->sorted_function_count
                            ? model->sorted_functions[functions].address
                            : UINT64_MAX;
  return address < model->reach[functions - 1] ||
         (record < model->sorted_record_count && model->sorted_records[record]->address <= next);
}

/* Without a record, a return address belongs to the function of the byte before it. */
enum stackpack_answer model_answer(const struct model *model, uint64_t address) {
  if (has_record(model, address))
    return STACKPACK_FOUND;
  return has_record(model, address - 1) || is_managed(model, address - 1) ? STACKPACK_NOT_SAFEPOINT
                                                                          : STACKPACK_NOT_MANAGED;
}

/* ---- Writing -------------------------------------------------------------------------------- */

/* Whether a location is written with an index into the constant pool. Some small constants are,
 * too: LLVM never writes that, but it is equivalent. */
static bool is_pooled(const struct stackpack_location *location) {
  return location->kind == STACKPACK_LARGE_CONSTANT ||
         (location->kind == STACKPACK_CONSTANT && location->value >= 0 && location->value % 3 == 1);
}

static void write_constants(const struct model_list *list, struct bytes *bytes) {
  for (size_t i = 0; i < list->count; i++)
    if (is_pooled(&list->items[i]))
      v3_constant(bytes, (uint64_t)list->items[i].value);
}

/* Writes locations; *constant is the index of the map's next pooled constant. */
static void write_list(const struct model_list *list, uint32_t *constant, struct bytes *bytes) {
  for (size_t i = 0; i < list->count; i++) {
    const struct stackpack_location *location = &list->items[i];
    const bool pooled = is_pooled(location);
    v3_location(bytes, pooled ? V3_CONSTANT_INDEX : location->kind, location->size, location->reg,
                (int32_t)(pooled ? (*constant)++ : (uint32_t)location->value));
  }
}

static void write_record(const struct model_record *record, uint32_t *constant,
                         struct bytes *bytes) {
  const unsigned head = record->statepoint ? 3 : 0;
  v3_record(bytes, record->id, record->offset,
            (uint16_t)(head + record->deopt.count + record->pairs.count + record->locations.count));
  if (record->statepoint) {
    v3_location(bytes, V3_CONSTANT, 8, 0, record->calling_convention);
    v3_location(bytes, V3_CONSTANT, 8, 0, record->flags);
    v3_location(bytes, V3_CONSTANT, 8, 0, (int32_t)record->deopt.count);
  }
  write_list(&record->deopt, constant, bytes);
  write_list(&record->pairs, constant, bytes);
  write_list(&record->locations, constant, bytes);
  v3_live_outs(bytes, (uint16_t)record->live_out_count);
  for (size_t i = 0; i < record->live_out_count; i++)
    v3_live_out(bytes, record->live_outs[i].reg, record->live_outs[i].size);
  v3_end_record(bytes);
}

/* Writes functions [from, to) as one map. */
static void write_map(const struct model *model, uint32_t from, uint32_t to, struct bytes *bytes) {
  const uint32_t first =
      from < model->function_count ? model->functions[from].first_record : model->record_count;
  const uint32_t end =
      to < model->function_count ? model->functions[to].first_record : model->record_count;
  struct bytes constants = {0};
  for (uint32_t i = first; i < end; i++) {
    write_constants(&model->records[i].deopt, &constants);
    write_constants(&model->records[i].pairs, &constants);
    write_constants(&model->records[i].locations, &constants);
  }
  v3_map(bytes, to - from, (uint32_t)(constants.size / 8), end - first);
  for (uint32_t i = from; i < to; i++)
    v3_function(bytes, model->functions[i].address, model->functions[i].frame_size,
                model->functions[i].records);
  bytes_add(bytes, constants.data, constants.size);
  bytes_free(&constants);
  uint32_t constant = 0;
  for (uint32_t i = first; i < end; i++)
    write_record(&model->records[i], &constant, bytes);
}

void model_write(const struct model *model, struct bytes *bytes) {
  uint32_t from = 0;
  for (uint32_t map = 0; map < model->map_count; map++) {
    write_map(model, from, model->maps[map], bytes);
    from = model->maps[map];
  }
  write_map(model, from, model->function_count, bytes);
}
