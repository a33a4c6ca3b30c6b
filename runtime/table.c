/* table.c - the public look-ups over one table: stackpack.h onto packed.h. */
#include "format/quick.h"
#include "runtime/internal.h"

const char *stackpack_error_text(enum stackpack_error error) {
  switch (error) {
  case STACKPACK_OK:
    return "no error";
  case STACKPACK_NO_STACK_MAPS:
    return "no stack maps";
  case STACKPACK_SYSTEM_ERROR:
    return "a system call failed";
  case STACKPACK_NO_MEMORY:
    return "not enough memory";
  case STACKPACK_NOT_ELF:
    return "not a little-endian ELF64 file, or a broken one";
  case STACKPACK_BAD_STACK_MAP:
    return "stack maps that break LLVM's format, version 3";
  case STACKPACK_BAD_TABLE:
    return "a broken packed table";
  case STACKPACK_UNSUPPORTED:
    return "a packed table that needs a newer version of this library";
  case STACKPACK_TOO_MANY_MODULES:
    return "more modules with stack maps than there is room for";
  }
  return "an unknown error";
}

enum stackpack_error table_error(enum packed_error error) {
  switch (error) {
  case PACKED_OK:
    return STACKPACK_OK;
  case PACKED_NEWER_VERSION:
    return STACKPACK_UNSUPPORTED;
  case PACKED_TOO_SHORT:
  case PACKED_NOT_A_TABLE:
  case PACKED_BAD_HEADER:
    break;
  }
  return STACKPACK_BAD_TABLE;
}

enum stackpack_error stackpack_table_open(struct stackpack_table *table, const void *bytes,
                                          size_t size, uint64_t address) {
  return table_error(packed_open(table_of(table), bytes, size, address));
}

bool stackpack_table_check(const struct stackpack_table *table) {
  return packed_check(const_table_of(table));
}

size_t stackpack_table_records(const struct stackpack_table *table) {
  return const_table_of(table)->record_count;
}

size_t stackpack_table_functions(const struct stackpack_table *table) {
  return const_table_of(table)->function_count;
}

/* ---- Records ---- */

/* Completes a record of which the packed one is there. */
QUICK_BODY void fill(struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  const bool is_stackmap = packed->table->list_count > 0 && packed_is_stackmap(packed);
  record->frame_size = packed_frame_size(packed->table, packed->layout);
  record->kind = is_stackmap ? STACKPACK_STACKMAP : STACKPACK_STATEPOINT;
}

uint64_t stackpack_record_function(const struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  const uint32_t function = packed_record_function(packed);
  return function == UINT32_MAX ? 0 : packed_function_extent(packed->table, function).start;
}

uint64_t record_function_end(const struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  const uint32_t function = packed_record_function(packed);
  return function == UINT32_MAX ? 0 : packed_function_extent(packed->table, function).end;
}

/* What is to be said of a return address without a record: the call before it is in the function of
 * the byte before it. Behind a call that doesn't return, another function may start. */
static enum stackpack_answer without_record(const struct packed_table *table, uint64_t address) {
  struct packed_record before;
  switch (packed_find(table, address - 1, &before)) {
  case PACKED_FOUND:
  case PACKED_NOT_SAFEPOINT:
    return STACKPACK_NOT_SAFEPOINT;
  case PACKED_NOT_MANAGED:
    return STACKPACK_NOT_MANAGED;
  case PACKED_CORRUPT:
    break;
  }
  return STACKPACK_CORRUPT;
}

QUICK_PATH enum stackpack_answer stackpack_table_find(const struct stackpack_table *table,
                                                      uint64_t address,
                                                      struct stackpack_record *record) {
  switch (packed_find(const_table_of(table), address, (struct packed_record *)record)) {
  case PACKED_FOUND:
    fill(record);
    return STACKPACK_FOUND;
  case PACKED_NOT_MANAGED:
  case PACKED_NOT_SAFEPOINT:
    return without_record(const_table_of(table), address);
  case PACKED_CORRUPT:
    break;
  }
  return STACKPACK_CORRUPT;
}

void stackpack_table_find_all(const struct stackpack_table *table, const uint64_t *addresses,
                              size_t count, struct stackpack_record *records,
                              enum stackpack_answer *answers) {
  enum { GROUP = 16 }; /* about as many fetches as a processor has under way at once */
  const struct packed_table *packed = const_table_of(table);
  for (size_t from = 0; from < count; from += GROUP) {
    const size_t to = count - from < GROUP ? count : from + GROUP;
    for (unsigned step = 0; step < 2; step++)
      for (size_t i = from; i < to; i++)
        packed_prefetch(packed, addresses[i], step);
    for (size_t i = from; i < to; i++) {
      answers[i] = stackpack_table_find(table, addresses[i], &records[i]);
      if (answers[i] == STACKPACK_FOUND)
        __builtin_prefetch(packed->layouts.bytes + record_of(&records[i])->layout / 8);
    }
  }
}

enum stackpack_answer stackpack_table_record(const struct stackpack_table *table, uint32_t index,
                                             struct stackpack_record *record) {
  const struct packed_table *packed_table = const_table_of(table);
  if (index >= packed_table->record_count ||
      packed_record_at(packed_table, index, (struct packed_record *)record) != PACKED_FOUND)
    return STACKPACK_CORRUPT;
  fill(record);
  return STACKPACK_FOUND;
}

bool stackpack_record_next(struct stackpack_record *record) {
  const struct packed_table *table = record_of(record)->table;
  struct packed_record next;
  if (record->index + 1 >= table->record_count ||
      packed_record_at(table, record->index + 1, &next) != PACKED_FOUND ||
      next.address != record->address)
    return false;
  *(struct packed_record *)record = next;
  fill(record);
  return true;
}

/* ---- Locations ---- */

static struct stackpack_location public_location(struct location location) {
  return (struct stackpack_location){location.kind, location.size, location.reg, location.value};
}

/* The location of a number in the first class. */
static inline struct stackpack_location near_location(const struct packed_table *table,
                                                      uint32_t number) {
  const struct location *first = &table->first_class;
  const uint64_t distance = (uint64_t)number * table->first_class_step;
  return (struct stackpack_location){first->kind, first->size, first->reg,
                                     (int64_t)((uint64_t)first->value + distance)};
}

bool stackpack_pairs_more(struct stackpack_pairs *pairs, struct stackpack_pair *pair) {
  struct packed_items *items = (struct packed_items *)pairs->private_;
  struct packed_item item;
  do {
    if (!packed_items_next(items, &item))
      return false;
  } while (item.kind != PACKED_PAIR);
  pair->base = public_location(packed_location(items->table, item.base));
  pair->derived = public_location(packed_location(items->table, item.derived));
  return true;
}

enum { PAIRS_MAX = sizeof((struct stackpack_pairs){0}.pairs) / sizeof(struct stackpack_steps) };

/* Pairs of locations' numbers, and the range these are in. */
struct numbered {
  struct {
    uint32_t base, derived;
  } pairs[PAIRS_MAX];
  uint32_t count, low, high;
};

static void widen(struct numbered *numbered, uint32_t number) {
  if (number < numbered->low)
    numbered->low = number;
  if (number > numbered->high)
    numbered->high = number;
}

/* Takes all pairs; false if there are too many, or a byte can't say how far they are apart. */
static bool take_numbered(struct packed_items items, struct numbered *numbered) {
  struct packed_item item;
  numbered->count = numbered->high = 0;
  numbered->low = UINT32_MAX;
  while (packed_items_next(&items, &item)) {
    if (item.kind != PACKED_PAIR)
      continue;
    widen(numbered, item.base);
    widen(numbered, item.derived);
    if (numbered->count == PAIRS_MAX || numbered->high - numbered->low > UINT8_MAX)
      return false;
    numbered->pairs[numbered->count].base = item.base;
    numbered->pairs[numbered->count++].derived = item.derived;
  }
  return !items.bad;
}

/* Finds the first of the locations and their step; false if not all are of one class. */
static bool find_class(struct stackpack_pairs *pairs, const struct packed_table *table,
                       uint32_t low, uint32_t high) {
  if (high >= table->location_count ||
      (high >= table->first_class_count &&
       packed_location_class(table, low) != packed_location_class(table, high)))
    return false;
  pairs->first = public_location(packed_location(table, low));
  pairs->step = table->first_class_step;
  if (high < table->first_class_count || low == high)
    return true;
  const struct location second = packed_location(table, low + 1);
  const uint64_t step = (uint64_t)second.value - (uint64_t)pairs->first.value;
  pairs->step = (uint32_t)step;
  return step <= UINT32_MAX;
}

/* Finds pairs that packed_items would read in the short form where that is possible. For functions
 * of many locations: a cache remembers this form. */
static bool find_short(struct stackpack_pairs *pairs, const struct packed_items *items) {
  struct packed_wide wide = {.pairs = (struct packed_steps *)pairs->pairs};
  if (!packed_wide(items, &wide) || !find_class(pairs, items->table, wide.first, wide.last))
    return false;
  pairs->pair_count = (uint16_t)wide.count;
  return true;
}

/* The same for functions of very many locations, few of which are live at once. */
static bool find_few(struct stackpack_pairs *pairs, const struct packed_items *items) {
  struct numbered numbered;
  if (!take_numbered(*items, &numbered))
    return false;
  if (numbered.count == 0)
    numbered.low = 0;
  if (!find_class(pairs, items->table, numbered.low, numbered.high))
    return false;
  for (uint32_t i = 0; i < numbered.count; i++) /* they are taken from the last */
    pairs->pairs[numbered.count - 1 - i] =
        (struct stackpack_steps){(uint8_t)(numbered.pairs[i].base - numbered.low),
                                 (uint8_t)(numbered.pairs[i].derived - numbered.low)};
  pairs->pair_count = (uint16_t)numbered.count;
  return true;
}

/* Pairs of a layout that packed_slots doesn't read. */
static void begin_others(struct stackpack_pairs *pairs, const struct packed_record *packed) {
  struct packed_items items;
  pairs->slots = 0;
  packed_items(&items, packed);
  if (find_short(pairs, &items) || find_few(pairs, &items))
    return;
  pairs->first = (struct stackpack_location){0};
  pairs->pair_count = 0;
  pairs->more = 1;
  *(struct packed_items *)pairs->private_ = items;
}

QUICK_PATH void stackpack_pairs_begin(struct stackpack_pairs *pairs,
                                      const struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  struct packed_slots slots = {.pairs = (struct packed_steps *)pairs->pairs};
  pairs->more = 0;
  if (!packed_slots(packed, &slots)) {
    begin_others(pairs, packed);
    return;
  }
  pairs->slots = slots.selves;
  pairs->first = near_location(packed->table, slots.first);
  pairs->step = packed->table->first_class_step;
  pairs->pair_count = (uint16_t)slots.pair_count;
}

struct stackpack_pairs stackpack_pairs(const struct stackpack_record *record) {
  struct stackpack_pairs pairs;
  stackpack_pairs_begin(&pairs, record);
  return pairs;
}

bool stackpack_pairs_corrupt(const struct stackpack_pairs *pairs) {
  return pairs->more != 0 && ((const struct packed_items *)pairs->private_)->bad;
}

/* The list of one kind that is in a record's live set, or an empty one. */
static struct stackpack_locations find_list(const struct stackpack_record *record,
                                            enum packed_item_kind kind) {
  struct stackpack_locations locations = {{0}};
  struct packed_items items;
  struct packed_item item;
  if (record_of(record)->table->list_count == 0)
    return locations;
  packed_items(&items, record_of(record));
  while (packed_items_next(&items, &item))
    if (item.kind == kind)
      *(struct packed_list *)locations.private_ = packed_list(items.table, item.base);
  return locations;
}

struct stackpack_locations stackpack_allocas(const struct stackpack_record *record) {
  return find_list(record, PACKED_ALLOCAS);
}

struct stackpack_locations stackpack_locations(const struct stackpack_record *record) {
  return find_list(record, PACKED_LOCATIONS);
}

bool stackpack_locations_next(struct stackpack_locations *locations,
                              struct stackpack_location *location) {
  struct location packed;
  if (!packed_list_next((struct packed_list *)locations->private_, &packed))
    return false;
  *location = public_location(packed);
  return true;
}

/* ---- Details ---- */

struct details_overlay {
  const struct location *deopt;
  const uint8_t *live_outs;
};

_Static_assert(sizeof(struct details_overlay) <= sizeof((struct stackpack_details){0}.private_),
               "room for details");

size_t stackpack_details_space(const struct stackpack_table *table) {
  return packed_details_space(const_table_of(table));
}

bool stackpack_record_details(const struct stackpack_record *record, void *space,
                              stackpack_decompress *decompress, struct stackpack_details *details) {
  struct packed_details packed;
  if (!packed_details(record_of(record), space, decompress, &packed))
    return false;
  const bool statepoint = record->kind == STACKPACK_STATEPOINT;
  *details = (struct stackpack_details){
      .id = packed.id,
      .calling_convention = statepoint ? packed.calling_convention : 0,
      .flags = statepoint ? packed.flags : 0,
      .deopt_count = packed.deopt_count,
      .live_out_count = packed.live_out_count,
  };
  *(struct details_overlay *)details->private_ =
      (struct details_overlay){packed.deopt, packed.live_outs};
  return true;
}

struct stackpack_location stackpack_deopt(const struct stackpack_details *details, size_t n) {
  return public_location(((const struct details_overlay *)details->private_)->deopt[n]);
}

struct stackpack_live_out stackpack_live_out(const struct stackpack_details *details, size_t n) {
  const uint8_t *bytes = ((const struct details_overlay *)details->private_)->live_outs + n * 3;
  return (struct stackpack_live_out){bits_load16(bytes), bytes[2]};
}
