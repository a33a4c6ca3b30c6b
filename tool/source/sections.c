/* sections.c - see sections.h. */
#include "tool/source/sections.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2 /* older elf.h don't know it */
#endif

/* Debug sections shrink to a third; a small one of zeros to a hundredth, perhaps. */
enum { RATIO_MOST = 64, SMALL = 1 << 20 };

/* Puts the bytes of a section in the place of its compressed ones: they are the Elf's until the
 * process ends. libelf has two descriptions of the bytes, and versions of libdw differ in the one that
 * they use. */
static bool decompress_zstd(Elf_Scn *section, GElf_Shdr *header, uint64_t size) {
  Elf_Data *const both[] = {elf_getdata(section, NULL), elf_rawdata(section, NULL)};
  const size_t skipped = sizeof(Elf64_Chdr);
  if (both[0] == NULL || both[1] == NULL || both[1]->d_size < skipped)
    return false;
  char *bytes = malloc(size + 1);
  if (bytes == NULL || ZSTD_decompress(bytes, size, (char *)both[1]->d_buf + skipped,
                                       both[1]->d_size - skipped) != size) {
    free(bytes);
    return false;
  }
  for (unsigned i = 0; i < 2; i++) {
    both[i]->d_type = ELF_T_BYTE;
    both[i]->d_buf = bytes;
    both[i]->d_size = size;
  }
  header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
  header->sh_size = size;
  return gelf_update_shdr(section, header) != 0;
}

/* The size that a section says it has; its own where it isn't compressed. *kind is 0 there. */
static uint64_t decompressed_size(Elf_Scn *section, const GElf_Shdr *header, const char *name,
                                  unsigned *kind) {
  GElf_Chdr compression;
  *kind = 0;
  if ((header->sh_flags & SHF_COMPRESSED) != 0) {
    if (gelf_getchdr(section, &compression) == NULL)
      return UINT64_MAX;
    *kind = compression.ch_type;
    return compression.ch_size;
  }
  uint64_t size = header->sh_size;
  const Elf_Data *raw = strncmp(name, ".zdebug_", 8) == 0 ? elf_rawdata(section, NULL) : NULL;
  if (raw != NULL && raw->d_size >= 12) { /* "ZLIB", and the size, its high byte first */
    memcpy(&size, (char *)raw->d_buf + 4, sizeof size);
    size = __builtin_bswap64(size);
  }
  return size;
}

static bool decompress(Elf_Scn *section, GElf_Shdr *header, const char *name,
                       struct problem *problem) {
  unsigned kind;
  const uint64_t size = decompressed_size(section, header, name, &kind);
  if (size > SMALL && size / RATIO_MOST > header->sh_size)
    return problem_set(problem, "section %.40s can't be decompressed: it says it is too large",
                       name);
  const bool ok = kind == ELFCOMPRESS_ZSTD ? decompress_zstd(section, header, size)
                                           : kind == 0 || elf_compress(section, 0, 0) > 0;
  return ok || problem_set(problem, "section %.40s can't be decompressed", name);
}

bool sections_decompress(Elf *elf, struct problem *problem) {
  GElf_Shdr header;
  size_t names;
  if (elf == NULL || elf_kind(elf) != ELF_K_ELF || elf_getshdrstrndx(elf, &names) != 0)
    return problem_set(problem, "debug information: not a usable ELF file");
  for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
    const char *name =
        gelf_getshdr(section, &header) == NULL ? NULL : elf_strptr(elf, names, header.sh_name);
    if (name != NULL && header.sh_type != SHT_NOBITS &&
        (strncmp(name, ".debug_", 7) == 0 || strncmp(name, ".zdebug_", 8) == 0) &&
        !decompress(section, &header, name, problem))
      return false;
  }
  return true;
}
