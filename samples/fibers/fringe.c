/* fringe.c - workload: do two trees have the same leaves? Each is walked by a fiber, leaf by leaf.
 *
 * This is the classic use of coroutines. A fiber walks its tree by recursion, hands over a leaf in
 * the midst of it, and waits until the leaf is taken. So a suspended stack holds the path from the
 * root to a leaf, and after the root is dropped, only the stack keeps that path alive.
 *
 * A leaf is handed over in an object that two fibers share. Each leaf is a new object, made for the
 * handover, so the receiver gets a value that the sender's stack has kept.
 */
#include "workload.h"

typedef struct tree REF *tree_ref;
struct tree {
  uint64_t value;
  tree_ref left, right; /* both or none */
};

typedef struct leaf REF *leaf_ref;
struct leaf {
  uint64_t value;
};

/* From one fiber to another: full, or empty. A null reference follows the last leaf. */
typedef struct channel REF *channel_ref;
struct channel {
  uint64_t full;
  leaf_ref leaf;
};

typedef struct walk REF *walk_ref;
struct walk {
  tree_ref tree;
  channel_ref channel;
};

typedef struct numbers REF *numbers_ref;
struct numbers {
  uint64_t count;
  uint64_t numbers[];
};

static leaf_ref leaf_new(uint64_t value) {
  leaf_ref leaf = (leaf_ref)heap_allocate(sizeof(uint64_t), 0);
  leaf->value = value;
  return leaf;
}

static tree_ref tree_new(uint64_t value, tree_ref left, tree_ref right) {
  tree_ref tree = (tree_ref)heap_allocate(sizeof(uint64_t), 2);
  tree->value = value;
  tree->left = left;
  tree->right = right;
  return tree;
}

/* A tree with the leaves first, first + 1, ...; the number determines its shape. */
static tree_ref tree_random(uint64_t first, uint64_t leaves, uint64_t number) {
  if (leaves == 1)
    return tree_new(first, 0, 0);
  uint64_t split = 1 + number % (leaves - 1);
  number = random_next(number);
  tree_ref left = tree_random(first, split, number);
  tree_ref right = tree_random(first + split, leaves - split, number);
  return tree_new(0, left, right);
}

static void channel_send(channel_ref channel, leaf_ref leaf) {
  while (channel->full)
    fiber_yield();
  channel->leaf = leaf;
  channel->full = 1;
}

static leaf_ref channel_receive(channel_ref channel) {
  while (!channel->full)
    fiber_yield();
  channel->full = 0;
  return channel->leaf;
}

static void tree_walk(tree_ref tree, channel_ref channel) {
  if (tree->left) {
    tree_walk(tree->left, channel);
    tree_walk(tree->right, channel);
    return;
  }
  channel_send(channel, leaf_new(tree->value));
}

/* The function of a fiber that walks a tree. */
static reference walker(reference argument) {
  channel_ref channel = ((walk_ref)argument)->channel;
  tree_walk(((walk_ref)argument)->tree, channel);
  channel_send(channel, 0);
  return 0;
}

static uint64_t walker_start(tree_ref tree, channel_ref channel) {
  walk_ref walk = (walk_ref)heap_allocate(0, 2);
  walk->tree = tree;
  walk->channel = channel;
  return fiber_start(walker, walk);
}

static channel_ref channel_new(void) { return (channel_ref)heap_allocate(sizeof(uint64_t), 1); }

/* The function of a fiber that compares two trees. The leaf in hand waits for the other tree's. */
static reference compare(reference argument) {
  uint64_t number = ((leaf_ref)argument)->value;
  uint64_t leaves = 2 + setting_size();
  channel_ref left = channel_new();
  channel_ref right = channel_new();
  uint64_t left_walker = walker_start(tree_random(number % 1000, leaves, number), left);
  uint64_t right_walker =
      walker_start(tree_random(number % 1000, leaves + number % 2, ~number), right);
  uint64_t checksum = 0;
  leaf_ref from_left = channel_receive(left);
  leaf_ref from_right = channel_receive(right);
  while (from_left && from_right && from_left->value == from_right->value) {
    checksum = checksum_add(checksum, from_left->value);
    from_left = channel_receive(left);
    from_right = channel_receive(right);
  }
  for (; from_left; from_left = channel_receive(left))
    checksum = checksum_add(checksum, ~from_left->value);
  for (; from_right; from_right = channel_receive(right))
    checksum = checksum_add(checksum, from_right->value << 32);
  fiber_await(left_walker);
  fiber_await(right_walker);
  return leaf_new(checksum);
}

reference fringe_run(reference argument) {
  (void)argument;
  uint64_t count = 1 + setting_fibers() / 3;
  numbers_ref comparers = (numbers_ref)heap_allocate((1 + count) * sizeof(uint64_t), 0);
  comparers->count = count;
  uint64_t number = 88172645463325252;
  for (uint64_t i = 0; i < count; i++) {
    number = random_next(number);
    comparers->numbers[i] = fiber_start(compare, leaf_new(number));
  }
  uint64_t checksum = 0;
  for (uint64_t i = 0; i < comparers->count; i++) {
    leaf_ref result = (leaf_ref)fiber_await(comparers->numbers[i]);
    checksum = checksum_add(checksum, result->value);
  }
  return leaf_new(checksum);
}
