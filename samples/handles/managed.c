/* managed.c - the managed code: the compiler's output for the embedded language.
 *
 * Two of its functions call C++, and wait with references in their frames. In list_map one of them
 * is derived: the address of the field for the next cell.
 */
#include "numbers.h"
#include "objects.h"

list_ref list_new(uint64_t value, list_ref next) {
  list_ref list = (list_ref)heap_allocate(sizeof(uint64_t), 1);
  list->value = value;
  list->next = next;
  return list;
}

tree_ref tree_new(uint64_t key, tree_ref left, tree_ref right) {
  tree_ref tree = (tree_ref)heap_allocate(sizeof(uint64_t), 2);
  tree->key = key;
  tree->left = left;
  tree->right = right;
  return tree;
}

uint64_t list_checksum(list_ref list, uint64_t checksum) {
  for (; list; list = list->next)
    checksum = checksum_add(checksum, list->value);
  return checksum;
}

void tree_each(tree_ref tree, struct tree_visitor *visitor) {
  if (!tree)
    return;
  tree_each(tree->left, visitor);
  visit_tree(visitor, tree);
  tree_each(tree->right, visitor);
}

list_ref list_map(list_ref list, struct list_function *function) {
  list_ref head = list_new(0, 0);
  list_ref REF *link = &head->next;
  for (; list; list = list->next) {
    uint64_t value = value_for_list(function, list);
    list_ref cell = list_new(value, 0);
    *link = cell;
    link = &cell->next;
  }
  return head->next;
}
