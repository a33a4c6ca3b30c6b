/* debug_names.c - see debug_names.h. */
#include "tool/image/debug_names.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <string.h>

void debug_names_build_id(Elf *elf, char text[BUILD_ID_SIZE]) {
  const void *id;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  text[0] = 0;
  for (ssize_t i = 0; i < size && 2 * i + 2 < BUILD_ID_SIZE; i++)
    snprintf(text + 2 * i, 3, "%02x", ((const uint8_t *)id)[i]);
}

const char *debug_names_link(Elf *elf, uint32_t *checksum) {
  const char *name = dwelf_elf_gnu_debuglink(elf, checksum);
  return name == NULL || *name == 0 || strchr(name, '/') != NULL ? NULL : name;
}
