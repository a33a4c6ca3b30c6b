/* source.h - where an instruction comes from: file, line, inlined functions, unit.
 *
 * Debug information is read by a process of its own. It is large and intricate, other tools leave
 * it broken, and no library survives every broken file. Then the reader ends, and the command
 * goes on without source lines.
 */
#ifndef STACKPACK_SOURCE_H
#define STACKPACK_SOURCE_H

#include "tool/source/debug_file.h"
#include "tool/source/debug_info.h"

struct source;

/* Opens the debug information of a program, in whichever file it is (debug_file.h). NULL if there
 * is none: then *absent has the reason; or if it is unusable: then *problem has it. */
struct source *source_open(const struct image *image, const char *path,
                           const struct debug_folders *folders, struct problem *absent,
                           struct problem *problem);
void source_close(struct source *source);

/* Finds the frames of the instruction that contains an address. Only with a source whose debug
 * information has proved sound so far. Reports missing split debug information once on stderr. */
void source_find(struct source *source, uint64_t address, struct source_frames *frames);
/* The same for many addresses, in as few steps as fit: returns how many of the first ones were
 * answered, until the next call; 0 where nothing is found any more. */
size_t source_find_some(struct source *source, const uint64_t *addresses, size_t count,
                        const struct source_frames **frames);
/* The same for the path of the unit's source file: see debug_info_find_unit. Until the next one is
 * found. */
const char *source_find_unit(struct source *source, uint64_t address);

/* False, and a problem, if the debug information has turned out to be broken. */
bool source_check(const struct source *source, struct problem *problem);

/* ---- For commands ---- */

struct source_options {
  struct debug_folders folders;
  bool is_wanted;
};

/* Rows of a command's table of options (tool/commands.h), and of its help. */
#define SOURCE_OPTIONS(source)                                                                     \
  {"source", .flag = &(source)->is_wanted}, {                                                      \
    "debug-dir", .take = source_add_folder, .context = (source)                                    \
  }
#define SOURCE_HELP                                                                                \
  "      --source              also source lines and inlined functions\n"                          \
  "      --debug-dir=DIR       look for debug files in DIR before " DEBUG_FOLDER "\n"

/* Takes in the value of --debug-dir. */
bool source_add_folder(void *options, const char *path, struct problem *problem);

#endif
