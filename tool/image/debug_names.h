/* debug_names.h - the two names that tie a program to its file of debug information: its build ID,
 * and the link in .gnu_debuglink.
 */
#ifndef STACKPACK_DEBUG_NAMES_H
#define STACKPACK_DEBUG_NAMES_H

#include <libelf.h>
#include <stdint.h>

/* Writes the build ID in hexadecimal digits; an empty text if there is none. `elf` may be NULL. */
enum { BUILD_ID_SIZE = 2 * 64 + 1 };
void debug_names_build_id(Elf *elf, char text[BUILD_ID_SIZE]);

/* The name, without a folder, and the CRC-32 of a debug file; the Elf's. NULL if the file names
 * none. */
const char *debug_names_link(Elf *elf, uint32_t *checksum);

#endif
