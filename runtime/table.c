/* table.c - the public look-ups over one table: stackpack.h onto packed.h. */
#include "elf/note.h"
#include "format/packed_live.h"
#include "runtime/internal.h"

#include <string.h>

/* Marks the program as a user of this library for `stackpack pack`: every use of it takes this file
 * from the archive. Linkers keep notes, also with --gc-sections, and so does `strip`. */
__attribute__((used, aligned(4),
               section(".note.stackpack.reader"))) static const uint8_t reader_note[] =
    NOTE_OF(NOTE_READER);

const char *stackpack_error_text(enum stackpack_error error) {
  static const char *const texts[] = {
      [STACKPACK_OK] = "no error",
      [STACKPACK_NO_STACK_MAPS] = "no stack maps",
      [STACKPACK_SYSTEM_ERROR] = "a system call failed",
      [STACKPACK_NO_MEMORY] = "not enough memory",
      [STACKPACK_NOT_ELF] = "not a little-endian ELF64 file, or a broken one",
      [STACKPACK_BAD_STACK_MAP] = "stack maps that break LLVM's format, version 3",
      [STACKPACK_BAD_TABLE] = "a broken packed table",
      [STACKPACK_UNSUPPORTED] = "a packed table that needs a newer version of this library",
      [STACKPACK_TOO_MANY_MODULES] = "more modules with stack maps than there is room for",
      [STACKPACK_NO_RAW_READER] =
          "stack maps that aren't packed, in a program without the reader of such ones",
      [STACKPACK_CODE_ADDED] =
          "code that was added after the stack maps were packed, and may have managed functions",
      [STACKPACK_RANGE_TAKEN] =
          "a range of code that is empty, or overlaps one that was added before",
  };
  return (size_t)error < sizeof texts / sizeof *texts ? texts[error] : "an unknown error";
}

enum stackpack_error stackpack_table_open(struct stackpack_table *table, const void *bytes,
                                          size_t size, uint64_t address) {
  return packed_open(table_of(table), bytes, size, address);
}

enum stackpack_error table_open_in(struct stackpack_table *table, const struct elf_image *image,
                                   const struct section_bytes *packed) {
  const enum stackpack_error error =
      stackpack_table_open(table, packed->bytes, packed->size, image->bias + packed->address);
  return error == STACKPACK_OK &&
                 packed_code_was_added(table_of(table), image->bias + elf_image_code_end(image))
             ? STACKPACK_CODE_ADDED
             : error;
}

bool stackpack_table_check(const struct stackpack_table *table) {
  return packed_check(const_table_of(table));
}

size_t stackpack_table_records(const struct stackpack_table *table) {
  return const_table_of(table)->record_count;
}

/* ---- Records ---- */

struct stackpack_frame_facts stackpack_record_frame(const struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  const struct frames_part *part = &packed->table->frames;
  const struct frame_view view = record_view(record);
  const struct frame_facts facts = frames_facts(part, &view);
  struct stackpack_frame_facts frame = {
      .is_known = view.is_known,
      .is_signed = facts.is_signed,
      .cfa_register = facts.cfa_register,
      .return_register = part->machine.return_register,
      .cfa_offset = view.cfa_offset,
      .saved = facts.saved,
      .lost = facts.lost,
  };
  memcpy(frame.offsets, facts.offsets, sizeof frame.offsets);
  return frame;
}

uint64_t stackpack_record_function(const struct stackpack_record *record) {
  struct packed_stretch stretch;
  const struct packed_record *packed = record_of(record);
  return packed_stretch(packed->table, packed->stretch, &stretch) ? stretch.start : 0;
}

uint64_t record_function_end(const struct stackpack_record *record) {
  struct packed_stretch stretch;
  const struct packed_record *packed = record_of(record);
  return packed_stretch(packed->table, packed->stretch, &stretch) ? stretch.end : 0;
}

/* The call before a return address is in the function of the byte before it. After a noreturn call,
 * another function may start. */
enum stackpack_answer table_answer_otherwise(const struct stackpack_table *table, uint64_t address,
                                             enum stackpack_answer answer) {
  struct packed_record before;
  if (answer == STACKPACK_CORRUPT)
    return STACKPACK_CORRUPT;
  answer = packed_find(const_table_of(table), address - 1, &before);
  return answer == STACKPACK_FOUND ? STACKPACK_NOT_SAFEPOINT : answer;
}

enum stackpack_answer stackpack_table_find(const struct stackpack_table *table, uint64_t address,
                                           struct stackpack_record *record) {
  return record_find(table, address, record);
}

enum stackpack_answer stackpack_table_record(const struct stackpack_table *table, uint32_t index,
                                             struct stackpack_record *record) {
  const struct packed_table *packed_table = const_table_of(table);
  if (index >= packed_table->record_count ||
      packed_record_at(packed_table, index, (struct packed_record *)record) != STACKPACK_FOUND)
    return STACKPACK_CORRUPT;
  record_complete(record);
  return STACKPACK_FOUND;
}

bool stackpack_record_next(struct stackpack_record *record) {
  const struct packed_table *table = record_of(record)->table;
  struct packed_record next;
  if (record->index + 1 >= table->record_count ||
      packed_record_at(table, record->index + 1, &next) != STACKPACK_FOUND ||
      next.address != record->address)
    return false;
  *(struct packed_record *)record = next;
  record_complete(record);
  return true;
}

/* ---- Locations ---- */

struct stackpack_pairs stackpack_pairs(const struct stackpack_record *record) {
  const struct packed_record *packed = record_of(record);
  struct stackpack_pairs pairs;
  *pairs_of(&pairs) = layout_pairs(packed->table, packed->layout, packed->position);
  pairs.is_corrupt = false;
  return pairs;
}

bool stackpack_pairs_next(struct stackpack_pairs *pairs, struct stackpack_location *base,
                          struct stackpack_location *derived) {
  struct packed_pairs *own = pairs_of(pairs);
  struct packed_pair pair;
  if (!packed_pairs_next(own, &pair)) {
    pairs->is_corrupt = own->bad;
    return false;
  }
  *derived = *base = packed_location(own->table, pair.derived);
  if (pair.base != pair.derived)
    *base = packed_location(own->table, pair.base);
  return true;
}

/* A visit's data on a group's locations, which are numbered by their distance from the first
 * one. */
struct nearby {
  const struct packed_table *table;
  uint32_t first;
  int64_t count; /* so many are of the first class; perhaps less than 0 */
  uint64_t value, step;
};

static inline struct nearby nearby_locations(const struct packed_pairs *group) {
  const struct packed_table *table = group->table;
  const uint64_t first_value = (uint64_t)table->first_class.value;
  return (struct nearby){
      .table = table,
      .first = group->first,
      .count = (int64_t)table->first_class_count - group->first,
      .value = first_value + (uint64_t)group->first * table->first_class_step,
      .step = table->first_class_step,
  };
}

static inline bool is_near(const struct nearby *nearby, uint64_t distance) {
  return __builtin_expect((int64_t)distance < nearby->count, 1);
}

/* A location of the first class, as most are: all but the value is one word. */
static inline struct stackpack_location nearby_location(const struct nearby *nearby,
                                                        uint64_t distance) {
  union {
    struct stackpack_location location;
    uint64_t words[2];
  } result;
  memcpy(&result.words[0], &nearby->table->first_class, sizeof result.words[0]);
  result.words[1] = nearby->value + distance * nearby->step;
  return result.location;
}

/* The same for any location. */
static __attribute__((noinline)) struct stackpack_location
far_location(const struct packed_table *table, uint32_t number) {
  return packed_location(table, number);
}

/* Visits a pair with a location that is far. False: the table is broken. */
static __attribute__((noinline)) bool visit_far(const struct packed_table *table,
                                                struct packed_pair pair, stackpack_visitor *visit,
                                                void *context) {
  struct packed_pairs group = {.table = table};
  if (is_references(&group, pair))
    visit(context, packed_location(table, pair.base), packed_location(table, pair.derived));
  return !group.bad;
}

static inline void visit_plain(const struct nearby *nearby, uint64_t distance,
                               stackpack_visitor *visit, void *context) {
  struct stackpack_location location;
  if (is_near(nearby, distance)) {
    location = nearby_location(nearby, distance);
    visit(context, location, location);
  } else {
    location = far_location(nearby->table, nearby->first + (uint32_t)distance);
    visit(context, location, location);
  }
}

static inline bool visit_pair(const struct nearby *nearby, struct packed_distances distances,
                              stackpack_visitor *visit, void *context) {
  if (!is_near(nearby, distances.base) || !is_near(nearby, distances.derived)) {
    const struct packed_pair pair = {nearby->first + (uint32_t)distances.base,
                                     nearby->first + (uint32_t)distances.derived};
    return visit_far(nearby->table, pair, visit, context);
  }
  visit(context, nearby_location(nearby, distances.base),
        nearby_location(nearby, distances.derived));
  return true;
}

enum stackpack_answer stackpack_record_visit(const struct stackpack_record *record,
                                             stackpack_visitor *visit, void *context) {
  const struct packed_record *packed = record_of(record);
  struct packed_pairs group = layout_pairs(packed->table, packed->layout, packed->position);
  do {
    const struct nearby nearby = nearby_locations(&group);
    const uint64_t plain = live_plain(&group);
    for (uint64_t live = plain; live != 0; live &= live - 1)
      visit_plain(&nearby, plain_distance(&group, (unsigned)__builtin_ctzll(live)), visit, context);
    for (uint64_t live = group.live ^ plain; live != 0; live &= live - 1)
      if (!visit_pair(&nearby, slot_distances(&group, (unsigned)__builtin_ctzll(live)), visit,
                      context))
        return STACKPACK_CORRUPT;
  } while (next_group(&group));
  return group.bad ? STACKPACK_CORRUPT : STACKPACK_FOUND;
}

struct stackpack_locations stackpack_locations(const struct stackpack_record *record) {
  struct stackpack_locations locations = {{0}};
  *(struct packed_list *)locations.private_ = packed_record_list(record_of(record));
  return locations;
}

bool stackpack_locations_next(struct stackpack_locations *locations,
                              struct stackpack_location *location) {
  struct packed_list *list = (struct packed_list *)locations->private_;
  uint32_t number;
  if (!packed_list_next(list, &number))
    return false;
  *location = packed_location(list->table, number);
  return true;
}

/* ---- Details ---- */

size_t stackpack_details_space(const struct stackpack_table *table) {
  return packed_details_space(const_table_of(table));
}

bool stackpack_record_details(const struct stackpack_record *record, void *space,
                              stackpack_decompress *decompress, struct stackpack_details *details) {
  if (!packed_details(record_of(record), space, decompress, details))
    return false;
  if (record->kind != STACKPACK_STATEPOINT)
    details->calling_convention = details->flags = 0;
  return true;
}
