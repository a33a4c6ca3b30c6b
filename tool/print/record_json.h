/* record_json.h - a record as a JSON object: see stackpack(1), dump. */
#ifndef STACKPACK_RECORD_JSON_H
#define STACKPACK_RECORD_JSON_H

#include "tool/print/record_view.h"
#include "tool/source/source.h"

/* Prints it, and leaves the line open. `name`: of its function, or NULL; `frames`: NULL:
 * omitted. */
void record_json_print(const struct record_view *view, const char *name,
                       const struct source_frames *frames);
/* Prints the frames as a further member of an object; nothing for NULL. */
void record_json_source(const struct source_frames *frames);

#endif
