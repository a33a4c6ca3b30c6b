/* packed_encoder.h - the steps of packed_write, and the results that they share.
 *
 * packed_write.c runs them in order: each takes the table of safepoints and the results of the
 * steps before it from the encoder, and appends to parts of the packed table.
 */
#ifndef STACKPACK_PACKED_ENCODER_H
#define STACKPACK_PACKED_ENCODER_H

#include "format/owned.h"
#include "format/packed_write.h"

struct encoder_function {
  uint32_t first;    /* its first record by rule */
  uint32_t by_rule;  /* the number of records after it that are its own by rule */
  uint32_t extra;    /* exceptions that are its own */
  uint32_t stretch;  /* the number of its stretch */
  uint64_t sequence; /* the start of its frame size and live sets in `sequences` */
};

/* The contents of a layout: the number of a frame size, and then the live sets of records, by
 * number. */
struct encoder_layout {
  const uint64_t *words; /* in `sequences` */
  uint64_t count;
  uint32_t function; /* one that has it */
};

/* A stretch of text, as packed.h explains. */
struct encoder_stretch {
  uint64_t offset; /* its start, from the text's start on */
  uint32_t layout; /* ENCODER_GAP: none */
};
enum { ENCODER_GAP = UINT32_MAX };

struct encoder {
  const struct safepoints *table;
  packed_compress *compress;               /* NULL: details are stored uncompressed */
  bool is_quick;                           /* rather soon than small */
  bool (*write_sources)(struct encoder *); /* NULL: without source positions */
  uint64_t address, text_start;
  struct packed_header header; /* each step fills in the fields about its parts */
  struct bit_writer parts[PACKED_PARTS];
  struct owned owned; /* all arrays */
  struct encoder_function *functions;
  struct encoder_stretch *stretches; /* at most two a function */
  uint32_t *positions;               /* by record: in its function's layout */
  uint32_t *record_stretches;        /* by record: its function's */
  bool *varies; /* by stretch: some records' frames are larger than its function's frame size */
  uint64_t *frame_sizes; /* distinct, by number; the ones of functions that vary are last */
  size_t frame_size_count;
  uint64_t *sequences;
  struct encoder_layout *layouts; /* by number */
  uint32_t layout_count;
  uint64_t *places;    /* of each layout: its place in its part, in bytes */
  uint32_t *locations; /* numbers, by number in the table; UINT32_MAX: unused */
  uint32_t location_count;
  uint32_t *lists;      /* numbers, by encoder_list_key; UINT32_MAX: unused by live sets */
  uint32_t *used_lists; /* the keys, by number */
  uint32_t list_count;
  const char *error;
};

/* An array of zeros, owned by the encoder. NULL if memory runs out, and sets the encoder's
 * error. */
void *encoder_array(struct encoder *encoder, uint64_t count, size_t size);

/* A number is too large for the format: that is the encoder's error then. Returns false. */
bool encoder_too_many(struct encoder *encoder);

/* The key of a list. A list of locations and the same list of allocas have two keys. */
static inline uint32_t encoder_list_key(uint64_t item) {
  return safepoint_item_list(item) << 1 | safepoint_item_is_locations(item);
}

/* The steps that have files of their own. False if memory runs out, or where a number is too large
 * for the format. */
bool packed_write_numbers(struct encoder *encoder); /* of locations and lists */
bool packed_write_layouts(struct encoder *encoder);
bool packed_write_leaves(struct encoder *encoder); /* and the directory */
bool packed_write_details(struct encoder *encoder);

/* All of them: packed_write and packed_write_quickly. */
const char *packed_write_with(struct encoder *encoder, uint8_t **bytes, size_t *size);

#endif
