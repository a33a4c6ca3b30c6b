/* trees.c - workload: binary trees.
 *
 * Perfect trees are built bottom up: while the right half is built, the left half is reachable only
 * from the stack, and one missed slot loses half a tree. One tree lives through the whole workload,
 * many others die young.
 *
 * The search tree is the classic use of a derived reference. An insertion walks down with `link`,
 * the address of the field for the next node, and allocates while it holds that address. `link`
 * points into an object whose start is in no variable of the program, so LLVM carries a second
 * value, the base, through every turn of the loop.
 */
#include "heap.h"
#include "workload.h"

typedef struct tree REF *tree_ref;
struct tree {
  uint64_t key;
  uint64_t count;
  tree_ref left, right;
};

static tree_ref tree_new(uint64_t key) {
  tree_ref tree = (tree_ref)heap_allocate(2 * sizeof(uint64_t), 2);
  tree->key = key;
  return tree;
}

static tree_ref tree_build(uint64_t depth, uint64_t key) {
  if (depth == 0)
    return 0;
  tree_ref left = tree_build(depth - 1, 2 * key);
  tree_ref right = tree_build(depth - 1, 2 * key + 1);
  tree_ref tree = tree_new(key);
  tree->left = left;
  tree->right = right;
  return tree;
}

/* Counts the key in the search tree that hangs at root->left. */
static void tree_count(tree_ref root, uint64_t key) {
  tree_ref REF *link = &root->left;
  while (*link && (*link)->key != key)
    link = key < (*link)->key ? &(*link)->left : &(*link)->right;
  if (!*link) {
    tree_ref leaf = tree_new(key);
    *link = leaf;
  }
  (*link)->count++;
}

/* Hangs a new perfect tree where the path, taken bit by bit, first leaves the tree. `link` waits
 * during many allocations, and the function no longer uses its base. */
static void tree_graft(tree_ref root, uint64_t path) {
  tree_ref REF *link = &root->left;
  for (; *link; path >>= 1)
    link = path & 1 ? &(*link)->right : &(*link)->left;
  tree_ref graft = tree_build(3, path);
  *link = graft;
}

/* In order of keys for a search tree. It only reads, so its calls need no records, although they
 * pass a reference. The compiler can't see that; `stackpack pack` can. */
static uint64_t tree_checksum(tree_ref tree, uint64_t checksum) {
  if (!tree)
    return checksum;
  checksum = tree_checksum(tree->left, checksum);
  checksum = checksum_add(checksum, tree->key);
  checksum = checksum_add(checksum, tree->count);
  return tree_checksum(tree->right, checksum);
}

uint64_t trees_run(uint64_t size) {
  uint64_t checksum = 0;
  tree_ref lasting = tree_build(7, 1);
  for (uint64_t i = 0; i < 4 * size; i++)
    checksum = tree_checksum(tree_build(2 + i % 5, i), checksum);

  tree_ref counts = tree_new(0);
  tree_ref grafts = tree_new(0);
  uint64_t number = 88172645463325252;
  for (uint64_t i = 0; i < 500 * size; i++) {
    number = random_next(number);
    tree_count(counts, number % 400);
    if (i % 50 == 0)
      tree_graft(grafts, number);
  }
  checksum = tree_checksum(grafts, tree_checksum(lasting, checksum));
  return tree_checksum(counts, checksum);
}
