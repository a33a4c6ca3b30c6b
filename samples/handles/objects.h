/* objects.h - the objects of the heap and the managed functions, for managed code and C++.
 *
 * heap_allocate defines an object's layout: data first, then references. */
#ifndef HANDLES_OBJECTS_H
#define HANDLES_OBJECTS_H

#include "heap.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct list REF *list_ref;
struct list {
  uint64_t value;
  list_ref next;
};

typedef struct tree REF *tree_ref;
struct tree {
  uint64_t key;
  tree_ref left, right;
};

/* ---- Managed code: managed.c ---- */

list_ref list_new(uint64_t value, list_ref next);
tree_ref tree_new(uint64_t key, tree_ref left, tree_ref right);

/* The checksum with the list's values in order. */
uint64_t list_checksum(list_ref list, uint64_t checksum);

/* Calls the visitor for each node in order of the tree. */
struct tree_visitor;
void tree_each(tree_ref tree, struct tree_visitor *visitor);

/* A new list of the function's values for the cells, in the same order. */
struct list_function;
list_ref list_map(list_ref list, struct list_function *function);

/* ---- C++: embedder.cpp, by way of entries.S ---- */

void visit_tree(struct tree_visitor *visitor, tree_ref tree);
uint64_t value_for_list(struct list_function *function, list_ref list);

#ifdef __cplusplus
}
#endif
#endif
