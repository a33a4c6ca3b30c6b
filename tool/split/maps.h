/* maps.h - the stack maps of an object: their functions, and the places of these.
 *
 * In an object, a stack map lacks a function's address; a relocation at that place names a symbol.
 * On RISC-V, where linkers move code within a section, relocations also give the distance from
 * there to each return address. So with each function go the relocations of its entry and of its
 * records.
 */
#ifndef STACKPACK_SPLIT_MAPS_H
#define STACKPACK_SPLIT_MAPS_H

#include "format/stackmap_v3.h"
#include "tool/split/object.h"

/* A relocation of a section of stack maps: they are sorted by offset, then by number. */
struct map_place {
  Elf64_Rela relocation;
  size_t number;
};

/* A section of stack maps. */
struct map_section {
  uint32_t number;
  uint32_t relocations;     /* the section of its relocations; 0: none */
  struct map_place *places; /* owned: the relocations, sorted */
  size_t place_count;
  uint32_t text;    /* the section of its functions; 0: it has none; MAPS_SEVERAL */
  bool uses_global; /* a relocation names a symbol that another object may define, too */
  bool is_named;    /* a relocation of another type than NONE refers to it */
  bool is_held;     /* a relocation of type NONE in `text` refers to it */
  bool is_split;    /* it is split already */
};
#define MAPS_SEVERAL UINT32_MAX

/* A function that they describe. */
struct map_function {
  uint32_t section;                  /* of maps->sections */
  uint32_t text;                     /* the section of its code */
  size_t position;                   /* of its entry */
  uint64_t count;                    /* of its records: */
  size_t begin, end;                 /* bytes [begin, end) of the section */
  struct stackmap_v3_reader records; /* at the first of them */
};

struct maps {
  struct map_section *sections; /* owned, as the next ones */
  struct map_function *functions;
  size_t section_count, section_capacity, function_count, function_capacity;
  uint32_t *of_section; /* for each of the object's sections: 1 + its place in `sections`, or 0 */
};

/* Reads all stack maps of an object. False, and a problem, if a part is unreadable; maps_close is
 * to be called in any case. */
bool maps_read(struct maps *maps, const struct object *object, struct problem *problem);
void maps_close(struct maps *maps);

/* The first of a section's relocations at `offset` or after it. */
size_t maps_find_place(const struct map_section *section, uint64_t offset);

#endif
