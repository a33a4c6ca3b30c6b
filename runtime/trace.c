/* trace.c - prints a walk as a stack trace. It formats numbers itself, as printf may allocate. */
#include "runtime/internal.h"

#include <string.h>

struct printer {
  stackpack_write *write;
  void *closure;
};

static void print(const struct printer *printer, const char *text) {
  printer->write(printer->closure, text, strlen(text));
}

static void print_number(const struct printer *printer, uint64_t number, unsigned base) {
  char digits[21];
  char *next = digits + sizeof digits - 1;
  *next = 0;
  do
    *--next = "0123456789abcdef"[number % base];
  while ((number /= base) != 0);
  print(printer, next);
}

static void print_source(const struct printer *printer, const struct stackpack_source *source) {
  print(printer, *source->function != 0 ? source->function : "??");
  if (*source->file == 0)
    return;
  print(printer, " at ");
  print(printer, source->file);
  if (source->line != 0) {
    print(printer, ":");
    print_number(printer, source->line, 10);
  }
}

static void print_frame(const struct printer *printer, const struct stackpack_walk *walk,
                        enum stackpack_walk_answer answer, void *space, size_t size) {
  struct stackpack_sources sources;
  if (answer != STACKPACK_WALK_MANAGED ||
      stackpack_record_sources(&walk->record, space, size, &sources) != STACKPACK_SOURCE_FOUND) {
    print(printer, "0x");
    print_number(printer, walk->context.pc, 16);
    print(printer, "\n");
    return;
  }
  for (size_t i = 0; i < sources.count; i++) {
    print(printer, i > 0 ? "      (inlined into " : "");
    print_source(printer, &sources.frames[i]);
    print(printer, i > 0 ? ")\n" : "\n");
  }
}

enum stackpack_walk_answer stackpack_walk_print(struct stackpack_walk *walk, void *space,
                                                size_t size, stackpack_write *write,
                                                void *closure) {
  const struct printer printer = {write, closure};
  enum stackpack_walk_answer answer;
  for (uint64_t number = 0; stackpack_walk_is_frame(answer = stackpack_walk_next(walk)); number++) {
    print(&printer, "#");
    print_number(&printer, number, 10);
    print(&printer, number < 10 ? "  " : " ");
    print_frame(&printer, walk, answer, space, size);
  }
  return answer;
}
