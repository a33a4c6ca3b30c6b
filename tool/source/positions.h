/* positions.h - where the records of a table are in their sources: by debug information into the
 * table, and out of it again. */
#ifndef STACKPACK_POSITIONS_H
#define STACKPACK_POSITIONS_H

#include "format/safepoints.h"
#include "tool/image/names.h"
#include "tool/source/paths.h"
#include "tool/source/source.h"

struct positions_options {
  enum { POSITIONS_NONE, POSITIONS_LINES, POSITIONS_FUNCTIONS } wanted;
  struct prefix_maps maps;
};

/* Rows of a command's table of options (tool/commands.h). */
#define POSITIONS_OPTIONS(options)                                                                 \
  {"source", .words = "none|lines|functions", .word = &(options)->wanted},                         \
      POSITIONS_MAP_OPTION(options)
#define POSITIONS_MAP_OPTION(options)                                                              \
  { "source-prefix-map", .take = prefix_maps_add, .context = &(options)->maps }

/* Gives each record of a table its position by debug information. Without that, positions are the
 * functions' names by the symbol table, and a line says so. False, and a problem, if the debug
 * information can't be used. */
bool positions_collect(struct safepoints *table, const struct positions_options *options,
                       const struct image *image, const char *path, struct problem *problem);

/* Whether a program has debug information. */
bool positions_are_known(const struct image *image, const char *path);

/* The frames of a place in a table's sources. */
void positions_frames(const struct safepoints *table, uint32_t place,
                      struct source_frame items[SOURCE_FRAMES_MOST], struct source_frames *frames);

/* The outermost frame of a function's records, without a line; empty where it is unknown. The
 * texts are the table's. */
struct source_frame positions_function(const struct safepoints *table,
                                       const struct safepoint_function *function);

/* Names the function that all other frames are inlined into as the linker does: debug information
 * may lack it, or have its name in the source. Where there are no frames, it is one, in *own. */
void positions_name(const struct names *names, uint64_t function, struct source_frame *own,
                    struct source_frames *frames);

#endif
