/* memory.c - ends a command where memory runs out.
 *
 * A command without memory can only say so and stop: files are replaced after all of the new file
 * is written. If each caller had to pass such a failure on, one that forgets would make a name
 * `null`, a list short, a policy end early. So the linker puts these in the place of the functions
 * that the commands and the libraries inside them allocate by (ld --wrap), and main gives them to
 * jansson. Code in tool/ can rely on them. The code that a command shares with libstackpack must
 * return, and still does: see elf/, format/, runtime/.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);

static void *check(void *memory, size_t size) {
  if (memory != NULL || size == 0)
    return memory;
  struct rlimit limit = {0};
  getrlimit(RLIMIT_DATA, &limit);
  if (limit.rlim_cur == RLIM_INFINITY)
    fputs("stackpack: not enough memory\n", stderr);
  else /* by the file's size: see tool/image/budget.h */
    fprintf(stderr, "stackpack: not enough memory: the limit is %llu MB\n",
            (unsigned long long)limit.rlim_cur >> 20);
  exit(2);
}

void *__wrap_malloc(size_t size) { return check(__real_malloc(size), size); }
void *__wrap_calloc(size_t count, size_t size) {
  return check(__real_calloc(count, size), count == 0 ? 0 : size);
}
void *__wrap_realloc(void *old, size_t size) { return check(__real_realloc(old, size), size); }
char *__wrap_strdup(const char *text) { return check(__real_strdup(text), 1); }
char *__wrap_strndup(const char *text, size_t size) { return check(__real_strndup(text, size), 1); }
