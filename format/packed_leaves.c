/* packed_leaves.c - builds the directory and the leaves: the builder to packed_leaf.c, which draws
 * them.
 *
 * Layouts that several runs have come first, those with most uses before others. Any other one stands
 * behind the leaf in which its run starts, as the look-up of a record has just read that leaf.
 *
 * How wide fields are depends on how large all is, and the other way round: so the leaves are
 * measured with narrow fields first, and again with wider ones until all fits.
 *
 * The same circle is in a leaf: how many bits tell where its own layouts start depends on the span
 * from there to the next leaf, which these bits are in. A longer span never takes fewer bits:
 * between the spans at which the low bits get one more, that is plain; and there, each of the starts
 * takes one bit more, while half of the span's high part goes, which is less (packed_own_bits: the
 * high part was below 2^bits_for_count(owns), and owns is more than half of that). So with a span
 * that is one byte longer, the layouts start at most one byte nearer to its end; and going up from
 * the layouts' own size, which is too short, there comes a span that is just long enough.
 */
#include "format/packed_write.h"

#include <stdlib.h>

enum {
  RECORDS_OF_GROUP = 1 << PACKED_RECORDS_PER_GROUP_SHIFT,
  RECORDS_MIN = 48, /* of a leaf, on average; at most twice as many */
};

struct leaf {
  uint32_t first;            /* record */
  uint32_t first_run;        /* that starts in the leaf or behind it */
  uint32_t own_from, own_to; /* its own layouts, in `own` */
  uint64_t start;            /* in bytes */
  uint64_t span;             /* from where `own` is told to the leaf's end, in bytes */
  bool starts;               /* its first record has a mark */
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

/* Leaves of 48 to 96 records on average, or one for all. */
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
    leaf->starts = run > leaf->first_run && builder->runs[leaf->first_run].first == leaf->first;
  }
}

/* ---- Layouts ---- */

/* For sorting: how many uses a layout has, those with most first, and behind it which it is. */
static uint64_t uses_key(const struct packed_layouts *layouts, uint32_t layout) {
  return (uint64_t)(UINT32_MAX - layouts->uses[layout]) << 32 | layout;
}

static bool is_own(const struct builder *builder, uint32_t run) {
  return builder->layouts->uses[builder->runs[run].layout] == 1;
}

static void own_layouts(struct builder *builder) {
  uint32_t next = 0;
  for (uint64_t i = 0; i < builder->leaf_count; i++) {
    struct leaf *leaf = &builder->leaves[i];
    leaf->own_from = next;
    for (uint32_t run = leaf->first_run; run < leaf[1].first_run; run++)
      if (is_own(builder, run))
        builder->own[next++] = builder->runs[run].layout;
    leaf->own_to = next;
  }
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
      keys[count++] = uses_key(layouts, i);
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
  unsigned start, continued, position;
};

static unsigned bucket_width(const struct builder *builder, uint64_t records) {
  const struct packed_header *header = builder->header;
  return packed_leaf_bucket_width((unsigned)header->leaf_shift - header->record_shift, records);
}

/* The run that goes on in a leaf, or NULL. */
static const struct packed_run *continued_run(const struct builder *builder,
                                              const struct leaf *leaf) {
  return leaf->starts || leaf->first_run == 0 ? NULL : &builder->runs[leaf->first_run - 1];
}

/* A reference to the layout of a run that goes on in a leaf. */
static uint64_t continued_layout(const struct builder *builder, const struct leaf *leaf,
                                 const struct packed_run *run) {
  const uint64_t place = builder->layouts->places[run->layout];
  const uint64_t shared_size = builder->header->shared_size;
  return place < shared_size ? place : shared_size + leaf->start - place;
}

/* How many groups of a leaf's records have marks. */
static uint64_t marked_groups(const struct builder *builder, const struct leaf *leaf) {
  uint64_t count = 0;
  uint32_t last = UINT32_MAX;
  for (uint32_t run = leaf->first_run; run < leaf[1].first_run; run++) {
    const uint32_t group = (builder->runs[run].first - leaf->first) / RECORDS_OF_GROUP;
    count += group != last;
    last = group;
  }
  return count;
}

/* The bits of a leaf up to where its own layouts' starts are told. */
static uint64_t bits_before_own(const struct builder *builder, const struct leaf *leaf) {
  const struct packed_header *header = builder->header;
  const uint64_t n = leaf[1].first - leaf->first, runs = leaf[1].first_run - leaf->first_run;
  const unsigned width = bucket_width(builder, n);
  const unsigned low_width = (unsigned)header->leaf_shift - header->record_shift - width;
  const uint64_t buckets = (uint64_t)1 << width, owns = leaf->own_to - leaf->own_from;
  return n + buckets + packed_leaf_groups(n) + packed_bucket_samples(n, buckets) +
         packed_mark_samples(n) * 2 * packed_mark_sample_width(n) + n * low_width + runs +
         marked_groups(builder, leaf) * RECORDS_OF_GROUP +
         (runs - owns) * bits_for_count(header->shared_size);
}

/* Places a leaf's own layouts, and returns where the next leaf starts. */
static uint64_t place_leaf(struct builder *builder, struct leaf *leaf, struct widths widths) {
  struct packed_layouts *layouts = builder->layouts;
  const uint64_t own_at = leaf->start * 8 + bits_before_own(builder, leaf);
  const uint64_t continued = leaf->starts ? 0 : widths.continued + widths.position;
  const uint64_t owns = leaf->own_to - leaf->own_from;
  uint64_t size = 0, first;
  for (uint32_t k = leaf->own_from; k < leaf->own_to; k++)
    size += layout_size(layouts, builder->own[k]);
  for (leaf->span = size;; leaf->span++) {
    first = bits_to_bytes(own_at + packed_own_bits(leaf->span, owns) + continued);
    if (own_at / 8 + leaf->span == first + size)
      break;
  }
  for (uint32_t k = leaf->own_from; k < leaf->own_to; k++) {
    layouts->places[builder->own[k]] = first;
    first += layout_size(layouts, builder->own[k]);
  }
  return first;
}

static void widen(unsigned *width, uint64_t number) {
  const unsigned needed = bits_for_count(number + 1);
  if (needed > *width)
    *width = needed;
}

/* Measures all leaves, and places them and their own layouts. Returns the widths that this takes. */
static struct widths place_leaves(struct builder *builder, struct widths widths) {
  uint64_t byte = builder->header->shared_size;
  struct widths needed = {0, 0, 0};
  for (uint64_t i = 0; i <= builder->leaf_count; i++) {
    struct leaf *leaf = &builder->leaves[i];
    leaf->start = byte;
    if (i == builder->leaf_count || leaf[1].first == leaf->first)
      continue;
    byte = place_leaf(builder, leaf, widths);
    const struct packed_run *run = continued_run(builder, leaf);
    if (run != NULL) {
      widen(&needed.continued, continued_layout(builder, leaf, run));
      widen(&needed.position, leaf->first - run->first);
    }
  }
  widen(&needed.start, byte);
  return needed;
}

static struct widths settle_widths(struct builder *builder) {
  struct widths widths = {0, 0, 0};
  for (;;) {
    const struct widths needed = place_leaves(builder, widths);
    if (needed.start <= widths.start && needed.continued <= widths.continued &&
        needed.position <= widths.position)
      return widths;
    widths.start = needed.start > widths.start ? needed.start : widths.start;
    widths.continued = needed.continued > widths.continued ? needed.continued : widths.continued;
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
  const bool sampled = packed_bucket_samples(n, buckets) > 0;
  uint32_t record = leaf->first;
  for (uint64_t bucket = 0; bucket < buckets; bucket++) {
    if (sampled && bucket % ((uint64_t)1 << PACKED_BUCKETS_PER_SAMPLE_SHIFT) == 0)
      bit_writer_put(samples, bits->size - start, bits_for_count(n + buckets));
    for (; record < leaf[1].first && shifted_offset(builder, record) >> low_width == bucket;
         record++)
      bit_writer_put(bits, 1, 1);
    bit_writer_put(bits, 0, 1);
  }
}

/* Writes the groups of a leaf to `bits`, and the marks of those that have some to `marks`. */
static void write_groups(const struct builder *builder, const struct leaf *leaf,
                         struct bit_writer *bits, struct bit_writer *samples,
                         struct bit_writer *marks) {
  const uint64_t n = leaf[1].first - leaf->first;
  const unsigned sample_width = packed_mark_sample_width(n);
  uint32_t run = leaf->first_run;
  for (uint64_t group = 0; group < packed_leaf_groups(n); group++) {
    const uint64_t first = leaf->first + group * RECORDS_OF_GROUP;
    uint64_t of_group = 0;
    if (packed_mark_samples(n) > 0 &&
        group % ((uint64_t)1 << PACKED_GROUPS_PER_SAMPLE_SHIFT) == 0) {
      bit_writer_put(samples, marks->size / RECORDS_OF_GROUP, sample_width);
      bit_writer_put(samples, run - leaf->first_run, sample_width);
    }
    for (; run < leaf[1].first_run && builder->runs[run].first < first + RECORDS_OF_GROUP; run++)
      of_group |= (uint64_t)1 << (builder->runs[run].first - first);
    bit_writer_put(bits, of_group != 0, 1);
    bit_writer_put(marks, of_group, of_group != 0 ? RECORDS_OF_GROUP : 0);
  }
}

/* Writes what tells where the layouts of a leaf's runs are, from the shared ones on. */
static void write_references(const struct builder *builder, const struct leaf *leaf,
                             struct bit_writer *bits) {
  const struct packed_layouts *layouts = builder->layouts;
  const uint32_t owns = leaf->own_to - leaf->own_from;
  const unsigned low_width = packed_own_low_width(leaf->span, owns);
  for (uint32_t run = leaf->first_run; run < leaf[1].first_run; run++)
    if (!is_own(builder, run))
      bit_writer_put(bits, layouts->places[builder->runs[run].layout],
                     bits_for_count(builder->header->shared_size));
  if (owns <= 1)
    return;
  const uint32_t *own = &builder->own[leaf->own_from];
  for (uint32_t k = 1; k < owns; k++)
    bit_writer_put(bits, layouts->places[own[k]] - layouts->places[own[0]], low_width);
  uint32_t k = 1;
  for (uint64_t left = owns - 1 + (leaf->span >> low_width), bucket = 0; left > 0; left--) {
    const bool is_one =
        k < owns && (layouts->places[own[k]] - layouts->places[own[0]]) >> low_width == bucket;
    bit_writer_put(bits, is_one, 1);
    k += is_one;
    bucket += !is_one;
  }
}

static void write_leaf(const struct builder *builder, const struct leaf *leaf, struct widths widths,
                       struct bit_writer *bits) {
  const uint64_t n = leaf[1].first - leaf->first;
  if (n == 0)
    return;
  const unsigned universe = (unsigned)builder->header->leaf_shift - builder->header->record_shift;
  const unsigned low_width = universe - bucket_width(builder, n);
  struct bit_writer samples = {0}, marks = {0};
  write_high(builder, leaf, low_width, bits, &samples);
  write_groups(builder, leaf, bits, &samples, &marks);
  bit_writer_copy(bits, samples.bytes, 0, samples.size);
  for (uint32_t record = leaf->first; record < leaf[1].first; record++)
    bit_writer_put(bits, shifted_offset(builder, record), low_width);
  for (uint32_t run = leaf->first_run; run < leaf[1].first_run; run++)
    bit_writer_put(bits, is_own(builder, run), 1);
  bit_writer_copy(bits, marks.bytes, 0, marks.size);
  bits->failed |= samples.failed || marks.failed;
  bit_writer_free(&samples);
  bit_writer_free(&marks);
  write_references(builder, leaf, bits);
  if (!leaf->starts) {
    const struct packed_run *run = continued_run(builder, leaf);
    bit_writer_put(bits, run == NULL ? 0 : continued_layout(builder, leaf, run), widths.continued);
    bit_writer_put(bits, run == NULL ? 0 : leaf->first - run->first, widths.position);
  }
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
    own_layouts(&builder);
    ok = place_shared(&builder);
  }
  if (ok) {
    const struct widths widths = settle_widths(&builder);
    header->continued_width = (uint8_t)widths.continued;
    header->position_width = (uint8_t)widths.position;
    write_all(&builder, widths, directory, leaves);
    header->leaves_size = (uint32_t)(leaves->size / 8);
    ok = !directory->failed && !leaves->failed;
  }
  free(builder.leaves);
  free(builder.own);
  return ok;
}
