/* debug_names.h - the names that tie a program to its files of debug information: its build ID,
 * and the links in .gnu_debuglink and .gnu_debugaltlink.
 */
#ifndef STACKPACK_DEBUG_NAMES_H
#define STACKPACK_DEBUG_NAMES_H

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

/* Writes the build ID in hexadecimal digits; an empty text if there is none. `elf` may be NULL. */
enum { BUILD_ID_SIZE = 2 * 64 + 1 };
void debug_names_build_id(Elf *elf, char text[BUILD_ID_SIZE]);

/* Whether a file has a build ID, in hexadecimal digits. */
bool debug_names_has_id(int file, const char *id);

/* The name, without a folder, and the CRC-32 of a debug file; the Elf's. NULL if the file names
 * none. */
const char *debug_names_link(Elf *elf, uint32_t *checksum);

/* The path of the file that has entries of debug information for several programs, as dwz makes
 * it, and that file's build ID; the Elf's. NULL if none is named. */
const char *debug_names_shared(Elf *elf, char id[BUILD_ID_SIZE]);

/* Moves on to the next section, NULL for the first, that has bytes and a name with that start; NULL
 * after the last one. */
Elf_Scn *debug_names_section(Elf *elf, Elf_Scn *section, const char *start, GElf_Shdr *header,
                             const char **name);

#endif
