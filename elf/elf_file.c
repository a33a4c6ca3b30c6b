/* elf_file.c - see elf_file.h. */
#include "elf/elf_file.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int make_memory(struct elf_file *file) {
  struct stat *status = &file->status;
  if (fstat(file->descriptor, status) != 0)
    return errno;
  if (!S_ISREG(status->st_mode))
    return S_ISDIR(status->st_mode) ? EISDIR : ENOEXEC;
  if (status->st_size == 0)
    return ENODATA;
  const size_t size = (size_t)status->st_size;
  void *memory =
      mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return errno;
  file->memory = memory;
  file->image.size = size;
  return 0;
}

int elf_file_begin(struct elf_file *file, const char *path) {
  *file = (struct elf_file){.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file->descriptor < 0)
    return errno;
  const int error = make_memory(file);
  if (error != 0)
    elf_file_close(file);
  return error;
}

static int read_headers(struct elf_file *file) {
  const int error = elf_file_fetch(file, 0, sizeof(Elf64_Ehdr));
  if (error != 0)
    return error;
  if (elf_image_open(&file->image, file->memory, file->image.size) != NULL)
    return ENOEXEC;
  const Elf64_Ehdr *header = &file->image.header;
  const int fetched = elf_file_fetch(file, header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr));
  return fetched == 0 && elf_image_index(&file->image) != NULL ? ENOEXEC : fetched;
}

int elf_file_open(struct elf_file *file, const char *path) {
  const int begun = elf_file_begin(file, path);
  if (begun != 0)
    return begun == ENODATA ? ENOEXEC : begun;
  const int error = read_headers(file);
  if (error != 0)
    elf_file_close(file);
  return error;
}

/* Asks for large pages where much is about to be filled: the faults of small ones take as long as
 * the copying. */
static void ask_for_large_pages(const struct elf_file *file, uint64_t offset, uint64_t size) {
  enum { MUCH = 1 << 20 };
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset & -page;
  if (size >= MUCH)
    madvise((char *)file->memory + start, offset - start + size, MADV_HUGEPAGE);
}

int elf_file_fetch(struct elf_file *file, uint64_t offset, uint64_t size) {
  enum { TIMES_MAX = 4 };
  assert(file->descriptor >= 0);
  if (offset >= file->image.size)
    return 0;
  if (size > file->image.size - offset)
    size = file->image.size - offset;
  file->fetched += size;
  if (file->fetched / TIMES_MAX > file->image.size)
    return ENOEXEC;
  ask_for_large_pages(file, offset, size);
  while (size > 0) {
    const ssize_t count =
        pread(file->descriptor, (char *)file->memory + offset, size, (off_t)offset);
    if (count < 0 && errno != EINTR)
      return errno;
    if (count == 0)
      return ESTALE; /* truncated */
    offset += count > 0 ? (uint64_t)count : 0;
    size -= count > 0 ? (uint64_t)count : 0;
  }
  return 0;
}

int elf_file_map(struct elf_file *file, uint64_t offset, uint64_t size) {
  const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start = offset & -page;
  if (offset >= file->image.size)
    return 0;
  const uint64_t left = file->image.size - start, length = offset - start + size;
  return mmap((char *)file->memory + start, length >= size && length < left ? length : left,
              PROT_READ, MAP_PRIVATE | MAP_FIXED, file->descriptor, (off_t)start) == MAP_FAILED
             ? errno
             : 0;
}

int elf_file_fetch_loaded(struct elf_file *file) {
  int error = 0;
  for (unsigned i = 0; i < file->image.header.e_phnum && error == 0; i++) {
    const Elf64_Phdr segment = elf_image_segment(&file->image, i);
    if (segment.p_type == PT_LOAD)
      error = elf_file_fetch(file, segment.p_offset, segment.p_filesz);
  }
  return error;
}

int elf_file_fetch_sections(struct elf_file *file) {
  const Elf64_Ehdr *header = &file->image.header;
  const int error = elf_file_fetch(file, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr));
  if (error != 0 || header->e_shstrndx >= header->e_shnum)
    return error;
  const Elf64_Shdr names = elf_image_section(&file->image, header->e_shstrndx);
  return elf_file_fetch(file, names.sh_offset, names.sh_size);
}

int elf_file_fetch_symbols(struct elf_file *file) {
  int error = 0;
  for (unsigned i = 1; i < file->image.header.e_shnum && error == 0; i++) {
    const Elf64_Shdr section = elf_image_section(&file->image, i);
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
      error = elf_file_fetch(file, section.sh_offset, section.sh_size);
    if (error == 0 && section.sh_type == SHT_SYMTAB &&
        section.sh_link < file->image.header.e_shnum) {
      const Elf64_Shdr names = elf_image_section(&file->image, section.sh_link);
      error = elf_file_fetch(file, names.sh_offset, names.sh_size);
    }
  }
  return error;
}

int elf_file_end(struct elf_file *file) {
  struct stat now;
  assert(file->descriptor >= 0);
  int error = fstat(file->descriptor, &now) == 0 ? 0 : errno;
  if (error == 0 && !elf_file_is_unchanged(&file->status, &now))
    error = ESTALE;
  close(file->descriptor);
  file->descriptor = -1;
  return error;
}

void elf_file_close(struct elf_file *file) {
  if (file->descriptor >= 0)
    close(file->descriptor);
  if (file->memory != NULL)
    munmap(file->memory, file->image.size);
  *file = (struct elf_file){.descriptor = -1};
}
