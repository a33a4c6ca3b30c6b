/* map_entries.c - tests elf/map_entries.h: the entries of stack maps that the code contradicts, and entries
 * in conflict.
 */
#include "elf/map_entries.h"

#include "format/frames.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

/* Code at 0x1000: three functions of 64 bytes, with a call that ends at 16, 32 and 48 of each. */
enum { CODE = 0x1000, SIZE = 64, FUNCTIONS = 3 };

struct subject {
  uint8_t bytes[SIZE * FUNCTIONS];
  struct code code;
  struct safepoints table;
  struct map_entries entries;
};

static void make(struct subject *subject) {
  memset(subject, 0, sizeof *subject);
  memset(subject->bytes, 0xcc, sizeof subject->bytes);
  for (unsigned end = 16; end < sizeof subject->bytes; end += 16)
    if (end % SIZE != 0)
      subject->bytes[end - 5] = 0xe8;
  subject->code.machine = &machine_x86_64;
  ck_assert(code_add(&subject->code, CODE, subject->bytes, sizeof subject->bytes));
  for (unsigned i = 0; i < FUNCTIONS; i++)
    ck_assert(code_ranges_add(&subject->code.unwound, CODE + i * SIZE, CODE + (i + 1) * SIZE));
  intern_add(&subject->table.lists, NULL, 0);
}

static void release(struct subject *subject) {
  code_free(&subject->code);
  safepoints_free(&subject->table);
  map_entries_free(&subject->entries);
}

static void add_entry(struct subject *subject, unsigned function, uint64_t frame_size) {
  ck_assert(safepoints_add_function(
      &subject->table,
      (struct safepoint_function){.address = CODE + function * SIZE, .frame_size = frame_size}));
}

/* A statepoint of the last entry, with one reference: at a slot, so that other slots are other sets. */
static struct safepoint *add_record(struct subject *subject, unsigned offset, int slot) {
  struct safepoints *table = &subject->table;
  const uint32_t function = table->function_count - 1;
  const uint64_t number =
      safepoints_add_location(table, (struct stackpack_location){STACKPACK_INDIRECT, 8, 7, slot});
  uint64_t item[2] = {number << 32 | number};
  ck_assert(safepoints_add_record(
      table, (struct safepoint){.address = table->functions[function].address + offset,
                                .id = 1,
                                .function = function,
                                .live = safepoints_add_live(table, item, 1, 0)}));
  return &table->records[table->record_count - 1];
}

/* The facts of unwind tables: the CFA is the stack pointer plus some bytes. */
static void set_frame(struct subject *subject, struct safepoint *record, int cfa_offset) {
  const struct frame_facts facts = {
      .cfa_register = 7, .return_register = 16, .cfa_offset = cfa_offset};
  record->frame = frame_facts_add(&subject->table.frames, &facts);
}

static void check(struct subject *subject, unsigned functions, unsigned records, unsigned left_out,
                  unsigned conflicts) {
  ck_assert(map_entries_finish(&subject->table, &subject->code, &subject->entries));
  ck_assert_uint_eq(subject->table.function_count, functions);
  ck_assert_uint_eq(subject->table.record_count, records);
  ck_assert_uint_eq(subject->entries.left_out_count, left_out);
  ck_assert_uint_eq(subject->entries.conflict_count, conflicts);
}

TEST(all_fit) {
  struct subject subject;
  make(&subject);
  for (unsigned i = 0; i < FUNCTIONS; i++) {
    add_entry(&subject, FUNCTIONS - 1 - i, 8);
    add_record(&subject, 16, 0);
    add_record(&subject, 48, 8);
  }
  check(&subject, 3, 6, 0, 0);
  release(&subject);
}

/* Equal copies are one; their order is irrelevant. */
TEST(equal_copies) {
  struct subject subject;
  make(&subject);
  for (unsigned i = 0; i < 3; i++) {
    add_entry(&subject, 1, 8);
    add_record(&subject, i == 1 ? 32 : 16, 0);
    add_record(&subject, i == 1 ? 16 : 32, 0);
  }
  check(&subject, 1, 2, 0, 0);
  release(&subject);
}

TEST(after_no_call) {
  for (unsigned right = 0; right < 2; right++) {
    struct subject subject;
    make(&subject);
    for (unsigned i = 0; i < 2; i++) {
      add_entry(&subject, 0, 8 + 8 * i);
      add_record(&subject, 16, (int)i * 8);
      add_record(&subject, i == right ? 32 : 33, 0);
    }
    check(&subject, 1, 2, 1, 0);
    ck_assert_uint_eq(subject.table.functions[0].frame_size, 8 + 8 * right);
    ck_assert_uint_eq(subject.entries.left_out[0].address, CODE + 33);
    release(&subject);
  }
}

/* The map of a copy that was discarded, where the kept one has none: the function stays managed. */
TEST(alone_and_wrong) {
  struct subject subject;
  make(&subject);
  add_entry(&subject, 0, 8);
  add_record(&subject, 17, 0);
  check(&subject, 1, 0, 1, 0);
  release(&subject);
}

TEST(outside) {
  struct subject subject;
  make(&subject);
  add_entry(&subject, 0, 8);
  add_record(&subject, 16, 0);
  add_record(&subject, SIZE + 16, 0); /* after a call, but of the next function */
  add_entry(&subject, 1, 8);
  add_record(&subject, 16, 8);
  check(&subject, 2, 1, 1, 0);
  ck_assert_uint_eq(subject.table.records[0].address, CODE + SIZE + 16);
  release(&subject);

  make(&subject); /* the functions' ends are unknown: the record's owner is unknown */
  subject.code.unwound.count = 0;
  add_entry(&subject, 0, 8);
  add_record(&subject, SIZE + 16, 0);
  add_entry(&subject, 1, 8);
  add_record(&subject, 16, 8);
  add_record(&subject, 32, 8);
  check(&subject, 2, 1, 0, 2);
  release(&subject);
}

TEST(different_copies) {
  struct subject subject;
  make(&subject);
  for (unsigned i = 0; i < 2; i++) {
    add_entry(&subject, 0, 8);
    add_record(&subject, 16, 0);
    add_record(&subject, 32, (int)i * 8); /* another slot */
    if (i == 0)
      add_record(&subject, 48, 0); /* only one has it */
  }
  subject.code.unwound.count = subject.code.named.count = 0; /* its end is unknown */
  check(&subject, 1, 1, 0, 2);
  ck_assert_uint_eq(subject.table.records[0].address, CODE + 16);
  ck_assert_uint_eq(subject.entries.conflicts[0].address, CODE + 32);
  ck_assert_uint_eq(subject.table.functions[0].end, CODE + 49);
  release(&subject);

  make(&subject); /* at the function's end */
  subject.bytes[SIZE - 5] = 0xe8;
  for (unsigned i = 0; i < 2; i++) {
    add_entry(&subject, 0, 8);
    add_record(&subject, SIZE, (int)i * 8);
  }
  check(&subject, 1, 0, 0, 1);
  ck_assert_uint_eq(subject.table.functions[0].end, CODE + SIZE + 1);
  release(&subject);

  make(&subject); /* the right frame size is unknown */
  for (unsigned i = 0; i < 2; i++) {
    add_entry(&subject, 0, 8 + 8 * i);
    add_record(&subject, 16, 0);
  }
  check(&subject, 2, 0, 0, 1);
  release(&subject);
}

/* Two entries with frames of 8 and 16 bytes. */
TEST(frames) {
  static const struct {
    int cfa_offset; /* 8 more than the frame, for the return address */
    unsigned functions, records, left_out, conflicts;
  } cases[] = {
      {16, 1, 1, 1, 0}, /* the second one's is too large, and the first one's is right */
      {24, 2, 0, 0, 1}, /* the first one might have pushed an argument */
      {64, 2, 0, 0, 1}, /* both might */
      {12, 2, 0, 0, 1}, /* none is right */
  };
  struct subject subject;
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    make(&subject);
    for (unsigned k = 0; k < 2; k++) {
      add_entry(&subject, 0, 8 + 8 * k);
      set_frame(&subject, add_record(&subject, 16, 0), cases[i].cfa_offset);
    }
    check(&subject, cases[i].functions, cases[i].records, cases[i].left_out, cases[i].conflicts);
    release(&subject);
  }
  make(&subject); /* alone, it is refused */
  add_entry(&subject, 0, 32);
  set_frame(&subject, add_record(&subject, 16, 0), 24);
  check(&subject, 1, 0, 0, 1);
  release(&subject);
  make(&subject); /* pushed arguments: larger by words */
  add_entry(&subject, 0, 32);
  set_frame(&subject, add_record(&subject, 16, 0), 32 + 8 + 24);
  check(&subject, 1, 1, 0, 0);
  release(&subject);
  make(&subject);
  add_entry(&subject, 0, 32);
  set_frame(&subject, add_record(&subject, 16, 0), 32 + 8 + 4);
  check(&subject, 1, 0, 0, 1);
  release(&subject);
}

/* A record that looks like a statepoint and is after no call makes those beside it doubtful. */
TEST(doubtful) {
  struct subject subject;
  make(&subject);
  add_entry(&subject, 0, 8);
  add_record(&subject, 16, 0);
  subject.table.functions[0].unlike = CODE + 20;
  check(&subject, 1, 0, 0, 1);
  release(&subject);
}

/* A call by a convention that preserves no registers, but perhaps the frame pointer: the record goes by
 * the stack pointer alone. */
TEST(calls_that_lose_registers) {
  enum {
    NONE = 0,
    BASE = 3,
    FRAME = 6,
    STACK = 7,
    C = 0,
    FAST = 8,
    GHC = 10,
    HIPE = 11,
    PRESERVE_NONE = 21
  };
  static const struct {
    int convention;
    uint16_t reg, deopt_reg;
    uint8_t cfa_register; /* NONE: the frame is unknown */
    unsigned conflicts;
  } cases[] = {
      {C, BASE, BASE, FRAME, 0},
      {FAST, BASE, BASE, NONE, 0},
      {PRESERVE_NONE, BASE, STACK, FRAME, 1},
      {PRESERVE_NONE, STACK, BASE, FRAME, 1},
      {PRESERVE_NONE, FRAME, STACK, FRAME, 0},
      {PRESERVE_NONE, STACK, STACK, NONE, 0},
      {PRESERVE_NONE, STACK, STACK, BASE, 1},
      {GHC, STACK, STACK, STACK, 0},
      {GHC, STACK, STACK, FRAME, 1},
      {GHC, FRAME, STACK, STACK, 1},
      {GHC, STACK, STACK, NONE, 1},
      {HIPE, STACK, STACK, NONE, 1},
  };
  for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct subject subject;
    struct safepoints *table = &subject.table;
    make(&subject);
    add_entry(&subject, 0, 8);
    struct safepoint *record = add_record(&subject, 16, 0);
    const uint64_t number = safepoints_add_location(
        table, (struct stackpack_location){STACKPACK_INDIRECT, 8, cases[i].reg, 0});
    const uint64_t deopt = safepoints_add_location(
        table, (struct stackpack_location){STACKPACK_INDIRECT, 8, cases[i].deopt_reg, 0});
    uint64_t item[2] = {number << 32 | number};
    record->live = safepoints_add_live(table, item, 1, 0);
    record->deopt = safepoints_add_list(table, &deopt, 1);
    record->calling_convention = cases[i].convention;
    if (cases[i].cfa_register != NONE) {
      const struct frame_facts facts = {
          .cfa_register = cases[i].cfa_register, .return_register = 16, .cfa_offset = 16};
      record->frame = frame_facts_add(&table->frames, &facts);
    }
    check(&subject, 1, 1 - cases[i].conflicts, 0, cases[i].conflicts);
    release(&subject);
  }
}

/* Unknown facts are consistent with all others. */
TEST(unknown_code) {
  struct subject subject;
  make(&subject);
  subject.code.machine = NULL;
  add_entry(&subject, 0, 8);
  add_record(&subject, 17, 0);
  check(&subject, 1, 1, 0, 0);
  release(&subject);
  make(&subject);
  subject.code.count = 0;
  add_entry(&subject, 0, 8);
  add_record(&subject, 17, 0);
  check(&subject, 1, 1, 0, 0);
  release(&subject);
}
