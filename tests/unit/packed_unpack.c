/* packed_unpack.c - tests packed_unpack: a packed table, read back into a table of safepoints, is
 * the table that it was made from; and packed again it gives the same bytes.
 */
#include "format/packed_write.h"
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { ADDRESS = 0x200000 };

static bool same_location(const struct safepoints *a, uint64_t x, const struct safepoints *b,
                          uint64_t y) {
  return safepoint_location_compare(safepoints_location(a, (uint32_t)x),
                                    safepoints_location(b, (uint32_t)y)) == 0;
}

static bool same_locations(const struct safepoints *a, uint32_t x, const struct safepoints *b,
                           uint32_t y) {
  const struct intern_sequence p = intern_get(&a->lists, x), q = intern_get(&b->lists, y);
  bool same = p.count == q.count;
  for (uint64_t i = 0; i < p.count && same; i++)
    same = same_location(a, p.words[i], b, q.words[i]);
  return same;
}

static bool same_live_outs(const struct safepoints *a, uint32_t x, const struct safepoints *b,
                           uint32_t y) {
  const struct intern_sequence p = intern_get(&a->lists, x), q = intern_get(&b->lists, y);
  return p.count == q.count &&
         (p.count == 0 || memcmp(p.words, q.words, p.count * sizeof *p.words) == 0);
}

static bool same_item(const struct safepoints *a, uint64_t x, const struct safepoints *b,
                      uint64_t y) {
  if (safepoint_item_is_list(x) != safepoint_item_is_list(y))
    return false;
  if (safepoint_item_is_list(x))
    return safepoint_item_is_locations(x) == safepoint_item_is_locations(y) &&
           same_locations(a, safepoint_item_list(x), b, safepoint_item_list(y));
  return same_location(a, safepoint_item_base(x), b, safepoint_item_base(y)) &&
         same_location(a, safepoint_item_derived(x), b, safepoint_item_derived(y));
}

static bool same_live(const struct safepoints *a, uint32_t x, const struct safepoints *b,
                      uint32_t y) {
  const struct intern_sequence p = intern_get(&a->live, x), q = intern_get(&b->live, y);
  bool same = p.count == q.count;
  for (uint64_t i = 0; i < p.count && same; i++)
    same = same_item(a, p.words[i], b, q.words[i]);
  return same;
}

static bool same_record(const struct safepoints *a, const struct safepoint *x,
                        const struct safepoints *b, const struct safepoint *y) {
  return x->address == y->address && x->function == y->function && x->id == y->id &&
         x->calling_convention == y->calling_convention && x->flags == y->flags &&
         same_live(a, x->live, b, y->live) && same_locations(a, x->deopt, b, y->deopt) &&
         same_live_outs(a, x->live_outs, b, y->live_outs);
}

/* Whether two finished tables say the same. (Where functions end is not compared: a packed table
 * keeps enough of it for the three answers.) */
static bool same_tables(const struct safepoints *a, const struct safepoints *b) {
  bool same = a->function_count == b->function_count && a->record_count == b->record_count;
  for (uint32_t i = 0; i < a->function_count && same; i++)
    same = a->functions[i].address == b->functions[i].address &&
           a->functions[i].frame_size == b->functions[i].frame_size &&
           a->functions[i].records == b->functions[i].records;
  for (uint32_t i = 0; i < a->record_count && same; i++)
    same = same_record(a, &a->records[i], b, &b->records[i]);
  return same;
}

/* A table of safepoints, and the packed form of it. */
struct subject {
  struct safepoints table;
  uint8_t *bytes;
  size_t size;
  struct packed_table packed;
};

static void pack(const struct safepoints *table, packed_compress *compress, uint8_t **bytes,
                 size_t *size) {
  uint8_t *written;
  ck_assert_ptr_null(packed_write(table, ADDRESS, compress, &written, size));
  *bytes = bytes_exact(written, *size);
  free(written);
}

static struct subject subject_of(uint64_t seed, uint32_t records, packed_compress *compress) {
  struct subject subject = {0};
  struct model model = {0};
  if (records > 0)
    generate(&model, seed, records);
  model_finish(&model);
  model_read(&model, &subject.table);
  model_free(&model);
  pack(&subject.table, compress, &subject.bytes, &subject.size);
  ck_assert_int_eq(packed_open(&subject.packed, subject.bytes, subject.size, ADDRESS),
                   STACKPACK_OK);
  return subject;
}

static void subject_free(struct subject *subject) {
  safepoints_free(&subject->table);
  free(subject->bytes);
}

static void check(uint64_t seed, uint32_t records, packed_compress *compress) {
  struct subject subject = subject_of(seed, records, compress);
  struct safepoints unpacked = {0};
  uint8_t *bytes;
  size_t size;
  ck_assert_msg(packed_unpack(&subject.packed, ZSTD_decompress, &unpacked), "seed %d", (int)seed);
  ck_assert_msg(same_tables(&subject.table, &unpacked), "seed %d: the tables differ", (int)seed);
  pack(&unpacked, compress, &bytes, &size);
  ck_assert_msg(size == subject.size && memcmp(bytes, subject.bytes, size) == 0,
                "seed %d: packed again, the bytes differ", (int)seed);
  free(bytes);
  safepoints_free(&unpacked);
  subject_free(&subject);
}

TEST(random_tables) {
  for (uint64_t seed = 1; seed <= 200; seed++)
    check(seed, 1 + (uint32_t)seed, seed % 2 == 0 ? test_compress : NULL);
}

TEST(large_tables) {
  for (uint64_t seed = 1; seed <= 5; seed++)
    check(seed, 5000, test_compress);
}

TEST(an_empty_table) {
  check(1, 0, NULL);
  check(1, 0, test_compress);
}

/* 100,000 records share a chain of 50,000 empty groups: 5 * 10^9 steps in half a megabyte. */
TEST(long_chains_of_groups) {
  enum { RECORDS = 100000, GROUPS = 50000, NEXT_WIDTH = 8, NEXT_FLAG = 2 };
  struct model model = {0};
  struct safepoints table = {0}, unpacked = {0};
  struct packed_table packed;
  struct packed_header header;
  struct bit_writer bits = {0};
  uint8_t *bytes;
  size_t size;
  model_add_function(&model, 0x1000, 24, 0x1000 + 4 * RECORDS);
  for (uint32_t i = 1; i <= RECORDS; i++)
    model_add_self(model_add_record(&model, 4 * i - 1), 8);
  model_finish(&model);
  model_read(&model, &table);
  pack(&table, NULL, &bytes, &size);
  ck_assert_int_eq(packed_open(&packed, bytes, size, ADDRESS), STACKPACK_OK);
  memcpy(&header, bytes, sizeof header);
  header.next_width = NEXT_WIDTH;
  bit_writer_put(&bits, 0, header.frame_width);
  for (uint32_t i = 0; i < GROUPS; i++) {
    bit_writer_put(&bits, 0, header.first_width);
    bit_writer_put(&bits, 1, PACKED_HEAD_WIDTH); /* extended; no slots, one row */
    bit_writer_put(&bits, i + 1 < GROUPS ? NEXT_FLAG : 0, PACKED_EXTENSION_WIDTH);
    if (i + 1 < GROUPS)
      bit_writer_put(&bits, NEXT_WIDTH, NEXT_WIDTH); /* the next one is right after this field */
  }
  bit_writer_align(&bits, 8);
  ck_assert(!bits.failed);
  const size_t chain = (size_t)bits.size / 8, before = (size_t)(packed.layouts - bytes);
  uint8_t *changed = calloc(1, size + chain);
  memcpy(changed, bytes, before);
  memcpy(changed + before, bits.bytes, chain);
  memcpy(changed + before + chain, bytes + before + packed.layouts_size,
         size - before - (size_t)packed.layouts_size);
  for (unsigned i = 0; i < header.part_count; i++) {
    uint32_t *entry = (uint32_t *)(void *)(changed + PACKED_HEADER_SIZE + i * PACKED_ENTRY_SIZE);
    if (entry[0] == PACKED_LAYOUTS)
      entry[1] = (uint32_t)chain;
  }
  header.size = size + chain - packed.layouts_size;
  memcpy(changed, &header, sizeof header);
  header.header_checksum = packed_header_checksum(changed, header.header_size);
  memcpy(changed, &header, sizeof header);
  ck_assert_int_eq(packed_open(&packed, changed, size + chain, ADDRESS), STACKPACK_OK);
  ck_assert(!packed_unpack(&packed, NULL, &unpacked));
  ck_assert_ptr_nonnull(strstr(unpacked.error, "more parts"));
  safepoints_free(&unpacked);
  safepoints_free(&table);
  bit_writer_free(&bits);
  free(changed);
  free(bytes);
  model_free(&model);
}

/* Where each function ends: at the latest where the next one starts. */
TEST(ends_of_functions) {
  struct model model = {0};
  static const uint64_t ends[] = {0x1080, 0x1120, 0x1200, 0x1300};
  model_add_function(&model, 0x1000, 24, 0x1080);
  model_add_function(&model, 0x1100, 24, 0);
  model_add_record(&model, 0x20);
  model_add_function(&model, 0x1180, 24, 0x1280);
  model_add_function(&model, 0x1200, 24, 0x1300);
  model_finish(&model);
  struct packed_table table;
  const struct model_options options = {.section_address = ADDRESS, .open_address = ADDRESS};
  struct packed_model packed = packed_model_open(&model, &options);
  ck_assert_int_eq(packed_open(&table, packed.bytes, packed.size, ADDRESS), STACKPACK_OK);
  for (uint32_t i = 0, function = 0; i < table.stretch_count; i++) {
    struct packed_stretch stretch;
    ck_assert(packed_stretch(&table, i, &stretch));
    if (stretch.is_gap)
      continue;
    ck_assert_uint_eq(stretch.start, model.functions[function].address);
    ck_assert_uint_eq(stretch.end, ends[function++]);
  }
  packed_model_free(&packed);
  model_free(&model);
}

TEST(details_without_a_decompressor) {
  struct subject subject;
  for (uint64_t seed = 1;; seed++) {
    subject = subject_of(seed, 100, test_compress);
    if (packed_details_space(&subject.packed) > 0)
      break;
    subject_free(&subject);
  }
  struct safepoints unpacked = {0};
  ck_assert(!packed_unpack(&subject.packed, NULL, &unpacked));
  ck_assert_ptr_nonnull(unpacked.error);
  ck_assert(!unpacked.no_memory);
  safepoints_free(&unpacked);
  subject_free(&subject);
}

/* Damaged bytes give an error that is named, or a table; and each table can be packed. */
TEST(damaged_tables) {
  struct numbers numbers = {3};
  unsigned refused = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    struct subject subject = subject_of(seed, 60, seed % 2 == 0 ? test_compress : NULL);
    for (unsigned round = 0; round < 60; round++) {
      const size_t place =
          numbers_between(&numbers, bits_load16(subject.bytes + 6), subject.size - 1);
      const uint8_t before = subject.bytes[place];
      struct safepoints unpacked = {0};
      subject.bytes[place] ^= (uint8_t)(1 << numbers_below(&numbers, 8));
      if (!packed_unpack(&subject.packed, ZSTD_decompress, &unpacked)) {
        refused++;
        ck_assert_ptr_nonnull(unpacked.error);
      }
      safepoints_free(&unpacked);
      subject.bytes[place] = before;
    }
    subject_free(&subject);
  }
  ck_assert_uint_gt(refused, 0);
}

/* ---- Damage that no look-up sees, as it reads a few places only ---- */

static uint8_t *place_of(const struct subject *subject, const uint8_t *place) {
  return subject->bytes + (place - subject->packed.bytes);
}

static struct packed_leaf leaf_of(const struct subject *subject, uint32_t number) {
  struct packed_leaf leaf;
  ck_assert(packed_leaf(&subject->packed, number, &leaf));
  return leaf;
}

static unsigned nibble(const struct packed_leaf *leaf, unsigned bucket) {
  return leaf->counts >> bucket * 4 & PACKED_BUCKET_FULL;
}

/* The last bucket has one more than there are. */
static bool count_too_many(const struct subject *subject) {
  const struct packed_leaf leaf = leaf_of(subject, 0);
  place_of(subject, subject->packed.leaves)[7] += 0x10;
  return nibble(&leaf, PACKED_BUCKETS - 1) < PACKED_BUCKET_FULL - 1;
}

/* A bucket is full, by a count missing in the directory. */
static bool count_a_full_one(const struct subject *subject) {
  const struct packed_leaf leaf = leaf_of(subject, 0);
  place_of(subject, subject->packed.leaves)[7] |= 0xf0;
  return leaf.full_count == 0;
}

/* Overwrites number `place` of an array by one that is too large by 1. False: its bytes have no room for it. */
static bool exceed(const struct subject *subject, const uint8_t *numbers, size_t place,
                   unsigned size, uint64_t most) {
  const uint64_t number = most + 1;
  if (number > bits_low_mask(size * 8))
    return false;
  memcpy(place_of(subject, numbers + place * size), &number, size);
  return true;
}

/* The last record of a bucket is in the empty one that follows. */
static bool move_record(const struct subject *subject) {
  const struct packed_table *packed = &subject->packed;
  for (uint32_t i = 0; i < packed->leaf_count; i++) {
    const struct packed_leaf leaf = leaf_of(subject, i);
    uint32_t end = 0;
    for (unsigned bucket = 0; bucket + 1 < PACKED_BUCKETS && leaf.full_count == 0; bucket++) {
      end += nibble(&leaf, bucket);
      if (nibble(&leaf, bucket) > 0 && nibble(&leaf, bucket + 1) == 0)
        return exceed(subject, leaf.lows, end - 1, packed->form.low_bytes,
                      packed->form.bucket_mask >> packed->form.record_shift);
    }
  }
  return false;
}

/* The last stretch of a leaf starts in the next one, an empty one. */
static bool move_start(const struct subject *subject) {
  const struct packed_table *packed = &subject->packed;
  for (uint32_t i = 0; i + 1 < packed->leaf_count; i++) {
    const struct packed_leaf leaf = leaf_of(subject, i), next = leaf_of(subject, i + 1);
    if (leaf.stretch_count > 0 && next.stretch_count == 0)
      return exceed(subject, leaf.starts, leaf.stretch_count - 1, packed->form.start_bytes,
                    packed->form.leaf_mask >> packed->form.start_shift);
  }
  return false;
}

/* The last stretch starts after the text. */
static bool move_last_start(const struct subject *subject) {
  const struct packed_table *packed = &subject->packed;
  const struct packed_leaf leaf = leaf_of(subject, packed->leaf_count - 1);
  const uint64_t last = packed->form.leaf_mask >> packed->form.start_shift;
  if (leaf.stretch_count == 0 ||
      leaf.start + (last << packed->form.start_shift) <= packed->text_size)
    return false;
  memcpy(place_of(subject, leaf.starts + (leaf.stretch_count - 1) * packed->form.start_bytes),
         &last, packed->form.start_bytes);
  return true;
}

/* Adds to the directory entry's bytes of position and full buckets. */
static void add_to_entry(const struct subject *subject, uint32_t number, uint64_t sum) {
  const struct packed_table *packed = &subject->packed;
  uint8_t *rest =
      place_of(subject, packed->directory + (size_t)number * packed->entry_bytes + packed->rest_at);
  const uint64_t word = bits_load64(rest) + sum;
  memcpy(rest, &word, sizeof word);
}

/* The first leaf starts elsewhere than the part. */
static bool move_leaves(const struct subject *subject) {
  const struct packed_table *packed = &subject->packed;
  for (uint32_t i = 0; i <= packed->leaf_count && packed->full_mask != 0; i++)
    add_to_entry(subject, i, (uint64_t)1 << packed->full_shift);
  return packed->full_mask != 0;
}

/* A function goes on at another position in the leaf after its own. */
static bool move_position(const struct subject *subject) {
  const struct packed_table *packed = &subject->packed;
  for (uint32_t i = 1; i < packed->leaf_count; i++) {
    const struct packed_leaf leaf = leaf_of(subject, i);
    if (leaf.count == 0 || leaf.position == packed->position_mask)
      continue;
    add_to_entry(subject, i, (uint64_t)1 << packed->position_shift);
    return true;
  }
  return false;
}

/* The layout of a function without records is outside of its part. */
static bool move_layout(const struct subject *subject) {
  const struct packed_table *packed = &subject->packed;
  uint32_t function = 0;
  for (uint32_t i = 0; i < packed->stretch_count; i++) {
    struct packed_stretch stretch;
    ck_assert(packed_stretch(packed, i, &stretch));
    if (stretch.is_gap || subject->table.functions[function++].records > 0)
      continue;
    const uint32_t far = packed->form.reference_mask - 1;
    memcpy(place_of(subject, packed->references + (size_t)i * packed->form.reference_bytes), &far,
           packed->form.reference_bytes);
    return (uint64_t)far << packed->form.reference_shift >= packed->layouts_size;
  }
  return false;
}

static bool repeat_exception(const struct subject *subject) {
  uint8_t *bytes = place_of(subject, subject->packed.exceptions);
  if (subject->packed.exception_count < 3)
    return false;
  memcpy(bytes + PACKED_EXCEPTION_SIZE, bytes, 4);
  return true;
}

static bool repeat_class(const struct subject *subject) {
  uint8_t *end = place_of(subject, subject->packed.classes) + 8;
  if (subject->packed.class_count < 3)
    return false;
  memcpy(end + PACKED_CLASS_SIZE, end, 4);
  return true;
}

TEST(damage_that_no_look_up_sees) {
  static const struct {
    bool (*damage)(const struct subject *subject); /* whether this table can be damaged so */
    const char *error;
  } cases[] = {
      {count_too_many, "a leaf that isn't what the directory says"},
      {count_a_full_one, "a leaf that isn't what the directory says"},
      {move_record, "a record or function outside of its place in a leaf"},
      {move_start, "a record or function outside of its place in a leaf"},
      {move_last_start, "functions out of order"},
      {move_leaves, "a leaf that isn't what the directory says"},
      {move_position, "a leaf that isn't what the directory says"},
      {move_layout, "a function whose layout isn't there"},
      {repeat_exception, "exceptions out of order"},
      {repeat_class, "classes of locations out of order"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unsigned damaged = 0;
    for (uint64_t seed = 1; seed <= 30; seed++) {
      struct subject subject = subject_of(seed, 20 + 5 * (uint32_t)seed, NULL);
      struct safepoints unpacked = {0};
      if (cases[i].damage(&subject)) {
        ck_assert_int_eq(packed_open(&subject.packed, subject.bytes, subject.size, ADDRESS),
                         STACKPACK_OK);
        ck_assert_msg(!packed_unpack(&subject.packed, NULL, &unpacked), "case %zu, seed %d", i,
                      (int)seed);
        ck_assert_str_eq(unpacked.error, cases[i].error);
        damaged++;
      }
      safepoints_free(&unpacked);
      subject_free(&subject);
    }
    ck_assert_msg(damaged > 0, "case %zu", i);
  }
}

/* A table of `records` that all have the same deopt state of 65535 locations. */
static struct safepoints same_deopt(uint32_t records) {
  enum { LOCATIONS = UINT16_MAX };
  struct safepoints table = {0};
  static uint64_t words[LOCATIONS];
  ck_assert_uint_eq(intern_add(&table.lists, NULL, 0), 0);
  ck_assert_uint_eq(safepoints_add_live(&table, words, 0, 0), 0);
  const struct stackpack_location location = {STACKPACK_CONSTANT, 8, 0, 7};
  const uint32_t number = safepoints_add_location(&table, location);
  for (size_t i = 0; i < LOCATIONS; i++)
    words[i] = number;
  const uint32_t deopt = intern_add(&table.lists, words, LOCATIONS);
  ck_assert(safepoints_add_function(
      &table, (struct safepoint_function){.address = 0x1000, .frame_size = 24}));
  for (uint32_t i = 0; i < records; i++)
    ck_assert(safepoints_add_record(&table,
                                    (struct safepoint){.address = 0x1005 + 8 * i, .deopt = deopt}));
  ck_assert(safepoints_finish(&table));
  return table;
}

/* Some KB whose details would be gigabytes are refused; large, but possible, values are
 * accepted. */
TEST(details_that_expand) {
  static const struct {
    uint32_t records;
    bool is_refused;
  } cases[] = {{80, false}, {100, true}, {5000, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct safepoints table = same_deopt(cases[i].records), unpacked = {0};
    struct packed_table packed;
    uint8_t *bytes;
    size_t size;
    pack(&table, test_compress, &bytes, &size);
    ck_assert_uint_lt(size, 8192);
    ck_assert_int_eq(packed_open(&packed, bytes, size, ADDRESS), STACKPACK_OK);
    ck_assert_int_eq(packed_unpack(&packed, ZSTD_decompress, &unpacked), !cases[i].is_refused);
    if (cases[i].is_refused)
      ck_assert_str_eq(unpacked.error, "details that expand to more than any program has");
    else
      ck_assert(same_tables(&table, &unpacked));
    safepoints_free(&unpacked);
    safepoints_free(&table);
    free(bytes);
  }
}
