/* packed.h - the packed table: reading the output of `pack`. FORMAT.md defines each byte.
 *
 *   header       with a checksum: counts and widths, then the parts that follow and their sizes
 *   directory    for each leaf (a piece of the text, 4 KiB mostly) the totals of the leaves before
 *   leaves       the low bytes of its records' addresses, and of its functions' starts
 *   references   for each function the place of its layout
 *   layouts      of a function, or of several that are alike: frame size, and the live slots at the
 *                record of each position
 *   parts that many tables have: frame sizes, location classes, details, frames
 *   parts that few have: location lists, exceptions, global roots
 *
 * The text is cut into *stretches*: a stretch goes from one function's start to the next one's, or
 * to a *gap*, a stretch outside all functions with a stack map. A record belongs to the last
 * stretch that starts before its address. ("Before" is not "at": the return address of a noreturn
 * call at a function's end is the function's very end, where the next one starts.) The few records
 * that break this rule are exceptions.
 *
 * A hostile table is harmless: packed_open bounds each part, and each place that is read from one
 * is compared with its part's size before its use. Loads reach up to 8 bytes further, into the
 * table's padding. The answers to broken bytes may be wrong, but they are STACKPACK_CORRUPT or
 * inside the table.
 */
#ifndef STACKPACK_PACKED_H
#define STACKPACK_PACKED_H

#include "format/bits.h"
#include "format/frames.h"
#include "runtime/stackpack.h"

#define PACKED_MAGIC 0x4b505453u /* "STPK" */
enum {
  PACKED_VERSION = 10,
  PACKED_HEADER_SIZE = 88,  /* of the fixed fields */
  PACKED_ENTRY_SIZE = 8,    /* of an entry for a part, after them */
  PACKED_BUCKETS = 16,      /* of a leaf */
  PACKED_USUAL_STARTS = 32, /* of a leaf of the usual form, that are compared at once */
  PACKED_BUCKET_FULL = 15,  /* 15 or more: the rest follows after the counts */
  PACKED_CLASS_SIZE = 24,
  PACKED_EXCEPTION_SIZE = 12,
  PACKED_FULL_WIDTH_MAX = 24, /* with a position's: one load has both */
  PACKED_ROW_MAX = 57,        /* bits of a row: one load has them */
  PACKED_LIST_MAX = 65535,    /* locations of a list: a v3 record's maximum */
};

/* The parts, in their order. A table has the non-empty ones. A reader must refuse unknown parts
 * below PACKED_PARTS_OPTIONAL, and pass over other unknown ones. */
enum packed_part {
  PACKED_DIRECTORY = 1,
  PACKED_LEAVES,
  PACKED_REFERENCES,
  PACKED_LAYOUTS,
  PACKED_FRAME_SIZES,
  PACKED_CLASSES,
  PACKED_LIST_STARTS,
  PACKED_LISTS,
  PACKED_EXCEPTIONS,
  PACKED_NO_PART, /* was calling conventions: a reader refuses it */
  PACKED_DETAILS,
  PACKED_GLOBAL_ROOTS,
  PACKED_PARTS_KNOWN, /* one more than the last that a reader must support */
  PACKED_PARTS_OPTIONAL = 32,
  PACKED_FRAMES = 32,  /* facts of frames (frames.h): their own format */
  PACKED_SOURCES = 33, /* source positions (sources.h): likewise */
  PACKED_PARTS,        /* one more than the last */
};

/* The header's fixed fields, in their order. */
struct packed_header {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;     /* with the parts' entries */
  uint32_t header_checksum; /* XXH32 of the header, this field as 0 */
  uint16_t machine;         /* e_machine of the ELF file; 0: unknown */
  uint16_t part_count;
  uint64_t size;      /* of the table in bytes, with the padding at its end */
  uint64_t checksum;  /* XXH3 (64 bits) of all that follows the header */
  int64_t text_start; /* the lowest function's address less the table's own */
  uint64_t text_size; /* from there to the last function's end */
  int64_t code_end;   /* of the module's executable segments less the table's own; 0: unknown */
  uint32_t records;
  uint32_t stretches; /* functions and gaps */
  uint32_t functions;
  uint8_t bucket_shift; /* a bucket has 1 << shift bytes of text, a leaf 16 buckets */
  uint8_t record_shift; /* records are at multiples of 1 << shift, from text_start on */
  uint8_t start_shift;  /* stretches start at such multiples */
  uint8_t index_width, stretch_width, position_width, full_width; /* of a directory's entry */
  uint8_t reference_bytes, reference_shift; /* a layout is at reference << shift */
  uint8_t frame_bytes, frame_shift; /* frame sizes have so many bytes, and are in 1 << shift */
  uint8_t frame_width;              /* of the number of a layout's frame size, in bits */
  uint8_t first_width;              /* of a group's first location; */
  uint8_t long_width;               /* of each field of a long head; */
  uint8_t next_width;               /* of the distance to the next group */
  uint8_t unused;
  uint32_t varying_from; /* frame sizes with such a number are exceeded at some records */
};

uint32_t packed_header_checksum(const uint8_t *header, size_t size);

/* The form of leaves: numbers of the header. */
struct packed_leaf_form {
  uint8_t bucket_shift, record_shift, start_shift, reference_bytes, reference_shift;
};

/* The form that most programs have. Look-ups are compiled for it, with constants. */
static const struct packed_leaf_form packed_usual_leaves = {8, 0, 4, 2, 0};

/* The same with the numbers that follow from it. */
struct packed_form {
  uint8_t leaf_shift, bucket_shift, record_shift, start_shift, reference_shift;
  uint8_t low_bytes, start_bytes, reference_bytes;
  bool is_usual; /* packed_usual_leaves, and some, with PACKED_USUAL_STARTS readable everywhere */
  uint64_t leaf_mask, bucket_mask, record_mask, start_mask; /* the bits below their shifts */
  uint32_t reference_mask;
};

static inline struct packed_form packed_form(struct packed_leaf_form leaves) {
  assert(leaves.bucket_shift < 60 && leaves.record_shift <= leaves.bucket_shift &&
         leaves.start_shift <= leaves.bucket_shift);
  const unsigned leaf_shift = leaves.bucket_shift + 4u;
  const unsigned low_bits = leaves.bucket_shift - leaves.record_shift;
  return (struct packed_form){
      .leaf_shift = (uint8_t)leaf_shift,
      .bucket_shift = leaves.bucket_shift,
      .record_shift = leaves.record_shift,
      .start_shift = leaves.start_shift,
      .reference_shift = leaves.reference_shift,
      .low_bytes = low_bits == 0 ? 1 : (uint8_t)bits_to_bytes(low_bits),
      .start_bytes = (uint8_t)bits_to_bytes(leaf_shift - leaves.start_shift),
      .reference_bytes = leaves.reference_bytes,
      .leaf_mask = bits_low_mask(leaf_shift),
      .bucket_mask = bits_low_mask(leaves.bucket_shift),
      .record_mask = bits_low_mask(leaves.record_shift),
      .start_mask = bits_low_mask(leaves.start_shift),
      .reference_mask = (uint32_t)bits_low_mask(leaves.reference_bytes * 8u),
  };
}

/* An opened table. */
struct packed_table {
  const uint8_t *bytes;
  uint64_t address; /* of bytes[0] in the address space of the look-ups */
  uint64_t text_start, text_size;
  int64_t code_end; /* as the header has it */
  const uint8_t *directory, *leaves, *references, *layouts, *frame_sizes, *classes, *list_starts,
      *lists;
  const uint8_t *exceptions, *details, *roots, *sources;
  uint64_t leaves_size, layouts_size, lists_size, details_size, roots_size;
  uint64_t sources_size; /* 0: there are none. sources_open opens them, once they are asked for */
  uint32_t leaf_count, record_count, stretch_count, function_count;
  uint32_t frame_size_count, class_count, list_count, exception_count;
  struct packed_form form;
  uint8_t entry_bytes; /* of an entry of the directory; two loads have its fields: */
  uint8_t stretch_shift, rest_at, position_shift, full_shift;
  uint32_t index_mask, stretch_mask, position_mask, full_mask;
  uint64_t frame_size_mask;
  uint8_t frame_width, first_width, long_width, next_width, frame_bytes, frame_shift;
  uint32_t frame_mask, first_mask, next_mask;
  uint32_t varying_from; /* UINT32_MAX without facts of frames */
  uint16_t machine;
  bool is_raw;               /* set by those who have encoded raw stack maps into memory */
  struct frames_part frames; /* functions are stretches there */
  /* The class of most locations. */
  struct stackpack_location first_class;
  uint32_t first_class_count, first_class_step;
  uint32_t location_count; /* of all classes. Numbers from there on are lists' */
  uint32_t frames_size;    /* in bytes; 0: `frames` is unused */
};

/* A group's head, as packed_live.c draws it: the widths of its fields after the first location. */
enum {
  PACKED_EXTENDED_WIDTH = 1,
  PACKED_PLAIN_WIDTH = 4,
  PACKED_ROWS_WIDTH = 5,
  PACKED_SCATTERED_WIDTH = 1, /* from here on in an extended head */
  PACKED_NEXT_WIDTH = 1,
  PACKED_NUMBER_WIDTH = 5,
  PACKED_DERIVED_WIDTH = 4,
  PACKED_ASSIGNMENTS_WIDTH = 4,
  PACKED_HEAD_WIDTH = PACKED_EXTENDED_WIDTH + PACKED_PLAIN_WIDTH + PACKED_ROWS_WIDTH,
  PACKED_FLAGS_WIDTH = PACKED_SCATTERED_WIDTH + PACKED_NEXT_WIDTH + PACKED_NUMBER_WIDTH,
  PACKED_EXTENSION_WIDTH = PACKED_FLAGS_WIDTH + PACKED_DERIVED_WIDTH + PACKED_ASSIGNMENTS_WIDTH,
  PACKED_PLAIN_LONG =
      (1 << PACKED_PLAIN_WIDTH) - 1, /* this number of plain slots marks a long head */
};

/* Opens bytes[0..size), 8-aligned; they stay in place. Reads the header only. STACKPACK_OK;
 * STACKPACK_UNSUPPORTED for another version, or with unknown parts that a reader must support; or
 * STACKPACK_BAD_TABLE. */
enum stackpack_error packed_open(struct packed_table *table, const uint8_t *bytes, size_t size,
                                 uint64_t address);

/* Whether a module has code that was added after it was packed: code_end is the end of its code, 0
 * if there is none. The added code may be managed functions that a tool has moved. */
bool packed_code_was_added(const struct packed_table *table, uint64_t code_end);

/* Verifies the checksum over the whole table. */
bool packed_check(const struct packed_table *table);

/* The size of the table in bytes. */
uint64_t packed_size(const struct packed_table *table);

/* ---- Looking up: packed_find.c ---- */

struct packed_record {
  uint64_t address;
  uint32_t index;
  uint32_t stretch; /* its function's */
  const struct packed_table *table;
  uint32_t layout;   /* the place of the function's layout, in bytes of the part */
  uint32_t position; /* of the record in it */
};

enum stackpack_answer packed_find(const struct packed_table *table, uint64_t address,
                                  struct packed_record *record);

/* Record `index` < record_count. STACKPACK_FOUND or STACKPACK_CORRUPT. */
enum stackpack_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                       struct packed_record *record);

struct packed_stretch {
  uint64_t start, end; /* addresses */
  uint32_t layout;
  bool is_gap;
};

/* Stretch `number`. False: there is none, or the table is broken. */
bool packed_stretch(const struct packed_table *table, uint32_t number,
                    struct packed_stretch *stretch);

/* A leaf, taken apart. */
struct packed_leaf {
  const struct packed_form *form;
  uint64_t start;                  /* of its text, from the table's text on */
  uint32_t index, count;           /* of its first record; of its records */
  uint32_t stretch, stretch_count; /* the same of the stretches that start in it */
  uint32_t position;               /* of the first record, in the last stretch that starts before */
  uint32_t full_count;             /* of its counts so many are PACKED_BUCKET_FULL */
  uint64_t counts;                 /* a nibble for each bucket: the number of its records */
  const uint8_t *starts, *lows;
  const uint8_t *more; /* u16 for each full count */
};

/* Leaf `number` < leaf_count. False: it is broken. */
bool packed_leaf(const struct packed_table *table, uint32_t number, struct packed_leaf *leaf);

/* The position that the first record of the leaf after it has. */
uint64_t packed_leaf_next_position(const struct packed_leaf *leaf);

/* ---- Live sets: packed_live.c ---- */

/* The number of a layout's frame size. UINT64_MAX: the layout is outside the part. */
static inline uint64_t packed_frame_number(const struct packed_table *table, uint32_t layout) {
  return layout < table->layouts_size ? bits_load32(table->layouts + layout) & table->frame_mask
                                      : UINT64_MAX;
}

/* The size in bytes that has a number. UINT64_MAX: unknown, or there is none. */
static inline uint64_t packed_numbered_size(const struct packed_table *table, uint64_t number) {
  if (number >= table->frame_size_count)
    return UINT64_MAX;
  const uint64_t mask = table->frame_size_mask;
  const uint64_t size = bits_load64(table->frame_sizes + number * table->frame_bytes) & mask;
  return size == mask ? UINT64_MAX : size << table->frame_shift;
}

/* The size of the frames of a layout's function. */
static inline uint64_t packed_frame_size(const struct packed_table *table, uint32_t layout) {
  return packed_numbered_size(table, packed_frame_number(table, layout));
}

/* The size of a record's frame. */
static inline uint64_t packed_record_frame_size(const struct packed_record *record) {
  const struct packed_table *table = record->table;
  const uint64_t number = packed_frame_number(table, record->layout);
  const uint64_t size = packed_numbered_size(table, number);
  return number >= table->varying_from && size != UINT64_MAX
             ? size + frames_extra(&table->frames, record->index)
             : size;
}

/* The bit after a layout's last group. The bits of the next layout follow, its positions first. */
uint64_t packed_layout_end(const struct packed_table *table, uint32_t layout);

/* Goes through the pairs of a live set: the ones of the group at hand that are to come. Places are
 * bits of the part `layouts`. */
struct packed_pairs {
  const struct packed_table *table;
  uint64_t live;       /* of the slots to come, the live ones: plain ones, then derived ones */
  uint64_t numbers_at; /* the place of a slot's number, unless `first` has it, and of its base's: */
  uint64_t bases_at;   /* so many fields on as there are slots before */
  uint64_t next_at;    /* and the distance from this place to the next group; 0: there is none */
  uint32_t first, plain;
  uint64_t in_order; /* so many follow `first` */
  uint32_t position;
  uint64_t number_mask, number_width;
  bool bad;
};

struct packed_pair {
  uint32_t base, derived; /* locations' numbers */
};
/* Takes the next pair. False: there are no more, or pairs->bad. */
bool packed_pairs_next(struct packed_pairs *pairs, struct packed_pair *pair);

/* Location `number`; all zeros if there is none of this number. */
struct stackpack_location packed_other_location(const struct packed_table *table, uint32_t number);
static inline struct stackpack_location packed_location(const struct packed_table *table,
                                                        uint32_t number) {
  if (number >= table->first_class_count)
    return packed_other_location(table, number);
  struct stackpack_location location = table->first_class;
  location.value = (int64_t)((uint64_t)location.value + (uint64_t)number * table->first_class_step);
  return location;
}

/* A list of locations: a statepoint's allocas, or all locations of a stack map. */
struct packed_list {
  const struct packed_table *table; /* NULL: the record has no list */
  uint32_t number;
  bool is_locations; /* the record is a stack map's */
  bool bad;
  uint32_t left;
  const uint8_t *next;
};
/* The list that a record has, if any. */
struct packed_list packed_record_list(const struct packed_record *record);
bool packed_list_next(struct packed_list *list, uint32_t *location);

/* List `number` < list_count. */
struct packed_list packed_list(const struct packed_table *table, uint32_t number);

/* ---- Global roots: packed_roots.c ---- */

/* Goes through the ascending addresses. */
struct packed_roots {
  uint64_t address; /* of the one before */
  const uint8_t *next, *end;
  uint8_t shift;
  bool bad;
};
struct packed_roots packed_roots(const struct packed_table *table);
/* False: there are no more, or roots->bad. */
bool packed_roots_next(struct packed_roots *roots, uint64_t *address);

#endif
