/* packed_write_numbers.c - gives every location of a program a small number.
 *
 * Almost all locations are spill slots at multiples of 8 from the stack pointer. So locations are
 * numbered by class: locations of one kind, size and register whose values go up in equal steps. A
 * class of any size takes 24 bytes, and the number of a slot is its place in the class: the slots
 * of one function get numbers that follow each other, and a layout needs only the first.
 *
 * Values of a class that no record uses waste numbers, so a wide gap starts a new class.
 */
#include "format/packed_encoder.h"

#include <assert.h>

enum { GAP_MAX = 16 }; /* steps between neighbours in a class */

/* A location that is used. Locations of one kind, register and size are a family, and may be in one
 * class. */
struct used {
  uint64_t family; /* as the words of a location begin, and a class does */
  int64_t value;
  uint32_t number; /* in the table of safepoints */
};

struct class {
  uint32_t count, step;
  size_t begin, end; /* in the array of used locations */
};

ORDER_FUNCTION(compare_used, struct used, family, value)

static void use_list(struct encoder *encoder, uint64_t item) {
  const uint32_t key = encoder_list_key(item);
  if (encoder->lists[key] != UINT32_MAX)
    return;
  encoder->lists[key] = encoder->list_count;
  encoder->used_lists[encoder->list_count++] = key;
  const struct intern_sequence list = intern_get(&encoder->table->lists, key >> 1);
  for (uint64_t i = 0; i < list.count; i++)
    encoder->locations[list.words[i]] = 0;
}

/* Marks the locations and lists in the live sets of the records. The table may have others, of
 * records that were left out. */
static bool use_live_sets(struct encoder *encoder) {
  const struct safepoints *table = encoder->table;
  bool *seen = encoder_array(encoder, table->live.count, sizeof *seen);
  for (uint32_t i = 0; i < table->record_count && seen != NULL; i++) {
    const uint32_t live = table->records[i].live;
    const struct intern_sequence items = intern_get(&table->live, live);
    for (uint64_t k = 0; k < items.count && !seen[live]; k++) {
      const uint64_t item = items.words[k];
      if (safepoint_item_is_list(item)) {
        use_list(encoder, item);
      } else {
        encoder->locations[safepoint_item_base(item)] = 0;
        encoder->locations[safepoint_item_derived(item)] = 0;
      }
    }
    seen[live] = true;
  }
  return encoder->error == NULL;
}

/* Finds the class that starts at used[begin]: the longest run of a family in steps of the first
 * two's distance, without a wide gap. */
static struct class class_at(const struct used *used, size_t begin, size_t count) {
  struct class class = {.begin = begin, .end = begin + 1, .count = 1};
  for (; class.end < count && used[class.end].family == used[begin].family; class.end++) {
    const uint64_t gap = (uint64_t)used[class.end].value - (uint64_t)used[class.end - 1].value;
    assert(gap > 0); /* locations are interned */
    const uint32_t steps = class.step == 0 ? 1 : (uint32_t)(gap / class.step);
    if (gap > UINT16_MAX || steps > GAP_MAX || (class.step != 0 && gap % class.step != 0))
      break;
    class.step = class.step == 0 ? (uint32_t)gap : class.step;
    class.count += steps;
  }
  return class;
}

/* The largest class is first: the reader looks there first. */
static int compare_classes(const void *a, const void *b) {
  const struct class *x = a, *y = b;
  if (x->end - x->begin != y->end - y->begin)
    return x->end - x->begin > y->end - y->begin ? -1 : 1;
  ORDER_BY(x, y, begin)
  return 0;
}

/* Numbers the locations of the classes, and writes the classes: each with the number after its last
 * location's. */
static bool number_classes(struct encoder *encoder, const struct used *used, struct class *classes,
                           size_t count) {
  struct bit_writer *bits = &encoder->parts[PACKED_CLASSES];
  uint64_t number = 0;
  array_sort(classes, count, sizeof *classes, compare_classes);
  for (size_t i = 0; i < count; i++) {
    const struct class *class = &classes[i];
    const struct used *first = &used[class->begin];
    if (number + class->count + encoder->list_count > INT32_MAX) /* lists' numbers follow */
      return encoder_too_many(encoder);
    for (size_t k = class->begin; k < class->end; k++) {
      const uint64_t offset = (uint64_t)used[k].value - (uint64_t)first->value;
      assert(class->step == 0 ? offset == 0 : offset % class->step == 0);
      encoder->locations[used[k].number] =
          (uint32_t)(number + (class->step == 0 ? 0 : offset / class->step));
    }
    number += class->count;
    bit_writer_put(bits, first->family, 64);
    bit_writer_put(bits, number, 32);
    bit_writer_put(bits, class->step, 32);
    bit_writer_put(bits, (uint64_t)first->value, 64);
  }
  encoder->location_count = (uint32_t)number;
  return true;
}

static bool number_used(struct encoder *encoder) {
  const struct intern *locations = &encoder->table->locations;
  struct used *used = encoder_array(encoder, locations->count, sizeof *used);
  struct class *classes = encoder_array(encoder, locations->count, sizeof *classes);
  size_t used_count = 0, class_count = 0;
  if (encoder->error != NULL)
    return false;
  for (uint32_t i = 0; i < locations->count; i++)
    if (encoder->locations[i] != UINT32_MAX) {
      const uint64_t *words = intern_get(locations, i).words;
      used[used_count++] = (struct used){words[0], (int64_t)words[1], i};
    }
  array_sort(used, used_count, sizeof *used, compare_used);
  for (size_t i = 0; i < used_count; i = classes[class_count++].end)
    classes[class_count] = class_at(used, i, used_count);
  return number_classes(encoder, used, classes, class_count);
}

static void write_lists(struct encoder *encoder) {
  struct bit_writer *lists = &encoder->parts[PACKED_LISTS];
  for (uint32_t i = 0; i < encoder->list_count; i++) {
    const uint32_t key = encoder->used_lists[i];
    const struct intern_sequence list = intern_get(&encoder->table->lists, key >> 1);
    bit_writer_put(&encoder->parts[PACKED_LIST_STARTS], lists->size / 8, 32);
    assert(list.count <= PACKED_LIST_MAX);
    bit_writer_put(lists, key & 1, 8);
    bit_writer_varint(lists, list.count);
    for (uint64_t k = 0; k < list.count; k++) {
      assert(encoder->locations[list.words[k]] < encoder->location_count);
      bit_writer_varint(lists, encoder->locations[list.words[k]]);
    }
  }
}

bool packed_write_numbers(struct encoder *encoder) {
  const uint64_t locations = encoder->table->locations.count;
  const uint64_t lists = (uint64_t)encoder->table->lists.count * 2;
  encoder->locations = encoder_array(encoder, locations, sizeof(uint32_t));
  encoder->lists = encoder_array(encoder, lists, sizeof(uint32_t));
  encoder->used_lists = encoder_array(encoder, lists, sizeof(uint32_t));
  if (encoder->error != NULL)
    return false;
  memset(encoder->locations, 0xff, locations * sizeof(uint32_t));
  memset(encoder->lists, 0xff, lists * sizeof(uint32_t));
  if (!use_live_sets(encoder) || !number_used(encoder))
    return false;
  write_lists(encoder);
  return true;
}
