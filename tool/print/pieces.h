/* pieces.h - the sections of objects that were laid out in memory (lay_out.h), and addresses there
 * as people know them: .text.f+0x12; lua.o:.text+0x40 in an archive.
 */
#ifndef STACKPACK_PIECES_H
#define STACKPACK_PIECES_H

#include "tool/image/integers.h"
#include "tool/image/names.h"

struct piece {
  uint64_t address, size;
  const char *section;
  const char *member; /* of an archive; NULL: there is none */
};

/* A name of a section or function, for searches. */
struct piece_name {
  const char *text;
  uint64_t address;
};

struct pieces {
  struct piece *items; /* by address; owned; none: the file is linked */
  size_t count, capacity;
  struct piece_name *names; /* by text; owned; filled by the first search */
  size_t name_count, name_capacity;
  struct integers found; /* the addresses of the last search */
};

/* The piece with an address, or whose end it is; NULL if there is none. */
const struct piece *pieces_find(const struct pieces *pieces, uint64_t address);

/* An address in its piece; without one, the address. */
static inline uint64_t piece_offset(const struct piece *piece, uint64_t address) {
  return piece == NULL ? address : address - piece->address;
}

/* Prints an address as text: member:section+0x12, or 0x12 without a piece. */
void piece_print(const struct piece *piece, uint64_t address);
/* Prints members of a JSON object: the names of a piece, with a comma before each; nothing for
 * NULL. */
void piece_print_json(const struct piece *piece);

/* Finds the places that a word means: SECTION+0x12, FUNCTION+0x12, or either with MEMBER: in front;
 * of several sections or functions of that name, each. False, and a problem, where it means
 * none. */
bool pieces_search(struct pieces *pieces, const struct names *names, const char *word,
                   struct problem *problem);

void pieces_close(struct pieces *pieces);

#endif
