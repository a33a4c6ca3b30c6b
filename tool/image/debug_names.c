/* debug_names.c - see debug_names.h. */
#include "tool/image/debug_names.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <string.h>

static void print_id(char text[BUILD_ID_SIZE], const uint8_t *id, size_t size) {
  text[0] = 0;
  for (size_t i = 0; i < size && 2 * i + 2 < BUILD_ID_SIZE; i++)
    snprintf(text + 2 * i, 3, "%02x", id[i]);
}

void debug_names_build_id(Elf *elf, char text[BUILD_ID_SIZE]) {
  const void *id;
  const ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  print_id(text, id, size < 0 ? 0 : (size_t)size);
}

bool debug_names_has_id(int file, const char *id) {
  char actual[BUILD_ID_SIZE];
  Elf *elf = elf_begin(file, ELF_C_READ, NULL);
  debug_names_build_id(elf, actual);
  elf_end(elf);
  return strcmp(actual, id) == 0;
}

const char *debug_names_link(Elf *elf, uint32_t *checksum) {
  const char *name = dwelf_elf_gnu_debuglink(elf, checksum);
  return name == NULL || *name == 0 || strchr(name, '/') != NULL ? NULL : name;
}

Elf_Scn *debug_names_section(Elf *elf, Elf_Scn *section, const char *start, GElf_Shdr *header,
                             const char **name) {
  size_t names;
  if (elf_getshdrstrndx(elf, &names) != 0)
    return NULL;
  while ((section = elf_nextscn(elf, section)) != NULL) {
    *name = gelf_getshdr(section, header) == NULL ? NULL : elf_strptr(elf, names, header->sh_name);
    if (*name != NULL && header->sh_type != SHT_NOBITS && strncmp(*name, start, strlen(start)) == 0)
      return section;
  }
  return NULL;
}

/* The section has the path, a 0, and the build ID. */
const char *debug_names_shared(Elf *elf, char id[BUILD_ID_SIZE]) {
  GElf_Shdr header;
  const char *name;
  for (Elf_Scn *section = NULL; (section = debug_names_section(elf, section, ".gnu_debugaltlink",
                                                               &header, &name)) != NULL;) {
    const Elf_Data *data = elf_rawdata(section, NULL);
    const char *end =
        data == NULL || data->d_buf == NULL ? NULL : memchr(data->d_buf, 0, data->d_size);
    if (end == NULL || end == data->d_buf)
      continue;
    print_id(id, (const uint8_t *)end + 1,
             data->d_size - (size_t)(end + 1 - (const char *)data->d_buf));
    return data->d_buf;
  }
  return NULL;
}
