/* input.c - see input.h. */
#include "tool/image/input.h"

#include "elf/elf_file.h"
#include "format/search.h"
#include "tool/image/budget.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Finds the next bytes, from..to, outside holes. Holes read as zeros: linkers leave them between
 * segments that are far apart. */
static void find_data(int file, size_t size, size_t *from, size_t *to) {
  const off_t data = lseek(file, (off_t)*from, SEEK_DATA);
  *to = size;
  if (data < 0) { /* none is left; or the file system lacks this, and all is data */
    *from = errno == ENXIO ? size : *from;
    return;
  }
  const off_t hole = lseek(file, data, SEEK_HOLE);
  *from = (size_t)data < size ? (size_t)data : size;
  *to = hole > data && (size_t)hole < size ? (size_t)hole : size;
}

static int read_all(struct elf_file *file, struct input *input) {
  const size_t size = file->image.size;
  int error = 0;
  for (size_t from = 0, to; error == 0 && from < size; from = to) {
    find_data(file->descriptor, size, &from, &to);
    (void)code_ranges_add(&input->data, from, to);
    error = elf_file_fetch(file, from, to - from);
  }
  const int at_end = elf_file_end(file);
  return error != 0 ? error : at_end;
}

bool input_open(struct input *input, const char *path, struct problem *problem) {
  struct elf_file file;
  struct stat status;
  *input = (struct input){0};
  if (stat(path, &status) == 0 && S_ISREG(status.st_mode))
    budget_memory((uint64_t)status.st_size);
  errno = elf_file_begin(&file, path);
  if (errno == EISDIR || errno == ENOEXEC)
    return problem_set(problem, "not a regular file");
  if (errno == ENODATA)
    return problem_set(problem, "an empty file");
  if (errno != 0)
    return problem_set_errno(problem, "can't be opened");
  const int error = read_all(&file, input);
  input->bytes = file.memory;
  input->size = file.image.size;
  input->status = file.status;
  if (error == 0)
    return true;
  code_ranges_free(&input->data);
  elf_file_close(&file);
  errno = error;
  return error == ESTALE ? problem_set(problem, "it was changed while it was read")
                         : problem_set_errno(problem, "can't be read");
}

/* Moves whole pages to memory that is all zeros. Where the system can't (where the places within a
 * page differ; before Linux 5.7), each part is copied and given back. The old addresses stay
 * taken. */
static void move_pages(uint8_t *from, uint8_t *to, size_t size) {
  enum { PART = 1 << 20 };
  const int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  if (mremap(from, size, size, flags, to) == MAP_FAILED) {
    mmap(to, size, PROT_READ | PROT_WRITE, /* the system may have unmapped this */
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    for (size_t at = 0; at < size; at += PART) {
      const size_t part = size - at < PART ? size - at : PART;
      memcpy(to + at, from + at, part);
      madvise(from + at, part, MADV_DONTNEED);
    }
  }
  mprotect(from, size, PROT_NONE);
}

/* Moves the whole pages from `kept` on, and copies the rest. */
static void move_data(const struct input *input, struct code_range data, uint8_t *to, size_t kept) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), from = data.start > kept ? data.start : kept;
  size_t start = (from + page - 1) & -page, end = data.end & -page;
  if (start < end)
    move_pages(input->bytes + start, to + (start - data.start), end - start);
  else
    start = end = data.end;
  assert(data.start <= start && start <= end && end <= data.end);
  memcpy(to, input->bytes + data.start, start - data.start);
  memcpy(to + (end - data.start), input->bytes + end, data.end - end);
}

void input_move(const struct input *input, uint8_t *zeros, size_t from, size_t size, size_t kept) {
  const struct code_ranges *data = &input->data;
  const size_t end = from + size;
  assert(from <= input->size && size <= input->size - from);
  size_t i = SEARCH_UP_TO(data->items, data->count, start, from);
  for (i -= i > 0; i < data->count && data->items[i].start < end; i++) {
    const size_t start = data->items[i].start > from ? data->items[i].start : from;
    const size_t stop = data->items[i].end < end ? data->items[i].end : end;
    if (start < stop)
      move_data(input, (struct code_range){start, stop}, zeros + (start - from), kept);
  }
}

void input_close(struct input *input) {
  code_ranges_free(&input->data);
  munmap(input->bytes, input->size);
  *input = (struct input){0};
}
