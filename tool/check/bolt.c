/* bolt.c - see bolt.h. (BOLT's names of sections: "BOLT", RewriteInstance, in LLVM's source.) */
#include "tool/check/bolt.h"

#include "tool/image/names.h"

/* With relocations, BOLT puts functions into a new .text, and leaves the others in the old one;
 * otherwise, it writes over them. */
static bool is_untouched(const struct image_section *old_text, uint64_t function) {
  return old_text != NULL && function - old_text->header.sh_addr < old_text->header.sh_size;
}

bool bolt_check(const char *path, const struct image *image, const struct loaded *loaded,
                struct problem *problem) {
  const struct map_entries *entries = &loaded->entries;
  const struct image_section *old_text = image_section(image, ".bolt.org.text");
  if (image_section(image, ".note.bolt_info") == NULL)
    return true;
  if (entries->left_out_count > 0) {
    struct names names;
    names_open(&names, image);
    const char *name = names_find(&names, entries->left_out[0].function);
    problem_set(problem,
                "BOLT has changed %zu function%s with stack maps, as %s, and doesn't correct the "
                "records: let it skip these (--skip-funcs-file), or leave them out "
                "(--conflicts=omit)",
                entries->left_out_count, entries->left_out_count == 1 ? "" : "s",
                name == NULL ? "one without a name" : name);
    names_close(&names);
    return false;
  }
  for (size_t i = 0; i < loaded->table.function_count; i++)
    if (!is_untouched(old_text, loaded->table.functions[i].address)) {
      problem_warn(path, "BOLT may have changed functions with stack maps, whose records it "
                         "doesn't correct: let it skip these (--skip-funcs-file)");
      break;
    }
  return true;
}
