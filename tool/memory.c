/* memory.c - ends the command where memory runs out.
 *
 * A command without memory can only say so and stop: nothing is replaced before all of the new file is
 * written. Where each caller has to pass such a failure on, one that forgets makes a name `null`, a list
 * short, a policy end early. So the linker puts these in the place of the functions that the command
 * and the libraries inside it allocate by (ld --wrap), and jansson is given them in main. The code that
 * the command shares with libstackpack, which must return, still does there: see elf/, format/, runtime/.
 */
#include "tool/memory.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t size);

static void end(void) {
  fflush(stdout);
  fputs("stackpack: not enough memory\n", stderr);
  _Exit(2);
}

void *__wrap_malloc(size_t size) {
  void *memory = __real_malloc(size);
  if (memory == NULL && size > 0)
    end();
  return memory;
}

void *__wrap_calloc(size_t count, size_t size) {
  void *memory = __real_calloc(count, size);
  if (memory == NULL && count > 0 && size > 0)
    end();
  return memory;
}

void *__wrap_realloc(void *old, size_t size) {
  void *memory = __real_realloc(old, size);
  if (memory == NULL && size > 0)
    end();
  return memory;
}

char *__wrap_strdup(const char *text) {
  char *copy = __real_strdup(text);
  if (copy == NULL)
    end();
  return copy;
}

char *__wrap_strndup(const char *text, size_t size) {
  char *copy = __real_strndup(text, size);
  if (copy == NULL)
    end();
  return copy;
}

void memory_begin(void) { json_set_alloc_funcs(__wrap_malloc, free); }
