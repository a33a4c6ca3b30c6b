/* record_text.c - see record_text.h. */
#include "tool/print/record_text.h"

#include "tool/image/clean.h"
#include "tool/image/demangle.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- Locations ---- */

static void register_text(char text[LOCATION_TEXT_SIZE], unsigned number,
                          const struct machine *machine) {
  const char *name = machine == NULL ? NULL : machine_register_name(machine, number);
  if (name != NULL)
    snprintf(text, LOCATION_TEXT_SIZE, "%s", name);
  else
    snprintf(text, LOCATION_TEXT_SIZE, "register%u", number);
}

void location_text(char text[LOCATION_TEXT_SIZE], struct stackpack_location location,
                   const struct machine *machine) {
  char name[LOCATION_TEXT_SIZE], size[16] = "";
  const char sign = location.value < 0 ? '-' : '+';
  const uint64_t distance =
      location.value < 0 ? -(uint64_t)location.value : (uint64_t)location.value;
  register_text(name, location.reg, machine);
  if (location.size != 8)
    snprintf(size, sizeof size, ":%u", location.size);
  switch (location.kind) {
  case STACKPACK_REGISTER:
    snprintf(text, LOCATION_TEXT_SIZE, "%.13s%s", name, size);
    break;
  case STACKPACK_DIRECT:
    snprintf(text, LOCATION_TEXT_SIZE, "%.13s%c%" PRIu64 "%s", name, sign, distance, size);
    break;
  case STACKPACK_INDIRECT:
    snprintf(text, LOCATION_TEXT_SIZE, "[%.13s%c%" PRIu64 "]%s", name, sign, distance, size);
    break;
  case STACKPACK_LARGE_CONSTANT:
    snprintf(text, LOCATION_TEXT_SIZE, "%" PRIu64 "%s", (uint64_t)location.value, size);
    break;
  default:
    snprintf(text, LOCATION_TEXT_SIZE, "%" PRId64 "%s", location.value, size);
  }
}

/* ---- Records ---- */

void record_text_function(const struct record_text *text, const char *name) {
  style_begin(text->is_coloured, STYLE_NAME);
  if (name != NULL)
    demangle_print(name);
  else
    printf("a function without a name");
  style_end(text->is_coloured);
}

static void print_place(const struct machine *machine, unsigned reg, int64_t offset) {
  char name[LOCATION_TEXT_SIZE];
  register_text(name, reg, machine);
  printf("%s%+" PRId64, name, offset);
}

void record_text_frame(const struct record_text *text, const struct record_view *view, int indent) {
  const struct frame_facts *frame = &view->frame;
  printf("%*s", indent, "");
  if (!view->knows_frame) {
    puts(view->piece != NULL
             ? "no unwind table tells of the frame: its size is LLVM's"
             : "neither unwind tables nor the code tell of the frame: its size is LLVM's");
    return;
  }
  printf("ends at ");
  print_place(text->machine, frame->cfa_register, frame->cfa_offset);
  printf("; from there%s:%s", frame->is_signed ? ", the return address signed" : "",
         frame->saved == 0 ? " nothing" : "");
  for (uint32_t bits = frame->saved; bits != 0; bits &= bits - 1) {
    const unsigned reg = (unsigned)__builtin_ctz(bits);
    putchar(' ');
    print_place(text->machine, reg, frame->offsets[reg]);
  }
  if (frame->lost != 0)
    printf("; lost:");
  for (uint32_t bits = frame->lost; bits != 0; bits &= bits - 1) {
    char name[LOCATION_TEXT_SIZE];
    register_text(name, (unsigned)__builtin_ctz(bits), text->machine);
    printf(" %s", name);
  }
  putchar('\n');
}

void record_text_frame_size(uint64_t frame_size) {
  if (frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN)
    printf(", a frame of unknown size");
  else
    printf(", a frame of %" PRIu64 " byte%s", frame_size, plural(frame_size));
}

void record_text_words(const struct record_view *view, const char *separator) {
  if (!view->is_statepoint)
    printf("%sa stack map", separator);
  if (!view->is_statepoint || view->record->id != SAFEPOINT_USUAL_ID)
    printf("%sID %" PRIu64, separator, view->record->id);
  if (view->record->calling_convention != 0)
    printf("%scalling convention %" PRId32, separator, view->record->calling_convention);
  if (view->record->flags != 0)
    printf("%sflags %" PRId32, separator, view->record->flags);
}

static void print_list(const struct record_text *text, const struct record_view *view,
                       const char *title, const struct intern_sequence *list, int indent) {
  char location[LOCATION_TEXT_SIZE];
  if (list->count == 0)
    return;
  printf("%*s%s", indent, "", title);
  for (uint64_t i = 0; i < list->count; i++) {
    location_text(location, record_view_location(view, list, i), text->machine);
    printf(" %s", location);
  }
  putchar('\n');
}

void record_text_lists(const struct record_text *text, const struct record_view *view, int indent) {
  print_list(text, view, "locations:", &view->locations, indent);
  print_list(text, view, "stack objects:", &view->allocas, indent);
  print_list(text, view, "deopt state:", &view->deopt, indent);
  print_list(text, view, "live out:", &view->live_outs, indent);
}

/* ---- Source ---- */

static void print_frame(const struct source_frame *frame) {
  if (frame->function != NULL)
    demangle_print(frame->function);
  else
    printf("??");
  printf(" at ");
  clean_print(stdout, frame->file == NULL ? "??" : frame->file);
  putchar(':');
  if (frame->line == 0)
    printf("?");
  else
    printf("%" PRIu64, frame->line);
  if (frame->column != 0)
    printf(":%" PRIu64, frame->column);
}

void record_text_frames(const struct record_text *text, const struct source_frames *frames,
                        int indent) {
  for (size_t i = 0; i < frames->count; i++) {
    printf("%*s%s", indent, "", i > 0 ? "inlined in " : "");
    style_begin(text->is_coloured, STYLE_SOURCE);
    print_frame(&frames->items[i]);
    style_end(text->is_coloured);
    putchar('\n');
  }
}
