/* areas.h - the parts of a program's memory that its file fills: code and data, by address.
 *
 * An area is a loaded section. It has marks for each byte, which steps of the call graph set: the
 * enumeration below. Sections that only the dynamic linker and unwinders read (symbols,
 * relocations, unwind tables, stack maps) are excluded: their words only look like addresses.
 */
#ifndef STACKPACK_AREAS_H
#define STACKPACK_AREAS_H

#include "tool/image/image.h"

struct area {
  const char *name;
  const uint8_t *bytes;
  uint64_t address, size;
  bool is_code;
  bool is_undecodable; /* its instructions may be others than they seem */
  bool is_linkage;     /* a procedure linkage table */
  bool is_start_table; /* of functions that run when the file is loaded or unloaded */
  bool is_constant;    /* only the dynamic linker writes to it */
  uint8_t *marks[3];
};

enum {
  /* of code */
  MARK_INSTRUCTION = 0, /* an instruction starts here */
  MARK_FUNCTION = 1,    /* a function starts here */
  MARK_LABEL = 2,       /* something besides direct jumps and resolved tables refers to it */
  /* of data */
  MARK_BASE = 0, /* some code or word has this address */
  MARK_USED = 1, /* the same, or some code uses the memory there */
};

struct areas {
  struct area *items; /* by address, disjoint */
  size_t count;
  struct code_range memory;  /* the program's, which contains the areas */
  bool may_have_short_calls; /* instructions that are marked so (struct code_instruction) may be */
};

/* `raw` is the raw stack maps' section, or NULL. */
bool areas_open(struct areas *areas, const struct image *image, const struct image_section *raw,
                struct problem *problem);
void areas_close(struct areas *areas);

/* The area that has an address, or NULL. */
struct area *areas_find(const struct areas *areas, uint64_t address);

/* Whether an address is beyond the program's memory, or its end. */
static inline bool areas_are_beyond(const struct areas *areas, uint64_t address) {
  return address < areas->memory.start || address > areas->memory.end;
}

static inline void area_mark(struct area *area, int mark, uint64_t address) {
  const uint64_t n = address - area->address;
  area->marks[mark][n / 8] |= (uint8_t)(1 << n % 8);
}

static inline bool area_is_marked(const struct area *area, int mark, uint64_t address) {
  const uint64_t n = address - area->address;
  return (area->marks[mark][n / 8] >> n % 8 & 1) != 0;
}

#endif
