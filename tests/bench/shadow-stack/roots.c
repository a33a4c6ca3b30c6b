/* roots.c - walks the shadow stack and updates the references in it.
 *
 * Each managed function that has references to keep across a call begins with linking a frame of
 * its own, a local variable, into a list that starts in llvm_gc_root_chain, and takes it out before
 * it returns. So the list is the stack of waiting functions once more, the youngest first, in a
 * form independent of the machine: free of return addresses, frame sizes and registers, and all
 * other code between two managed functions stays unseen.
 *
 *   llvm_gc_root_chain -> { older, map, roots[2] }  tree_build
 *                           |
 *                           v
 *                         { older, map, roots[2] }  tree_build, the caller
 *                           |
 *                           v
 *                         { NULL, map, roots[4] }   trees_run
 *
 * LLVM's strategy "shadow-stack" writes the code for that and fixes the layout: see "Garbage
 * Collection with LLVM", The Shadow Stack GC. The roots are null at first. Derived references are
 * left out: see frames.awk.
 */
#include "roots.h"

/* The map is LLVM's word for the data common to all frames of a function. The number of roots is
 * followed by a number of descriptions, unused by this sample, and these. */
struct frame_map {
  int32_t roots, descriptions;
};

struct frame {
  struct frame *older;
  const struct frame_map *map;
  uintptr_t roots[];
};

/* Defined by LLVM, once in a program: so there is one shadow stack, for one thread. */
extern struct frame *llvm_gc_root_chain;

void roots_update(roots_forward *forward, void *heap, struct roots_counts *counts) {
  uint64_t frames = 0;
  for (struct frame *frame = llvm_gc_root_chain; frame; frame = frame->older) {
    frames++;
    for (int32_t i = 0; i < frame->map->roots; i++) {
      counts->roots += frame->roots[i] != 0;
      frame->roots[i] = forward(heap, frame->roots[i]);
    }
  }
  counts->frames += frames;
  if (frames > counts->deepest)
    counts->deepest = frames;
}
