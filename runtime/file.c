/* file.c - opens the stack maps of an ELF file on disk: link-time addresses. */
#include "elf/elf_file.h"
#include "elf/note.h"
#include "runtime/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

static struct file_overlay *overlay_of(struct stackpack_file *file) {
  return (struct file_overlay *)file->private_;
}

/* A system call's error, by its number; elf_file_open's number for a file of another form. */
static enum stackpack_error error_of(int number) {
  errno = number != 0 ? number : errno;
  return number == 0         ? STACKPACK_OK
         : number == ENOEXEC ? STACKPACK_NOT_ELF
         : number == ENOMEM  ? STACKPACK_NO_MEMORY
                             : STACKPACK_SYSTEM_ERROR;
}

static enum stackpack_error open_packed(struct elf_file *file, struct stackpack_table *table) {
  struct section_bytes packed;
  uint64_t size;
  int error = 0;
  for (unsigned i = 0; i < file->image.header.e_phnum && error == 0; i++) {
    const Elf64_Phdr segment = elf_image_segment(&file->image, i);
    const uint8_t *note = segment.p_type == PT_NOTE && segment.p_memsz == PACKED_NOTE_SIZE
                              ? elf_image_at(&file->image, segment.p_vaddr, &size)
                              : NULL;
    if (note != NULL)
      error = elf_file_fetch(file, (uint64_t)(note - file->image.bytes), PACKED_NOTE_SIZE);
  }
  if (error == 0 && !elf_image_find_packed(&file->image, &packed))
    return STACKPACK_NO_STACK_MAPS;
  if (error == 0)
    error = elf_file_map(file, (uint64_t)(packed.bytes - file->image.bytes), packed.size);
  return error != 0 ? error_of(error) : table_open_in(table, &file->image, &packed);
}

/* Whether a section is in a segment that is loaded. */
static bool is_loaded(const struct elf_image *image, const Elf64_Shdr *section) {
  uint64_t size;
  const uint8_t *bytes = elf_image_at(image, section->sh_addr, &size);
  return bytes != NULL && (uint64_t)(bytes - image->bytes) == section->sh_offset &&
         section->sh_size <= size;
}

static enum stackpack_error open_raw(struct elf_file *file, struct stackpack_table *table,
                                     void **memory) {
  Elf64_Shdr raw = {0};
  unsigned sections = 0, number = 0;
  int error = elf_file_fetch_sections(file);
  for (; error == 0 && raw_next(&file->image, &number, &raw); sections++)
    if (!is_loaded(&file->image, &raw))
      error = elf_file_fetch(file, raw.sh_offset, raw.sh_size);
  if (error == 0 && sections == 0)
    return STACKPACK_NO_STACK_MAPS;
  if (error == 0)
    error = elf_file_fetch_loaded(file);
  if (error == 0)
    error = elf_file_fetch_symbols(file);
  return error != 0 ? error_of(error) : stackpack_raw_open(table, &file->image, memory);
}

/* A file whose maps were read into a table of their own isn't needed any more. */
static void give_back_file(struct file_overlay *overlay) {
  if (overlay->size > 0)
    munmap((void *)(uintptr_t)overlay->start, overlay->size);
  overlay->start = overlay->size = 0;
}

enum stackpack_error stackpack_file_open(struct stackpack_file *file, const char *path) {
  struct elf_file source;
  *file = (struct stackpack_file){0};
  struct file_overlay *overlay = overlay_of(file);
  enum stackpack_error error = error_of(elf_file_open(&source, path));
  if (error != STACKPACK_OK)
    return error;
  overlay->start = (uint64_t)(uintptr_t)source.memory;
  overlay->size = source.image.size;
  error = open_packed(&source, &file->table);
  if (error == STACKPACK_NO_STACK_MAPS)
    error = open_raw(&source, &file->table, &overlay->table);
  const enum stackpack_error at_end = error_of(elf_file_end(&source));
  error = at_end != STACKPACK_OK ? at_end : error;
  if (error != STACKPACK_OK)
    stackpack_file_close(file);
  else if (overlay->table != NULL)
    give_back_file(overlay);
  return error;
}

void stackpack_file_close(struct stackpack_file *file) {
  struct file_overlay *overlay = overlay_of(file);
  give_back_file(overlay);
  free(overlay->table);
  *file = (struct stackpack_file){0};
}
