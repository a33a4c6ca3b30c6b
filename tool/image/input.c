/* input.c - see input.h. */
#include "tool/image/input.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

/* Finds the next bytes, from..to, that aren't in a hole. Holes read as zeros: linkers leave them between
 * segments that are far apart. */
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

/* Reads a file, of that status when it was opened, into memory that is all zeros. */
static bool read_all(int file, const struct stat *before, void *memory, struct problem *problem) {
  const size_t size = (size_t)before->st_size;
  struct stat now;
  for (size_t done = 0, end = 0; done < size;) {
    if (done == end)
      find_data(file, size, &done, &end);
    const ssize_t count = pread(file, (char *)memory + done, end - done, (off_t)done);
    if (count < 0 && errno != EINTR)
      return problem_set_errno(problem, "can't be read");
    if (count == 0 && done < end)
      return problem_set(problem, "it was truncated while it was read");
    done += count > 0 ? (size_t)count : 0;
  }
  if (fstat(file, &now) != 0)
    return problem_set_errno(problem, "can't be read");
  return input_is_unchanged(before, &now) ||
         problem_set(problem, "it was changed while it was read");
}

bool input_open(struct input *input, const char *path, struct problem *problem) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat status;
  if (file < 0)
    return problem_set_errno(problem, "can't be opened");
  bool ok = fstat(file, &status) == 0 || problem_set_errno(problem, "can't be read");
  if (ok && !S_ISREG(status.st_mode))
    ok = problem_set(problem, "not a regular file");
  if (ok && status.st_size == 0)
    ok = problem_set(problem, "an empty file");
  if (ok) {
    *input = (struct input){.size = (size_t)status.st_size, .status = status};
    input->bytes =
        mmap(NULL, input->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok = input->bytes != MAP_FAILED || problem_set_errno(problem, "can't be read");
    if (ok && !read_all(file, &status, input->bytes, problem)) {
      input_close(input);
      ok = false;
    }
  }
  close(file);
  return ok;
}

void input_close(struct input *input) {
  munmap(input->bytes, input->size);
  *input = (struct input){0};
}
