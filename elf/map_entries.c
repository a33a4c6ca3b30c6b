/* map_entries.c - see map_entries.h.
 *
 * An entry is a function of an unfinished table: there, each function that was read still has its
 * own records. Entries are judged one by one; the entries of one address are a group, and its
 * fitting ones are compared. Nearly every group has one entry, whose records are in order.
 */
#include "elf/map_entries.h"

#include "format/frames.h"
#include "format/owned.h"
#include "format/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char not_after_call[] = "that address doesn't follow a call";
static const char outside[] = "that address isn't in the function";
static const char other_frame[] = "the frame has another size";
static const char maybe_stackmap[] = "a call returns to other records, but not to that";
static const char other_records[] = "the copies' records differ";
static const char other_functions[] = "functions that overlap have records there";
static const char lost_register[] =
    "the call loses a register by which the frame or a value is found";

void code_free(struct code *code) {
  free(code->parts);
  code_ranges_free(&code->unwound);
  code_ranges_free(&code->named);
}

bool code_add(struct code *code, uint64_t address, const uint8_t *bytes, uint64_t size) {
  return address + size <= address || ARRAY_ADD(code->parts, code->count, code->capacity,
                                                (struct section_bytes){bytes, size, address});
}

ORDER_FUNCTION(compare_parts, struct section_bytes, address, size)

void code_sort(struct code *code) {
  array_sort(code->parts, code->count, sizeof *code->parts, compare_parts);
  code_ranges_sort(&code->named);
}

const struct section_bytes *code_part(const struct code *code, uint64_t address) {
  const size_t after = SEARCH_UP_TO(code->parts, code->count, address, address);
  const struct section_bytes *part = after == 0 ? NULL : &code->parts[after - 1];
  return part != NULL && address - part->address < part->size ? part : NULL;
}

const uint8_t *code_before(const struct code *code, uint64_t address, uint64_t *size) {
  const struct section_bytes *part = code_part(code, address - 1);
  *size = part == NULL ? 0 : address - part->address;
  return part == NULL ? NULL : part->bytes + *size;
}

/* Whether a call may end at an address, of at most `size` bytes. */
static bool may_end_call(const struct code *code, uint64_t address, uint64_t size) {
  uint64_t before;
  const uint8_t *end = code->machine != NULL ? code_before(code, address, &before) : NULL;
  if (end == NULL)
    return true;
  const uint64_t known = before < size ? before : size;
  return code->machine->ends_call(end, known) || code->machine->ends_nop(end, known);
}

bool code_may_return_to(const void *code, uint64_t address) {
  return may_end_call(code, address, UINT64_MAX);
}

void map_entries_free(struct map_entries *entries) {
  free(entries->left_out);
  free(entries->conflicts);
}

/* ---- One entry ---- */

/* How an entry fits the code. */
enum verdict { FITS, FITS_FRAME, DOUBTFUL, OTHER_FRAME, CONTRADICTED };

struct entry {
  uint32_t number; /* among the table's functions, in the order of reading */
  uint32_t first_record, records;
  uint64_t function;
  enum verdict verdict;
  uint64_t address; /* that shows it */
  const char *reason;
};

struct checker {
  struct safepoints *table;
  const struct code *code;
  struct map_entries *found;
  struct entry *entries;      /* by address */
  bool *no_entry, *no_record; /* by number: it is taken out */
};

/* The end of the function that starts at an address, the further one of two; 0 if it is unknown. */
static uint64_t end_of(const struct code_ranges *ranges, uint64_t start) {
  const size_t after = SEARCH_UP_TO(ranges->items, ranges->count, start, start);
  return after > 0 && ranges->items[after - 1].start == start ? ranges->items[after - 1].end : 0;
}

static uint64_t function_end(const struct code *code, uint64_t start) {
  const uint64_t unwound = end_of(&code->unwound, start), named = end_of(&code->named, start);
  return unwound > named ? unwound : named;
}

static void judge(struct entry *entry, enum verdict verdict, uint64_t address, const char *reason) {
  assert((reason != NULL) == (verdict > FITS_FRAME));
  if (verdict <= entry->verdict)
    return;
  entry->verdict = verdict;
  entry->address = address;
  entry->reason = reason;
}

/* A frame may be larger than LLVM says, by arguments that are pushed for a call; but never
 * smaller. */
static void judge_frame(const struct checker *checker, struct entry *entry,
                        const struct safepoint *record) {
  enum { WORD = 8 };
  const struct machine *machine = checker->code->machine;
  const uint64_t size = checker->table->functions[entry->number].frame_size;
  if (machine == NULL || record->frame == 0 || size == SAFEPOINT_FRAME_SIZE_UNKNOWN)
    return;
  const struct frame_facts facts = frame_facts_get(&checker->table->frames, record->frame);
  if (facts.cfa_register != machine->stack_pointer)
    return;
  const uint64_t depth = (uint64_t)(int64_t)facts.cfa_offset - machine->pushed_by_call;
  if (depth == size)
    judge(entry, FITS_FRAME, 0, NULL);
  else if (depth < size || (depth - size) % WORD != 0)
    judge(entry, OTHER_FRAME, record->address, other_frame);
}

static void judge_entry(const struct checker *checker, struct entry *entry) {
  const struct safepoints *table = checker->table;
  const uint64_t end = function_end(checker->code, entry->function);
  bool has_statepoint = false;
  for (uint32_t i = 0; i < entry->records; i++) {
    const struct safepoint *record = &table->records[entry->first_record + i];
    const bool is_statepoint = safepoints_kind(table, record) == SAFEPOINT_STATEPOINT;
    const bool may_return =
        may_end_call(checker->code, record->address, record->address - entry->function);
    has_statepoint |= is_statepoint;
    if (end != 0 && record->address > end)
      judge(entry, CONTRADICTED, record->address, outside);
    else if (is_statepoint && !may_return)
      judge(entry, CONTRADICTED, record->address, not_after_call);
    else if (is_statepoint)
      judge_frame(checker, entry, record);
  }
  const uint64_t unlike = table->functions[entry->number].unlike;
  if (has_statepoint && unlike != 0)
    judge(entry, DOUBTFUL, unlike, maybe_stackmap);
}

/* ---- Results ---- */

static bool add_left_out(struct checker *checker, const struct entry *entry) {
  struct map_entries *found = checker->found;
  return ARRAY_ADD(found->left_out, found->left_out_count, found->left_out_capacity,
                   (struct map_entries_left_out){entry->function, entry->records, entry->address,
                                                 entry->reason});
}

static bool add_conflict(struct checker *checker, uint64_t function, uint64_t address,
                         const char *reason) {
  struct map_entries *found = checker->found;
  return ARRAY_ADD(found->conflicts, found->conflict_count, found->conflict_capacity,
                   (struct map_entries_conflict){function, address, reason,
                                                 .is_of_call = reason == lost_register});
}

static void remove_records(struct checker *checker, const struct entry *entry) {
  for (uint32_t i = 0; i < entry->records; i++)
    checker->no_record[entry->first_record + i] = true;
}

/* ---- Entries of one function ---- */

/* Leaves out the entries of a group that describe other code: all but the first of them, if there
 * are no others, go as functions, too. */
static bool leave_out(struct checker *checker, const struct entry *group, size_t count) {
  bool has_function = false;
  for (size_t i = 0; i < count; i++)
    has_function |= group[i].verdict != CONTRADICTED;
  for (size_t i = 0; i < count; i++) {
    if (group[i].verdict != CONTRADICTED)
      continue;
    remove_records(checker, &group[i]);
    checker->no_entry[group[i].number] = has_function;
    has_function = true;
    if (!add_left_out(checker, &group[i]))
      return false;
  }
  return true;
}

/* A record of a group. */
struct member {
  const struct safepoint *record;
  uint32_t entry;
};

static int compare_members(const void *a, const void *b) {
  const struct member *x = a, *y = b;
  ORDER_BY(x->record, y->record, address)
  ORDER_BY(x, y, entry)
  return safepoint_compare_contents(x->record, y->record);
}

/* Whether the members, all of one address, include each entry of a group, and are alike. */
static bool are_alike(const struct member *members, size_t count, size_t entries) {
  assert(entries > 0);
  if (count % entries != 0)
    return false;
  const size_t each = count / entries;
  for (size_t i = 0; i < count; i++)
    if (members[i].entry != members[i - i % each].entry ||
        (i >= each &&
         (members[i].entry == members[i - each].entry ||
          safepoint_compare_contents(members[i].record, members[i - each].record) != 0)))
      return false;
  return true;
}

/* Takes out the records in which a group's entries differ. */
static bool compare(struct checker *checker, const struct entry *group, struct member *members,
                    size_t count, size_t entries, const char *reason) {
  qsort(members, count, sizeof *members, compare_members);
  for (size_t from = 0, to; from < count; from = to) {
    const uint64_t address = members[from].record->address;
    for (to = from + 1; to < count && members[to].record->address == address;)
      to++;
    if (reason == NULL && are_alike(members + from, to - from, entries))
      continue;
    for (size_t i = from; i < to; i++)
      checker->no_record[members[i].record - checker->table->records] = true;
    if (!add_conflict(checker, group->function, address, reason != NULL ? reason : other_records))
      return false;
  }
  return true;
}

/* The reason to doubt all records of a group: an entry is doubtful, or entries differ in the
 * function's frame size. NULL if there is none. */
static const char *find_doubt(const struct checker *checker, const struct entry *group,
                              size_t count) {
  const struct safepoint_function *functions = checker->table->functions;
  const struct entry *first = NULL;
  for (size_t i = 0; i < count; i++) {
    const struct entry *entry = &group[i];
    if (entry->verdict == CONTRADICTED || entry->records == 0)
      continue;
    if (entry->verdict > FITS_FRAME)
      return entry->reason;
    if (first != NULL && functions[entry->number].frame_size != functions[first->number].frame_size)
      return other_frame;
    first = entry;
  }
  return NULL;
}

static bool compare_group(struct checker *checker, const struct entry *group, size_t count) {
  const char *reason = find_doubt(checker, group, count);
  if (count == 1 && reason == NULL)
    return true;
  size_t entries = 0, records = 0, filled = 0;
  for (size_t i = 0; i < count; i++)
    records += group[i].records;
  struct member *members = calloc(records + 1, sizeof *members);
  if (members == NULL)
    return false;
  for (size_t i = 0; i < count; i++) {
    const struct safepoint *first = &checker->table->records[group[i].first_record];
    const uint32_t kept = group[i].verdict == CONTRADICTED ? 0 : group[i].records;
    entries += kept > 0;
    for (uint32_t k = 0; k < kept; k++)
      members[filled++] = (struct member){first + k, group[i].number};
  }
  const bool ok = compare(checker, group, members, filled, entries, reason);
  free(members);
  return ok;
}

/* Where the unwind table agrees with one entry's frame to the byte, it contradicts the others. */
static bool resolve(struct checker *checker, struct entry *group, size_t count) {
  bool has_frame = false;
  for (size_t i = 0; i < count; i++)
    has_frame |= group[i].verdict == FITS_FRAME;
  for (size_t i = 0; i < count && has_frame; i++)
    if (group[i].verdict == OTHER_FRAME)
      group[i].verdict = CONTRADICTED;
  return leave_out(checker, group, count) && compare_group(checker, group, count);
}

/* ---- Calls that preserve too little ---- */

/* LLVM's calling conventions that preserve no registers, except that the last one keeps the frame
 * pointer. (llvm/IR/CallingConv.h) */
enum { CALL_GHC = 10, CALL_HIPE = 11, CALL_PRESERVE_NONE = 21 };

static bool loses_registers(const struct safepoint *record) {
  return record->calling_convention == CALL_GHC || record->calling_convention == CALL_HIPE ||
         record->calling_convention == CALL_PRESERVE_NONE;
}

static bool is_lost(const struct machine *machine, const struct safepoint *record, unsigned reg) {
  return reg != machine->stack_pointer &&
         (reg != machine->frame_pointer || record->calling_convention != CALL_PRESERVE_NONE);
}

static bool loses_location(const struct checker *checker, const struct safepoint *record,
                           uint32_t number) {
  const struct stackpack_location location = safepoints_location(checker->table, number);
  return location.kind != STACKPACK_CONSTANT && location.kind != STACKPACK_LARGE_CONSTANT &&
         is_lost(checker->code->machine, record, location.reg);
}

static bool loses_list(const struct checker *checker, const struct safepoint *record,
                       uint32_t list) {
  const struct intern_sequence numbers = intern_get(&checker->table->lists, list);
  for (uint64_t i = 0; i < numbers.count; i++)
    if (loses_location(checker, record, (uint32_t)numbers.words[i]))
      return true;
  return false;
}

/* Where the frame has a frame pointer, LLVM saves it around a call that loses it: the stack map
 * leaves the pushed words out, and the unwind table has the CFA as an expression, unknown here. */
static bool loses_frame(const struct checker *checker, const struct safepoint *record) {
  return record->frame == 0
             ? record->calling_convention != CALL_PRESERVE_NONE
             : is_lost(checker->code->machine, record,
                       frame_facts_get(&checker->table->frames, record->frame).cfa_register);
}

static bool loses_value(const struct checker *checker, const struct safepoint *record) {
  const struct intern_sequence live = intern_get(&checker->table->live, record->live);
  for (uint64_t i = 0; i < live.count; i++) {
    const uint64_t item = live.words[i];
    if (safepoint_item_is_list(item)
            ? loses_list(checker, record, safepoint_item_list(item))
            : loses_location(checker, record, safepoint_item_base(item)) ||
                  loses_location(checker, record, safepoint_item_derived(item)))
      return true;
  }
  return loses_list(checker, record, record->deopt);
}

/* Takes out the records at calls that leave another value in a register by which the record, or its
 * frame, is found: LLVM's code pushes such a register before the call, and pops it afterwards. */
static bool check_calls(struct checker *checker) {
  const struct safepoints *table = checker->table;
  if (checker->code->machine == NULL)
    return true;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    if (checker->no_record[i] || !loses_registers(record) ||
        (!loses_frame(checker, record) && !loses_value(checker, record)))
      continue;
    checker->no_record[i] = true;
    if (!add_conflict(checker, table->functions[record->function].address, record->address,
                      lost_register))
      return false;
  }
  return true;
}

/* ---- All of them ---- */

ORDER_FUNCTION(compare_entries, struct entry, function, number)

static void list_entries(struct checker *checker) {
  const struct safepoints *table = checker->table;
  uint32_t record = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const uint32_t first = record;
    while (record < table->record_count && table->records[record].function == i)
      record++;
    checker->entries[i] = (struct entry){.number = i,
                                         .first_record = first,
                                         .records = record - first,
                                         .function = table->functions[i].address};
  }
  assert(record == table->record_count); /* records are in the order of their entries */
  array_sort(checker->entries, table->function_count, sizeof *checker->entries, compare_entries);
}

static bool check_groups(struct checker *checker) {
  const uint32_t count = checker->table->function_count;
  for (uint32_t i = 0; i < count; i++)
    judge_entry(checker, &checker->entries[i]);
  for (uint32_t from = 0, to; from < count; from = to) {
    for (to = from + 1;
         to < count && checker->entries[to].function == checker->entries[from].function;)
      to++;
    if (!resolve(checker, &checker->entries[from], to - from))
      return false;
  }
  return true;
}

/* In the finished table: where records of different functions are left for one address, all are
 * uncertain. (A stack map may be at a function's start, and a call of the function before may
 * return to there.) */
static bool check_neighbours(struct checker *checker) {
  struct safepoints *table = checker->table;
  const struct safepoint *last = NULL;
  memset(checker->no_record, 0, table->record_count * sizeof *checker->no_record);
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const uint64_t function = table->functions[record->function].address;
    if (function == record->address)
      continue;
    if (last != NULL && last->address == record->address &&
        table->functions[last->function].address != function) {
      checker->no_record[i] = checker->no_record[last - table->records] = true;
      if (!add_conflict(checker, table->functions[last->function].address, record->address,
                        other_functions) ||
          !add_conflict(checker, function, record->address, other_functions))
        return false;
    }
    last = record;
  }
  safepoints_remove(table, checker->no_record);
  return true;
}

/* Closes the gaps that were made. */
static void take_out(struct checker *checker, uint32_t *numbers) {
  struct safepoints *table = checker->table;
  uint32_t functions = 0, records = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    numbers[i] = functions;
    if (!checker->no_entry[i])
      table->functions[functions++] = table->functions[i];
  }
  for (uint32_t i = 0; i < table->record_count; i++) {
    if (checker->no_record[i])
      continue;
    assert(!checker->no_entry[table->records[i].function]);
    table->records[records] = table->records[i];
    table->records[records].function = numbers[table->records[i].function];
    records++;
  }
  table->function_count = functions;
  table->record_count = records;
}

/* Functions reach beyond the addresses in conflict, as addresses without a safepoint. */
static void extend(struct safepoints *table, const struct map_entries *entries) {
  for (size_t i = 0; i < entries->conflict_count; i++) {
    const struct map_entries_conflict *conflict = &entries->conflicts[i];
    const uint32_t number = safepoints_find_function(table, conflict->function);
    if (number < table->function_count && table->functions[number].end <= conflict->address)
      table->functions[number].end = conflict->address + 1;
  }
}

static bool check(struct checker *checker, uint32_t *numbers) {
  struct safepoints *table = checker->table;
  const struct code *code = checker->code;
  list_entries(checker);
  if (!check_groups(checker) || !check_calls(checker))
    return false;
  take_out(checker, numbers);
  if (!safepoints_finish(table))
    return false;
  safepoints_set_ends(table, code->unwound.items, code->unwound.count);
  safepoints_set_ends(table, code->named.items, code->named.count);
  safepoints_close_gaps(table, &code->unwound, &code->named);
  if (!check_neighbours(checker))
    return false;
  extend(table, checker->found);
  return true;
}

bool map_entries_finish(struct safepoints *table, const struct code *code,
                        struct map_entries *entries) {
  struct owned owned = {0};
  uint32_t *numbers = owned_array(&owned, table->function_count, sizeof *numbers);
  struct checker checker = {
      .table = table,
      .code = code,
      .found = entries,
      .entries = owned_array(&owned, table->function_count, sizeof *checker.entries),
      .no_entry = owned_array(&owned, table->function_count, sizeof *checker.no_entry),
      .no_record = owned_array(&owned, table->record_count, sizeof *checker.no_record),
  };
  const bool ok = !owned.failed && check(&checker, numbers);
  table->no_memory |= !ok;
  owned_free(&owned);
  return ok;
}
