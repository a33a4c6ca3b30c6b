/* conflicts.c - see conflicts.h.
 *
 * Folded functions share an address, so a function's name is that of all functions there.
 */
#include "tool/check/conflicts.h"

#include "tool/image/clean.h"
#include "tool/image/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_SIZE = 128, NAMES_MAX = 3 };

/* The names of the functions at an address, as far as there is room. */
struct names_at {
  unsigned count;
  char text[NAMES_SIZE];
};

static void add_name(struct names_at *at, const char *name) {
  if (at->count == NAMES_MAX || strstr(at->text, name) != NULL)
    return;
  char *clean = clean_text(name);
  const size_t used = strlen(at->text);
  snprintf(at->text + used, sizeof at->text - used, "%s%.40s", at->count++ == 0 ? "" : ", ", clean);
  free(clean);
}

static void find_names(const struct image *image, uint64_t address, struct names_at *at) {
  *at = (struct names_at){.count = 0};
  for (struct elf_symbols of = elf_symbols(&image->elf_image); elf_symbols_next_defined(&of);) {
    const unsigned type = GELF_ST_TYPE(of.symbol.st_info);
    if (of.symbol.st_value == address && (type == STT_FUNC || type == STT_GNU_IFUNC))
      add_name(at, of.name);
  }
  if (at->count == 0)
    snprintf(at->text, sizeof at->text, "0x%" PRIx64, address);
}

bool conflicts_refuse(const struct image *image, const struct entries *entries,
                      struct problem *problem) {
  const struct entries_conflict *first = &entries->conflicts[0];
  struct names_at names;
  find_names(image, first->function, &names);
  return problem_set(problem,
                     "conflicting stack maps at %zu address%s, as at 0x%" PRIx64
                     " of %s: %s; compile the copies alike, or `stackpack split` the objects, or "
                     "leave these out (--conflicts=omit)",
                     entries->conflict_count, entries->conflict_count == 1 ? "" : "es",
                     first->address, names.text, first->reason);
}

static void print_function(FILE *out, const struct names *names, uint64_t address) {
  const char *name = names_find(names, address);
  char *clean = name == NULL ? NULL : clean_text(name);
  fprintf(out, "0x%" PRIx64 "%s%s: ", address, clean == NULL ? "" : " ",
          clean == NULL ? "" : clean);
  free(clean);
}

static void list_all(FILE *out, const struct image *image, const struct entries *entries) {
  struct names names;
  names_open(&names, image);
  for (size_t i = 0; i < entries->left_out_count; i++) {
    const struct entries_left_out *entry = &entries->left_out[i];
    fputs("  left out at ", out);
    print_function(out, &names, entry->function);
    fprintf(out, "%" PRIu32 " records, of which 0x%" PRIx64 ": %s\n", entry->records,
            entry->address, entry->reason);
  }
  for (size_t i = 0; i < entries->conflict_count; i++) {
    const struct entries_conflict *conflict = &entries->conflicts[i];
    fputs("  conflict at ", out);
    print_function(out, &names, conflict->function);
    fprintf(out, "0x%" PRIx64 ": %s\n", conflict->address, conflict->reason);
  }
  names_close(&names);
}

void conflicts_print(FILE *out, const char *path, const struct image *image,
                     const struct entries *entries, bool list) {
  uint64_t records = 0;
  for (size_t i = 0; i < entries->left_out_count; i++)
    records += entries->left_out[i].records;
  if (entries->left_out_count > 0) {
    clean_print_path(out, path);
    fprintf(out, "left out %zu function%s, with %" PRIu64 " record%s of other code than is there\n",
            entries->left_out_count, plural(entries->left_out_count), records, plural(records));
  }
  if (entries->conflict_count > 0) {
    clean_print_path(out, path);
    fprintf(out, "%zu address%s with conflicting records %s\n", entries->conflict_count,
            entries->conflict_count == 1 ? "" : "es",
            entries->conflict_count == 1 ? "is no safepoint" : "are no safepoints");
  }
  if (list && entries->left_out_count + entries->conflict_count > 0)
    list_all(out, image, entries);
}
