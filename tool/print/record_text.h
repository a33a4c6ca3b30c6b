/* record_text.h - parts of a record as text for people. */
#ifndef STACKPACK_RECORD_TEXT_H
#define STACKPACK_RECORD_TEXT_H

#include "elf/machine.h"
#include "tool/print/record_view.h"
#include "tool/print/style.h"
#include "tool/source/source.h"

enum { LOCATION_TEXT_SIZE = 48 };

/* Writes a location: a register as `rbx`, a slot of memory as `[rsp+8]`, the address of an object
 * on the stack as `rsp+8`, a constant as a number; with its size, as `:4`, if it differs from 8. A
 * register of unknown name is `register7`, by DWARF's number; `machine` is the file's, or NULL. */
void location_text(char text[LOCATION_TEXT_SIZE], struct stackpack_location location,
                   const struct machine *machine);

/* How records are printed. */
struct record_text {
  const struct machine *machine;
  bool is_coloured;
};

/* Prints a function's name in its language's form, or a note of its absence. */
void record_text_function(const struct record_text *text, const char *name);
/* Prints a line: where the frame ends, and where the registers of the caller are saved. */
void record_text_frame(const struct record_text *text, const struct record_view *view, int indent);

/* Prints the size of a frame, with a comma before it. */
void record_text_frame_size(uint64_t frame_size);

/* Prints all of a record but its locations: nothing, or words with `separator` before each. */
void record_text_words(const struct record_view *view, const char *separator);
/* And its lists, each on a line that begins with `indent` spaces. */
void record_text_lists(const struct record_text *text, const struct record_view *view, int indent);

/* Prints where an instruction comes from, a line for each frame. */
void record_text_frames(const struct record_text *text, const struct source_frames *frames,
                        int indent);

#endif
