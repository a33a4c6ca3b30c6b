/* lists.c - workload: linked lists, and deep recursion.
 *
 * A list is copied by a function that first calls itself for the rest, and then makes its own cell.
 * At the last cell the stack has a frame for each cell, thousands of them, and every frame waits
 * with a reference. From there on each allocation may move all objects of these frames. Then the
 * frames return one by one, and each continues with the references that the collector has written
 * into its slots.
 *
 * Merging recurses the same way, with two references in each frame and different ones on each path.
 * Insertion keeps a derived reference, as in trees.c, but across two allocations in a row.
 */
#include "heap.h"
#include "workload.h"

typedef struct list REF *list_ref;
struct list {
  uint64_t value;
  list_ref next;
};

static list_ref list_new(uint64_t value, list_ref next) {
  list_ref list = (list_ref)heap_allocate(sizeof(uint64_t), 1);
  list->value = value;
  list->next = next;
  return list;
}

static list_ref list_random(uint64_t length, uint64_t number) {
  list_ref list = 0;
  for (uint64_t i = 0; i < length; i++) {
    number = random_next(number);
    list = list_new(number % 10000, list);
  }
  return list;
}

static list_ref list_copy(list_ref list) {
  if (!list)
    return 0;
  list_ref next = list_copy(list->next);
  return list_new(list->value, next);
}

/* A new list of the values of two ascending lists. */
static list_ref list_merge(list_ref left, list_ref right) {
  if (!left || !right)
    return list_copy(left ? left : right);
  if (left->value <= right->value) {
    list_ref next = list_merge(left->next, right);
    return list_new(left->value, next);
  }
  list_ref next = list_merge(left, right->next);
  return list_new(right->value, next);
}

/* A new list of the first `length` values in ascending order. */
static list_ref list_sort(list_ref list, uint64_t length) {
  if (length == 0)
    return 0;
  if (length == 1)
    return list_new(list->value, 0);
  list_ref middle = list;
  for (uint64_t i = 0; i < length / 2; i++)
    middle = middle->next;
  list_ref left = list_sort(list, length / 2);
  list_ref right = list_sort(middle, length - length / 2);
  return list_merge(left, right);
}

/* Inserts the value twice into an ascending list, whose first cell is a head without a value. */
static void list_insert_twice(list_ref head, uint64_t value) {
  list_ref REF *link = &head->next;
  while (*link && (*link)->value < value)
    link = &(*link)->next;
  list_ref second = list_new(value, *link);
  list_ref first = list_new(value, second);
  *link = first;
}

static uint64_t list_checksum(list_ref list, uint64_t checksum) {
  for (; list; list = list->next)
    checksum = checksum_add(checksum, list->value);
  return checksum;
}

uint64_t lists_run(uint64_t size) {
  uint64_t checksum = 0;
  list_ref head = list_new(0, 0);
  uint64_t number = 521288629;
  for (uint64_t i = 0; i < size; i++) {
    list_ref original = list_random(400 + 100 * size, number);
    checksum = list_checksum(list_copy(original), checksum);
    checksum = list_checksum(list_sort(original, 200), checksum);
    for (uint64_t j = 0; j < 20; j++) {
      number = random_next(number);
      list_insert_twice(head, number % 100);
    }
  }
  return list_checksum(head, checksum);
}
