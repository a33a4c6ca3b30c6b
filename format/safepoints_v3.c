/* safepoints_v3.c - fills a table of safepoints from LLVM's stack maps.
 *
 * A record is a row of locations, without a mark of its kind. That of a statepoint with two deopt
 * values, two references and a stack object, for example:
 *
 *   0 0 2                                   calling convention, flags, number of deopt values
 *   7 rbx                                   these values
 *   [rsp+8] [rsp+8]   [rsp+8] [rsp+16]      pairs of base and derived reference
 *   rsp+24                                  allocas
 *
 * A stack map's or patch point's row is the compiler's own, and may look the same. So the row's
 * form, the record's ID and its place decide: see enum statepoint_rule.
 */
#include "format/safepoints.h"

#include "format/array.h"
#include "format/checksum.h"
#include "format/search.h"
#include "format/stackmap_v3.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
  LOCATIONS_MAX = UINT16_MAX,    /* of a record: v3 counts them in 16 bits */
  CALLING_CONVENTION_MAX = 1023, /* llvm/IR/CallingConv.h: MaxID */
  FLAGS_MAX = 3,                 /* llvm/IR/Statepoint.h: StatepointFlags::MaskAll */
};

/* A record's locations, taken apart. Counts are of locations. */
struct statepoint_form {
  unsigned deopt; /* from location 3 on */
  unsigned pairs; /* twice the number of pairs */
  unsigned allocas;
};

/* LLVM's StackMaps::recordStatepoint writes calling convention, flags and the number of deopt
 * values, these values, the (base, derived) pairs, and allocas: of the last two, only allocas are
 * direct locations. It writes no count of pairs: so the allocas are the direct locations at the
 * end, less one if the rest is odd. */
static bool statepoint_form(const struct stackpack_location *locations, unsigned count,
                            enum statepoint_rule rule, struct statepoint_form *form) {
  if (count < 3)
    return false;
  for (unsigned i = 0; i < 3; i++)
    if (locations[i].kind != STACKPACK_CONSTANT)
      return false;
  const bool sensible = locations[0].value >= 0 && locations[0].value <= CALLING_CONVENTION_MAX &&
                        locations[1].value >= 0 && locations[1].value <= FLAGS_MAX;
  if (rule == STATEPOINTS_AUTO && !sensible)
    return false;
  if (locations[2].value < 0 || locations[2].value > (int64_t)count - 3)
    return false;
  form->deopt = (unsigned)locations[2].value;
  form->allocas = 0;
  const unsigned rest = count - 3 - form->deopt;
  while (form->allocas < rest && locations[count - 1 - form->allocas].kind == STACKPACK_DIRECT)
    form->allocas++;
  if ((rest - form->allocas) % 2 != 0) {
    if (form->allocas == 0)
      return false;
    form->allocas--;
  }
  form->pairs = rest - form->allocas;
  assert(3 + form->deopt + form->pairs + form->allocas == count && form->pairs % 2 == 0);
  return true;
}

/* The meaning of a record's locations. */
struct contents {
  bool is_statepoint;
  bool has_pairs, has_stack_pointer_slot; /* of a record with a statepoint's form */
  int32_t calling_convention, flags;
  uint32_t live, deopt;
};

/* A record that was read. Most records have the locations of one shortly before. */
struct recent {
  size_t position; /* of its locations; */
  uint32_t count;  /* 0: there is none */
  enum statepoint_rule rule;
  struct contents contents;
};
enum { RECENT_SHIFT_MIN = 4, RECENT_SHIFT_MAX = 12, RECORD_SIZE_USUAL = 128 };

struct reader {
  struct safepoints *table;
  const struct statepoint_signs *signs;
  struct stackmap_v3_reader raw;
  /* One record: as large as it can be. */
  struct stackpack_location locations[LOCATIONS_MAX];
  uint64_t words[LOCATIONS_MAX + 1];
  unsigned recent_shift;  /* there are 2 to the power of that: few for a JIT's maps */
  struct recent recent[]; /* by a checksum of the locations' bytes */
};

/* ---- A record ---- */

/* Interns locations[0..count) as a list. */
static uint32_t add_list(struct reader *reader, const struct stackpack_location *locations,
                         unsigned count) {
  for (unsigned i = 0; i < count; i++)
    reader->words[i] = safepoints_add_location(reader->table, locations[i]);
  return safepoints_add_list(reader->table, reader->words, count);
}

/* Interns the live set of a statepoint: its pairs as a set, then its allocas as one list. */
static uint32_t add_statepoint_live(struct reader *reader, const struct stackpack_location *pairs,
                                    const struct statepoint_form *form) {
  const uint32_t allocas =
      form->allocas == 0 ? 0 : add_list(reader, pairs + form->pairs, form->allocas);
  const unsigned count = form->pairs / 2;
  for (unsigned i = 0; i < count; i++) {
    const uint64_t base = safepoints_add_location(reader->table, pairs[2 * i]);
    const uint64_t derived = safepoints_add_location(reader->table, pairs[2 * i + 1]);
    reader->words[i] = base << 32 | derived;
  }
  return safepoints_add_live(reader->table, reader->words, count,
                             form->allocas > 0 ? SAFEPOINT_ITEM_LIST | allocas : 0);
}

static bool fail_at(struct safepoints *table, const char *error, uint64_t position) {
  table->error = error;
  table->error_position = position;
  return false;
}

/* Reads a record's locations. *is_pooled: some are constants of this map, so that the same bytes
 * mean others in another map. */
static bool read_locations(struct reader *reader, const struct stackmap_v3_record *raw,
                           bool *is_pooled) {
  const uint8_t *bytes = reader->raw.bytes + raw->locations_position;
  *is_pooled = false;
  for (unsigned i = 0; i < raw->locations; i++) {
    if (!stackmap_v3_location(&reader->raw, raw, i, &reader->locations[i]))
      return false;
    *is_pooled |= bytes[(size_t)i * STACKMAP_V3_LOCATION_SIZE] == STACKPACK_LARGE_CONSTANT;
  }
  return true;
}

/* Whether a location after the three constants is a slot, counted from the stack pointer. */
static bool has_stack_pointer_slot(const struct reader *reader, unsigned count) {
  const struct stackpack_location *locations = reader->locations;
  for (unsigned i = 3; i < count; i++)
    if ((locations[i].kind == STACKPACK_INDIRECT || locations[i].kind == STACKPACK_DIRECT) &&
        locations[i].reg == reader->signs->stack_pointer)
      return true;
  return false;
}

/* Takes a record's locations apart; as a statepoint's, by the rule and the locations. */
static bool take_apart(struct reader *reader, const struct stackmap_v3_record *raw,
                       enum statepoint_rule rule, struct contents *contents) {
  struct safepoints *table = reader->table;
  struct stackpack_location *locations = reader->locations;
  struct statepoint_form form;
  *contents = (struct contents){0};
  contents->is_statepoint =
      rule != STATEPOINTS_NONE && statepoint_form(locations, raw->locations, rule, &form);
  if (contents->is_statepoint) {
    contents->calling_convention = (int32_t)locations[0].value;
    contents->flags = (int32_t)locations[1].value;
    contents->has_pairs = form.pairs > 0;
    contents->has_stack_pointer_slot = has_stack_pointer_slot(reader, raw->locations);
    contents->deopt = add_list(reader, locations + 3, form.deopt);
    contents->live = add_statepoint_live(reader, locations + 3 + form.deopt, &form);
  } else if (rule == STATEPOINTS_ALL) {
    return fail_at(table, "a record that can't be a statepoint's", raw->locations_position);
  } else {
    const uint64_t list = add_list(reader, locations, raw->locations);
    const uint64_t item = SAFEPOINT_ITEM_LIST | SAFEPOINT_ITEM_LOCATIONS | list;
    contents->live = safepoints_add_live(table, reader->words, 0, item);
  }
  return !table->no_memory;
}

/* The same for a record whose locations may have been read before. */
static bool read_contents(struct reader *reader, const struct stackmap_v3_record *raw,
                          enum statepoint_rule rule, struct contents *contents) {
  const uint8_t *bytes = reader->raw.bytes;
  const size_t size = (size_t)raw->locations * STACKMAP_V3_LOCATION_SIZE;
  const uint64_t hash = checksum64(bytes + raw->locations_position, size);
  struct recent *recent = &reader->recent[hash >> (64 - reader->recent_shift)];
  bool is_pooled;
  if (recent->count > 0 && recent->count == raw->locations && recent->rule == rule &&
      memcmp(bytes + recent->position, bytes + raw->locations_position, size) == 0) {
    *contents = recent->contents;
    return true;
  }
  if (!read_locations(reader, raw, &is_pooled) || !take_apart(reader, raw, rule, contents))
    return false;
  if (!is_pooled)
    *recent = (struct recent){raw->locations_position, raw->locations, rule, *contents};
  return true;
}

/* ---- Statepoint or not ---- */

bool statepoint_ids_add(struct statepoint_ids *ids, uint64_t first, uint64_t last) {
  return ARRAY_ADD(ids->items, ids->count, ids->capacity, (struct statepoint_range){first, last});
}

ORDER_FUNCTION(compare_ranges, struct statepoint_range, first, last)

void statepoint_ids_sort(struct statepoint_ids *ids) {
  array_sort(ids->items, ids->count, sizeof *ids->items, compare_ranges);
  for (size_t i = 1; i < ids->count; i++)
    if (ids->items[i].last < ids->items[i - 1].last)
      ids->items[i].last = ids->items[i - 1].last;
}

static bool is_listed(const struct statepoint_ids *ids, uint64_t id) {
  const size_t before = SEARCH_UP_TO(ids->items, ids->count, first, id);
  return before > 0 && ids->items[before - 1].last >= id;
}

static bool has_list(const struct statepoint_signs *signs) {
  return signs->ids != NULL && signs->ids->count > 0;
}

/* Whether the program lists IDs, and a record's is none of them. */
static bool is_unlisted(const struct statepoint_signs *signs, uint64_t id) {
  return signs->rule == STATEPOINTS_AUTO && has_list(signs) && id != SAFEPOINT_USUAL_ID &&
         !is_listed(signs->ids, id);
}

/* Whether the form, the place and the operands of a record decide, as its ID doesn't. */
static bool has_unknown_id(const struct statepoint_signs *signs, uint64_t id) {
  return signs->rule == STATEPOINTS_AUTO && signs->may_return_to != NULL && !has_list(signs) &&
         id != SAFEPOINT_USUAL_ID;
}

/* Whether the operands of a record with a statepoint's form leave it in doubt. In a frame of known
 * size LLVM counts a statepoint's slots from the stack pointer; those of stack maps and patch
 * points from the frame pointer, on machines where such functions always have one. A record without
 * pairs is in no doubt: all its locations stay in order. */
static bool is_doubtful(const struct reader *reader, const struct contents *contents) {
  const struct safepoints *table = reader->table;
  const uint64_t frame_size = table->functions[table->function_count - 1].frame_size;
  return contents->has_pairs &&
         (reader->signs->stack_pointer == 0 || !contents->has_stack_pointer_slot ||
          frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN);
}

/* Whether a record in a statepoint's form is none, by its place. */
static bool is_unlike(const struct statepoint_signs *signs, const struct stackmap_v3_record *raw,
                      uint64_t address) {
  return raw->offset == 0 || !signs->may_return_to(signs->code, address);
}

/* The same; the rule follows from the signs. */
static bool read_by_signs(struct reader *reader, const struct stackmap_v3_record *raw,
                          uint64_t address, struct contents *contents) {
  const struct statepoint_signs *signs = reader->signs;
  const bool is_patchpoint =
      signs->rule == STATEPOINTS_AUTO && signs->may_return_to != NULL && raw->live_outs > 0;
  const bool is_none = is_patchpoint || is_unlisted(signs, raw->id);
  if (!read_contents(reader, raw, is_none ? STATEPOINTS_NONE : signs->rule, contents))
    return false;
  if (!contents->is_statepoint || !has_unknown_id(signs, raw->id))
    return true;
  struct safepoint_function *function =
      &reader->table->functions[reader->table->function_count - 1];
  if (is_unlike(signs, raw, address))
    function->unlike = function->unlike == 0 ? address : function->unlike;
  else if (is_doubtful(reader, contents))
    reader->table->records_doubtful++;
  else
    return true;
  return read_contents(reader, raw, STATEPOINTS_NONE, contents);
}

/* Interns a record's live-outs. */
static uint32_t add_live_outs(struct reader *reader, const struct stackmap_v3_record *record) {
  for (unsigned i = 0; i < record->live_outs; i++) {
    const struct stackpack_live_out live_out = stackmap_v3_live_out(&reader->raw, record, i);
    reader->words[i] = (uint64_t)live_out.reg << 8 | live_out.size;
  }
  return safepoints_add_list(reader->table, reader->words, record->live_outs);
}

/* Reads one record of the function that was added last. */
static bool read_record(struct reader *reader, const struct stackmap_v3_function *function,
                        const struct stackmap_v3_record *raw) {
  struct safepoints *table = reader->table;
  struct contents contents;
  const uint64_t address = function->address + raw->offset;
  if (!read_by_signs(reader, raw, address, &contents))
    return false;
  assert(table->functions[table->function_count - 1].address == function->address);
  const struct safepoint record = {
      .address = address,
      .id = raw->id,
      .calling_convention = contents.calling_convention,
      .flags = contents.flags,
      .function = table->function_count - 1,
      .live = contents.live,
      .deopt = contents.deopt,
      .live_outs = add_live_outs(reader, raw),
  };
  if (table->no_memory)
    return false;
  if (record.address < function->address)
    return fail_at(table, "a record whose address is beyond 64 bits", raw->locations_position);
  return safepoints_add_record(table, record);
}

/* ---- All of a section ---- */

static bool read_function(struct reader *reader, const struct stackmap_v3_function *function) {
  struct safepoints *table = reader->table;
  const bool discarded = function->address == 0;
  if (discarded)
    table->functions_discarded++;
  else if (!safepoints_add_function(
               table, (struct safepoint_function){.address = function->address,
                                                  .frame_size = function->frame_size}))
    return false;
  for (uint64_t i = 0; i < function->records; i++) {
    struct stackmap_v3_record raw;
    if (!stackmap_v3_next_record(&reader->raw, &raw))
      return false;
    table->records_discarded += discarded;
    if (!discarded && !read_record(reader, function, &raw))
      return false;
  }
  return true;
}

/* Goes to the next function, in the same map or in one that follows. */
static bool next_function(struct reader *reader, struct stackmap_v3_function *function) {
  while (!stackmap_v3_next_function(&reader->raw, function)) {
    if (!stackmap_v3_next_map(&reader->raw))
      return false;
    reader->table->maps++;
  }
  return true;
}

/* Most of it stays unwritten. */
static struct reader *new_reader(size_t size) {
  unsigned shift = RECENT_SHIFT_MIN;
  while (shift < RECENT_SHIFT_MAX && size >> shift > RECORD_SIZE_USUAL)
    shift++;
  const size_t recent_size = sizeof(struct recent) << shift;
  struct reader *reader = malloc(sizeof *reader + recent_size);
  if (reader == NULL)
    return NULL;
  reader->recent_shift = shift;
  memset(reader->recent, 0, recent_size);
  return reader;
}

bool safepoints_add_v3(struct safepoints *table, const void *bytes, size_t size,
                       const struct statepoint_signs *signs) {
  struct stackmap_v3_function function;
  struct reader *reader = new_reader(size);
  assert(signs->ids == NULL || IS_SORTED(signs->ids->items, signs->ids->count, first));
  if (reader == NULL || intern_add(&table->lists, NULL, 0) == INTERN_FAILED) {
    free(reader);
    table->no_memory = true;
    return false;
  }
  reader->table = table;
  reader->signs = signs;
  reader->raw = stackmap_v3_open(bytes, size);
  bool ok = true;
  while (ok && next_function(reader, &function))
    ok = read_function(reader, &function);
  if (reader->raw.error != NULL && table->error == NULL) {
    ok = fail_at(table, reader->raw.error, reader->raw.error_position);
    table->error_version = reader->raw.version;
  }
  free(reader);
  return ok;
}
