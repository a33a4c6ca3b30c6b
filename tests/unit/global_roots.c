/* global_roots.c - tests the list of global roots: a packed table gives back the variables put into
 * it, from few and close ones to ones at both ends of the address space; damage is harmless; and a
 * program's own array is read in the same way.
 */
#include "bytes.h"
#include "format/packed_write.h"
#include "numbers.h"
#include "runtime/internal.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

enum { ADDRESS = 0x200000, MOST = 3000 };

struct packed_bytes {
  uint8_t *bytes;
  size_t size;
};

static struct packed_bytes pack(const uint64_t *addresses, size_t count) {
  struct safepoints table = {0};
  struct packed_bytes packed;
  uint8_t *written;
  ck_assert(safepoints_finish(&table));
  ck_assert(safepoints_set_global_roots(&table, addresses, count));
  ck_assert_ptr_null(packed_write(&table, ADDRESS, NULL, &written, &packed.size));
  packed.bytes = bytes_exact(written, packed.size);
  free(written);
  safepoints_free(&table);
  return packed;
}

static int compare(const void *a, const void *b) {
  const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* The addresses come back sorted and once each, moved by as much as the table. */
static void check(const uint64_t *addresses, size_t count) {
  const uint64_t moved = 0x7000;
  const struct packed_bytes packed = pack(addresses, count);
  struct stackpack_table table;
  uint64_t sorted[MOST], address;
  memcpy(sorted, addresses, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, compare);
  ck_assert_int_eq(stackpack_table_open(&table, packed.bytes, packed.size, ADDRESS + moved),
                   STACKPACK_OK);
  struct stackpack_global_roots roots = stackpack_global_roots(&table, NULL, NULL);
  for (size_t i = 0; i < count; i++) {
    if (i > 0 && sorted[i] == sorted[i - 1])
      continue;
    ck_assert(stackpack_global_roots_next(&roots, &address));
    ck_assert_uint_eq(address, sorted[i] + moved);
  }
  ck_assert(!stackpack_global_roots_next(&roots, &address));
  ck_assert(!stackpack_global_roots_next(&roots, &address));
  free(packed.bytes);
}

TEST(random_lists) {
  struct numbers numbers = {1};
  uint64_t addresses[MOST];
  for (unsigned round = 0; round < 300; round++) {
    const size_t count = 1 + numbers_below(&numbers, round % 10 == 0 ? MOST : 50);
    const unsigned bits = 1 + (unsigned)numbers_below(&numbers, 47);
    const unsigned shift = (unsigned)numbers_below(&numbers, 5);
    for (size_t i = 0; i < count; i++)
      addresses[i] = 0x400000 + (numbers_of_bits(&numbers, bits) << shift);
    check(addresses, count);
  }
}

TEST(odd_lists) {
  static const uint64_t ends[] = {8, UINT64_C(0xfffffffffffffff8), 0x200000, 8};
  uint64_t dense[MOST];
  for (size_t count = 1; count <= 4; count++)
    check(ends, count);
  for (size_t i = 0; i < MOST; i++)
    dense[i] = 0x400000 + 8 * (MOST - i);
  check(dense, MOST);
  check(dense, 1);
}

TEST(a_byte_each) {
  uint64_t dense[MOST];
  for (size_t i = 0; i < MOST; i++)
    dense[i] = 0x400000 + 8 * i;
  const struct packed_bytes without = pack(dense, 0), with = pack(dense, MOST);
  ck_assert_uint_lt((with.size - without.size) * 8, MOST * 9);
  free(without.bytes);
  free(with.bytes);
}

TEST(no_roots) {
  const struct packed_bytes packed = pack(NULL, 0);
  struct stackpack_table table;
  uint64_t address;
  ck_assert_int_eq(stackpack_table_open(&table, packed.bytes, packed.size, ADDRESS), STACKPACK_OK);
  struct stackpack_global_roots roots = stackpack_global_roots(&table, NULL, NULL);
  ck_assert(!stackpack_global_roots_next(&roots, &address));
  free(packed.bytes);
}

/* In the absence of packed roots, the array's; 0s are passed over, and a rest shorter than a
 * word. */
TEST(an_array) {
  static const uint64_t array[] = {0, 0x1000, 0, 0x900, 0x1000};
  const struct packed_bytes packed = pack(NULL, 0);
  struct stackpack_table table;
  uint64_t address;
  ck_assert_int_eq(stackpack_table_open(&table, packed.bytes, packed.size, ADDRESS), STACKPACK_OK);
  struct stackpack_global_roots roots =
      stackpack_global_roots(&table, array, (const char *)(array + 4) + 7);
  ck_assert(stackpack_global_roots_next(&roots, &address));
  ck_assert_uint_eq(address, 0x1000);
  ck_assert(stackpack_global_roots_next(&roots, &address));
  ck_assert_uint_eq(address, 0x900);
  ck_assert(!stackpack_global_roots_next(&roots, &address));
  free(packed.bytes);
}

/* A list whose last number is cut off ends with a word: a collector must stop rather than miss the
 * rest. */
TEST(a_list_that_is_cut_off) {
  const uint64_t addresses[] = {0x400000, 0x400008, 0x480000};
  const struct packed_bytes packed = pack(addresses, 3);
  struct stackpack_table table;
  uint64_t address;
  ck_assert_int_eq(stackpack_table_open(&table, packed.bytes, packed.size, ADDRESS), STACKPACK_OK);
  struct packed_table *own = table_of(&table);
  for (unsigned less = 0; less < 2; less++, own->roots_size--) {
    struct stackpack_global_roots roots = stackpack_global_roots(&table, NULL, NULL);
    unsigned count = 0;
    while (stackpack_global_roots_next(&roots, &address))
      count++;
    ck_assert_uint_eq(count, 3 - less);
    ck_assert_int_eq(roots.is_corrupt, less > 0);
  }
  free(packed.bytes);
}

/* Damage after the header is refused or gives wrong addresses: at most as many as there are, and
 * all reads stay inside the table (the block ends with it). */
TEST(damaged_lists) {
  struct numbers numbers = {2};
  uint64_t addresses[200];
  for (unsigned i = 0; i < 200; i++)
    addresses[i] = 0x400000 + 8 * numbers_below(&numbers, 4000);
  const struct packed_bytes packed = pack(addresses, 200);
  for (unsigned round = 0; round < 3000; round++) {
    const size_t place = numbers_between(&numbers, bits_load16(packed.bytes + 6), packed.size - 1);
    const uint8_t before = packed.bytes[place];
    struct stackpack_table table;
    uint64_t address;
    packed.bytes[place] = (uint8_t)numbers_next(&numbers);
    if (stackpack_table_open(&table, packed.bytes, packed.size, ADDRESS) == STACKPACK_OK) {
      struct stackpack_global_roots roots = stackpack_global_roots(&table, NULL, NULL);
      unsigned count = 0;
      while (stackpack_global_roots_next(&roots, &address))
        ck_assert_uint_le(++count, 200);
    }
    packed.bytes[place] = before;
  }
  free(packed.bytes);
}

/* A part that ends elsewhere gives a list that is shorter, or none: always its own bytes. */
TEST(lists_of_another_size) {
  static const uint64_t addresses[] = {0x400000, 0x400010, 0x400018};
  const struct packed_bytes packed = pack(addresses, 3);
  struct stackpack_table table;
  struct packed_table *own = (struct packed_table *)table.private_;
  ck_assert_int_eq(stackpack_table_open(&table, packed.bytes, packed.size, ADDRESS), STACKPACK_OK);
  const uint64_t right = own->roots_size;
  for (own->roots_size = 0; own->roots_size <= right; own->roots_size++) {
    struct packed_roots roots = packed_roots(own);
    uint64_t address;
    unsigned count = 0;
    while (packed_roots_next(&roots, &address))
      ck_assert_uint_eq(address, addresses[count++]);
    ck_assert_uint_eq(count, own->roots_size < right - 3 ? 0 : own->roots_size - (right - 3));
  }
  free(packed.bytes);
}

static bool can_unpack(const struct packed_table *packed) {
  struct safepoints unpacked = {0};
  const bool ok = packed_unpack(packed, NULL, &unpacked);
  safepoints_free(&unpacked);
  return ok;
}

/* A reader of the whole table refuses a list that is cut off, in its header or an address, or whose addresses don't ascend. */
TEST(broken_lists) {
  static const uint64_t addresses[] = {0x400000, 0x400010, 0x400018};
  const struct packed_bytes packed = pack(addresses, 3);
  struct packed_table table;
  ck_assert_int_eq(packed_open(&table, packed.bytes, packed.size, ADDRESS), STACKPACK_OK);
  ck_assert(can_unpack(&table));
  const uint64_t right = table.roots_size;
  for (table.roots_size = 1; table.roots_size < right - 3; table.roots_size++)
    ck_assert(!can_unpack(&table));
  table.roots_size = right;
  uint8_t *roots = packed.bytes + (table.roots - packed.bytes), before = roots[8];
  roots[8] = 64;
  ck_assert(!can_unpack(&table));
  roots[8] = before;
  roots[right - 1] = 0;
  ck_assert(!can_unpack(&table));
  roots[right - 1] = 0x80;
  ck_assert(!can_unpack(&table));
  free(packed.bytes);
}
