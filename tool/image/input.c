/* input.c - see input.h. */
#include "tool/image/input.h"

#include "elf/elf_file.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

/* Finds the next bytes, from..to, that aren't in a hole. Holes read as zeros: linkers leave them
 * between segments that are far apart. */
static void find_data(int file, size_t size, size_t *from, size_t *to) {
  const off_t data = lseek(file, (off_t)*from, SEEK_DATA);
  *to = size;
  if (data < 0) { /* none is left; or the file system can't tell, and all is data */
    *from = errno == ENXIO ? size : *from;
    return;
  }
  const off_t hole = lseek(file, data, SEEK_HOLE);
  *from = (size_t)data < size ? (size_t)data : size;
  *to = hole > data && (size_t)hole < size ? (size_t)hole : size;
}

static int read_all(struct elf_file *file) {
  const size_t size = file->image.size;
  int error = 0;
  for (size_t from = 0, to; error == 0 && from < size; from = to) {
    find_data(file->descriptor, size, &from, &to);
    error = elf_file_fetch(file, from, to - from);
  }
  const int at_end = elf_file_end(file);
  return error != 0 ? error : at_end;
}

bool input_open(struct input *input, const char *path, struct problem *problem) {
  struct elf_file file;
  errno = elf_file_begin(&file, path);
  if (errno == EISDIR || errno == ENOEXEC)
    return problem_set(problem, "not a regular file");
  if (errno == ENODATA)
    return problem_set(problem, "an empty file");
  if (errno != 0)
    return problem_set_errno(problem, "can't be opened");
  const int error = read_all(&file);
  if (error == 0) {
    *input = (struct input){file.memory, file.image.size, file.status};
    return true;
  }
  elf_file_close(&file);
  errno = error;
  return error == ESTALE ? problem_set(problem, "it was changed while it was read")
                         : problem_set_errno(problem, "can't be read");
}

void input_close(struct input *input) {
  munmap(input->bytes, input->size);
  *input = (struct input){0};
}
