/* packed_write_numbers.c - gives every location of a program a small number.
 *
 * Almost all locations are spill slots at multiples of 8 from the stack pointer. So locations are
 * numbered by class: those of one kind, size and register whose values go up in equal steps. A
 * class takes 24 bytes however many locations it has, and the number of a slot is its place in the
 * class: the slots of one function get numbers that follow each other, and a layout needs only the
 * first.
 *
 * Values of a class that no record uses waste numbers, so a wide gap starts a new class.
 */
#include "format/packed_write.h"

#include <stdlib.h>

enum { GAP_MAX = 16 }; /* steps between neighbours in a class */

/* A location that is used. Those of one kind, register and size are a family, and may be in one class. */
struct used {
  uint64_t family; /* as the words of a location begin, and a class does */
  uint64_t value;
  uint32_t number; /* in the table of safepoints */
};

struct class {
  uint32_t count, step;
  size_t begin, end; /* in the array of used locations */
};

static int compare_used(const void *a, const void *b) {
  const struct used *x = a, *y = b;
  if (x->family != y->family)
    return x->family < y->family ? -1 : 1;
  return (int64_t)x->value < (int64_t)y->value ? -1 : x->value != y->value;
}

static void use_list(const struct safepoints *table, struct packed_numbers *numbers,
                     uint64_t item) {
  const uint32_t list = safepoint_item_list(item), key = packed_list_key(item);
  if (numbers->lists[key] != UINT32_MAX)
    return;
  numbers->lists[key] = numbers->list_count;
  numbers->used_lists[numbers->list_count++] = key;
  const struct intern_sequence locations = intern_get(&table->lists, list);
  for (uint64_t i = 0; i < locations.count; i++)
    numbers->locations[locations.words[i]] = 0;
}

/* Marks the locations and lists in the live sets of the records. The table may have others, of records that
 * were left out. */
static bool use_live_sets(const struct safepoints *table, struct packed_numbers *numbers) {
  bool *seen = calloc((size_t)table->live.count + 1, sizeof *seen);
  if (seen == NULL)
    return false;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const uint32_t live = table->records[i].live;
    if (seen[live])
      continue;
    seen[live] = true;
    const struct intern_sequence items = intern_get(&table->live, live);
    for (uint64_t k = 0; k < items.count; k++) {
      const uint64_t item = items.words[k];
      if (safepoint_item_is_list(item)) {
        use_list(table, numbers, item);
      } else {
        numbers->locations[safepoint_item_base(item)] = 0;
        numbers->locations[safepoint_item_derived(item)] = 0;
      }
    }
  }
  free(seen);
  return true;
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b) {
  while (b != 0) {
    const uint64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* Finds the class that starts at used[begin]: the longest run of a family without a wide gap. */
static struct class class_at(const struct used *used, size_t begin, size_t count) {
  struct class class = {.begin = begin, .count = 1};
  uint64_t step = 0;
  size_t end = begin + 1;
  for (; end < count && used[end].family == used[begin].family; end++) {
    const uint64_t gap = used[end].value - used[end - 1].value;
    const uint64_t next_step = greatest_common_divisor(gap, step);
    const uint64_t members = (used[end].value - used[begin].value) / next_step + 1;
    if (gap > UINT16_MAX || members > (uint64_t)GAP_MAX * (end - begin + 1))
      break;
    step = next_step;
    class.count = (uint32_t)members;
  }
  class.step = (uint32_t)step;
  class.end = end;
  return class;
}

/* The largest class is first: the reader looks there first. */
static int compare_classes(const void *a, const void *b) {
  const struct class *x = a, *y = b;
  if (x->end - x->begin != y->end - y->begin)
    return x->end - x->begin > y->end - y->begin ? -1 : 1;
  return x->begin < y->begin ? -1 : 1;
}

/* Numbers the locations of the classes, and writes the classes: each with the number after its last
 * location's. */
static bool number_classes(struct packed_numbers *numbers, const struct used *used,
                           struct class *classes, size_t count) {
  struct bit_writer *bits = &numbers->classes;
  if (count > 0)
    qsort(classes, count, sizeof *classes, compare_classes);
  uint64_t number = 0;
  for (size_t i = 0; i < count; i++) {
    const struct class *class = &classes[i];
    const struct used *first = &used[class->begin];
    if (number + class->count > INT32_MAX)
      return false;
    for (size_t k = class->begin; k < class->end; k++) {
      const uint64_t offset = used[k].value - first->value;
      numbers->locations[used[k].number] =
          (uint32_t)(number + (class->step == 0 ? 0 : offset / class->step));
    }
    number += class->count;
    bit_writer_put(bits, first->family, 64);
    bit_writer_put(bits, number, 32);
    bit_writer_put(bits, class->step, 32);
    bit_writer_put(bits, first->value, 64);
  }
  numbers->location_count = (uint32_t)number;
  numbers->class_count = (uint32_t)count;
  return !bits->failed;
}

static bool number_used(const struct safepoints *table, struct packed_numbers *numbers) {
  const size_t locations = table->locations.count;
  struct used *used = malloc((locations + 1) * sizeof *used);
  struct class *classes = malloc((locations + 1) * sizeof *classes);
  bool ok = used != NULL && classes != NULL;
  if (ok) {
    size_t used_count = 0, class_count = 0;
    for (uint32_t i = 0; i < locations; i++)
      if (numbers->locations[i] != UINT32_MAX) {
        const uint64_t *words = intern_get(&table->locations, i).words;
        used[used_count++] = (struct used){words[0], words[1], i};
      }
    if (used_count > 0)
      qsort(used, used_count, sizeof *used, compare_used);
    for (size_t i = 0; i < used_count; i = classes[class_count++].end)
      classes[class_count] = class_at(used, i, used_count);
    ok = number_classes(numbers, used, classes, class_count);
  }
  free(used);
  free(classes);
  return ok;
}

bool packed_number_locations(const struct safepoints *table, struct packed_numbers *numbers) {
  const size_t locations = (size_t)table->locations.count + 1;
  const size_t lists = (size_t)table->lists.count * 2 + 1;
  *numbers = (struct packed_numbers){
      .locations = malloc(locations * sizeof(uint32_t)),
      .lists = malloc(lists * sizeof(uint32_t)),
      .used_lists = malloc(lists * sizeof(uint32_t)),
  };
  if (numbers->locations == NULL || numbers->lists == NULL || numbers->used_lists == NULL)
    return false;
  memset(numbers->locations, 0xff, locations * sizeof(uint32_t));
  memset(numbers->lists, 0xff, lists * sizeof(uint32_t));
  return use_live_sets(table, numbers) && number_used(table, numbers);
}

void packed_numbers_free(struct packed_numbers *numbers) {
  free(numbers->locations);
  free(numbers->lists);
  free(numbers->used_lists);
  bit_writer_free(&numbers->classes);
  *numbers = (struct packed_numbers){0};
}
