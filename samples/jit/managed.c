/* managed.c - managed code compiled ahead of time. Like the functions compiled at run time, it
 * makes a cell of the list, and calls the next step.
 */
#include "heap.h"
#include "steps.h"

list_ref step_ahead(list_ref list, uint64_t depth) {
  list_ref cell = (list_ref)heap_allocate(sizeof(uint64_t), 1);
  cell->value = depth * AHEAD;
  cell->next = list;
  list_ref result = depth == 0 ? cell : next_step(cell, depth - 1);
  heap_allocate(8, 0); /* `result` waits in a frame without `cell` */
  return result;
}

uint64_t list_take(list_ref list, uint64_t number) {
  for (uint64_t i = 0; list && i < number; i++)
    list = list->next;
  return list ? list->value : UINT64_MAX;
}
