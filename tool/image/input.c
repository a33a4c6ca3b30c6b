/* input.c - see input.h. */
#include "tool/image/input.h"

#include "elf/elf_file.h"
#include "format/array.h"
#include "format/search.h"
#include "tool/image/budget.h"

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
    (void)ARRAY_ADD(input->data, input->data_count, input->data_capacity,
                    (struct input_data){from, to});
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
  free(input->data);
  elf_file_close(&file);
  errno = error;
  return error == ESTALE ? problem_set(problem, "it was changed while it was read")
                         : problem_set_errno(problem, "can't be read");
}

void input_copy(const struct input *input, uint8_t *zeros, size_t from, size_t size) {
  const size_t end = from + size;
  size_t i = SEARCH_UP_TO(input->data, input->data_count, from, from);
  for (i -= i > 0; i < input->data_count && input->data[i].from < end; i++) {
    const size_t start = input->data[i].from > from ? input->data[i].from : from;
    const size_t stop = input->data[i].to < end ? input->data[i].to : end;
    if (start < stop)
      memcpy(zeros + (start - from), input->bytes + start, stop - start);
  }
}

void input_close(struct input *input) {
  free(input->data);
  munmap(input->bytes, input->size);
  *input = (struct input){0};
}
