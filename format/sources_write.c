/* sources_write.c - writes the part that sources_read.c reads.
 *
 * An entry is a function in a file: first those of stretches, by number; then inlined functions, by
 * name; then the files. A record is a line of its stretch's function and a tail: the frames that
 * are inlined there. The same ones are inlined in many functions, so that tails are few.
 */
#include "format/array.h"
#include "format/owned.h"
#include "format/sources_bytes.h"
#include "format/sources_pairs.h"

#include <assert.h>

enum { NONE = UINT32_MAX };

/* A function in a file. */
struct function {
  uint32_t name, file; /* in the sources */
  uint32_t line;       /* that its others are relative to */
  uint32_t entry;      /* NONE: it has none yet */
};

struct entry {
  const char *name;  /* NULL: it is empty */
  uint32_t function; /* NONE: it is a file, or empty */
  const char *file;  /* for the order */
};

/* A frame that is inlined, and the ones that are inlined there. */
struct tail {
  uint32_t function, line; /* the line is relative to the function's */
  uint32_t inner;          /* NONE: there is none */
  uint32_t number;         /* before they are sorted */
};

struct writer {
  const struct sources_input *input;
  const struct sources *sources;
  struct owned owned;
  struct intern pairs; /* of functions: name and file */
  struct intern tails; /* function, line and inner tail */
  struct function *functions;
  uint32_t function_count;
  uint32_t *functions_of; /* by place; NONE: it isn't used */
  uint64_t *firsts;       /* by stretch: the first of its positions in `places` */
  uint32_t *places;       /* 0: unknown */
  uint32_t *tails_of;     /* NONE: there is none */
  bool *is_whole;         /* the tail has the outermost frame, too */
  uint32_t *file_entries; /* by name: 1 + its place among the files */
  struct entry *entries;
  uint32_t callables, entry_count; /* entries of functions, and of all */
  struct tail *sorted;
  uint32_t *tail_numbers; /* by number before they are sorted */
  uint32_t names_size, depth;
  bool has_lines;
  struct bit_writer tail_bits, entry_bytes;
};

static void *array(struct writer *writer, uint64_t count, size_t size) {
  return owned_array(&writer->owned, count, size);
}

static struct source_place place_at(const struct writer *writer, uint32_t place) {
  return sources_place(writer->sources, place);
}

static const char *name_at(const struct writer *writer, uint32_t name) {
  return sources_name(writer->sources, name);
}

/* ---- Functions ---- */

/* Numbers the function of a place that is used. */
static bool use_place(struct writer *writer, uint32_t number) {
  const struct source_place place = place_at(writer, number);
  const uint64_t word = (uint64_t)place.function << 32 | place.file;
  const uint32_t function = intern_add(&writer->pairs, &word, 1);
  if (function == INTERN_FAILED)
    return false;
  if (function == writer->function_count) {
    writer->functions[function] = (struct function){place.function, place.file, place.line, NONE};
    writer->function_count++;
  }
  struct function *own = &writer->functions[function];
  if (place.line < own->line)
    own->line = place.line;
  writer->has_lines |= place.line != 0;
  writer->functions_of[number] = function;
  return true;
}

/* Uses the places of a record, and measures them. */
static bool use_record(struct writer *writer, uint32_t number) {
  uint64_t size = 0;
  uint32_t depth = 0, file = 0;
  while (number != 0) {
    const struct source_place place = place_at(writer, number);
    if (writer->functions_of[number] == NONE && !use_place(writer, number))
      return false;
    size += strlen(name_at(writer, place.function)) + 1;
    if (place.file != 0 && place.file != file)
      size += strlen(name_at(writer, place.file)) + 1;
    file = place.file;
    number = place.caller;
    depth++;
  }
  if (size > writer->names_size)
    writer->names_size = size < UINT32_MAX ? (uint32_t)size : UINT32_MAX;
  if (depth > writer->depth)
    writer->depth = depth;
  return true;
}

static bool use_records(struct writer *writer) {
  const struct sources_input *input = writer->input;
  const uint32_t places = writer->sources->places.count;
  writer->functions = array(writer, places, sizeof *writer->functions);
  writer->functions_of = array(writer, places, sizeof *writer->functions_of);
  if (writer->owned.failed)
    return false;
  memset(writer->functions_of, 0xff, ((size_t)places + 1) * sizeof *writer->functions_of);
  for (uint32_t i = 0; i < input->record_count; i++)
    if (!use_record(writer, input->places[i]))
      return false;
  return true;
}

/* ---- Stretches ---- */

/* Sorts the records' places by stretch and position. */
static bool sort_places(struct writer *writer) {
  const struct sources_input *input = writer->input;
  uint64_t *firsts = array(writer, (uint64_t)input->stretch_count + 1, sizeof *firsts);
  if (firsts == NULL)
    return false;
  for (uint32_t i = 0; i < input->record_count; i++) {
    assert(input->stretches[i] < input->stretch_count);
    uint64_t *count = &firsts[input->stretches[i] + 1];
    if (input->positions[i] >= *count)
      *count = (uint64_t)input->positions[i] + 1;
  }
  for (uint32_t i = 0; i < input->stretch_count; i++)
    firsts[i + 1] += firsts[i];
  writer->firsts = firsts;
  writer->places = array(writer, firsts[input->stretch_count], sizeof *writer->places);
  for (uint32_t i = 0; i < input->record_count && writer->places != NULL; i++)
    writer->places[firsts[input->stretches[i]] + input->positions[i]] = input->places[i];
  return writer->places != NULL;
}

/* The outermost place of a stretch's first known record. 0: there is none. */
static uint32_t stretch_place(const struct writer *writer, uint32_t stretch) {
  uint64_t i = writer->firsts[stretch];
  while (i < writer->firsts[stretch + 1] && writer->places[i] == 0)
    i++;
  const uint32_t number = i < writer->firsts[stretch + 1] ? writer->places[i] : 0;
  return sources_outermost(writer->sources, number);
}

/* ---- Entries ---- */

static int compare_entries(const void *a, const void *b) {
  const struct entry *x = a, *y = b;
  const int order = strcmp(x->name, y->name);
  return order != 0 ? order : strcmp(x->file, y->file);
}

static void add_function(struct writer *writer, uint32_t function) {
  const struct function *own = &writer->functions[function];
  writer->entries[writer->entry_count++] =
      (struct entry){name_at(writer, own->name), function, name_at(writer, own->file)};
}

static void sort_entries(struct writer *writer, uint32_t first) {
  qsort(writer->entries + first, writer->entry_count - first, sizeof *writer->entries,
        compare_entries);
}

/* The functions of stretches, and then the others. */
static void add_functions(struct writer *writer) {
  for (uint32_t i = 0; i < writer->input->stretch_count; i++) {
    const uint32_t place = stretch_place(writer, i);
    if (place == 0) {
      writer->entries[writer->entry_count++] = (struct entry){NULL, NONE, NULL};
      continue;
    }
    const uint32_t function = writer->functions_of[place];
    if (writer->functions[function].entry == NONE) {
      writer->functions[function].entry = i;
      writer->functions[function].line = place_at(writer, place).line;
    }
    add_function(writer, function);
  }
  const uint32_t first = writer->entry_count;
  for (uint32_t i = 0; i < writer->function_count; i++)
    if (writer->functions[i].entry == NONE)
      add_function(writer, i);
  sort_entries(writer, first);
  for (uint32_t i = first; i < writer->entry_count; i++)
    writer->functions[writer->entries[i].function].entry = i;
  assert(first == writer->input->stretch_count);
  writer->callables = writer->entry_count;
}

static void add_files(struct writer *writer) {
  for (uint32_t i = 0; i < writer->function_count; i++) {
    const uint32_t file = writer->functions[i].file;
    if (file != 0 && writer->file_entries[file] == 0) {
      writer->file_entries[file] = file;
      writer->entries[writer->entry_count++] = (struct entry){name_at(writer, file), file, ""};
    }
  }
  sort_entries(writer, writer->callables);
  for (uint32_t i = writer->callables; i < writer->entry_count; i++) {
    writer->file_entries[writer->entries[i].function] = 1 + i - writer->callables;
    writer->entries[i].function = NONE;
  }
}

static bool list_entries(struct writer *writer) {
  const uint32_t names = writer->sources->names.count;
  const uint64_t most = (uint64_t)writer->input->stretch_count + writer->function_count + names;
  writer->entries = array(writer, most, sizeof *writer->entries);
  writer->file_entries = array(writer, names, sizeof *writer->file_entries);
  if (writer->owned.failed)
    return false;
  add_functions(writer);
  add_files(writer);
  assert(writer->entry_count <= most);
  return true;
}

/* ---- Tails ---- */

static uint32_t add_tail(struct writer *writer, uint32_t number, uint32_t inner) {
  const uint32_t function = writer->functions_of[number];
  const uint32_t line = place_at(writer, number).line - writer->functions[function].line;
  const uint64_t words[] = {(uint64_t)function << 32 | line, inner};
  return intern_add(&writer->tails, words, 2);
}

/* Finds the tail of a record of a stretch. */
static bool find_tail(struct writer *writer, uint32_t stretch, uint64_t record) {
  uint32_t tail = NONE, number = writer->places[record];
  for (; number != 0 && place_at(writer, number).caller != 0;
       number = place_at(writer, number).caller)
    if ((tail = add_tail(writer, number, tail)) == INTERN_FAILED)
      return false;
  writer->is_whole[record] =
      number != 0 && writer->functions_of[number] != writer->entries[stretch].function;
  if (writer->is_whole[record] && (tail = add_tail(writer, number, tail)) == INTERN_FAILED)
    return false;
  writer->tails_of[record] = tail;
  return true;
}

static int compare_tails(const void *a, const void *b) {
  const struct tail *x = a, *y = b;
  const int32_t x_line = (int32_t)x->line, y_line = (int32_t)y->line;
  ORDER_BY(x, y, function)
  if (x_line != y_line)
    return x_line < y_line ? -1 : 1;
  ORDER_BY(x, y, number)
  return 0;
}

/* Sorts the tails by function and line. */
static bool sort_tails(struct writer *writer) {
  const uint32_t count = writer->tails.count;
  writer->sorted = array(writer, count, sizeof *writer->sorted);
  writer->tail_numbers = array(writer, count, sizeof *writer->tail_numbers);
  if (writer->owned.failed)
    return false;
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t *words = intern_get(&writer->tails, i).words;
    const uint32_t entry = writer->functions[words[0] >> 32].entry;
    assert(entry < writer->callables);
    writer->sorted[i] = (struct tail){entry, (uint32_t)words[0], (uint32_t)words[1], i};
  }
  qsort(writer->sorted, count, sizeof *writer->sorted, compare_tails);
  for (uint32_t i = 0; i < count; i++)
    writer->tail_numbers[writer->sorted[i].number] = i;
  return true;
}

static bool find_tails(struct writer *writer) {
  const uint32_t stretches = writer->input->stretch_count;
  const uint64_t records = writer->firsts[stretches];
  writer->tails_of = array(writer, records, sizeof *writer->tails_of);
  writer->is_whole = array(writer, records, sizeof *writer->is_whole);
  if (writer->owned.failed)
    return false;
  for (uint32_t i = 0; i < stretches; i++)
    for (uint64_t k = writer->firsts[i]; k < writer->firsts[i + 1]; k++)
      if (!find_tail(writer, i, k))
        return false;
  return sort_tails(writer);
}

static void put_number(struct bit_writer *out, uint64_t number) {
  for (; number >> SOURCES_NIBBLE != 0; number >>= SOURCES_NIBBLE)
    bit_writer_put(out, number | 1u << SOURCES_NIBBLE, SOURCES_NIBBLE + 1);
  bit_writer_put(out, number, SOURCES_NIBBLE + 1);
}

/* A difference of lines, which wraps. */
static uint64_t difference(uint32_t to, uint32_t from) {
  return bits_zigzag((uint64_t)(int64_t)(int32_t)(to - from));
}

static void put_tail(struct writer *writer, uint32_t number) {
  struct bit_writer *out = &writer->tail_bits;
  const struct tail *tail = &writer->sorted[number];
  bool is_new = true;
  if (number % SOURCES_GROUP == 0)
    bit_writer_put(out, tail->function, bits_for_count(writer->callables));
  else {
    assert(compare_tails(tail - 1, tail) < 0);
    is_new = tail->function != tail[-1].function;
    bit_writer_put(out, is_new, 1);
    if (is_new)
      put_number(out, tail->function - tail[-1].function - 1);
  }
  if (writer->has_lines)
    put_number(out, is_new ? difference(tail->line, 0) : tail->line - tail[-1].line);
  bit_writer_put(out, tail->inner != NONE, 1);
  if (tail->inner != NONE)
    bit_writer_put(out, writer->tail_numbers[tail->inner], bits_for_count(writer->tails.count));
}

static void put_tails(struct writer *writer, uint64_t *starts) {
  for (uint32_t i = 0; i <= writer->tails.count; i++) {
    if (i % SOURCES_GROUP == 0) {
      bit_writer_align(&writer->tail_bits, 8);
      starts[i / SOURCES_GROUP] = writer->tail_bits.size / 8;
    }
    if (i < writer->tails.count)
      put_tail(writer, i);
  }
  bit_writer_align(&writer->tail_bits, 8);
}

/* ---- Records ---- */

static enum sources_kind kind_of(const struct writer *writer, uint64_t record) {
  return writer->places[record] == 0 ? SOURCES_NOWHERE
         : writer->is_whole[record]  ? SOURCES_WHOLE
                                     : SOURCES_USUAL;
}

/* The line of a record's outermost frame, relative to its function's. */
static uint32_t outer_line(const struct writer *writer, uint64_t record) {
  const uint32_t number = sources_outermost(writer->sources, writer->places[record]);
  return place_at(writer, number).line - writer->functions[writer->functions_of[number]].line;
}

static void put_tail_of(const struct writer *writer, struct bit_writer *out, uint64_t record,
                        uint32_t before) {
  const uint32_t tail = writer->tails_of[record];
  bit_writer_put(out, tail != before, 1);
  if (tail != before) {
    bit_writer_put(out, tail != NONE, 1);
    if (tail != NONE)
      bit_writer_put(out, writer->tail_numbers[tail], bits_for_count(writer->tails.count));
  }
}

static void put_records(const struct writer *writer, struct bit_writer *out, uint32_t stretch) {
  const uint64_t first = writer->firsts[stretch], end = writer->firsts[stretch + 1];
  bool is_mixed = false;
  uint32_t line = 0, tail = NONE;
  for (uint64_t i = first; i < end; i++)
    is_mixed |= kind_of(writer, i) != SOURCES_USUAL;
  bit_writer_put(out, is_mixed, 1);
  for (uint64_t i = first; i < end; i++) {
    const enum sources_kind kind = kind_of(writer, i);
    if (is_mixed)
      bit_writer_put(out, kind, SOURCES_KIND_WIDTH);
    if (writer->tails.count > 0 && kind != SOURCES_NOWHERE) {
      put_tail_of(writer, out, i, tail);
      tail = writer->tails_of[i];
    }
    if (writer->has_lines && kind == SOURCES_USUAL) {
      const uint32_t own = outer_line(writer, i);
      put_number(out, difference(own, line));
      line = own;
    }
  }
  bit_writer_align(out, 8);
}

/* ---- Entries ---- */

/* All names, as codes. */
static bool code_names(const struct writer *writer, struct bit_writer *text,
                       struct sources_pairs *pairs) {
  for (uint32_t i = 0; i < writer->entry_count; i++)
    if (writer->entries[i].name != NULL)
      bit_writer_bytes(text, writer->entries[i].name, strlen(writer->entries[i].name) + 1);
  size_t size = text->size / 8;
  return !text->failed && sources_pairs_make(pairs, text->bytes, &size);
}

/* Puts an entry, whose name's codes are next in the text. */
static void put_entry(struct writer *writer, uint32_t number, struct function *before,
                      const uint8_t **text) {
  const struct entry *entry = &writer->entries[number];
  struct bit_writer *out = &writer->entry_bytes;
  const struct function own =
      entry->function == NONE ? *before : writer->functions[entry->function];
  if (entry->name == NULL) {
    bit_writer_varint(out, 0);
    return;
  }
  const bool has_file = own.file != before->file;
  bit_writer_varint(out, 1 + (difference(own.line, before->line) << 1 | (has_file ? 1 : 0)));
  if (has_file)
    bit_writer_varint(out, own.file == 0 ? 0 : writer->file_entries[own.file]);
  const size_t length = strlen((const char *)*text);
  bit_writer_varint(out, length);
  bit_writer_bytes(out, *text, length);
  *text += length + 1;
  *before = own;
  if (number < writer->input->stretch_count) {
    struct bit_writer records = {0};
    put_records(writer, &records, number);
    bit_writer_varint(out, records.size / 8);
    bit_writer_append(out, &records);
    bit_writer_free(&records);
  }
}

static void put_entries(struct writer *writer, const uint8_t *text, uint64_t *starts) {
  struct function before = {0};
  for (uint32_t i = 0; i <= writer->entry_count; i++) {
    if (i % SOURCES_GROUP == 0) {
      starts[i / SOURCES_GROUP] = writer->entry_bytes.size / 8;
      before = (struct function){0};
    }
    if (i < writer->entry_count)
      put_entry(writer, i, &before, &text);
  }
}

/* ---- The whole ---- */

static void put_starts(struct bit_writer *out, const uint64_t *starts, uint64_t count,
                       unsigned bytes) {
  for (uint64_t i = 0; i < count; i++)
    bit_writer_put(out, starts[i], bytes * 8);
}

/* Puts the parts of the part together. */
static bool put_part(struct writer *writer, const struct sources_pairs *pairs, const uint8_t *text,
                     struct bit_writer *out) {
  const uint64_t groups = writer->entry_count / SOURCES_GROUP + 1u;
  const uint64_t tail_groups = writer->tails.count / SOURCES_GROUP + 1u;
  uint64_t *starts = array(writer, groups, sizeof *starts);
  uint64_t *tail_starts = array(writer, tail_groups, sizeof *tail_starts);
  if (writer->owned.failed)
    return false;
  put_entries(writer, text, starts);
  put_tails(writer, tail_starts);
  const unsigned start_bytes = bits_bytes_for(writer->entry_bytes.size / 8);
  const unsigned tail_start_bytes = bits_bytes_for(writer->tail_bits.size / 8);
  bit_writer_put(out, writer->callables, 32);
  bit_writer_put(out, writer->entry_count - writer->callables, 32);
  bit_writer_put(out, writer->tails.count, 32);
  bit_writer_put(out, writer->names_size, 32);
  bit_writer_put(out, writer->tail_bits.size / 8, 32);
  bit_writer_put(out, writer->depth, 8);
  bit_writer_put(out, start_bytes | tail_start_bytes << 3 | writer->has_lines << 6, 8);
  bit_writer_put(out, pairs->literal_count - 1, 8);
  bit_writer_put(out, pairs->pair_count, 8);
  bit_writer_bytes(out, pairs->literals, pairs->literal_count);
  bit_writer_bytes(out, pairs->codes, 2u * pairs->pair_count);
  put_starts(out, starts, groups, start_bytes);
  put_starts(out, tail_starts, tail_groups, tail_start_bytes);
  bit_writer_append(out, &writer->tail_bits);
  bit_writer_append(out, &writer->entry_bytes);
  return !out->failed;
}

static bool write(struct writer *writer, struct bit_writer *out, bool *is_too_large) {
  struct bit_writer text = {0};
  struct sources_pairs pairs;
  if (!use_records(writer))
    return false;
  if (writer->depth == 0)
    return true;
  *is_too_large = writer->depth > SOURCES_DEPTH_MAX || writer->names_size > SOURCES_NAMES_MAX;
  const bool ok = !*is_too_large && sort_places(writer) && list_entries(writer) &&
                  find_tails(writer) && code_names(writer, &text, &pairs) &&
                  put_part(writer, &pairs, text.bytes, out);
  bit_writer_free(&text);
  return ok;
}

bool sources_write(const struct sources_input *input, struct bit_writer *out, bool *is_too_large) {
  struct writer writer = {.input = input, .sources = input->sources};
  assert(out->size == 0);
  *is_too_large = false;
  const bool ok = write(&writer, out, is_too_large);
  owned_free(&writer.owned);
  intern_free(&writer.pairs);
  intern_free(&writer.tails);
  bit_writer_free(&writer.tail_bits);
  bit_writer_free(&writer.entry_bytes);
  return ok;
}
