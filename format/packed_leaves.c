/* packed_leaves.c - builds the directory and the leaves: the builder to packed_leaf.c, which draws
 * them.
 *
 * Layouts that several runs have come first. Any other one stands behind the leaf in which its
 * run starts, as the look-up of a record has just read that leaf. References to it count from there,
 * so that they are short; of one leaf's own layouts, the shortest come first, as only starts count.
 *
 * How wide fields are depends on how large all is, and the other way round: so the leaves are
 * measured with narrow fields first, and again with wider ones until all fits.
 */
#include "packed_write.h"

#include <stdlib.h>

enum {
  SAMPLED = 1 << PACKED_LEAF_SAMPLE_SHIFT,
  RECORDS_MIN = 64, /* of a leaf, on average; at most twice as many */
};

struct leaf {
  uint32_t first;            /* record */
  uint32_t first_run;        /* that starts in the leaf or behind it */
  uint32_t own_from, own_to; /* its own layouts, in `own` */
  uint64_t start;            /* in bytes */
  uint64_t references_at;    /* in bits */
  bool continued;            /* its first record has no mark, but is in a run */
};

struct builder {
  const struct safepoints *table;
  struct packed_header *header;
  const struct packed_run *runs;
  struct packed_layouts *layouts;
  uint64_t text_start;
  struct leaf *leaves; /* and one behind the last */
  uint64_t leaf_count;
  uint32_t *own; /* layouts in the order of their places, leaf by leaf */
};

static uint64_t layout_size(const struct packed_layouts *layouts, uint32_t layout) {
  return layouts->starts[layout + 1] - layouts->starts[layout];
}

static uint64_t leaf_of(const struct builder *builder, uint32_t record) {
  return (builder->table->records[record].address - builder->text_start) >>
         builder->header->leaf_shift;
}

/* Leaves of 64 to 128 records on average, or one for all. */
static void choose_shift(struct packed_header *header) {
  header->leaf_shift = header->record_shift;
  while (header->leaf_shift < 47 &&
         (header->text_size >> header->leaf_shift) + 1 > header->records / RECORDS_MIN + 1)
    header->leaf_shift++;
}

static void divide_records(struct builder *builder) {
  const uint32_t records = builder->header->records, runs = packed_runs(builder->header);
  uint32_t record = 0, run = 0;
  for (uint64_t i = 0; i <= builder->leaf_count; i++) {
    struct leaf *leaf = &builder->leaves[i];
    leaf->first = record;
    leaf->first_run = run;
    while (record < records && leaf_of(builder, record) == i)
      record++;
    while (run < runs && builder->runs[run].first < record)
      run++;
    leaf->continued =
        record > leaf->first && leaf->first_run > 0 &&
        (leaf->first_run == runs || builder->runs[leaf->first_run].first != leaf->first);
  }
}

/* ---- Layouts ---- */

/* For sorting: a size, and behind it what has it. */
static uint64_t size_key(uint64_t size, uint32_t layout) { return size << 32 | layout; }

static bool own_layouts(struct builder *builder) {
  struct packed_layouts *layouts = builder->layouts;
  uint64_t *keys = malloc(((uint64_t)layouts->count + 1) * sizeof *keys);
  uint32_t next = 0;
  if (keys == NULL)
    return false;
  for (uint64_t i = 0; i < builder->leaf_count; i++) {
    struct leaf *leaf = &builder->leaves[i];
    uint32_t count = 0;
    for (uint32_t run = leaf->first_run; run < builder->leaves[i + 1].first_run; run++) {
      const uint32_t layout = builder->runs[run].layout;
      if (layouts->uses[layout] == 1)
        keys[count++] = size_key(layout_size(layouts, layout), layout);
    }
    qsort(keys, count, sizeof *keys, bits_compare_words);
    leaf->own_from = next;
    for (uint32_t k = 0; k < count; k++)
      builder->own[next++] = (uint32_t)keys[k];
    leaf->own_to = next;
  }
  free(keys);
  return true;
}

/* Places the layouts that don't belong to one run: those with most uses first. */
static bool place_shared(struct builder *builder) {
  struct packed_layouts *layouts = builder->layouts;
  uint64_t *keys = malloc(((uint64_t)layouts->count + 1) * sizeof *keys);
  uint32_t count = 0;
  uint64_t size = 0;
  if (keys == NULL)
    return false;
  for (uint32_t i = 0; i < layouts->count; i++)
    if (layouts->uses[i] != 1)
      keys[count++] = size_key(UINT32_MAX - layouts->uses[i], i);
  qsort(keys, count, sizeof *keys, bits_compare_words);
  for (uint32_t i = 0; i < count; i++) {
    layouts->places[(uint32_t)keys[i]] = size;
    size += layout_size(layouts, (uint32_t)keys[i]);
  }
  for (uint32_t i = 0; i < count; i++)
    builder->own[layouts->count - 1 - i] = (uint32_t)keys[i];
  layouts->shared_count = count;
  free(keys);
  builder->header->shared_size = (uint32_t)size;
  return size <= UINT32_MAX;
}

/* ---- Sizes ---- */

struct widths {
  unsigned start, reference, position;
};

static unsigned bucket_width(const struct builder *builder, uint64_t records) {
  const struct packed_header *header = builder->header;
  return packed_leaf_bucket_width((unsigned)header->leaf_shift - header->record_shift, records);
}

/* Measures all leaves, and places them and their own layouts. Returns the widths that this takes. */
static struct widths place_leaves(struct builder *builder, struct widths widths) {
  struct packed_layouts *layouts = builder->layouts;
  const struct packed_header *header = builder->header;
  const unsigned universe = (unsigned)header->leaf_shift - header->record_shift;
  uint64_t byte = header->shared_size, reference_max = byte;
  struct widths needed = {0, 0, 0};
  for (uint64_t i = 0; i <= builder->leaf_count; i++) {
    struct leaf *leaf = &builder->leaves[i];
    leaf->start = byte;
    if (i == builder->leaf_count || leaf[1].first == leaf->first)
      continue;
    const uint64_t n = leaf[1].first - leaf->first;
    const unsigned width = bucket_width(builder, n);
    const uint64_t high_bits = n + ((uint64_t)1 << width);
    const bool starts =
        leaf->first_run < leaf[1].first_run && builder->runs[leaf->first_run].first == leaf->first;
    leaf->references_at = byte * 8 + high_bits + n +
                          packed_leaf_samples(n, (uint64_t)1 << width, bits_for_count(high_bits)) +
                          packed_leaf_samples(n, n, bits_for_count(n + 1)) +
                          (starts ? 0 : widths.start + widths.position) + n * (universe - width);
    const uint64_t references = leaf[1].first_run - leaf->first_run;
    byte = bits_to_bytes(leaf->references_at + references * widths.reference);
    for (uint32_t k = leaf->own_from; k < leaf->own_to; k++) {
      const uint64_t reference = byte - leaf->references_at / 8 + header->shared_size;
      reference_max = reference > reference_max ? reference : reference_max;
      layouts->places[builder->own[k]] = byte;
      byte += layout_size(layouts, builder->own[k]);
    }
    if (leaf->continued) {
      const unsigned position =
          bits_for_count((uint64_t)leaf->first - builder->runs[leaf->first_run - 1].first + 1);
      needed.position = position > needed.position ? position : needed.position;
    }
  }
  needed.start = bits_for_count(byte + 1);
  needed.reference = bits_for_count(reference_max + 1);
  return needed;
}

static struct widths settle_widths(struct builder *builder) {
  struct widths widths = {1, 1, 0};
  for (;;) {
    const struct widths needed = place_leaves(builder, widths);
    if (needed.start <= widths.start && needed.reference <= widths.reference &&
        needed.position <= widths.position)
      return widths;
    widths.start = needed.start > widths.start ? needed.start : widths.start;
    widths.reference = needed.reference > widths.reference ? needed.reference : widths.reference;
    widths.position = needed.position > widths.position ? needed.position : widths.position;
  }
}

/* ---- Writing ---- */

static uint64_t shifted_offset(const struct builder *builder, uint32_t record) {
  const uint64_t offset = builder->table->records[record].address - builder->text_start;
  return (offset & bits_low_mask(builder->header->leaf_shift)) >> builder->header->record_shift;
}

static void write_high(const struct builder *builder, const struct leaf *leaf, unsigned low_width,
                       struct bit_writer *bits, struct bit_writer *samples) {
  const uint64_t n = leaf[1].first - leaf->first, start = bits->size;
  const uint64_t buckets = (uint64_t)1 << bucket_width(builder, n);
  const unsigned sample_width = bits_for_count(n + buckets);
  uint32_t record = leaf->first;
  for (uint64_t bucket = 0; bucket < buckets; bucket++) {
    if (n > SAMPLED && bucket % SAMPLED == 0)
      bit_writer_put(samples, bits->size - start, sample_width);
    for (; record < leaf[1].first && shifted_offset(builder, record) >> low_width == bucket;
         record++)
      bit_writer_put(bits, 1, 1);
    bit_writer_put(bits, 0, 1);
  }
}

static void write_marks(const struct builder *builder, const struct leaf *leaf,
                        struct bit_writer *bits, struct bit_writer *samples) {
  const uint64_t n = leaf[1].first - leaf->first;
  uint32_t run = leaf->first_run;
  for (uint32_t record = leaf->first; record < leaf[1].first; record++) {
    if (n > SAMPLED && (record - leaf->first) % SAMPLED == 0)
      bit_writer_put(samples, run - leaf->first_run, bits_for_count(n + 1));
    const bool starts = run < leaf[1].first_run && builder->runs[run].first == record;
    bit_writer_put(bits, starts, 1);
    run += starts;
  }
}

static uint64_t reference_to(const struct builder *builder, const struct leaf *leaf,
                             uint32_t layout) {
  const uint64_t place = builder->layouts->places[layout];
  if (place < builder->header->shared_size)
    return place;
  return place - leaf->references_at / 8 + builder->header->shared_size;
}

static void write_leaf(const struct builder *builder, const struct leaf *leaf, struct widths widths,
                       struct bit_writer *bits) {
  const uint64_t n = leaf[1].first - leaf->first;
  if (n == 0)
    return;
  const unsigned universe = (unsigned)builder->header->leaf_shift - builder->header->record_shift;
  const unsigned low_width = universe - bucket_width(builder, n);
  struct bit_writer samples = {0};
  write_high(builder, leaf, low_width, bits, &samples);
  write_marks(builder, leaf, bits, &samples);
  bit_writer_copy(bits, samples.bytes, 0, samples.size);
  bits->failed |= samples.failed;
  bit_writer_free(&samples);
  if (leaf->first_run == leaf[1].first_run || builder->runs[leaf->first_run].first != leaf->first) {
    const struct packed_run *run = leaf->continued ? &builder->runs[leaf->first_run - 1] : NULL;
    bit_writer_put(bits, run == NULL ? 0 : builder->layouts->places[run->layout], widths.start);
    bit_writer_put(bits, run == NULL ? 0 : leaf->first - run->first, widths.position);
  }
  for (uint32_t record = leaf->first; record < leaf[1].first; record++)
    bit_writer_put(bits, shifted_offset(builder, record), low_width);
  for (uint32_t run = leaf->first_run; run < leaf[1].first_run; run++)
    bit_writer_put(bits, reference_to(builder, leaf, builder->runs[run].layout), widths.reference);
  bit_writer_align(bits);
}

static void write_layout(const struct builder *builder, uint32_t layout, struct bit_writer *bits) {
  const uint64_t start = builder->layouts->starts[layout];
  bit_writer_copy(bits, builder->layouts->bits.bytes, start * 8,
                  layout_size(builder->layouts, layout) * 8);
}

static void write_all(const struct builder *builder, struct widths widths,
                      struct bit_writer *directory, struct bit_writer *leaves) {
  const struct packed_header *header = builder->header;
  for (uint32_t i = 0; i < builder->layouts->shared_count; i++)
    write_layout(builder, builder->own[builder->layouts->count - 1 - i], leaves);
  for (uint64_t i = 0; i <= builder->leaf_count && builder->leaf_count > 0; i++) {
    const struct leaf *leaf = &builder->leaves[i];
    bit_writer_put(directory, leaf->start, widths.start);
    bit_writer_put(directory, leaf->first, bits_for_count((uint64_t)header->records + 1));
    bit_writer_put(directory, leaf->first_run, bits_for_count((uint64_t)packed_runs(header) + 1));
    if (i == builder->leaf_count)
      break;
    write_leaf(builder, leaf, widths, leaves);
    for (uint32_t k = leaf->own_from; k < leaf->own_to; k++)
      write_layout(builder, builder->own[k], leaves);
  }
  bit_writer_align(directory);
}

bool packed_write_leaves(const struct safepoints *table, uint64_t text_start,
                         struct packed_header *header, const struct packed_run *runs,
                         struct packed_layouts *layouts, struct bit_writer *directory,
                         struct bit_writer *leaves) {
  struct builder builder = {
      .table = table, .header = header, .runs = runs, .layouts = layouts, .text_start = text_start};
  choose_shift(header);
  builder.leaf_count = packed_leaf_count(header);
  builder.leaves = calloc(builder.leaf_count + 2, sizeof *builder.leaves);
  builder.own = calloc((uint64_t)layouts->count + 1, sizeof *builder.own);
  bool ok = builder.leaves != NULL && builder.own != NULL;
  if (ok) {
    divide_records(&builder);
    ok = own_layouts(&builder) && place_shared(&builder);
  }
  if (ok) {
    const struct widths widths = settle_widths(&builder);
    header->reference_width = (uint8_t)widths.reference;
    header->position_width = (uint8_t)widths.position;
    write_all(&builder, widths, directory, leaves);
    header->leaves_size = (uint32_t)(leaves->size / 8);
    ok = !directory->failed && !leaves->failed;
  }
  free(builder.leaves);
  free(builder.own);
  return ok;
}
