/* conflicts.c - see conflicts.h. */
#include "tool/check/conflicts.h"

#include "tool/image/clean.h"
#include "tool/image/names.h"

#include <assert.h>
#include <inttypes.h>

bool conflicts_refuse(const struct image *image, const struct map_entries *entries,
                      struct problem *problem) {
  const struct map_entries_conflict *first = &entries->conflicts[0];
  assert(entries->conflict_count > 0);
  struct names names;
  names_open(&names, image);
  const char *name = names_find(&names, first->function);
  problem_set(problem,
              "conflicting stack maps at %zu address%s, as at 0x%" PRIx64
              " of %s: %s; %s, or leave "
              "these out (--conflicts=omit)",
              entries->conflict_count, entries->conflict_count == 1 ? "" : "es", first->address,
              name == NULL ? "a function without a name" : name, first->reason,
              first->is_of_call ? "call by another convention"
                                : "compile the copies alike, or `stackpack split` the objects");
  names_close(&names);
  return false;
}

static void print_function(FILE *out, const char *kind, const struct names *names,
                           uint64_t address) {
  const char *name = names_find(names, address);
  fprintf(out, "  %s at 0x%" PRIx64 "%s", kind, address, name == NULL ? "" : " ");
  clean_print(out, name == NULL ? "" : name);
  fputs(": ", out);
}

static void list_all(FILE *out, const struct image *image, const struct map_entries *entries) {
  struct names names;
  names_open(&names, image);
  for (size_t i = 0; i < entries->left_out_count; i++) {
    const struct map_entries_left_out *entry = &entries->left_out[i];
    print_function(out, "left out", &names, entry->function);
    fprintf(out, "%" PRIu32 " records, of which 0x%" PRIx64 ": %s\n", entry->records,
            entry->address, entry->reason);
  }
  for (size_t i = 0; i < entries->conflict_count; i++) {
    const struct map_entries_conflict *conflict = &entries->conflicts[i];
    print_function(out, "conflict", &names, conflict->function);
    fprintf(out, "0x%" PRIx64 ": %s\n", conflict->address, conflict->reason);
  }
  names_close(&names);
}

void conflicts_print(FILE *out, const char *path, const struct image *image,
                     const struct map_entries *entries, bool list) {
  const bool is_one = entries->conflict_count == 1;
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
            is_one ? "" : "es", is_one ? "is no safepoint" : "are no safepoints");
  }
  if (list && entries->left_out_count + entries->conflict_count > 0)
    list_all(out, image, entries);
}
