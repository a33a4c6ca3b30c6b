/* embedder.cpp - C++ code that makes, reads and keeps objects of a heap in which they move.
 *
 * It builds a tree, and lets managed code visit the nodes. Managed code calls it back for each
 * node, and it gathers the keys below the node in a list, with another visitor. So managed code and
 * C++ call each other, several levels deep, and any of them may allocate.
 *
 * The tree has consecutive numbers, cut in the middle at each level. So the result can be computed
 * from ranges of numbers alone: `expected` does that without heap and collector.
 */
#include "die.h"
#include "handle.h"
#include "numbers.h"
#include "objects.h"
#include "options.h"
#include "vm.h"

#include <cinttypes>

/* ---- Managed code calls C++ ---- */

struct tree_visitor {
  virtual void visit(Handle<tree> node) = 0;

protected:
  ~tree_visitor() = default;
};

struct list_function {
  virtual uint64_t value_for(Handle<list> cell) = 0;

protected:
  ~list_function() = default;
};

/* The two functions that managed code calls. Both note the waiting frame, open a scope, and put
 * their reference into a handle before anything can move. They are noexcept, because managed frames
 * can't be unwound. */
extern "C" void visit_tree_for_frame(tree_visitor *visitor, tree_ref node, uintptr_t return_address,
                                     uintptr_t stack_pointer, uintptr_t frame_pointer) noexcept {
  Transition transition({return_address, stack_pointer, frame_pointer});
  HandleScope scope;
  visitor->visit(Handle<tree>(node));
}

extern "C" uint64_t value_for_list_for_frame(list_function *function, list_ref cell,
                                             uintptr_t return_address, uintptr_t stack_pointer,
                                             uintptr_t frame_pointer) noexcept {
  Transition transition({return_address, stack_pointer, frame_pointer});
  HandleScope scope;
  return function->value_for(Handle<list>(cell));
}

/* ---- C++ calls managed code ---- */

/* Each half waits in a handle while the other one and the node itself are made. */
static Handle<tree> build(uint64_t first, uint64_t end) {
  if (first == end)
    return Handle<tree>();
  HandleScope scope;
  uint64_t middle = first + (end - first) / 2;
  Handle<tree> left = build(first, middle);
  Handle<tree> right = build(middle + 1, end);
  return scope.escape(call(tree_new, middle, left, right));
}

/* The keys of all nodes, the last one first. The list outlives the scopes of the visits. */
struct Gather final : tree_visitor {
  void visit(Handle<tree> node) override {
    Handle<list> cell = vm_make<list>(sizeof(uint64_t), 1);
    cell->value = node->key;
    cell->next = keys.get();
    keys = cell;
  }

  Persistent<list> keys;
};

/* Computes a value with a few allocations. */
struct Scramble final : list_function {
  uint64_t value_for(Handle<list> cell) override {
    Handle<list> longer = call(list_new, cell->value + 1, cell);
    Handle<list> longest = call(list_new, 7, longer);
    return call(list_checksum, longest, factor);
  }

  uint64_t factor = 1;
};

/* Adds up, for each node, the scrambled keys of its left half; and with levels left, the same for
 * each node of that half. */
struct Weigh final : tree_visitor {
  explicit Weigh(uint64_t levels) : levels(levels) {}

  void visit(Handle<tree> node) override {
    Handle<tree> left(node->left);
    Gather below;
    call(tree_each, left, &below);
    Scramble scramble;
    scramble.factor = node->key;
    Handle<list> scrambled = call(list_map, below.keys, &scramble);
    checksum = call(list_checksum, scrambled, checksum);
    if (levels > 0) {
      Weigh deeper(levels - 1);
      call(tree_each, left, &deeper);
      checksum = checksum_add(checksum, deeper.checksum);
    }
    checksum = checksum_add(checksum, node->key);
  }

  const uint64_t levels;
  uint64_t checksum = 0;
};

static uint64_t run(uint64_t size, uint64_t levels) {
  HandleScope scope;
  Weigh weigh(levels);
  call(tree_each, build(1, 1 + size), &weigh);
  return weigh.checksum;
}

/* ---- The same without a heap ---- */

/* The result of list_checksum for the cell of `key` and those after it, down to `first`. */
static uint64_t expected_scramble(uint64_t first, uint64_t key, uint64_t factor) {
  uint64_t checksum = checksum_add(checksum_add(factor, 7), key + 1);
  for (uint64_t next = key + 1; next-- > first;)
    checksum = checksum_add(checksum, next);
  return checksum;
}

static uint64_t expected(uint64_t first, uint64_t end, uint64_t levels, uint64_t checksum) {
  if (first == end)
    return checksum;
  uint64_t middle = first + (end - first) / 2;
  checksum = expected(first, middle, levels, checksum);
  for (uint64_t key = middle; key-- > first;)
    checksum = checksum_add(checksum, expected_scramble(first, key, middle));
  if (levels > 0)
    checksum = checksum_add(checksum, expected(first, middle, levels - 1, 0));
  checksum = checksum_add(checksum, middle);
  return expected(middle + 1, end, levels, checksum);
}

int main(int argc, char **argv) {
  uint64_t size = 100, levels = 2, kilobytes = 64;
  bool stress = false, statistics = false;
  const option_row rows[] = {
      {"size", "how many nodes the tree has", nullptr, &size, 1, 1000000},
      {"levels", "how often visits are nested", nullptr, &levels, 1, 1000000},
      {"heap", "the size of each of the two spaces, in KiB", nullptr, &kilobytes, 1, 1000000},
      {"stress", "collect at every allocation", &stress, nullptr, 0, 0},
      {"statistics", "say on stderr what the collections did", &statistics, nullptr, 0, 0},
      {},
  };
  options_take(argc, argv, rows);
  vm_open(kilobytes * 1024, stress);
  uint64_t result = run(size, levels);
  if (statistics)
    vm_report(stderr);
  vm_close();
  uint64_t right = expected(1, 1 + size, levels, 0);
  if (result != right)
    die("the result is %016" PRIx64 ", but should be %016" PRIx64, result, right);
  printf("%016" PRIx64 "\n", result);
  return 0;
}
