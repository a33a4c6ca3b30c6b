/* debug_file.h - finds the file that has a program's debug information.
 *
 * It may be the program itself; or one that `objcopy --only-keep-debug` made of it, as
 * distributions ship them, where debuggers look for it: by the build ID in a folder of debug files,
 * or by the name and the checksum that the section .gnu_debuglink has, beside the program (both as
 * in GDB's manual, "Debugging Information in Separate Files"). Packing changes neither, so a packed
 * program finds the debug file of the original.
 */
#ifndef STACKPACK_DEBUG_FILE_H
#define STACKPACK_DEBUG_FILE_H

#include "tool/image/debug_names.h"
#include "tool/image/image.h"

#define DEBUG_FOLDER "/usr/lib/debug"

/* Where debug files are looked for, before DEBUG_FOLDER. */
struct debug_folders {
  const char **paths; /* the array is owned, the texts are the command line's */
  size_t count, capacity;
};

/* The path of a program's debug file, to be freed. NULL if all are missing or unusable: then
 * *problem has the reason. */
char *debug_file_find(const struct image *image, const char *path,
                      const struct debug_folders *folders, struct problem *problem);

#endif
