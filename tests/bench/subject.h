/* subject.h - the records of one program, as all rivals must know them.
 *
 * They are read from the packed file, by the public look-up; the raw section's bytes come from the
 * file before packing. The rivals are built from one or the other, and each must then visit, for
 * every return address, the content here.
 */
#ifndef STACKPACK_BENCH_SUBJECT_H
#define STACKPACK_BENCH_SUBJECT_H

#include "runtime/stackpack.h"
#include "tool/image/image.h"

/* Where a value is, in 32 bits, as a careful user would keep it: an offset in bytes, and a register
 * in the lowest 8 bits. Registers themselves have 0x80 added; constants, 0xff. */
typedef int32_t slot;

struct pair {
  slot base, derived;
};

struct site {
  uint64_t address, function;
  uint32_t frame_size; /* UINT32_MAX: unknown */
  uint32_t first_pair, pairs;
  uint32_t first_slot, slots; /* the different ones in the pairs, in ascending order */
};

struct subject {
  struct image raw_image, packed_image;
  struct section_bytes packed;
  const uint8_t *raw; /* the raw section, with the linked file's addresses */
  uint8_t *raw_copy;
  size_t raw_size;
  struct site *sites; /* by address; those whose address only one record has */
  size_t site_count;
  size_t record_count; /* of all */
  struct pair *pairs;
  slot *slots;
  size_t pair_count, slot_count;
};

/* False, and a problem, where it exceeds the rivals' forms, too: a slot of more than 24 bits. */
bool subject_open(struct subject *subject, const char *raw_path, const char *packed_path,
                  struct problem *problem);
void subject_close(struct subject *subject);

/* Where a location is, as the lowest 8 bits of a slot say it. */
static inline unsigned slot_place(uint8_t kind, uint16_t reg) {
  if (kind == STACKPACK_REGISTER)
    return 0x80 | reg;
  return kind == STACKPACK_CONSTANT || kind == STACKPACK_LARGE_CONSTANT ? 0xff : reg;
}

/* False: a location too large for a slot. */
static inline bool slot_of(slot *slot, uint8_t kind, uint16_t reg, int64_t value) {
  const unsigned place = slot_place(kind, reg);
  *slot = (int32_t)((uint32_t)value << 8 | place);
  return place <= 0xff && value >= -(1 << 23) && value < 1 << 23;
}

/* A visit's part of a sum that all rivals must agree on. A collector needs the register and the
 * offset apart, to add one to the other's value; so a rival must give this, for each form of
 * keeping them. */
static inline uint64_t visit_place(unsigned place, int64_t value) {
  return ((uint64_t)value + ((uint64_t)place << 32)) * 0x9e3779b1u;
}
static inline uint64_t visit_slot(slot slot) { return visit_place(slot & 0xff, slot >> 8); }
static inline uint64_t visit_pair(slot base, slot derived) {
  return visit_slot(base) * 3 + visit_slot(derived);
}

#endif
