/* file.c - opens the stack maps of an ELF file that isn't running: link-time addresses. */
#include "elf/elf_image.h"
#include "elf/note.h"
#include "runtime/internal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct owned *owned_of(struct stackpack_file *file) {
  return (struct owned *)file->private_;
}

static void *mapping_of(const struct owned *owned) { return (void *)(uintptr_t)owned->start; }

/* The bytes of the file from an address on that a segment gives it; NULL if none does. */
static const uint8_t *bytes_from(const struct elf_image *image, uint64_t address, uint64_t *size) {
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    const uint64_t into = address - segment.p_vaddr;
    if (segment.p_type != PT_LOAD || into >= segment.p_filesz || segment.p_offset > image->size ||
        into >= image->size - segment.p_offset)
      continue;
    const uint64_t in_file = image->size - segment.p_offset - into;
    const uint64_t in_segment = segment.p_filesz - into;
    *size = in_segment < in_file ? in_segment : in_file;
    return image->bytes + segment.p_offset + into;
  }
  return NULL;
}

static enum stackpack_error open_packed(const struct elf_image *image,
                                        struct stackpack_table *table) {
  for (unsigned i = 0; i < image->header.e_phnum; i++) {
    const Elf64_Phdr segment = elf_image_segment(image, i);
    uint64_t size;
    if (segment.p_type != PT_NOTE || segment.p_memsz != PACKED_NOTE_SIZE)
      continue;
    const uint8_t *bytes = bytes_from(image, segment.p_vaddr, &size);
    if (bytes == NULL || size < PACKED_NOTE_SIZE || !packed_note_is(bytes, PACKED_NOTE_SIZE))
      continue;
    return stackpack_table_open(table, bytes + PACKED_NOTE_SIZE, size - PACKED_NOTE_SIZE,
                                segment.p_vaddr + PACKED_NOTE_SIZE);
  }
  return STACKPACK_NO_STACK_MAPS;
}

static enum stackpack_error open_raw(const struct elf_image *image, struct stackpack_table *table,
                                     void **memory) {
  Elf64_Shdr raw;
  return raw_find(image, &raw) ? raw_open(table, image, 0, memory) : STACKPACK_NO_STACK_MAPS;
}

static enum stackpack_error map_file(const char *path, struct owned *owned) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (file < 0)
    return STACKPACK_SYSTEM_ERROR;
  void *bytes = MAP_FAILED;
  const bool has_status = fstat(file, &status) == 0;
  if (has_status && status.st_size > 0)
    bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  if (has_status && status.st_size == 0)
    return STACKPACK_NOT_ELF;
  if (bytes == MAP_FAILED)
    return STACKPACK_SYSTEM_ERROR;
  owned->start = (uint64_t)(uintptr_t)bytes;
  owned->size = (uint64_t)status.st_size;
  return STACKPACK_OK;
}

enum stackpack_error stackpack_file_open(struct stackpack_file *file, const char *path) {
  *file = (struct stackpack_file){0};
  struct owned *owned = owned_of(file);
  enum stackpack_error error = map_file(path, owned);
  if (error != STACKPACK_OK)
    return error;
  struct elf_image image;
  if (!elf_image_open(&image, mapping_of(owned), owned->size)) {
    error = STACKPACK_NOT_ELF;
  } else {
    error = open_packed(&image, &file->table);
    if (error == STACKPACK_NO_STACK_MAPS)
      error = open_raw(&image, &file->table, &owned->table);
  }
  if (error != STACKPACK_OK)
    stackpack_file_close(file);
  return error;
}

void stackpack_file_close(struct stackpack_file *file) {
  struct owned *owned = owned_of(file);
  if (owned->size > 0)
    munmap(mapping_of(owned), owned->size);
  free(owned->table);
  *file = (struct stackpack_file){0};
}
