/* sort.c - workload: a list is sorted by fibers that start fibers, and wait for them.
 *
 * Tasks are split in two up to the wanted number of fibers. While a task waits for its second half,
 * only its suspended stack holds the first half's result. A task with a small list sorts the list
 * itself, and merges by recursion: so it is suspended with up to hundreds of frames on its stack,
 * each of which waits with references.
 */
#include "workload.h"

typedef struct list REF *list_ref;
struct list {
  uint64_t value;
  list_ref next;
};

typedef struct task REF *task_ref;
struct task {
  uint64_t length;
  uint64_t fibers;
  list_ref list;
};

typedef struct result REF *result_ref;
struct result {
  uint64_t checksum;
};

static list_ref list_new(uint64_t value, list_ref next) {
  list_ref list = (list_ref)heap_allocate(sizeof(uint64_t), 1);
  list->value = value;
  list->next = next;
  return list;
}

static list_ref list_random(uint64_t length) {
  list_ref list = 0;
  uint64_t number = 521288629;
  for (uint64_t i = 0; i < length; i++) {
    number = random_next(number);
    list = list_new(number % 100000, list);
  }
  return list;
}

static list_ref list_skip(list_ref list, uint64_t count) {
  for (; count != 0; count--)
    list = list->next;
  return list;
}

/* A new list of the values of two ascending lists. It yields, so other fibers run in the midst of
 * it. */
static list_ref list_merge(list_ref left, list_ref right) {
  if (!left && !right)
    return 0;
  list_ref smaller = !right || (left && left->value <= right->value) ? left : right;
  if (smaller->value % 8 == 0)
    fiber_yield();
  list_ref rest = smaller == left ? list_merge(left->next, right) : list_merge(left, right->next);
  return list_new(smaller->value, rest);
}

/* A new list of the first `length` values in ascending order. */
static list_ref list_sort(list_ref list, uint64_t length) {
  if (length == 0)
    return 0;
  if (length == 1)
    return list_new(list->value, 0);
  list_ref left = list_sort(list, length / 2);
  list_ref right = list_sort(list_skip(list, length / 2), length - length / 2);
  return list_merge(left, right);
}

static reference task_new(list_ref list, uint64_t length, uint64_t fibers) {
  task_ref task = (task_ref)heap_allocate(2 * sizeof(uint64_t), 1);
  task->length = length;
  task->fibers = fibers;
  task->list = list;
  return task;
}

static reference sort_task(reference argument) {
  task_ref task = (task_ref)argument;
  if (task->fibers < 2)
    return list_sort(task->list, task->length);
  uint64_t half = task->length / 2;
  uint64_t left = fiber_start(sort_task, task_new(task->list, half, task->fibers / 2));
  uint64_t right = fiber_start(sort_task, task_new(list_skip(task->list, half), task->length - half,
                                                   task->fibers - task->fibers / 2));
  list_ref left_list = (list_ref)fiber_await(left);
  list_ref right_list = (list_ref)fiber_await(right);
  return list_merge(left_list, right_list);
}

reference sort_run(reference argument) {
  (void)argument;
  uint64_t length = 20 * setting_size();
  list_ref list = list_random(length);
  uint64_t sorter = fiber_start(sort_task, task_new(list, length, setting_fibers()));
  uint64_t checksum = 0;
  for (list_ref sorted = (list_ref)fiber_await(sorter); sorted; sorted = sorted->next)
    checksum = checksum_add(checksum, sorted->value);
  for (; list; list = list->next)
    checksum = checksum_add(checksum, list->value);
  result_ref result = (result_ref)heap_allocate(sizeof(uint64_t), 0);
  result->checksum = checksum;
  return result;
}
