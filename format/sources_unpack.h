/* sources_unpack.h - reads a whole part of sources back, for tools. */
#ifndef STACKPACK_SOURCES_UNPACK_H
#define STACKPACK_SOURCES_UNPACK_H

#include "format/owned.h"
#include "format/sources_bytes.h"

struct sources_unpacker {
  const struct sources_part *part;
  struct sources *sources; /* gets names and places */
  struct owned owned;
  struct unpacked_entry *entries;
  struct sources_tail *tails;
  struct sources_records records; /* of the stretch read last; */
  uint32_t stretch;               /* its number, */
  uint64_t position;              /* and how many of its records were read */
  uint64_t steps;                 /* of all: records and frames that were read */
};

enum sources_unpacked { SOURCES_UNPACKED, SOURCES_BROKEN, SOURCES_NO_MEMORY };

/* Reads all entries and tails. The caller calls sources_unpack_close in any case. */
enum sources_unpacked sources_unpack_open(struct sources_unpacker *unpacker,
                                          const struct sources_part *part, struct sources *sources);
void sources_unpack_close(struct sources_unpacker *unpacker);

/* Reads a record's innermost place; 0: it is unknown. */
enum sources_unpacked sources_unpack(struct sources_unpacker *unpacker, uint32_t stretch,
                                     uint32_t position, uint32_t *place);

#endif
