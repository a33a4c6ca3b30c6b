/* input.c - see input.h. */
#include "tool/image/input.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

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
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
      ok = problem_set_errno(problem, "can't be read");
    else
      *input = (struct input){bytes, (size_t)status.st_size};
  }
  close(file);
  return ok;
}

void input_close(struct input *input) {
  munmap(input->bytes, input->size);
  *input = (struct input){0};
}
