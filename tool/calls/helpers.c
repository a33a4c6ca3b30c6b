/* helpers.c - see helpers.h. */
#include "tool/calls/helpers.h"

#include "tool/flow/helper.h"

/* More than any helper has. */
enum { SIZE_MAX_OF_CALLED = HELPER_INSTRUCTIONS * 4 };

static uint64_t bytes_at(const void *context, uint64_t address, const uint8_t **bytes) {
  const struct area *area = areas_find(context, address);
  if (area == NULL || !area->is_code || area->is_undecodable)
    return 0;
  *bytes = area->bytes + (address - area->address);
  return area->address + area->size - address;
}

/* Whether a call or jump may be to a helper: this excludes most, to save time. */
static bool may_be_one(const struct graph_builder *builder, const struct stack *stack,
                       const struct code_instruction *transfer) {
  const struct call_graph *graph = builder->graph;
  if (!builder->architecture->has_link || transfer->target_kind != CODE_DIRECT)
    return false;
  if (transfer->kind != CODE_CALL)
    return transfer->kind == CODE_JUMP && stack->depth.bytes != 0;
  const uint32_t function = call_graph_start(graph, transfer->target);
  return transfer->stack.link != CODE_LINK_CALLED ||
         (function != (uint32_t)GRAPH_NO_NODE &&
          graph->functions[function].size <= SIZE_MAX_OF_CALLED);
}

/* Whether the stack pointer is another one after some instructions. */
static bool moves_stack(const struct code_instruction *instructions, size_t count) {
  int64_t growth = 0;
  for (size_t i = 0; i < count; i++) {
    const struct code_stack *use = &instructions[i].stack;
    if (use->growth == CODE_STACK_LOST || use->copy == CODE_FRAME_POINTER)
      return true;
    growth += use->growth;
  }
  return growth != 0;
}

bool helper_follow(const struct graph_builder *builder, struct stack_notes *notes,
                   struct stack *stack, const struct code_instruction *transfer) {
  struct code_instruction instructions[HELPER_INSTRUCTIONS];
  const struct parts parts = graph_parts(builder);
  const struct helper_code code = {&builder->graph->areas, bytes_at};
  if (!may_be_one(builder, stack, transfer))
    return false;
  const size_t count = helper_read(builder->architecture, &parts, &code, transfer,
                                   stack->depth.link_copies != 0, instructions);
  if (transfer->stack.link == CODE_LINK_CALLED && moves_stack(instructions, count))
    return false;
  for (size_t i = 0; i < count; i++)
    if (instructions[i].kind == CODE_OTHER)
      stack_follow(notes, stack, &instructions[i]);
  return count > 0;
}
