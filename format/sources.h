/* sources.h - where records are in their sources: function, file and line of each frame, inlined
 * ones included.
 *
 * In memory, between a reader of debug information and the packed table: a record has the number of
 * its innermost place, which names the place that it was inlined into, and so on to the function
 * that the linker knows. FORMAT.md draws the part of the packed table that has the same.
 */
#ifndef STACKPACK_SOURCES_H
#define STACKPACK_SOURCES_H

#include "format/bits.h"
#include "format/intern.h"
#include "runtime/stackpack.h"

/* ---- In memory: sources.c ---- */

/* A line in a function, at which a frame waits. Equal places have one number. */
struct source_place {
  uint32_t function, file; /* names; 0: unknown */
  uint32_t line;           /* of the call, where another place is inlined; 0: unknown */
  uint32_t caller;         /* the number of the place that it is inlined into; 0: none */
};

/* Names and places by number, from 1 on. All zeros are an empty one. */
struct sources {
  struct intern names, places;
};

void sources_free(struct sources *sources);

/* The number of a name (a function's as linked, or a path), added if it is new. NULL and "" are
 * unknown names. False if memory runs out. */
bool sources_add_name(struct sources *sources, const char *name, uint32_t *number);

/* The same of a place, after its caller. */
bool sources_add_place(struct sources *sources, struct source_place place, uint32_t *number);

/* Name `number`, valid until the next one is added; "" for 0. */
const char *sources_name(const struct sources *sources, uint32_t number);

/* Place `number`, from 1 on. */
struct source_place sources_place(const struct sources *sources, uint32_t number);

/* The place that a place and all its callers up to there are inlined into; 0 for 0. */
uint32_t sources_outermost(const struct sources *sources, uint32_t number);

/* ---- Reading: sources_read.c ---- */

enum {
  SOURCES_HEAD_SIZE = 24,
  SOURCES_GROUP = 16,          /* entries, or tails */
  SOURCES_CODES = 256,         /* of names */
  SOURCES_CODE_MAX = 32,       /* bytes of a name that one code has, at most */
  SOURCES_DEPTH_MAX = 255,     /* frames of a record */
  SOURCES_NAMES_MAX = 1 << 24, /* bytes of a record's names */
};

/* A part that is open. */
struct sources_part {
  const uint8_t *literals, *pairs, *starts, *entries, *tail_starts, *tails;
  uint64_t entries_size, tails_size;
  uint64_t entry_count; /* functions, then files */
  uint32_t stretch_count, function_count, tail_count;
  uint32_t names_size; /* of a record's names with their final 0s, the most */
  uint8_t depth;       /* of a record's frames, the most */
  uint16_t literal_count;
  uint8_t start_bytes, tail_start_bytes, pair_count;
  uint8_t callee_width, tail_width;
  bool has_lines;
};

/* Opens bytes[0..size), followed by 16 readable bytes, for so many stretches. False: they are
 * broken. Reads the first bytes only. */
bool sources_open(struct sources_part *part, const uint8_t *bytes, uint64_t size,
                  uint32_t stretch_count);

/* The space that has room for the frames of each record. */
static inline size_t sources_space(const struct sources_part *part) {
  return part->depth * sizeof(struct stackpack_source) + part->names_size;
}

/* Reads the frames of a stretch's record, innermost first, into space[0..size), which is 8-aligned.
 */
enum stackpack_source_answer sources_read(const struct sources_part *part, uint32_t stretch,
                                          uint32_t position, void *space, size_t size,
                                          struct stackpack_sources *sources);

/* ---- Writing: sources_write.c ---- */

/* The input: for each record its innermost place (0: unknown), its stretch, and its position among
 * those of the stretch. */
struct sources_input {
  const struct sources *sources;
  uint32_t record_count, stretch_count;
  const uint32_t *places, *stretches, *positions;
};

/* Makes a part in the empty *out; no bytes if all places are unknown. False if memory runs out, or
 * where a number is too large for the format: then *is_too_large. */
bool sources_write(const struct sources_input *input, struct bit_writer *out, bool *is_too_large);

#endif
