/* rows.c - workload: fibers that step through arrays by pointers, and write into one journal.
 *
 * A fiber fills its row by a pointer to the next element, and yields at each. So while it waits, it
 * holds a derived reference, to the middle of an object or one past its end. The collector must
 * find the base of the pointer, on the same suspended stack, and keep the distance through all
 * collections until the fiber runs again.
 *
 * All fibers add their values to one journal, so the checksum depends on the order in which they
 * ran.
 */
#include "workload.h"

typedef struct entry REF *entry_ref;
struct entry {
  uint64_t value;
  entry_ref older;
};

typedef struct row REF *row_ref;
struct row {
  uint64_t length;
  entry_ref elements[];
};

typedef struct journal REF *journal_ref;
struct journal {
  uint64_t length;
  entry_ref newest;
};

typedef struct task REF *task_ref;
struct task {
  uint64_t number;
  journal_ref journal;
};

/* An array of numbers of fibers. */
typedef struct fibers REF *fibers_ref;
struct fibers {
  uint64_t count;
  uint64_t numbers[];
};

static entry_ref entry_new(uint64_t value, entry_ref older) {
  entry_ref entry = (entry_ref)heap_allocate(sizeof(uint64_t), 1);
  entry->value = value;
  entry->older = older;
  return entry;
}

static void journal_add(journal_ref journal, uint64_t value) {
  entry_ref entry = entry_new(value, journal->newest);
  journal->newest = entry;
  journal->length++;
}

/* Fills the row, and then adds each element to the one before, from the end. */
static void row_fill(row_ref row, uint64_t number, journal_ref journal) {
  entry_ref REF *end = row->elements + row->length;
  for (entry_ref REF *element = row->elements; element != end; element++) {
    fiber_yield();
    number = random_next(number);
    entry_ref value = entry_new(number % 1000, 0);
    *element = value;
    journal_add(journal, value->value);
  }
  for (entry_ref REF *element = end - 1; element != row->elements; element--) {
    fiber_yield();
    entry_ref sum = entry_new((*element)->value + element[-1]->value, *element);
    element[-1] = sum;
  }
}

/* The function of a fiber. Its result is the row's first element. */
static reference row_task(reference argument) {
  task_ref task = (task_ref)argument;
  uint64_t length = 1 + setting_size();
  row_ref row = (row_ref)heap_allocate(sizeof(uint64_t), length);
  row->length = length;
  row_fill(row, task->number, task->journal);
  return row->elements[0];
}

static uint64_t row_start(uint64_t number, journal_ref journal) {
  task_ref task = (task_ref)heap_allocate(sizeof(uint64_t), 1);
  task->number = number;
  task->journal = journal;
  return fiber_start(row_task, task);
}

static uint64_t entries_checksum(entry_ref entry, uint64_t checksum) {
  for (; entry; entry = entry->older)
    checksum = checksum_add(checksum, entry->value);
  return checksum;
}

reference rows_run(reference argument) {
  (void)argument;
  uint64_t count = setting_fibers();
  fibers_ref fibers = (fibers_ref)heap_allocate((1 + count) * sizeof(uint64_t), 0);
  journal_ref journal = (journal_ref)heap_allocate(sizeof(uint64_t), 1);
  fibers->count = count;
  uint64_t REF *end = fibers->numbers + count;
  for (uint64_t REF *fiber = fibers->numbers; fiber != end; fiber++) {
    uint64_t number = row_start(count--, journal);
    *fiber = number;
  }
  uint64_t checksum = 0;
  for (uint64_t REF *fiber = fibers->numbers; fiber != end; fiber++)
    checksum = entries_checksum((entry_ref)fiber_await(*fiber), checksum);
  return entry_new(entries_checksum(journal->newest, checksum), 0);
}
