/* sources_bytes.h - the steps of reading a part of sources, for one record (sources_read.c) and for
 * all of them (sources_unpack.c). */
#ifndef STACKPACK_SOURCES_BYTES_H
#define STACKPACK_SOURCES_BYTES_H

#include "format/sources.h"

/* The kinds of records in a stretch that has other kinds than the first one. */
enum sources_kind {
  SOURCES_USUAL, /* in the stretch's function, and perhaps in a tail */
  SOURCES_WHOLE, /* in a tail alone */
  SOURCES_NOWHERE,
  SOURCES_KIND_WIDTH = 2,
};

enum { SOURCES_NIBBLE = 3 }; /* bits of a number in four; the highest says that more follow */

/* Goes through the entries of a group. */
struct sources_entries {
  const struct sources_part *part;
  const uint8_t *next, *end;
  uint32_t number; /* of the next entry */
};

/* The entry that was read last. */
struct sources_entry {
  bool is_empty;
  uint32_t file;          /* the number of its entry; 0: unknown */
  uint32_t line;          /* a function's first one */
  const uint8_t *name;    /* its codes; */
  const uint8_t *records; /* and of a stretch the records */
  uint64_t name_size, records_size;
};

/* False: the part is broken. */
bool sources_entries_at(struct sources_entries *entries, const struct sources_part *part,
                        uint32_t group);
bool sources_entries_next(struct sources_entries *entries, struct sources_entry *entry);

/* Writes an entry's name, without a 0, to name[0..room), as far as there is room. *length is the
 * whole name's. */
bool sources_entry_name(const struct sources_part *part, const struct sources_entry *entry,
                        char *name, size_t room, size_t *length);

/* Fields of bits one after another. */
struct sources_bits {
  const uint8_t *bytes;
  uint64_t at, end; /* bits */
  bool bad;         /* a field is beyond the end */
};

/* A frame of a record: the number of its function's entry, and a line relative to the entry's. */
struct sources_step {
  uint32_t function, line;
};

/* A tail: a frame that is inlined, and the ones that are inlined there. */
struct sources_tail {
  struct sources_step step;
  uint32_t inner; /* tail_count: none */
};

/* Goes through the tails of a group. */
struct sources_tails {
  const struct sources_part *part;
  struct sources_bits bits;
  uint32_t number; /* of the next tail */
};
bool sources_tails_at(struct sources_tails *tails, const struct sources_part *part, uint32_t group);
bool sources_tails_next(struct sources_tails *tails, struct sources_tail *tail);

/* Goes through the records of a stretch. */
struct sources_records {
  const struct sources_part *part;
  struct sources_bits bits;
  bool is_mixed;
  enum sources_kind kind; /* of the record that was read last */
  uint32_t line, tail;    /* tail_count: none */
};
void sources_records(struct sources_records *records, const struct sources_part *part,
                     const struct sources_entry *entry);
bool sources_records_next(struct sources_records *records);

#endif
