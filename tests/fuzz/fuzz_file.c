/* fuzz_file.c - attacks the runtime's way to a file's stack maps with made-up ELF files.
 *
 * The input is an ELF file, in a file that is only in memory: the runtime maps it. Findings: a read
 * outside it, and walk.c's findings in the table. The runtime's own ELF reader gets the bytes
 * in a block of their size as well, as a read beyond the end of a mapping is seen only where a page
 * ends, too.
 */
#include "fuzz.h"

#include "elf/elf_image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void read_image(const uint8_t *bytes, size_t size) {
  struct elf_image image;
  struct code_ranges ranges = {0};
  struct section_bytes frames = {0};
  Elf64_Shdr section;
  if (elf_image_open(&image, bytes, size) != NULL || elf_image_index(&image) != NULL)
    return;
  for (unsigned i = 0; i < image.header.e_phnum; i++)
    elf_image_segment(&image, i);
  if (!elf_image_add_symbols(&image, &ranges))
    finding("there is memory for a small file", NULL);
  if (elf_image_find_section(&image, ".eh_frame", &section))
    frames =
        (struct section_bytes){image.bytes + section.sh_offset, section.sh_size, section.sh_addr};
  if (!eh_frame_add(&ranges, &frames))
    finding("there is memory for a small file", NULL);
  code_ranges_free(&ranges);
}

/* The path of a new file with these bytes; -1 where the system refuses one. */
static int new_file(const uint8_t *data, size_t size, char *path, size_t path_size) {
  const int file = memfd_create("fuzz", MFD_CLOEXEC);
  if (file < 0)
    return -1;
  for (size_t done = 0; done < size;) {
    const ssize_t written = write(file, data + done, size - done);
    if (written < 0)
      abort();
    done += (size_t)written;
  }
  snprintf(path, path_size, "/proc/self/fd/%d", file);
  return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct stackpack_file file;
  char path[64];
  uint8_t *bytes = exact_block(data, size, size);
  read_image(bytes, size);
  free(bytes);
  const int descriptor = new_file(data, size, path, sizeof path);
  if (descriptor < 0) {
    fprintf(stderr, "no file in memory: %s\n", strerror(errno));
    abort();
  }
  const enum stackpack_error error = stackpack_file_open(&file, path);
  if (error == STACKPACK_OK) {
    walk_table(&file.table);
    stackpack_file_close(&file);
  }
  if (stackpack_error_text(error) == NULL)
    finding("every error has a text", NULL);
  close(descriptor);
  return 0;
}
