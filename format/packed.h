/* packed.h - the packed table: what `pack` writes and the runtime looks up. See FORMAT.md.
 *
 *   header            fixed size, with a checksum: counts and widths, from which all else follows
 *   records           sorted addresses (monotone.h)
 *   functions         sorted start addresses (monotone.h)
 *   layout of each    a mark for "shared with other functions", and the number of a shared layout
 *   end of each       how far its code goes behind its last record, in Rice code
 *   layouts           where each starts (monotone.h), then their bits
 *   frame sizes, location classes, location lists, exceptions
 *   details           compressed blocks: what collectors rarely ask for
 *
 * A look-up goes down these parts in order: address -> record number; address -> function; function
 * and record number -> place in the function's layout -> live set. Each step is a few loads and no
 * loop over records.
 *
 * A record belongs to the last function that starts before its address. So says the address of
 * almost every one, and nothing is stored for it. (A return address may be the function's very end,
 * where the next function starts; but only a stack map or patch point can stand at a function's
 * first byte.) The others are listed as exceptions.
 */
#ifndef STACKPACK_PACKED_H
#define STACKPACK_PACKED_H

#include "location.h"
#include "monotone.h"

#define PACKED_MAGIC 0x4b505453u /* "STPK" */
enum {
  PACKED_VERSION = 1,
  PACKED_HEADER_SIZE = 152,
  PACKED_LOCATION_CLASS_SIZE = 24,
  PACKED_EXCEPTION_SIZE = 12,
  PACKED_MARKS_PER_SAMPLE_SHIFT = 9,
  PACKED_TAILS_PER_SAMPLE_SHIFT = 5,
  PACKED_TAIL_UNARY_MAX = 32,
  PACKED_TREE_DEPTH_MAX = 4,        /* parents above a live set */
  PACKED_TREE_PER_SAMPLE_SHIFT = 3, /* sets that share an entry of a tree's directory */
  PACKED_ITEMS_MAX = 1 << 26,       /* of a layout */
  PACKED_BIT_MAP_MAX = 4096, /* bits in a map of locations, which is searched from its start */
  PACKED_BLOCK_SIZE_MAX = 1 << 24, /* of a block of details, decoded */
  PACKED_LIVE_ITEMS_MAX = 65535,   /* of a live set: a v3 record has no more locations */
};

/* Features that a reader must know. None yet: bits are added with what needs them. */
#define PACKED_FEATURES 0u

enum packed_codec { PACKED_STORED = 0, PACKED_ZSTANDARD = 1 };

/* Columns of the details: which of them differ between records. */
enum packed_column {
  PACKED_COLUMN_ID = 1,
  PACKED_COLUMN_CALLING_CONVENTION = 2,
  PACKED_COLUMN_FLAGS = 4,
  PACKED_COLUMN_DEOPT = 8,
  PACKED_COLUMN_LIVE_OUTS = 16,
  PACKED_ALL_COLUMNS = 31,
};

/* The header's numbers, in the order in which they stand. */
struct packed_header {
  uint32_t magic;
  uint16_t version;
  uint16_t header_size;
  uint32_t features;
  uint32_t header_checksum; /* XXH32 of the header, this field as 0 */
  uint64_t size;            /* of the table in bytes: header, parts and padding */
  uint64_t checksum;        /* XXH3 (64 bits) of all that follows the header */
  int64_t text_start;       /* the lowest function's address less the table's */
  uint64_t text_size;       /* from there to the highest address of a record or end of a function */
  uint32_t records, functions;
  uint32_t shared_layouts;   /* layouts of several functions; they come first */
  uint32_t shared_functions; /* the functions that have them; each other one has its own */
  uint64_t layout_bits;
  uint32_t frame_sizes, location_classes;
  uint32_t locations; /* numbers that the classes give, all together */
  uint32_t lists;
  uint64_t list_bits;
  uint64_t tail_bits;
  uint32_t exceptions;
  uint8_t record_shift, function_shift; /* addresses are multiples of 1 << shift from text_start */
  uint8_t tail_parameter;               /* of the Rice code */
  uint8_t frame_size_width;             /* in bits */
  uint8_t details_codec, details_columns;
  uint8_t details_shift; /* 1 << shift records in a block */
  uint8_t reserved;
  uint32_t details_blocks;
  uint64_t details_size;
  uint32_t details_block_size; /* of the largest block, decoded, in bytes */
  uint16_t deopt_max, live_outs_max;
  uint64_t id; /* these three: of every record, or of most where a column says otherwise */
  int32_t calling_convention, flags;
};

/* Where the parts lie, from the table's start, in bytes. */
struct packed_parts {
  struct monotone_shape records, functions, layout_starts, list_starts;
  uint64_t records_at, functions_at;
  uint64_t marks_at, mark_samples_at, shared_at;
  uint64_t tail_samples_at, tails_at;
  uint64_t layout_starts_at, layouts_at;
  uint64_t frame_sizes_at, classes_at, list_starts_at, lists_at, exceptions_at;
  uint64_t block_starts_at, blocks_at;
  uint64_t size;
};

static inline uint32_t packed_layouts(const struct packed_header *header) {
  return header->shared_layouts + (header->functions - header->shared_functions);
}

/* Computes the parts from the header's counts; false if these contradict each other. */
bool packed_parts(const struct packed_header *header, struct packed_parts *parts);

void packed_header_write(uint8_t *bytes, struct packed_header *header);

/* An opened table. */
struct packed_table {
  const uint8_t *bytes;
  uint64_t address; /* of bytes[0] in the address space of the look-ups */
  uint64_t text_start;
  uint64_t text_size;
  struct monotone records, functions, layout_starts, list_starts;
  const uint8_t *marks, *mark_samples, *shared;
  const uint8_t *tail_samples, *frame_sizes, *classes, *exceptions, *block_starts, *blocks;
  struct bit_array tails, layouts, lists;
  uint32_t record_count, function_count, shared_layouts, shared_functions, layout_count;
  uint32_t location_classes, location_count, list_count, exception_count, frame_size_count;
  uint8_t record_shift, function_shift, tail_parameter, frame_size_width;
  uint8_t shared_width, frame_width, location_width, list_width;
  /* The class of most locations. */
  struct location first_class;
  uint32_t first_class_count, first_class_step;
};

enum packed_error {
  PACKED_OK,
  PACKED_TOO_SHORT,     /* fewer bytes than the header says, or than a header */
  PACKED_NOT_A_TABLE,   /* the magic number differs */
  PACKED_NEWER_VERSION, /* or with features that are unknown here */
  PACKED_BAD_HEADER,    /* its checksum differs, or its counts contradict each other */
};

/* Opens bytes[0..size), which are 8-aligned and stay where they are. Reads the header only. */
enum packed_error packed_open(struct packed_table *table, const uint8_t *bytes, size_t size,
                              uint64_t address);

/* A number that differs between tables of different contents: the stored checksums. */
uint64_t packed_identity(const struct packed_table *table);

/* Verifies the checksum over the whole table. */
bool packed_check(const struct packed_table *table);
void packed_header_read(const uint8_t *bytes, struct packed_header *header);

enum packed_answer {
  PACKED_FOUND,
  PACKED_NOT_MANAGED,
  PACKED_NOT_SAFEPOINT,
  PACKED_CORRUPT,
};

struct packed_record {
  const struct packed_table *table;
  uint64_t address;
  uint64_t function_address;
  uint32_t index;
  uint32_t function; /* its number, by address */
  uint32_t position; /* of the record in the function's layout */
  uint64_t layout;   /* where the layout starts, in bits */
};

enum packed_answer packed_find(const struct packed_table *table, uint64_t address,
                               struct packed_record *record);

/* Record `index` < record_count. PACKED_FOUND or PACKED_CORRUPT. */
enum packed_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                    struct packed_record *record);

uint64_t packed_function_address(const struct packed_table *table, uint32_t function);

/* Up to where, from the function's start on, addresses are managed: the end of its code, or the
 * start of the next function where that comes first. */
uint64_t packed_function_end(const struct packed_table *table, uint32_t function);

/* The bit at which a function's layout starts. */
uint64_t packed_layout(const struct packed_table *table, uint32_t function);

/* The frame size of the functions that have a layout. UINT64_MAX: unknown. */
uint64_t packed_frame_size(const struct packed_table *table, uint64_t layout);

/* Location `number`; all zeros if there is none of this number. */
struct location packed_location(const struct packed_table *table, uint32_t number);

/* ---- Live sets ---- */

/* An item of a live set, as in safepoints.h: a pair of locations' numbers, or the number of a list.
 */
/* Whether a record is no statepoint's: it has a list of locations. */
bool packed_is_stackmap(const struct packed_record *record);

enum packed_item_kind { PACKED_PAIR, PACKED_ALLOCAS, PACKED_LOCATIONS };
struct packed_item {
  enum packed_item_kind kind;
  uint32_t base, derived; /* a list: its number is in base */
};

/* The flips of one live set in a tree, as yet unread. */
struct packed_flips {
  uint64_t place; /* bit of the flip after `next` */
  uint32_t left;  /* flips after `next` */
  uint32_t next;  /* an item's number; UINT32_MAX behind the last */
};

/* Goes through the items of one record's live set. */
struct packed_items {
  const struct packed_table *table;
  /* The layout, taken apart: see packed_items(). Places are bits. */
  uint64_t locations_at, selves_at, derived_at, lists_at, set_at;
  uint32_t locations, run, first_location; /* run: of the bit map, if there is one */
  uint32_t selves, derived, items;
  uint8_t location_form, all_selves, set_form, item_width, derived_width;
  uint8_t depth; /* of the tree's sets in flips */
  bool bad;
  uint16_t left;                    /* how many items may yet come */
  uint32_t last_self, last_self_at; /* the self pair that came last, and its location */
  /* 64 items at a time: bit n of window is item window_start + n. */
  uint32_t window_start;
  uint64_t window;
  struct packed_flips flips[PACKED_TREE_DEPTH_MAX + 1];
};

enum packed_location_form { PACKED_CONTIGUOUS, PACKED_BIT_MAP, PACKED_LIST };
enum packed_set_form { PACKED_SET_BIT_MAP, PACKED_SET_TREE, PACKED_SET_ALL };

void packed_items(struct packed_items *items, const struct packed_record *record);
bool packed_items_next(struct packed_items *items, struct packed_item *item);

/* A location list: how many there are, and where they stand. */
struct packed_list {
  const struct packed_table *table;
  struct bit_reader reader;
  uint32_t left;
};
struct packed_list packed_list(const struct packed_table *table, uint32_t number);
bool packed_list_next(struct packed_list *list, struct location *location);

#endif
