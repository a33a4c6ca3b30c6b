/* record_json.c - see record_json.h. */
#include "tool/print/record_json.h"

#include "tool/print/json.h"

#include <inttypes.h>
#include <stdio.h>

static void print_location(struct stackpack_location location) {
  switch (location.kind) {
  case STACKPACK_CONSTANT:
    printf("{\"kind\":\"constant\",\"value\":%" PRId64 ",\"size\":%u}", location.value,
           location.size);
    return;
  case STACKPACK_LARGE_CONSTANT:
    printf("{\"kind\":\"constant\",\"value\":%" PRIu64 ",\"size\":%u}", (uint64_t)location.value,
           location.size);
    return;
  default:
    printf("{\"kind\":\"%s\",\"register\":%u,\"offset\":%" PRId64 ",\"size\":%u}",
           location.kind == STACKPACK_REGISTER ? "register"
           : location.kind == STACKPACK_DIRECT ? "direct"
                                               : "indirect",
           location.reg, location.value, location.size);
  }
}

static void print_list(const char *name, const struct record_view *view,
                       const struct intern_sequence *list) {
  printf(",\"%s\":[", name);
  for (uint64_t i = 0; i < list->count; i++) {
    if (i > 0)
      putchar(',');
    print_location(record_view_location(view, list, i));
  }
  putchar(']');
}

static void print_statepoint(const struct record_view *view) {
  printf(",\"calling_convention\":%" PRId32 ",\"flags\":%" PRId32, view->record->calling_convention,
         view->record->flags);
  print_list("deopt", view, &view->deopt);
  printf(",\"gc\":[");
  for (size_t i = 0; i < view->pair_count; i++) {
    printf("%s{\"base\":", i > 0 ? "," : "");
    print_location(view->pairs[i].base);
    printf(",\"derived\":");
    print_location(view->pairs[i].derived);
    putchar('}');
  }
  putchar(']');
  print_list("allocas", view, &view->allocas);
}

static void print_live_outs(const struct record_view *view) {
  printf(",\"live_outs\":[");
  for (uint64_t i = 0; i < view->live_outs.count; i++) {
    const struct stackpack_location location = record_view_location(view, &view->live_outs, i);
    printf("%s{\"register\":%u,\"size\":%u}", i > 0 ? "," : "", location.reg, location.size);
  }
  putchar(']');
}

void record_json_source(const struct source_frames *frames) {
  if (frames == NULL)
    return;
  printf(",\"source\":[");
  for (size_t i = 0; i < frames->count; i++) {
    const struct source_frame *frame = &frames->items[i];
    printf("%s{\"function\":", i > 0 ? "," : "");
    json_print_text(frame->function);
    printf(",\"file\":");
    json_print_text(frame->file);
    printf(",\"line\":");
    json_print_number(frame->line, frame->line != 0);
    printf(",\"column\":");
    json_print_number(frame->column, frame->column != 0);
    putchar('}');
  }
  putchar(']');
}

/* The frame, from unwind tables; null if they lack it. */
static void print_frame(const struct record_view *view) {
  const struct frame_facts *frame = &view->frame;
  printf(",\"frame\":");
  if (!view->knows_frame) {
    printf("null");
    return;
  }
  printf("{\"cfa_register\":%u,\"cfa_offset\":%" PRId32 ",\"return_address_signed\":%s,\"saved\":[",
         frame->cfa_register, frame->cfa_offset, frame->is_signed ? "true" : "false");
  for (uint32_t bits = frame->saved; bits != 0; bits &= bits - 1) {
    const unsigned reg = (unsigned)__builtin_ctz(bits);
    printf("%s{\"register\":%u,\"offset\":%" PRId32 "}", bits == frame->saved ? "" : ",", reg,
           frame->offsets[reg]);
  }
  printf("],\"lost\":[");
  for (uint32_t bits = frame->lost; bits != 0; bits &= bits - 1)
    printf("%s%d", bits == frame->lost ? "" : ",", __builtin_ctz(bits));
  printf("]}");
}

void record_json_print(const struct record_view *view, const char *name,
                       const struct source_frames *frames) {
  printf("{\"address\":%" PRIu64, piece_offset(view->piece, view->address));
  piece_print_json(view->piece);
  printf(",\"function\":");
  json_print_text(name);
  printf(",\"function_address\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"frame_size\":",
         piece_offset(view->piece, view->function), view->address - view->function);
  json_print_number(view->frame_size, view->frame_size != SAFEPOINT_FRAME_SIZE_UNKNOWN);
  print_frame(view);
  printf(",\"id\":%" PRIu64 ",\"kind\":\"%s\"", view->record->id,
         view->is_statepoint ? "statepoint" : "stackmap");
  if (view->is_statepoint)
    print_statepoint(view);
  else
    print_list("locations", view, &view->locations);
  print_live_outs(view);
  record_json_source(frames);
  putchar('}');
}
