/* packed.h - the packed table: what `pack` writes and the runtime looks up. See FORMAT.md.
 *
 *   header            with a checksum: counts and widths, from which all else follows
 *   directory         for each 2^leaf_shift bytes of text, where its leaf starts
 *   leaves            layouts that several functions have; then leaf after leaf, each with the
 *                     layouts that nobody else has behind it
 *   bare functions    those without records (monotone.h), with their frame sizes
 *   extent of each    how far its code starts before its first record and goes behind its last one
 *   frame sizes, location classes, location lists, exceptions
 *   conventions       which of two calling conventions each record has (packed_conventions.c)
 *   details           compressed blocks: what collectors rarely ask for
 *   global roots      addresses of variables (packed_roots.c), if there are any
 *
 * A look-up goes from the directory to a leaf, and from there to a layout: what belongs to records
 * near each other stands together, so that few cache lines are touched, and most of these at once.
 * A leaf (packed_leaf.c) has the addresses of its records, a mark where the records of another
 * function begin, and for each of these functions the place of its layout. A layout
 * (packed_items.c) says what is live at each of the function's records.
 *
 * A record belongs to the last function that starts before its address. The records that a function
 * has by this rule are a *run*, and a function without any is *bare*. (A return address may be
 * the function's very end, where the next function starts; but only a stack map or patch point can
 * stand at a function's first byte.) The records of which the rule doesn't hold are listed as
 * exceptions.
 */
#ifndef STACKPACK_PACKED_H
#define STACKPACK_PACKED_H

#include "format/location.h"
#include "format/monotone.h"

#define PACKED_MAGIC 0x4b505453u    /* "STPK" */
#define PACKED_USUAL_ID 0xabcdef00u /* LLVM's, of statepoints that have none of their own */
enum {
  PACKED_VERSION = 5,
  PACKED_HEADER_MIN = 48,  /* of a header's size, which is a multiple of 8 */
  PACKED_HEADER_MAX = 160, /* that is the size of all fields */
  PACKED_LOCATION_CLASS_SIZE = 24,
  PACKED_EXCEPTION_SIZE = 20,
  PACKED_BUCKETS_PER_SAMPLE_SHIFT = 7, /* of a leaf */
  PACKED_RECORDS_PER_GROUP_SHIFT = 2,  /* records of a leaf whose marks are told only if one is 1 */
  PACKED_GROUPS_PER_SAMPLE_SHIFT = 7,
  PACKED_EXTENTS_PER_SAMPLE_SHIFT = 5,
  PACKED_CONVENTIONS_PER_BLOCK_SHIFT = 10,
  PACKED_DEPTH_MAX = 4,        /* parents above a live set */
  PACKED_SLOTS_PAIRS_MAX = 56, /* locations of a layout that packed_slots reads; pairs it finds */
  PACKED_WIDE_MAX = 256, /* locations of a layout that packed_wide reads; steps between them */
  PACKED_CHANGES_PER_SAMPLE_SHIFT = 1, /* sets that share an entry of the changes' directory */
  PACKED_LOCATIONS_MAX = 1 << 26,      /* of a layout; as many bases may a location have */
  PACKED_SETS_MAX = (1 << 28) - 2,     /* of a layout */
  PACKED_PLANES_MAX = 28,              /* bits of a state, or of the number of a list */
  PACKED_BIT_MAP_MAX = 4096, /* bits in a map of locations, which is searched from its start */
  PACKED_BLOCK_SIZE_MAX = 1 << 24, /* of a block of details, decoded */
  PACKED_LIVE_ITEMS_MAX = 65535,   /* of a live set: a v3 record has no more locations */
};

/* Features that a reader must know. */
enum packed_feature { PACKED_GLOBAL_ROOTS = 1 }; /* without them, a collector would miss roots */
#define PACKED_FEATURES ((uint32_t)PACKED_GLOBAL_ROOTS)

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

/* The header's numbers, in the order in which they stand. A header may end before the last one:
 * header_size says where. What isn't there is 0. */
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
  uint32_t leaves_size; /* in bytes: shared layouts, leaves, their own layouts */
  uint32_t shared_size; /* in bytes: the layouts that serve several functions, which come first */
  uint32_t extent_bits;
  uint32_t locations; /* numbers that the classes give, all together */
  uint32_t frame_sizes;
  uint8_t leaf_shift;                   /* a leaf has the records in 1 << shift bytes of text */
  uint8_t record_shift, function_shift; /* addresses are multiples of 1 << shift from text_start */
  uint8_t lead_parameter, tail_parameter; /* of the Rice codes of extents */
  uint8_t frame_size_shift;               /* frame sizes are multiples of 1 << shift */
  uint8_t frame_size_width;               /* this and the next two: in bits */
  uint8_t continued_width;                /* of the place of a layout from a leaf before */
  uint8_t position_width;                 /* of the position of a leaf's first record in its run */
  /* Of the numbers at a layout's start: frame size's number, sets, locations, first location. */
  uint8_t frame_parameter, sets_parameter, locations_parameter, first_parameter;
  uint8_t details_shift; /* 1 << shift records in a block */
  uint8_t details_codec, details_columns;
  uint32_t location_classes;
  uint32_t convention_bits; /* of the runs of two conventions; 0: all records have the first one */
  int32_t second_convention;
  uint32_t bare_functions; /* without records by the rule */
  uint32_t details_blocks;
  uint32_t details_block_size; /* of the largest block, decoded, in bytes */
  uint16_t deopt_max, live_outs_max;
  uint64_t details_size;
  uint64_t id; /* this and flags: of every record, or of most where a column says otherwise. What
                  stands in the file is the ID less PACKED_USUAL_ID, modulo 2^64 */
  uint32_t exceptions;
  uint32_t lists;
  uint64_t list_bits;
  int32_t calling_convention;
  int32_t flags;
};

/* Where the parts lie, from the table's start, in bytes. */
struct packed_parts {
  struct monotone_shape bare, list_starts;
  uint64_t directory_at, leaves_at, bare_at, bare_frames_at;
  uint64_t extent_samples_at, extents_at;
  uint64_t frame_sizes_at, classes_at, list_starts_at, lists_at, exceptions_at, conventions_at;
  uint64_t block_ends_at, blocks_at;
  uint64_t size; /* of a table without global roots: where theirs start, and BITS_PADDING */
};

static inline uint32_t packed_runs(const struct packed_header *header) {
  return header->functions - header->bare_functions;
}

static inline uint64_t packed_leaf_count(const struct packed_header *header) {
  return header->records == 0 ? 0 : (header->text_size >> header->leaf_shift) + 1;
}

/* Widths of the fields of the directory. */
static inline unsigned packed_start_width(const struct packed_header *header) {
  return bits_for_count((uint64_t)header->leaves_size + 1);
}
static inline unsigned packed_entry_width(const struct packed_header *header) {
  return packed_start_width(header) + bits_for_count((uint64_t)header->records + 1) +
         bits_for_count((uint64_t)packed_runs(header) + 1);
}

/* Computes the parts from the header's counts; false if these contradict each other. */
bool packed_parts(const struct packed_header *header, struct packed_parts *parts);

/* Sets the header's checksum, and writes its header_size bytes. */
void packed_header_write(uint8_t *bytes, struct packed_header *header);

/* The size of a header, which is cut behind the last field that isn't 0. */
uint16_t packed_header_size(const struct packed_header *header);

/* Which of the short cuts for look-ups (packed_find.c) suits a table. */
enum packed_short_cut {
  PACKED_NO_SHORT_CUT,   /* there are exceptions, or hundreds of millions of records */
  PACKED_SHORT_CUT,      /* a load of 57 bits has an entry of the directory */
  PACKED_WIDE_SHORT_CUT, /* it takes two */
};

/* An opened table. */
struct packed_table {
  const uint8_t *bytes;
  uint64_t address; /* of bytes[0] in the address space of the look-ups */
  uint64_t text_start;
  uint64_t text_size;
  const uint8_t *directory;
  struct bit_array layouts; /* the leaves, in which the layouts stand */
  uint64_t readable; /* bits from there on that a word may be loaded from: to the table's end */
  uint64_t leaf_count;
  uint32_t record_count, function_count, bare_count, run_count, shared_size;
  uint8_t leaf_shift, record_shift, function_shift, lead_parameter, tail_parameter;
  uint8_t start_width, index_width, run_width, entry_width; /* of the directory */
  uint8_t shared_width, continued_width, position_width, frame_size_width, frame_size_shift;
  uint8_t frame_parameter, sets_parameter, locations_parameter, first_parameter;
  uint8_t extent_sample_width, frame_width, location_width, list_width;
  uint8_t short_cut; /* enum packed_short_cut */
  bool quick;        /* bits_processor_is_quick */
  uint32_t location_classes, location_count, list_count, exception_count, frame_size_count;
  const uint8_t *frame_sizes, *bare_frames, *extent_samples, *classes, *exceptions;
  const uint8_t *block_ends, *blocks;
  struct monotone bare, list_starts;
  const uint8_t *conventions;
  uint32_t convention_bits;
  struct bit_array extents, lists;
  /* The class of most locations. */
  struct location first_class;
  uint32_t first_class_count, first_class_step;
  const uint8_t *roots; /* NULL: no global roots */
  uint64_t roots_size;
};

static inline enum packed_short_cut packed_short_cut(const struct packed_table *table) {
  if (table->exception_count > 0 || table->entry_width - table->start_width > 57)
    return PACKED_NO_SHORT_CUT;
  return table->entry_width <= 57 ? PACKED_SHORT_CUT : PACKED_WIDE_SHORT_CUT;
}

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
/* The size of a header, behind which the parts start, as it stands in it. */
static inline uint16_t packed_stored_header_size(const uint8_t *bytes) {
  return bits_load16(bytes + 6);
}
/* Reads so many bytes of a header, or PACKED_HEADER_MAX if that is less. */
void packed_header_read(const uint8_t *bytes, struct packed_header *header);

enum packed_answer {
  PACKED_FOUND,
  PACKED_NOT_MANAGED,
  PACKED_NOT_SAFEPOINT,
  PACKED_CORRUPT,
};

struct packed_record {
  uint64_t address;
  uint32_t index;
  uint32_t run; /* the number of the run that it is in; UINT32_MAX: it is an exception */
  const struct packed_table *table;
  uint64_t layout;   /* where the layout starts, in bits */
  uint32_t position; /* of the record in the layout */
};

/* Fetches the memory that a look-up of an address will read first, or (step 1) next. */
void packed_prefetch(const struct packed_table *table, uint64_t address, unsigned step);

enum packed_answer packed_find(const struct packed_table *table, uint64_t address,
                               struct packed_record *record);

/* packed_find for an offset into the text that is a multiple of the records' shift and at most
 * text_size, in a table with leaves: PACKED_NOT_MANAGED stands for both of the other answers. The
 * second one takes a short cut where it can: packed_find.c. */
enum packed_answer packed_find_record(const struct packed_table *table, uint64_t offset,
                                      struct packed_record *record);
enum packed_answer packed_find_quickly(const struct packed_table *table, uint64_t offset,
                                       struct packed_record *record);

/* Record `index` < record_count. PACKED_FOUND or PACKED_CORRUPT. */
enum packed_answer packed_record_at(const struct packed_table *table, uint32_t index,
                                    struct packed_record *record);
/* The number of the function that a record belongs to; UINT32_MAX: the table is broken. */
uint32_t packed_record_function(const struct packed_record *record);

/* ---- Leaves: packed_leaf.c ---- */

/* A leaf, taken apart. Places are bits of table->layouts. */
struct packed_leaf {
  const struct packed_table *table;
  uint64_t number;         /* of the leaf */
  uint64_t index;          /* of its first record */
  uint64_t runs;           /* that start before it */
  uint64_t run_count;      /* that start in it */
  uint64_t end;            /* where the next leaf starts, in bytes */
  struct monotone offsets; /* of its records, from where the leaf's text starts, shifted */
  /* Only if there are records. The marks end at marks_end at the latest. */
  uint64_t groups_at, mark_samples_at, owns_at, marks_at, marks_end;
};

/* How many bits of a record's offset in its leaf, of `universe`, are its bucket's number. */
static inline unsigned packed_leaf_bucket_width(unsigned universe, uint64_t records) {
  const unsigned width = bits_for_count(records);
  return width < universe ? width : universe;
}

/* How many bits a leaf's samples of its buckets take. */
static inline uint64_t packed_bucket_samples(uint64_t records, uint64_t buckets) {
  const uint64_t sampled = (uint64_t)1 << PACKED_BUCKETS_PER_SAMPLE_SHIFT;
  if (records <= sampled)
    return 0;
  return ((buckets + sampled - 1) >> PACKED_BUCKETS_PER_SAMPLE_SHIFT) *
         bits_for_count(records + buckets);
}

static inline uint64_t packed_leaf_groups(uint64_t records) {
  return (records + bits_low_mask(PACKED_RECORDS_PER_GROUP_SHIFT)) >>
         PACKED_RECORDS_PER_GROUP_SHIFT;
}

/* How many samples a leaf has of its marks, of two fields each, and how wide such a field is. */
static inline uint64_t packed_mark_samples(uint64_t records) {
  const uint64_t groups = packed_leaf_groups(records);
  const uint64_t samples =
      (groups + bits_low_mask(PACKED_GROUPS_PER_SAMPLE_SHIFT)) >> PACKED_GROUPS_PER_SAMPLE_SHIFT;
  return samples <= 1 ? 0 : samples;
}
static inline unsigned packed_mark_sample_width(uint64_t records) {
  return bits_for_count(records + 1);
}

/* Where a leaf's own layouts start is a sorted sequence, of numbers below `span`: how many low bits
 * each has (bits_for_count(span + 1) less bits_for_count(owns), if that is above 0), and how many
 * bits they take all together. */
static inline unsigned packed_own_low_width(uint64_t span, uint64_t owns) {
  const int above_span = __builtin_clzll(span | 1), above_owns = __builtin_clzll((owns - 1) | 1);
  return above_owns > above_span ? (unsigned)(above_owns - above_span) : 0;
}
static inline uint64_t packed_own_bits(uint64_t span, uint64_t owns) {
  const unsigned low_width = packed_own_low_width(span, owns);
  return owns <= 1 ? 0 : (owns - 1) * (low_width + 1) + (span >> low_width);
}

/* Leaf `number` < leaf_count. False: the table is broken. */
bool packed_leaf_open(struct packed_leaf *leaf, const struct packed_table *table, uint64_t number);

/* The number of marks up to a leaf's record, and at which record the last of them is. False: the table
 * is broken. */
struct packed_marks {
  uint32_t count, last; /* last: only if count > 0 */
};
bool packed_leaf_marks(const struct packed_leaf *leaf, uint32_t record, struct packed_marks *marks);

/* What stands behind the marks of a leaf: where the layouts of its runs are. Places are bits, but for
 * that of the layouts. */
struct packed_references {
  uint64_t owns; /* how many runs have a layout of their own */
  uint64_t shared_at, own_at, high_at, continued_at;
  uint64_t layouts_at; /* a byte: where the first layout of the leaf's own starts */
  unsigned low_width;
  bool continues; /* the leaf's first record has no mark */
};
/* Of a leaf with records. False: the table is broken. */
bool packed_leaf_references(const struct packed_leaf *leaf, struct packed_references *references);

/* Goes through the marks of a leaf's records in order. */
struct packed_mark_walk {
  uint64_t place; /* of the marks of the next group that has some, in bits */
  uint32_t marks; /* how many there were */
};

/* Fills in the record under a cursor of leaf->offsets, whose index is below their count. */
enum packed_answer packed_leaf_record(const struct packed_leaf *leaf, struct monotone_cursor cursor,
                                      struct packed_record *record);

/* A place between two records, before the first one or behind the last one. */
struct packed_gap {
  uint64_t index;  /* of the record above; record_count: there is none */
  uint64_t above;  /* its offset; without it, text_size + 1 */
  uint64_t below;  /* the offset of the record below; only if index > 0 */
  uint64_t runs;   /* that start below the gap */
  bool starts_run; /* the record above is the first of one more */
};

/* The gap that an offset of at most text_size is in, or that is above its record. */
bool packed_gap_at(const struct packed_table *table, uint64_t offset, struct packed_gap *gap);

/* The gap below run `run`; for run_count, the one behind all records. False: the table is broken. */
bool packed_gap_below_run(const struct packed_table *table, uint64_t run, struct packed_gap *gap);
/* The gaps below run `run` < run_count, and below the next one. */
bool packed_gaps_around_run(const struct packed_table *table, uint64_t run,
                            struct packed_gap *below, struct packed_gap *above);

/* Layout and position of what is at run `run` < run_count's first place (in an exception's place, of
 * no record). Nothing else of *record is filled in. */
bool packed_run_record(const struct packed_table *table, uint64_t run,
                       struct packed_record *record);

/* Goes through the gaps below all runs in order, from the first one on, and then to the one behind
 * all records, where it stays. In a broken table, that comes too soon. */
struct packed_gaps {
  struct packed_gap gap;
  uint64_t layout;         /* of the run above the gap, in bits; past the end: there is none */
  struct packed_leaf leaf; /* the record above the gap is in it, */
  struct monotone_cursor cursor;       /* here */
  struct packed_mark_walk walk;        /* behind the record */
  struct packed_references references; /* of the leaf */
};
struct packed_gaps packed_gaps(const struct packed_table *table);
void packed_gaps_next(struct packed_gaps *gaps);

/* Goes through all records in order: not more often than record_count times. */
struct packed_records {
  struct packed_leaf leaf;
  struct monotone_cursor cursor; /* at the next record, if the leaf has one */
  struct packed_mark_walk walk;
  struct packed_references references; /* of the leaf */
  uint64_t layout;                     /* of the run that goes on, in bits */
  uint32_t position; /* that the leaf's first record has in this run, or would have */
};
struct packed_records packed_records(const struct packed_table *table);
enum packed_answer packed_records_next(struct packed_records *records,
                                       struct packed_record *record);

/* Whether counts and samples of the directory and of the leaves are those of the bits, and no leaf
 * overlaps another one: for tools that go through all records. */
bool packed_leaves_check(const struct packed_table *table);

/* ---- Functions ---- */

/* Where a function starts, and up to where addresses are managed from there on: to the end of its
 * code, or to the start of the next function where that comes first. */
struct packed_extent {
  uint64_t start, end;
};
/* Of function number `function` < function_count. */
struct packed_extent packed_function_extent(const struct packed_table *table, uint32_t function);

/* Goes through all functions in order, not more often than function_count times, and tells the same
 * of each. */
struct packed_function {
  struct packed_extent extent;
  uint64_t frame_size;
};
struct packed_functions {
  const struct packed_table *table;
  uint64_t number;             /* of the next one */
  struct packed_gaps gaps;     /* at the gap in which it starts */
  struct bit_reader extents;   /* at its extent */
  struct monotone_cursor bare; /* at the next bare one, if there is one */
};
struct packed_functions packed_functions(const struct packed_table *table);
struct packed_function packed_functions_next(struct packed_functions *functions);

/* Which of the two other answers holds for an offset of at most text_size that has no record. */
enum packed_answer packed_missing(const struct packed_table *table, uint64_t offset);

/* The number of the function whose records are a run; not below function_count if there is none. */
uint64_t packed_function_of_run(const struct packed_table *table, uint64_t run);

/* The function's frame size. UINT64_MAX: unknown. */
uint64_t packed_function_frame_size(const struct packed_table *table, uint32_t function);

/* Passes over a function's extent, and on to the next one's, from bit 0 of table->extents on. */
void packed_extent_skip(const struct packed_table *table, struct bit_reader *reader);

/* Frame size `number`. UINT64_MAX: unknown, or there is none of this number. */
static inline uint64_t packed_numbered_frame_size(const struct packed_table *table,
                                                  uint64_t number) {
  const unsigned width = table->frame_size_width;
  if (number >= table->frame_size_count)
    return UINT64_MAX;
  const uint64_t size = bits_at_wide(table->frame_sizes, number * width, width);
  return size == bits_low_mask(width) ? UINT64_MAX : size << table->frame_size_shift;
}

/* The number of a layout's frame size. The layout starts at a bit below table->layouts.size. */
static inline uint64_t packed_frame_number(const struct packed_table *table, uint64_t layout) {
  const unsigned parameter = table->frame_parameter;
  const uint64_t word = bits_load64(table->layouts.bytes + layout / 8) >> layout % 8;
  const unsigned high = (unsigned)__builtin_ctzll(~(word & INT64_MAX));
  if (high < BITS_SMALL_UNARY_MAX)
    return (uint64_t)high << parameter | (word >> (high + 1) & bits_short_mask(parameter));
  struct bit_reader reader = {table->layouts.bytes, layout, table->layouts.size, false};
  const uint64_t number = bit_reader_small(&reader, parameter);
  return reader.bad ? UINT64_MAX : number;
}

/* The frame size of the functions that have a layout, which starts at a bit. UINT64_MAX: unknown. */
static inline uint64_t packed_frame_size(const struct packed_table *table, uint64_t layout) {
  if (layout >= table->layouts.size)
    return UINT64_MAX;
  return packed_numbered_frame_size(table, packed_frame_number(table, layout));
}

/* ---- Locations ---- */

/* Location `number`; all zeros if there is none of this number. */
struct location packed_location(const struct packed_table *table, uint32_t number);

/* The number of the class that location `number` < location_count is of. */
uint32_t packed_location_class(const struct packed_table *table, uint32_t number);

/* ---- Calling conventions: packed_conventions.c ---- */

/* Goes through the records in order, of which each has the first or the second convention. */
struct packed_conventions {
  const struct packed_table *table;
  struct bit_reader reader;
  uint32_t index; /* of the record that comes next */
  uint32_t left;  /* in its run */
  bool is_second, started;
};

/* From record `index` < record_count on. */
struct packed_conventions packed_conventions(const struct packed_table *table, uint32_t index);
/* Not more often than there are records. False: the table is broken. */
bool packed_conventions_next(struct packed_conventions *conventions, bool *is_second);

/* The size of the part, in bytes. */
uint64_t packed_conventions_size(const struct packed_header *header);

/* ---- Global roots: packed_roots.c ---- */

/* Goes through the addresses, which ascend. */
struct packed_roots {
  struct monotone numbers; /* all zeros: there are none */
  uint64_t start;          /* the lowest address */
  uint8_t shift;
  struct monotone_cursor next;
};

/* False if the table's part isn't just as large as it says. */
bool packed_roots(const struct packed_table *table, struct packed_roots *roots);
bool packed_roots_next(struct packed_roots *roots, uint64_t *address);

/* ---- Live sets ---- */

/* Whether a record is no statepoint's: it has a list of locations. */
bool packed_is_stackmap(const struct packed_record *record);

/* An item of a live set, as in safepoints.h: a pair of locations' numbers, or the number of a list.
 */
enum packed_item_kind { PACKED_PAIR, PACKED_ALLOCAS, PACKED_LOCATIONS };
struct packed_item {
  enum packed_item_kind kind;
  uint32_t base, derived; /* a list: its number is in base */
};

/* The states that a location of a layout can be in: see packed_items.c. Gone through in order. */
struct packed_location_states {
  struct bit_reader counts; /* at the next location's number of states */
  uint64_t bases;           /* of the locations before */
  uint32_t base_count, index;
  bool is_self;
};

/* One live set, as a row of states or as the changes from another one. Places are bits. */
struct packed_set {
  /* A bit for each location; or the number of a changed one that is next but one. */
  uint64_t bits_at;
  uint64_t states_at; /* of changes: the new states; moves along */
  uint32_t next;      /* the changed location that is next; UINT32_MAX: none */
  uint32_t left;      /* how many follow it */
};

/* Goes through the items of one record's live set. */
struct packed_items {
  const struct packed_table *table;
  /* The layout, taken apart: see packed_items(). Places are bits. */
  uint64_t locations_at, selves_at, bases_at, lists_at, row_width;
  struct packed_location_states start, location;
  uint64_t sets_at, set_numbers_at;                /* set_numbers_at: of the records' sets */
  uint32_t set_count;                              /* of the layout */
  uint32_t locations, run, first_location, lists;  /* run: of the bit map, if there is one */
  uint32_t next;                                   /* the location that is looked at next */
  uint8_t location_form, base_width, number_width; /* number_width: of a changed location's index */
  uint8_t depth; /* of the chain in sets: the record's, its parents, a row. 0: all are in state 1 */
  bool any_derived, are_numbers, bad; /* are_numbers: changes aren't bit maps */
  uint16_t left;                      /* how many items may yet come */
  uint32_t planes[PACKED_PLANES_MAX]; /* of a row: where the next location's bit n stands in it */
  struct packed_set sets[PACKED_DEPTH_MAX + 1];
};

/* Whether bases are numbered among the locations that can be ordinary references, which are searched
 * from the first one on, or among all. */
static inline bool packed_bases_are_selves(uint64_t locations) {
  return locations <= PACKED_BIT_MAP_MAX;
}

/* How many bits a location's state takes, if it has `states` above 0. */
static inline unsigned packed_state_width(uint64_t states) {
  return states < 2 ? 1 : bits_for_count(states + 1);
}

/* The number of a record's set, in an array of such numbers: from which bit on, and how many. In a
 * record's place, the number is at most the record's position. */
struct packed_set_number {
  uint64_t at;
  unsigned width;
};
static inline struct packed_set_number packed_set_number(uint64_t sets, uint32_t position) {
  const unsigned width = bits_for_count(sets), up_to = bits_for_count((uint64_t)position + 1);
  const unsigned least = up_to < width ? up_to : width;
  return (struct packed_set_number){(uint64_t)position * least - bits_short_mask(least), least};
}

enum packed_location_form { PACKED_CONTIGUOUS, PACKED_BIT_MAP, PACKED_LIST };
enum packed_set_form { PACKED_SET_ROWS, PACKED_SET_CHANGES };

void packed_items(struct packed_items *items, const struct packed_record *record);
bool packed_items_next(struct packed_items *items, struct packed_item *item);

/* The items of the record at another position of the same layout, given those of some record, of
 * which none was taken. */
void packed_items_of(struct packed_items *items, const struct packed_items *other,
                     uint32_t position);

/* Which of the layout's sets a record has: for those who go through all records, and keep what they
 * have read of each set. items->set_count or above: the layout is broken. */
uint32_t packed_items_set(const struct packed_items *items, uint32_t position);

/* ---- The short cut: packed_slots.c ---- */

/* What is live at a record whose layout is of the common kind. */
struct packed_slots {
  uint64_t selves; /* bit n: the pair of location first + n with itself is live */
  uint32_t first;  /* the layout's lowest location; all of them are of the first class */
  uint32_t pair_count;
  struct packed_steps {
    uint8_t base, derived;
  } * pairs; /* all others, by how much their numbers are above `first`; the caller's, for
               PACKED_SLOTS_PAIRS_MAX */
};

/* False if the layout is of another kind, or broken: packed_items knows. */
bool packed_slots(const struct packed_record *record, struct packed_slots *slots);

/* ---- Wide layouts: packed_wide.c ---- */

/* All pairs that are live at a record. */
struct packed_wide {
  uint32_t first, last; /* the layout's lowest and highest location */
  uint32_t count;
  struct packed_steps *pairs; /* the caller's, for PACKED_WIDE_MAX; the highest location's first */
};

/* All that *items, just opened, would go through. False if there are others than pairs, or too many
 * locations, too far from each other: packed_items_next knows. */
bool packed_wide(const struct packed_items *items, struct packed_wide *pairs);

/* A location list: how many there are, and where they stand. */
struct packed_list {
  const struct packed_table *table;
  struct bit_reader reader;
  uint32_t left;
};
struct packed_list packed_list(const struct packed_table *table, uint32_t number);
bool packed_list_next(struct packed_list *list, struct location *location);

#endif
