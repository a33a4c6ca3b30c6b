/* packed_write.c - builds a packed table: the parts of packed.h, in their order.
 *
 * A record's function mostly follows from the addresses: see packed.h. So first the exceptions are
 * found. Then the text is cut into stretches, and each function's layout is put together: the live
 * set of each of its records in order. Equal layouts are written once, and a layout that is the
 * start of another one shares its bytes.
 */
#include "format/checksum.h"
#include "format/packed_encoder.h"
#include "format/search.h"

#include <assert.h>
#include <stdlib.h>

static bool fail(struct encoder *encoder, const char *error) {
  if (encoder->error == NULL)
    encoder->error = error;
  return false;
}

static bool no_memory(struct encoder *encoder) { return fail(encoder, "not enough memory"); }

bool encoder_too_many(struct encoder *encoder) {
  return fail(encoder, "more stack maps than a packed table can hold");
}

void *encoder_array(struct encoder *encoder, uint64_t count, size_t size) {
  void *array = owned_array(&encoder->owned, count, size);
  if (array == NULL)
    no_memory(encoder);
  return array;
}

/* The number of low bits that are 0 in `bits`, an or of numbers. */
static uint8_t common_shift(uint64_t bits) {
  const unsigned shift = bits == 0 ? 0 : (unsigned)__builtin_ctzll(bits);
  return (uint8_t)(shift < 16 ? shift : 16);
}

/* ---- Records and their functions ---- */

/* Counts for each function the records that are its own by rule: the ones above its start, up to
 * the next function's. Of functions with one start, the last one has them. */
static void count_by_rule(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint32_t record = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    struct encoder_function *plan = &encoder->functions[i];
    while (record < table->record_count &&
           table->records[record].address <= table->functions[i].address)
      record++;
    plan->first = record;
    const bool last = i + 1 == table->function_count;
    while (record < table->record_count &&
           (last || table->records[record].address <= table->functions[i + 1].address))
      record++;
    plan->by_rule = record - plan->first;
  }
  assert(record == table->record_count);
}

/* Finds each record's position in its function's layout, and lists the records that are their
 * function's, but not by rule. Their positions come after the positions by rule. */
static void find_positions(struct encoder *encoder) {
  struct bit_writer *out = &encoder->parts[PACKED_EXCEPTIONS];
  for (uint32_t i = 0; i < encoder->table->record_count; i++) {
    struct encoder_function *plan = &encoder->functions[encoder->table->records[i].function];
    encoder->positions[i] = i - plan->first;
    encoder->record_stretches[i] = plan->stretch;
    if (i >= plan->first && encoder->positions[i] < plan->by_rule)
      continue;
    encoder->positions[i] = plan->by_rule + plan->extra++;
    bit_writer_put(out, i, 32);
    bit_writer_put(out, plan->stretch, 32);
    bit_writer_put(out, encoder->positions[i], 32);
  }
}

/* ---- Stretches ---- */

/* Up to where the addresses of a function are managed: to the furthest end of the code of all
 * functions up to it (`reach`), and at least to its last record, but not beyond the next
 * function's start. */
static uint64_t managed_end(const struct encoder *encoder, uint32_t function, uint64_t reach) {
  const struct safepoints *table = encoder->table;
  const struct encoder_function *plan = &encoder->functions[function];
  const uint32_t records = plan->first + plan->by_rule;
  uint64_t known = table->functions[function].address;
  if (records > 0 && table->records[records - 1].address > known)
    known = table->records[records - 1].address;
  if (function + 1 < table->function_count && reach > table->functions[function + 1].address)
    reach = table->functions[function + 1].address;
  return reach > known ? reach : known;
}

/* Cuts the text into stretches. Layouts are filled in later. */
static void cut_text(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  struct packed_header *header = &encoder->header;
  uint64_t reach = 0, start_bits = 0, record_bits = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct safepoint_function *function = &table->functions[i];
    reach = function->end > reach ? function->end : reach;
    const uint64_t end = managed_end(encoder, i, reach) - encoder->text_start;
    assert(function->address - encoder->text_start <= end);
    encoder->functions[i].stretch = header->stretches;
    encoder->stretches[header->stretches++].offset = function->address - encoder->text_start;
    if (i + 1 == table->function_count)
      header->text_size = end;
    else if (end < function[1].address - encoder->text_start)
      encoder->stretches[header->stretches++] = (struct encoder_stretch){end, ENCODER_GAP};
  }
  for (uint32_t i = 0; i < header->stretches; i++)
    start_bits |= encoder->stretches[i].offset;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const uint64_t offset = table->records[i].address - encoder->text_start;
    assert(offset <= header->text_size);
    record_bits |= offset;
  }
  assert(header->stretches <= 2 * table->function_count);
  assert(IS_SORTED(encoder->stretches, header->stretches, offset));
  header->start_shift = common_shift(start_bits);
  header->record_shift = common_shift(record_bits);
}

static bool plan_functions(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  const uint64_t functions = table->function_count;
  if (functions > UINT32_MAX / 2)
    return encoder_too_many(encoder);
  encoder->functions = encoder_array(encoder, functions, sizeof *encoder->functions);
  encoder->stretches = encoder_array(encoder, functions * 2, sizeof *encoder->stretches);
  encoder->positions = encoder_array(encoder, table->record_count, sizeof *encoder->positions);
  encoder->record_stretches =
      encoder_array(encoder, table->record_count, sizeof *encoder->record_stretches);
  if (encoder->error != NULL)
    return false;
  count_by_rule(encoder);
  cut_text(encoder);
  find_positions(encoder);
  return true;
}

/* ---- Frames ---- */

/* Writes the known facts of frames, by records and stretches, and finds the functions whose frames
 * vary. */
static bool write_frames(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  const uint32_t stretches = encoder->header.stretches;
  uint32_t *numbers = encoder_array(encoder, table->record_count, sizeof *numbers);
  uint64_t *sizes = encoder_array(encoder, stretches, sizeof *sizes);
  encoder->varies = encoder_array(encoder, stretches, sizeof *encoder->varies);
  if (encoder->error != NULL)
    return false;
  for (uint32_t i = 0; i < table->record_count; i++) {
    numbers[i] = table->records[i].frame;
    sizes[encoder->record_stretches[i]] = table->functions[table->records[i].function].frame_size;
  }
  const struct frames_input input = {table->frame_machine,
                                     stretches,
                                     table->record_count,
                                     encoder->record_stretches,
                                     numbers,
                                     sizes,
                                     &table->frames};
  return frames_write(&input, encoder->varies, &encoder->parts[PACKED_FRAMES]) ||
         no_memory(encoder);
}

static bool varies(const struct encoder *encoder, uint32_t function) {
  return encoder->varies[encoder->functions[function].stretch];
}

/* ---- Frame sizes ---- */

/* Collects the distinct sizes of functions' frames. */
static bool collect_frame_sizes(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint64_t *sizes = encoder_array(encoder, table->function_count, sizeof *sizes);
  size_t count = 0;
  encoder->frame_sizes = sizes;
  for (int is_varying = 0; is_varying < 2 && encoder->error == NULL; is_varying++) {
    const size_t first = count;
    encoder->header.varying_from = (uint32_t)first;
    for (uint32_t i = 0; i < table->function_count; i++)
      if (varies(encoder, i) == is_varying)
        sizes[count++] = table->functions[i].frame_size;
    count = first + array_sort_words(sizes + first, count - first);
  }
  assert(count <= table->function_count);
  encoder->frame_size_count = count;
  return encoder->error == NULL;
}

/* Numbers and writes the distinct frame sizes. All ones are the unknown size. */
static bool write_frame_sizes(struct encoder *encoder) {
  struct packed_header *header = &encoder->header;
  uint64_t largest = 0, bits = 0;
  if (!collect_frame_sizes(encoder))
    return false;
  const uint64_t *sizes = encoder->frame_sizes;
  for (size_t i = 0; i < encoder->frame_size_count; i++)
    if (sizes[i] != SAFEPOINT_FRAME_SIZE_UNKNOWN) {
      largest = sizes[i] > largest ? sizes[i] : largest;
      bits |= sizes[i];
    }
  header->frame_shift = common_shift(bits);
  header->frame_width = (uint8_t)bits_for_count(encoder->frame_size_count);
  header->frame_bytes = bits_bytes_for((largest >> header->frame_shift) + 1);
  for (size_t i = 0; i < encoder->frame_size_count; i++)
    bit_writer_put(&encoder->parts[PACKED_FRAME_SIZES],
                   sizes[i] == SAFEPOINT_FRAME_SIZE_UNKNOWN ? UINT64_MAX
                                                            : sizes[i] >> header->frame_shift,
                   header->frame_bytes * 8u);
  return true;
}

static uint64_t frame_number(const struct encoder *encoder, uint32_t function) {
  const size_t varying = encoder->header.varying_from;
  const size_t first = varies(encoder, function) ? varying : 0;
  const size_t end = varies(encoder, function) ? encoder->frame_size_count : varying;
  const uint64_t size = encoder->table->functions[function].frame_size;
  const size_t number = first + search_words_below(encoder->frame_sizes + first, end - first, size);
  assert(number < end && encoder->frame_sizes[number] == size);
  return number;
}

/* ---- Layouts ---- */

/* Puts each function's frame size and the live sets of its records together: of those by rule, then
 * of the exceptions. A record among them that is another function's repeats some set: look-ups
 * never read it. */
static bool collect_sequences(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  uint64_t total = 0;
  for (uint32_t i = 0; i < table->function_count; i++) {
    encoder->functions[i].sequence = total;
    total += 1 + (uint64_t)encoder->functions[i].by_rule + encoder->functions[i].extra;
  }
  encoder->sequences = encoder_array(encoder, total, sizeof *encoder->sequences);
  if (encoder->error != NULL)
    return false;
  for (uint32_t i = 0; i < table->function_count; i++) {
    uint64_t *words = encoder->sequences + encoder->functions[i].sequence;
    *words++ = frame_number(encoder, i);
    for (uint32_t k = 0; k < encoder->functions[i].by_rule && table->functions[i].records > 0; k++)
      words[k] = table->records[table->functions[i].first_record].live;
  }
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    assert(encoder->positions[i] < encoder->functions[record->function].by_rule +
                                       encoder->functions[record->function].extra);
    encoder->sequences[encoder->functions[record->function].sequence + 1 + encoder->positions[i]] =
        record->live;
  }
  return true;
}

static bool is_start_of(const struct encoder_layout *start, const struct encoder_layout *layout) {
  return start->count <= layout->count &&
         memcmp(start->words, layout->words, start->count * sizeof *start->words) == 0;
}

/* The order with a layout right before the layouts that it is the start of. */
static int compare_layouts(const void *a, const void *b) {
  const struct encoder_layout *x = a, *y = b;
  for (uint64_t i = 0; i < x->count && i < y->count; i++)
    ORDER_BY(x, y, words[i])
  ORDER_BY(x, y, count)
  ORDER_BY(x, y, function)
  return 0;
}

/* Lists the layouts of all functions in that order. */
static void sort_layouts(const struct encoder *encoder, struct encoder_layout *layouts) {
  const struct safepoints *table = encoder->table;
  for (uint32_t i = 0; i < table->function_count; i++) {
    const struct encoder_function *plan = &encoder->functions[i];
    const uint64_t records = (uint64_t)plan->by_rule + plan->extra;
    layouts[i] = (struct encoder_layout){
        .words = encoder->sequences + plan->sequence,
        .count = 1 + (table->functions[i].records > 0 ? records : 0),
        .function = i,
    };
  }
  qsort(layouts, table->function_count, sizeof *layouts, compare_layouts);
}

/* The better one of two to represent their common start. Layouts are ordered by live sets' numbers,
 * and the choice must be independent of these: equal tables give equal bytes. */
static bool is_better(const struct encoder_layout *layout, const struct encoder_layout *other) {
  return layout->count != other->count ? layout->count < other->count
                                       : layout->function < other->function;
}

/* Finds for each of the sorted layouts the best one that it is the start of, and that is the start
 * of no other. `ends`: by place, the end of the layouts that it is the start of. */
static void find_whole(const struct encoder_layout *layouts, uint32_t *whole, uint32_t *ends,
                       uint32_t count) {
  for (uint32_t i = count; i-- > 0;) {
    uint32_t next = i + 1;
    whole[i] = i;
    for (; next < count && is_start_of(&layouts[i], &layouts[next]); next = ends[next])
      if (whole[i] == i || is_better(&layouts[whole[next]], &layouts[whole[i]]))
        whole[i] = whole[next];
    assert(whole[whole[i]] == whole[i] && is_start_of(&layouts[i], &layouts[whole[i]]));
    ends[i] = next;
  }
}

/* Numbers layouts as functions first have them: `layout` of a stretch is a place among the sorted
 * ones, and becomes a number. `numbers` has room for one of each place. */
static void number_layouts(struct encoder *encoder, const struct encoder_layout *sorted,
                           uint32_t *numbers) {
  const uint32_t functions = encoder->table->function_count;
  memset(numbers, 0xff, functions * sizeof *numbers);
  for (uint32_t i = 0; i < functions; i++) {
    uint32_t *layout = &encoder->stretches[encoder->functions[i].stretch].layout;
    uint32_t *number = &numbers[*layout];
    assert(*layout < functions);
    if (*number == UINT32_MAX) {
      *number = encoder->layout_count;
      encoder->layouts[encoder->layout_count++] = sorted[*layout];
    }
    *layout = *number;
  }
}

/* Gives functions the same layout whose live sets are equal, or the start of another's: a layout
 * has no number of records. */
static bool share_layouts(struct encoder *encoder) {
  const uint32_t functions = encoder->table->function_count;
  struct encoder_layout *sorted = encoder_array(encoder, functions, sizeof *sorted);
  uint32_t *whole = encoder_array(encoder, functions, sizeof *whole);
  uint32_t *ends = encoder_array(encoder, functions, sizeof *ends);
  encoder->layouts = encoder_array(encoder, functions, sizeof *encoder->layouts);
  if (encoder->error != NULL)
    return false;
  sort_layouts(encoder, sorted);
  find_whole(sorted, whole, ends, functions);
  for (uint32_t i = 0; i < functions; i++)
    encoder->stretches[encoder->functions[sorted[i].function].stretch].layout = whole[i];
  number_layouts(encoder, sorted, ends);
  return true;
}

/* ---- The whole ---- */

static void write_global_roots(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  struct bit_writer *out = &encoder->parts[PACKED_GLOBAL_ROOTS];
  const uint64_t *roots = table->global_roots;
  uint64_t bits = 0;
  if (table->global_root_count == 0)
    return;
  for (uint32_t i = 0; i < table->global_root_count; i++) {
    assert(i == 0 || roots[i - 1] < roots[i]);
    bits |= roots[i] - roots[0];
  }
  const unsigned shift = common_shift(bits);
  bit_writer_put(out, roots[0] - encoder->address, 64);
  bit_writer_put(out, shift, 8);
  for (uint32_t i = 0; i < table->global_root_count; i++)
    bit_writer_varint(out, i == 0 ? 0 : (roots[i] - roots[i - 1]) >> shift);
}

/* A part of the table: its number and its bytes. */
static bool put_entry(struct encoder *encoder, struct bit_writer *out, uint32_t number,
                      uint64_t size) {
  if (size > UINT32_MAX)
    return encoder_too_many(encoder);
  if (size > 0) {
    bit_writer_put(out, number, 32);
    bit_writer_put(out, size, 32);
  }
  return true;
}

/* Puts header, entries and parts one after the other; sizes and checksums are set last. */
static bool join_parts(struct encoder *encoder, struct bit_writer *out) {
  static const uint8_t padding[BITS_PADDING] = {0};
  struct packed_header *header = &encoder->header;
  assert(out->size == 0 && encoder->parts[PACKED_NO_PART].size == 0);
  bit_writer_bytes(out, header, sizeof *header);
  for (uint32_t i = 0; i < PACKED_PARTS; i++)
    if (!put_entry(encoder, out, i, bits_to_bytes(encoder->parts[i].size)))
      return false;
  header->header_size = (uint16_t)(out->size / 8);
  header->part_count = (uint16_t)((header->header_size - sizeof *header) / PACKED_ENTRY_SIZE);
  for (uint32_t i = 0; i < PACKED_PARTS; i++)
    bit_writer_append(out, &encoder->parts[i]);
  bit_writer_bytes(out, padding, sizeof padding);
  if (out->failed)
    return no_memory(encoder);
  header->size = out->size / 8;
  header->checksum =
      checksum64(out->bytes + header->header_size, header->size - header->header_size);
  memcpy(out->bytes, header, sizeof *header);
  header->header_checksum = packed_header_checksum(out->bytes, header->header_size);
  memcpy(out->bytes, header, sizeof *header);
  return true;
}

static bool encode(struct encoder *encoder, struct bit_writer *out) {
  assert(safepoints_are_finished(encoder->table));
  static bool (*const steps[])(struct encoder *) = {
      plan_functions, write_frames,         write_frame_sizes,    collect_sequences,
      share_layouts,  packed_write_numbers, packed_write_layouts, packed_write_leaves,
  };
  const struct safepoints *table = encoder->table;
  encoder->header = (struct packed_header){
      .magic = PACKED_MAGIC,
      .version = PACKED_VERSION,
      .machine = table->machine,
      .records = table->record_count,
      .functions = table->function_count,
      .stretch_width = 1,
      .reference_bytes = 1,
      .frame_bytes = 1,
      .long_width = 1,
  };
  encoder->text_start = table->function_count > 0 ? table->functions[0].address : encoder->address;
  encoder->header.text_start = (int64_t)(encoder->text_start - encoder->address);
  if (table->code_end != 0)
    encoder->header.code_end = (int64_t)(table->code_end - encoder->address);
  for (size_t i = 0; i < sizeof steps / sizeof *steps && table->function_count > 0; i++)
    if (!steps[i](encoder))
      return no_memory(encoder);
  if (!packed_write_details(encoder))
    return no_memory(encoder);
  write_global_roots(encoder);
  if (encoder->write_sources != NULL && !encoder->write_sources(encoder))
    return no_memory(encoder);
  return join_parts(encoder, out);
}

const char *packed_write_with(struct encoder *encoder, uint8_t **bytes, size_t *size) {
  struct bit_writer out = {0};
  const bool ok = encode(encoder, &out);
  owned_free(&encoder->owned);
  for (unsigned i = 0; i < PACKED_PARTS; i++)
    bit_writer_free(&encoder->parts[i]);
  if (!ok) {
    bit_writer_free(&out);
    return encoder->error;
  }
  *bytes = out.bytes;
  *size = out.size / 8;
  return NULL;
}

const char *packed_write_quickly(const struct safepoints *table, uint64_t address, uint8_t **bytes,
                                 size_t *size) {
  struct encoder encoder = {.table = table, .address = address, .is_quick = true};
  return packed_write_with(&encoder, bytes, size);
}
