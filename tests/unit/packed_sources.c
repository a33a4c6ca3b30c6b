/* packed_sources.c - tests the part of a packed table on sources: the written positions are read
 * again, for any functions, inlining and names; and reads of broken bytes stay inside.
 */
#include "bytes.h"
#include "format/packed_write.h"
#include "format/sources_pairs.h"
#include "format/sources_unpack.h"
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "runtime/stackpack.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PADDING = BITS_PADDING, NAMES = 60 };

/* Stretches with some records each, in order. */
struct program {
  struct sources sources;
  uint32_t *places, *stretches, *positions;
  uint32_t stretch_count, record_count, capacity;
};

static void program_free(struct program *program) {
  sources_free(&program->sources);
  free(program->places);
  free(program->stretches);
  free(program->positions);
}

static void add_record(struct program *program, uint32_t stretch, uint32_t position,
                       uint32_t place) {
  if (program->record_count == program->capacity) {
    program->capacity = 2 * program->capacity + 16;
    const size_t size = program->capacity * sizeof(uint32_t);
    program->places = test_reallocate(program->places, size);
    program->stretches = test_reallocate(program->stretches, size);
    program->positions = test_reallocate(program->positions, size);
  }
  program->stretches[program->record_count] = stretch;
  program->positions[program->record_count] = position;
  program->places[program->record_count++] = place;
  if (stretch >= program->stretch_count)
    program->stretch_count = stretch + 1;
}

/* Adds a place to a chain. */
static uint32_t place(struct program *program, const char *function, const char *file,
                      uint32_t line, uint32_t caller) {
  struct source_place added = {.line = line, .caller = caller};
  uint32_t number;
  ck_assert(sources_add_name(&program->sources, function, &added.function));
  ck_assert(sources_add_name(&program->sources, file, &added.file));
  ck_assert(sources_add_place(&program->sources, added, &number));
  return number;
}

/* The part's bytes with their padding, exactly as many as are allocated. */
static uint8_t *write_part(const struct program *program, size_t *size) {
  const struct sources_input input = {&program->sources,      program->record_count,
                                      program->stretch_count, program->places,
                                      program->stretches,     program->positions};
  struct bit_writer part = {0};
  bool is_too_large;
  ck_assert(sources_write(&input, &part, &is_too_large));
  *size = part.size / 8;
  uint8_t *padded = bytes_padded(part.bytes, *size, PADDING);
  bit_writer_free(&part);
  return padded;
}

static void check_frames(const struct program *program, uint32_t number,
                         const struct stackpack_source *frames, size_t count) {
  for (size_t i = 0; i < count; i++) {
    ck_assert_uint_ne(number, 0);
    const struct source_place place = sources_place(&program->sources, number);
    ck_assert_str_eq(frames[i].function, sources_name(&program->sources, place.function));
    ck_assert_str_eq(frames[i].file, sources_name(&program->sources, place.file));
    ck_assert_uint_eq(frames[i].line, place.line);
    number = place.caller;
  }
  ck_assert_uint_eq(number, 0);
}

/* Reads a record in as little space as it needs, which it finds by trying. */
static void check_record(const struct program *program, const struct sources_part *part,
                         uint32_t record) {
  const uint32_t stretch = program->stretches[record], position = program->positions[record];
  struct stackpack_sources sources;
  size_t size = 0;
  enum stackpack_source_answer answer;
  uint8_t *space = NULL;
  do {
    free(space);
    space = test_allocate(size);
    answer = sources_read(part, stretch, position, space, size, &sources);
  } while (answer == STACKPACK_SOURCE_TOO_SMALL &&
           (size += 1 + size / 8) <= 2 * sources_space(part));
  ck_assert_int_eq(answer, program->places[record] == 0 ? STACKPACK_SOURCE_UNKNOWN
                                                        : STACKPACK_SOURCE_FOUND);
  if (answer == STACKPACK_SOURCE_FOUND)
    check_frames(program, program->places[record], sources.frames, sources.count);
  free(space);
}

/* Whether both say the same of a record. */
static void check_place(const struct sources *a, uint32_t x, const struct sources *b, uint32_t y) {
  while (x != 0 && y != 0) {
    const struct source_place p = sources_place(a, x), q = sources_place(b, y);
    ck_assert_str_eq(sources_name(a, p.function), sources_name(b, q.function));
    ck_assert_str_eq(sources_name(a, p.file), sources_name(b, q.file));
    ck_assert_uint_eq(p.line, q.line);
    x = p.caller;
    y = q.caller;
  }
  ck_assert(x == 0 && y == 0);
}

static void check_unpacked(const struct program *program, const struct sources_part *part) {
  struct sources sources = {0};
  struct sources_unpacker unpacker;
  ck_assert_int_eq(sources_unpack_open(&unpacker, part, &sources), SOURCES_UNPACKED);
  for (uint32_t i = 0; i < program->record_count; i++) {
    uint32_t number;
    ck_assert_int_eq(
        sources_unpack(&unpacker, program->stretches[i], program->positions[i], &number),
        SOURCES_UNPACKED);
    check_place(&program->sources, program->places[i], &sources, number);
  }
  sources_unpack_close(&unpacker);
  sources_free(&sources);
}

/* Writes and reads all, and returns the part's size. */
static size_t check_all(const struct program *program) {
  struct sources_part part;
  size_t size;
  uint8_t *bytes = write_part(program, &size);
  ck_assert(sources_open(&part, bytes, size, program->stretch_count));
  for (uint32_t i = 0; i < program->record_count; i++)
    check_record(program, &part, i);
  check_unpacked(program, &part);
  free(bytes);
  return size;
}

TEST(nothing_known_takes_nothing) {
  struct program program = {0};
  size_t size;
  for (uint32_t i = 0; i < 10; i++)
    add_record(&program, i / 4, i % 4, 0);
  free(write_part(&program, &size));
  ck_assert_uint_eq(size, 0);
  program_free(&program);
}

/* Without lines and files, a record of a function takes no bits for them. */
TEST(names_alone) {
  struct program program = {0};
  for (uint32_t i = 0; i < 1000; i++)
    add_record(&program, 0, i, place(&program, "function", NULL, 0, 0));
  ck_assert_uint_le(check_all(&program), 60);
  program_free(&program);
}

/* The same frames in many functions are one tail. */
TEST(inlined_frames_are_shared) {
  struct program program = {0};
  for (uint32_t i = 0; i < 1000; i++) {
    const uint32_t outer = place(&program, "outer", "a.c", 3 * i, 0);
    const uint32_t inner = place(&program, "inlined_function", "inline.h", 7, outer);
    add_record(&program, 0, i, place(&program, "another_inlined_function", "b.h", 8, inner));
  }
  ck_assert_uint_le(check_all(&program), 1500);
  program_free(&program);
}

/* Positions of all forms: functions that a stretch shares, without names, files or lines; the same
 * function in several stretches; lines of all sizes; a gap; holes among the positions. */
TEST(rare_positions) {
  struct program program = {0};
  const uint32_t lines[] = {UINT32_MAX, 0, 1, INT32_MAX, UINT32_MAX - 1, 1u << 31, 2};
  for (uint32_t i = 0; i < 7; i++) {
    const uint32_t outer = place(&program, "f", "f.c", lines[i], 0);
    add_record(&program, 1, i, outer);
    add_record(&program, 3, 2 * i, place(&program, "g", "g.c", lines[6 - i], outer));
    add_record(&program, 3, 2 * i + 1, i % 2 == 0 ? 0 : place(&program, "h", "f.c", lines[i], 0));
    add_record(&program, 4, 9 * i + 5, place(&program, NULL, i % 2 == 0 ? "f.c" : NULL, i, 0));
  }
  add_record(&program, 6, 0, 0);
  check_all(&program);
  program_free(&program);
}

/* Names of any bytes, of which one code can be for few or for many. */
TEST(names_of_all_bytes) {
  struct program program = {0};
  char name[5000];
  for (uint32_t i = 0; i < 255; i++) {
    snprintf(name, sizeof name, "%c_%c%c", (char)(i + 1), (char)(255 - i), (char)(i + 1));
    add_record(&program, i, 0, place(&program, name, NULL, i, 0));
  }
  check_all(&program);
  memset(name, 'a', sizeof name - 1);
  name[sizeof name - 1] = 0;
  add_record(&program, 255, 0, place(&program, name, NULL, 0, 0));
  struct sources_part part;
  size_t size;
  uint8_t *bytes = write_part(&program, &size);
  ck_assert(sources_open(&part, bytes, size, program.stretch_count));
  check_unpacked(&program, &part);
  free(bytes);
  program_free(&program);
}

/* Appends a code's bytes. */
static void expand(const struct sources_pairs *pairs, unsigned code, struct bytes *text) {
  if (code < pairs->literal_count) {
    bytes_u8(text, pairs->literals[code]);
    return;
  }
  const unsigned pair = code - pairs->literal_count;
  ck_assert_uint_lt(pair, pairs->pair_count);
  expand(pairs, pairs->codes[2 * pair], text);
  expand(pairs, pairs->codes[2 * pair + 1], text);
}

/* The codes stand for the same text, and are fewer where pairs are frequent. */
TEST(pairs_of_bytes) {
  static const struct {
    const char *text;
    size_t size, codes;
    unsigned pairs;
  } cases[] = {
      {"", 0, 0, 0},
      {"abababab", 9, 9, 0},      /* four times: too few */
      {"xabababababy", 13, 8, 1}, /* x, five pairs, y */
      {"aaaaaaaaaaa", 12, 7, 1},  /* five pairs, and one */
      {"ab\0ab\0ab\0ab\0ab", 15, 10, 1},
      {"abcd-abcd-abcd-abcd-abcd-abcd", 30, 7, 4},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct sources_pairs pairs;
    struct bytes text = {0}, expanded = {0};
    bytes_add(&text, cases[i].text, cases[i].size);
    size_t size = text.size;
    ck_assert(sources_pairs_make(&pairs, text.data, &size));
    ck_assert_uint_eq(pairs.pair_count, cases[i].pairs);
    ck_assert_uint_eq(size, cases[i].codes);
    for (size_t k = 0; k < size; k++)
      expand(&pairs, text.data[k], &expanded);
    ck_assert_uint_eq(expanded.size, cases[i].size);
    ck_assert(expanded.size == 0 || memcmp(expanded.data, cases[i].text, expanded.size) == 0);
    bytes_free(&text);
    bytes_free(&expanded);
  }
}

/* A code is a byte, or one of the pairs of lower codes; any other is broken, whatever follows the pairs. */
TEST(codes_of_names) {
  static const uint8_t literals[] = {0, 'a', 'b'}, pairs[] = {1, 2, 3, 1, 5, 1, 1, 1};
  static const struct {
    uint8_t codes[2], size;
    const char *name; /* NULL: broken */
  } cases[] = {
      {{1, 2}, 2, "ab"}, {{3}, 1, "ab"},   {{4, 2}, 2, "abab"},
      {{4}, 1, "aba"},   {{5}, 1, NULL}, /* a pair of itself */
      {{6}, 1, NULL},    {{255}, 1, NULL}, {{1, 6}, 2, NULL},
  };
  const struct sources_part part = {
      .literals = literals, .pairs = pairs, .literal_count = 3, .pair_count = 3};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    const struct sources_entry entry = {.name = cases[i].codes, .name_size = cases[i].size};
    char name[8];
    size_t length;
    ck_assert_msg(sources_entry_name(&part, &entry, name, sizeof name, &length) ==
                      (cases[i].name != NULL),
                  "%zu", i);
    if (cases[i].name != NULL) {
      ck_assert_uint_eq(length, strlen(cases[i].name));
      ck_assert_int_eq(memcmp(name, cases[i].name, length), 0);
    }
  }
}

TEST(chains_that_are_too_long) {
  for (uint32_t depth = SOURCES_DEPTH_MAX; depth <= SOURCES_DEPTH_MAX + 1; depth++) {
    struct program program = {0};
    struct bit_writer out = {0};
    uint32_t last = 0;
    bool is_too_large;
    for (uint32_t i = 0; i < depth; i++)
      last = place(&program, "f", "f.c", i, last);
    add_record(&program, 0, 0, last);
    const struct sources_input input = {&program.sources, 1, 1, program.places, program.stretches,
                                        program.positions};
    const bool ok = sources_write(&input, &out, &is_too_large);
    ck_assert(ok == (depth == SOURCES_DEPTH_MAX) && is_too_large == !ok);
    bit_writer_free(&out);
    program_free(&program);
  }
}

/* ---- Any program ---- */

static uint32_t any_place(struct program *program, struct numbers *numbers, uint32_t function,
                          uint32_t caller) {
  char name[80], file[40];
  snprintf(name, sizeof name, "name_%s_of_function_%u", function % 3 == 0 ? "some" : "other",
           function);
  snprintf(file, sizeof file, "source/%u.c", function / 8 + (numbers_chance(numbers, 5) ? 1 : 0));
  const uint32_t line = function * 40 + (uint32_t)numbers_below(numbers, 30);
  return place(program, name, file, numbers_chance(numbers, 2) ? 0 : line, caller);
}

static void make_any(struct program *program, struct numbers *numbers, uint32_t records) {
  uint32_t stretch = 0, position = 0, outer;
  for (uint32_t i = 0; i < records; i++, position++) {
    if (numbers_chance(numbers, 20)) {
      stretch += 1 + numbers_chance(numbers, 10);
      position = 0;
    }
    outer = any_place(program, numbers, numbers_chance(numbers, 3) ? stretch + 1 : stretch, 0);
    for (unsigned depth = 0; depth < 4 && numbers_chance(numbers, 40); depth++)
      outer = any_place(program, numbers, (uint32_t)numbers_below(numbers, NAMES), outer);
    add_record(program, stretch, position, numbers_chance(numbers, 3) ? 0 : outer);
  }
}

TEST(any_program) {
  struct numbers numbers = {1};
  for (unsigned round = 0; round < 60; round++) {
    struct program program = {0};
    size_t size;
    make_any(&program, &numbers, 1 + (uint32_t)numbers_below(&numbers, 300));
    free(write_part(&program, &size));
    if (size > 0)
      check_all(&program);
    program_free(&program);
  }
}

/* Everything read from broken bytes is inside, and both readers agree. */
static void read_all(const struct program *program, const uint8_t *bytes, size_t size) {
  struct sources_part part;
  struct sources sources = {0};
  struct sources_unpacker unpacker;
  uint64_t space[1024];
  if (!sources_open(&part, bytes, size, program->stretch_count))
    return;
  bool is_whole = sources_unpack_open(&unpacker, &part, &sources) == SOURCES_UNPACKED;
  for (uint32_t i = 0; i < program->record_count; i += 3) {
    struct stackpack_sources frames;
    uint32_t number;
    const enum stackpack_source_answer answer = sources_read(
        &part, program->stretches[i], program->positions[i], space, sizeof space, &frames);
    if (!is_whole || answer == STACKPACK_SOURCE_TOO_SMALL)
      continue;
    const enum sources_unpacked unpacked =
        sources_unpack(&unpacker, program->stretches[i], program->positions[i], &number);
    ck_assert((unpacked == SOURCES_UNPACKED) == (answer != STACKPACK_SOURCE_CORRUPT));
    is_whole = unpacked == SOURCES_UNPACKED;
    if (is_whole)
      ck_assert((number == 0) == (answer == STACKPACK_SOURCE_UNKNOWN));
  }
  sources_unpack_close(&unpacker);
  sources_free(&sources);
}

TEST(broken_bytes) {
  struct numbers numbers = {2};
  for (unsigned round = 0; round < 10; round++) {
    struct program program = {0};
    size_t size;
    make_any(&program, &numbers, 60);
    uint8_t *bytes = write_part(&program, &size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 50) {
      uint8_t *exact = bytes_exact(bytes, cut + PADDING);
      read_all(&program, exact, cut);
      free(exact);
    }
    for (unsigned change = 0; change < 300; change++) {
      const size_t at = numbers_below(&numbers, change % 2 == 0 ? SOURCES_HEAD_SIZE : size);
      const uint8_t before = bytes[at];
      bytes[at] = (uint8_t)numbers_below(&numbers, 256);
      read_all(&program, bytes, size);
      bytes[at] = before;
    }
    free(bytes);
    program_free(&program);
  }
}

/* ---- In a table ---- */

static uint8_t *pack(const struct safepoints *table, size_t *size) {
  uint8_t *bytes;
  ck_assert_ptr_null(packed_write(table, 0x200000, NULL, &bytes, size));
  return bytes;
}

/* By the library: all records of a table. */
static void check_library(const struct program *program, const uint8_t *bytes, size_t size,
                          bool has_sources) {
  struct stackpack_table table;
  struct stackpack_record record;
  struct stackpack_sources sources;
  ck_assert_int_eq(stackpack_table_open(&table, bytes, size, 0x200000), STACKPACK_OK);
  const size_t space_size = stackpack_sources_space(&table);
  void *space = test_allocate(space_size);
  ck_assert((space_size > 0) == has_sources);
  for (uint32_t i = 0; i < program->record_count; i++) {
    ck_assert_int_eq(stackpack_table_record(&table, i, &record), STACKPACK_FOUND);
    const enum stackpack_source_answer answer =
        stackpack_record_sources(&record, space, space_size, &sources);
    ck_assert_int_eq(answer, !has_sources              ? STACKPACK_SOURCE_NONE
                             : program->places[i] == 0 ? STACKPACK_SOURCE_UNKNOWN
                                                       : STACKPACK_SOURCE_FOUND);
    if (answer != STACKPACK_SOURCE_FOUND)
      continue;
    check_frames(program, program->places[i], sources.frames, sources.count);
    ck_assert_int_eq(stackpack_record_sources(&record, space, 8, &sources),
                     STACKPACK_SOURCE_TOO_SMALL);
  }
  free(space);
}

/* Positions of a table's records, also of the ones that are exceptions, are read back; and the other
 * parts are the same bytes without them. */
TEST(a_table) {
  for (uint64_t seed = 1; seed <= 40; seed++) {
    struct model model = {0};
    struct safepoints table = {0}, unpacked = {0};
    struct packed_table packed, plain;
    struct program program = {0};
    struct numbers numbers = {seed};
    size_t size, plain_size;
    generate(&model, seed, (uint32_t)(10 * seed));
    model_finish(&model);
    model_read(&model, &table);
    model_free(&model);
    uint8_t *plain_bytes = pack(&table, &plain_size);
    make_any(&program, &numbers, table.record_count);
    table.sources = program.sources;
    for (uint32_t i = 0; i < table.record_count; i++)
      table.records[i].source = program.places[i];
    uint8_t *bytes = pack(&table, &size);
    ck_assert_int_eq(packed_open(&packed, bytes, size, 0x200000), STACKPACK_OK);
    ck_assert_int_eq(packed_open(&plain, plain_bytes, plain_size, 0x200000), STACKPACK_OK);
    const size_t header = bits_load16(bytes + 6), plain_header = bits_load16(plain_bytes + 6);
    ck_assert(packed.sources_size > 0 && plain.sources_size == 0);
    ck_assert_uint_eq(header, plain_header + PACKED_ENTRY_SIZE);
    ck_assert_uint_eq(size, plain_size + PACKED_ENTRY_SIZE + packed.sources_size);
    ck_assert_mem_eq(bytes + PACKED_HEADER_SIZE, plain_bytes + PACKED_HEADER_SIZE,
                     plain_header - PACKED_HEADER_SIZE);
    ck_assert_mem_eq(bytes + header, plain_bytes + plain_header,
                     plain_size - plain_header - PADDING);
    ck_assert(packed_unpack(&packed, NULL, &unpacked));
    for (uint32_t i = 0; i < table.record_count; i++)
      check_place(&table.sources, table.records[i].source, &unpacked.sources,
                  unpacked.records[i].source);
    check_library(&program, bytes, size, true);
    check_library(&program, plain_bytes, plain_size, false);
    table.sources = (struct sources){0};
    safepoints_free(&unpacked);
    safepoints_free(&table);
    program_free(&program);
    free(plain_bytes);
    free(bytes);
  }
}

/* ---- A walk ---- */

struct text {
  char bytes[400];
  size_t size;
};

static void add_text(void *closure, const char *piece, size_t size) {
  struct text *text = closure;
  ck_assert_uint_lt(text->size + size, sizeof text->bytes);
  memcpy(text->bytes + text->size, piece, size);
  text->size += size;
}

/* Two functions wait in frames of three words: the first has inlined frames, and the second none. */
static uint8_t *pack_two(size_t *size) {
  enum { FRAME = 24 };
  struct program program = {0};
  struct safepoints table = {0};
  intern_add(&table.lists, NULL, 0);
  const uint32_t live = safepoints_add_live(&table, NULL, 0, 0);
  const uint32_t outer = place(&program, "outer", "outer.c", 4, 0);
  const uint32_t sources[] = {place(&program, "inlined", "inline.h", 0, outer), 0};
  for (uint32_t i = 0; i < 2; i++) {
    const uint64_t start = 0x1000 + 0x100 * i;
    const struct safepoint_function function = {
        .address = start, .end = start + 0x20, .frame_size = FRAME};
    ck_assert(safepoints_add_function(&table, function));
    ck_assert(safepoints_add_record(
        &table, (struct safepoint){
                    .address = start + 0x10, .function = i, .live = live, .source = sources[i]}));
  }
  ck_assert(safepoints_finish(&table));
  table.sources = program.sources;
  uint8_t *bytes = pack(&table, size);
  table.sources = (struct sources){0};
  safepoints_free(&table);
  program_free(&program);
  return bytes;
}

/* A walk is printed in the form that people know; a frame without names or without room for them is
 * an address. */
TEST(a_trace) {
  size_t size;
  uint8_t *bytes = pack_two(&size);
  struct stackpack_table table;
  ck_assert_int_eq(stackpack_table_open(&table, bytes, size, 0x200000), STACKPACK_OK);
  const struct stackpack_walker walker = {.table = &table};
  uintptr_t words[8] = {[3] = 0x1110, [7] = 0x9999};
  const struct stackpack_stack stack = {(uintptr_t)words, (uintptr_t)(words + 8)};
  const struct stackpack_context context =
      stackpack_context_at_call(0x1010, (uintptr_t)words, NULL);
  uint64_t space[32];
  for (int has_space = 0; has_space < 2; has_space++) {
    struct stackpack_walk walk;
    struct text text = {0};
    stackpack_walk_start(&walk, &walker, stack, &context);
    ck_assert_int_eq(
        stackpack_walk_print(&walk, space, has_space ? sizeof space : 0, add_text, &text),
        STACKPACK_WALK_END);
    ck_assert_str_eq(text.bytes, has_space ? "#0  inlined at inline.h\n"
                                             "      (inlined into outer at outer.c:4)\n"
                                             "#1  0x1110\n"
                                           : "#0  0x1010\n#1  0x1110\n");
  }
  free(bytes);
}
