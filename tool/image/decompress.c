/* decompress.c - see decompress.h. */
#include "tool/image/decompress.h"

#include <gelf.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
enum { ELFCOMPRESS_ZSTD = 2 }; /* gABI, "Section Compression" */
#endif

/* Debug sections shrink to a third; a small one of zeros to a hundredth, perhaps. */
enum { RATIO_MOST = 64, SMALL = 1 << 20 };

/* Decompresses a section in libelf's memory, as elf_compress does; older versions of libelf lack
 * Zstandard. */
static bool decompress_zstd(Elf_Scn *section, uint64_t size, struct owned *owned) {
  GElf_Shdr header;
  Elf_Data *data = elf_getdata(section, NULL);
  const size_t skipped = sizeof(Elf64_Chdr);
  char *bytes = data == NULL || data->d_size < skipped ? NULL : owned_array(owned, size + 1, 1);
  if (bytes == NULL || gelf_getshdr(section, &header) == NULL ||
      ZSTD_decompress(bytes, size, (const char *)data->d_buf + skipped, data->d_size - skipped) !=
          size)
    return false;
  data->d_buf = bytes;
  data->d_size = header.sh_size = size;
  header.sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
  return gelf_update_shdr(section, &header) != 0;
}

bool decompress_section(Elf_Scn *section, const char *name, uint64_t stored, struct owned *owned,
                        struct problem *problem) {
  GElf_Chdr compression = {0};
  if (gelf_getchdr(section, &compression) != NULL && compression.ch_size > SMALL &&
      compression.ch_size / RATIO_MOST > stored)
    return problem_set(problem, "section %.40s can't be decompressed: it says it is too large",
                       name);
  return elf_compress(section, 0, 0) > 0 ||
         (compression.ch_type == ELFCOMPRESS_ZSTD &&
          decompress_zstd(section, compression.ch_size, owned)) ||
         problem_set(problem, "section %.40s can't be decompressed", name);
}
