/* lists.c - the managed code, run by each thread on its own stack.
 *
 * Threads make and sort lists, and exchange them on the board. The last owner of a list computes
 * its checksum, over every value and their order, so the sum is independent of the owners. A list
 * is reachable from one thread's stack, or from the board. The cells of a list that has gone from
 * thread to thread are scattered among all the others.
 *
 * There is a poll in each loop and each function, and most polls meet live references: `link` in
 * list_merge is derived, and points to a field of another cell in each turn.
 */
#include "managed.h"
#include "numbers.h"
#include "poll.h"

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
    list = list_new(number, list);
  }
  return list;
}

/* Joins two ascending lists: the cells stay, and only their links change. */
static list_ref list_merge(list_ref left, list_ref right) {
  list_ref head = list_new(0, 0);
  list_ref REF *link = &head->next;
  while (left && right) {
    list_ref least = left->value <= right->value ? left : right;
    if (least == left)
      left = left->next;
    else
      right = right->next;
    *link = least;
    link = &least->next;
  }
  *link = left ? left : right;
  return head->next;
}

static list_ref list_sort(list_ref list, uint64_t length) {
  if (length <= 1)
    return list;
  list_ref last = list;
  for (uint64_t i = 1; i < length / 2; i++)
    last = last->next;
  list_ref rest = last->next;
  last->next = 0;
  list_ref left = list_sort(list, length / 2);
  list_ref right = list_sort(rest, length - length / 2);
  return list_merge(left, right);
}

static uint64_t list_checksum(list_ref list) {
  uint64_t checksum = 0;
  for (; list; list = list->next)
    checksum = checksum_add(checksum, list->value);
  return checksum;
}

uint64_t lists_run(uint64_t seed, uint64_t lists, uint64_t length) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i < lists; i++) {
    seed = random_next(seed);
    list_ref list = list_sort(list_random(length, seed), length);
    if (seed % 4 == 0)
      native_nap();
    list_ref other = (list_ref)board_exchange(seed % BOARD_SLOTS, list);
    sum += list_checksum(other);
  }
  return sum;
}

uint64_t lists_run_parked(uint64_t seed, uint64_t length) {
  list_ref list = list_sort(list_random(length, random_next(seed)), length);
  native_wait_for_end();
  return list_checksum(list);
}

uint64_t lists_drain(void) {
  uint64_t sum = 0;
  for (uint64_t slot = 0; slot < BOARD_SLOTS; slot++)
    sum += list_checksum((list_ref)board_exchange(slot, 0));
  return sum;
}
