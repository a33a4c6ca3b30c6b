/* debug_sections.c - see debug_sections.h. */
#include "tool/source/debug_sections.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
enum { ELFCOMPRESS_ZSTD = 2 }; /* gABI, "Section Compression" */
#endif

/* Debug sections shrink to a third; a small one of zeros to a hundredth, perhaps. */
enum { RATIO_MOST = 64, SMALL = 1 << 20 };

/* Replaces the section's bytes in memory. */
static bool decompress_zstd(Elf_Scn *section, GElf_Shdr *header, uint64_t size) {
  Elf_Data *data = elf_getdata(section, NULL);
  const size_t skipped = sizeof(Elf64_Chdr);
  char *bytes = data == NULL || data->d_size < skipped ? NULL : malloc(size + 1);
  if (bytes == NULL || ZSTD_decompress(bytes, size, (const char *)data->d_buf + skipped,
                                       data->d_size - skipped) != size) {
    free(bytes);
    return false;
  }
  data->d_buf = bytes;
  data->d_size = header->sh_size = size;
  data->d_type = ELF_T_BYTE;
  header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
  return gelf_update_shdr(section, header) != 0;
}

static bool decompress(Elf_Scn *section, GElf_Shdr *header, const char *name,
                       struct problem *problem) {
  GElf_Chdr compression;
  if (gelf_getchdr(section, &compression) == NULL)
    return problem_set(problem, "section %.40s can't be decompressed", name);
  const uint64_t size = compression.ch_size;
  if (size > SMALL && size / RATIO_MOST > header->sh_size)
    return problem_set(problem, "section %.40s can't be decompressed: it says it is too large",
                       name);
  return elf_compress(section, 0, 0) >= 0 ||
         (compression.ch_type == ELFCOMPRESS_ZSTD && decompress_zstd(section, header, size)) ||
         problem_set(problem, "section %.40s can't be decompressed", name);
}

Elf *debug_sections_open(const char *path, struct problem *problem) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  size_t names;
  elf_version(EV_CURRENT);
  if (file < 0) {
    problem_set_errno(problem, "can't be opened");
    return NULL;
  }
  Elf *elf = elf_begin(file, ELF_C_READ_MMAP_PRIVATE, NULL);
  if (elf == NULL || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0) {
    problem_set(problem, "debug information: not a usable ELF file");
    return NULL;
  }
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == NULL || (header.sh_flags & SHF_COMPRESSED) == 0)
      continue;
    const char *name = elf_strptr(elf, names, header.sh_name);
    if (name != NULL && strncmp(name, ".debug_", 7) == 0 &&
        !decompress(section, &header, name, problem))
      return NULL;
  }
  return elf;
}
