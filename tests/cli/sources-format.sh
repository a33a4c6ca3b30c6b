#!/bin/bash
# The part of a packed table on sources, by the decoder that was written from FORMAT.md: it reads what the encoder wrote of random
# functions, and reads or refuses the same damaged tables as the library's reader.
. "$TOP/tests/cli/common.sh"

cat >sources.c <<'EOF'
#include "format/packed_write.h"
#include <stdio.h>
#include <stdlib.h>

/* Function i has 1 + i % 4 records; names and lines follow from random numbers. */
static uint32_t random_place(struct safepoints *table, uint32_t function, uint32_t caller) {
  char name[40], file[40];
  snprintf(name, sizeof name, "%s_%u\xc3\xa4", function % 3 == 0 ? "some" : "other", function);
  snprintf(file, sizeof file, "source/%u.c", function / 8 + (rand() % 20 == 0));
  struct source_place place = {.line = rand() % 50 == 0 ? 0 : 30 * function + rand() % 25, .caller = caller};
  uint32_t number;
  sources_add_name(&table->sources, rand() % 30 == 0 ? NULL : name, &place.function);
  sources_add_name(&table->sources, rand() % 30 == 0 ? NULL : file, &place.file);
  sources_add_place(&table->sources, place, &number);
  return number;
}

static int write_table(unsigned seed) {
  struct safepoints table = {0};
  uint8_t *bytes;
  size_t size;
  srand(seed);
  intern_add(&table.lists, NULL, 0);
  const uint32_t live = safepoints_add_live(&table, NULL, 0, 0);
  for (uint32_t i = 0; i < 50; i++) {
    const uint64_t start = 0x401000 + 64 * i;
    safepoints_add_function(&table, (struct safepoint_function){start, start + (i % 7 == 0 ? 48 : 64), 24});
    for (uint32_t k = 0; k <= i % 4; k++) {
      struct safepoint record = {.address = start + 8 + 9 * k, .function = i, .live = live};
      record.source = random_place(&table, rand() % 30 == 0 ? i + 1 : i, 0);
      for (int depth = 0; depth < 4 && rand() % 3 == 0; depth++)
        record.source = random_place(&table, (uint32_t)rand() % 70, record.source);
      record.source = rand() % 40 == 0 ? 0 : record.source;
      safepoints_add_record(&table, record);
    }
  }
  safepoints_finish(&table);
  return packed_write(&table, 0x400000, NULL, &bytes, &size) != NULL || fwrite(bytes, 1, size, stdout) != size;
}

static void read_table(const char *path) {
  static _Alignas(8) uint8_t bytes[1 << 16];
  FILE *file = fopen(path, "rb");
  const size_t size = fread(bytes, 1, sizeof bytes, file);
  struct packed_table packed;
  struct safepoints table = {0};
  fclose(file);
  if (packed_open(&packed, bytes, size, 0x400000) != STACKPACK_OK || !packed_unpack(&packed, NULL, &table)) {
    puts("refused");
    return;
  }
  for (uint32_t i = 0; i < table.record_count; i++) {
    for (uint32_t number = table.records[i].source; number != 0;) {
      const struct source_place place = sources_place(&table.sources, number);
      printf(" %s %s %u", sources_name(&table.sources, place.function), sources_name(&table.sources, place.file), place.line);
      number = place.caller;
    }
    putchar('\n');
  }
  puts("read");
}

int main(int count, char **arguments) {
  if (count == 2)
    return write_table(atoi(arguments[1]));
  for (int i = 1; i < count; i++)
    read_table(arguments[i]);
  return 0;
}
EOF
"$LLVM/bin/clang" -std=c17 -D_GNU_SOURCE -fno-strict-aliasing -I"$TOP" -I"$TOP/format" -w \
  sources.c "$TOP"/format/*.c "$TOP"/elf/*.c -lzstd -o sources
for seed in 1 2 3; do
  ./sources $seed >table.$seed
done

PYTHONPATH=$TOP/tests/oracle python3 - table.* <<'END2'
import collections, random, struct, subprocess, sys
import packed_table

source, seen = random.Random(1), collections.Counter()

def part_of(table):
    place = packed_table.read_header(table).header_size
    for number, size in struct.iter_unpack("<II", table[packed_table.HEADER.size : place]):
        if number == 33:
            return place, size
        place += size

def flip_a_bit(table):
    place, size = part_of(table)
    table = bytearray(table)
    table[place + source.randrange(24 if source.randrange(4) == 0 else size)] ^= 1 << source.randrange(8)
    return bytes(table)

def lines(table):
    try:
        decoded = packed_table.Decoded(packed_table.Table(table, 0x400000))
    except packed_table.Unusable:
        return [b"refused"]
    places = [[b" %s %s %d" % place for place in record or []] for record in decoded.sources]
    return [b"".join(record) for record in places] + [b"read"]

tables = [open(path, "rb").read() for path in sys.argv[1:]]
tables += [flip_a_bit(tables[number % 3]) for number in range(300)]
for number, table in enumerate(tables):
    with open(f"table.{number}", "wb") as file:
        file.write(table)
names = [f"table.{number}" for number in range(len(tables))]
theirs = subprocess.run(["./sources", *names], stdout=subprocess.PIPE, check=True).stdout.split(b"\n")
for number, table in enumerate(tables):
    own = lines(table)
    assert own == theirs[: len(own)], (number, own[:3], theirs[:3])
    theirs = theirs[len(own) :]
    seen[own[-1]] += 1
    assert number > 2 or own[-1] == b"read" and b"\xc3\xa4" in own[0]
print(seen)
assert theirs == [b""] and len(seen) == 2
END2
