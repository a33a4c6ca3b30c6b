/* fuzz_elf.c - attacks the command with made-up ELF files.
 *
 * The input is an ELF file. It goes the way that `stackpack pack` goes, but stays in memory: open,
 * find, check, read, encode, rewrite, and read again. Findings: a read or write outside the file, a
 * refusal without a reason, and a new file with other content than the old one.
 */
#include "fuzz.h"

#include "elf/note.h"
#include "tool/check/answers.h"
#include "tool/check/raw_readers.h"
#include "tool/image/load.h"
#include "tool/image/merged.h"
#include "tool/rewrite/rewrite.h"

#include <stdlib.h>

static void expect_problem(const struct problem *problem) {
  if (problem->text[0] == 0)
    finding("a failure says what is wrong", NULL);
}

/* Encodes for the table's future address, as pack.c does. */
static bool encode(const struct image *image, const struct loaded *loaded, uint8_t **bytes,
                   size_t *size, struct plan *plan, struct problem *problem) {
  uint64_t address = loaded->raw->header.sh_addr;
  for (unsigned tries = 0; tries < 8; tries++) {
    const uint64_t encoded_for = address;
    const char *error =
        packed_write(&loaded->table, address + PACKED_NOTE_SIZE, compress_block, bytes, size);
    if (error != NULL)
      return problem_set(problem, "%s", error);
    if (plan_make(plan, image, loaded, *size, problem))
      address = plan->note_address;
    if (problem->text[0] == 0 && address == encoded_for)
      return true;
    free(*bytes);
    if (problem->text[0] != 0)
      return false;
  }
  finding("the search for the table's place ends", NULL);
}

static void compare(const struct loaded *before, const struct loaded *after) {
  struct differences differences = {0};
  compare_tables(&before->table, &after->table, &differences);
  answers_all(&before->table, &after->packed, NULL, 0, &differences);
  if (differences.count > 0)
    finding("the new file says what the old one said", differences.first);
}

/* Reads the new file. Of an old file whose headers contradict each other it may be unreadable: the
 * command checks that, too, and leaves the old file unchanged. */
static void check_rewritten(const struct loaded *before, const uint8_t *rewritten, size_t size) {
  const struct load_options options = {0};
  struct problem problem = {0};
  struct image image;
  struct loaded after;
  uint8_t *bytes = exact_block(rewritten, size, size);
  if (image_open_memory(&image, bytes, size, &problem)) {
    if (load(&image, &options, &after, &problem) && after.kind == LOAD_PACKED)
      compare(before, &after);
    loaded_free(&after);
    image_close(&image);
  }
  free(bytes);
}

static void pack(const struct image *image, const struct loaded *loaded, struct problem *problem) {
  struct plan plan;
  uint8_t *table;
  size_t size;
  if (!encode(image, loaded, &table, &size, &plan, problem)) {
    expect_problem(problem);
    return;
  }
  uint8_t *exact = exact_block(table, size, size);
  free(table);
  uint8_t *rewritten = exact_block(NULL, 0, plan.file_size);
  rewrite(&plan, exact, rewritten, true);
  check_rewritten(loaded, rewritten, plan.file_size);
  free(rewritten);
  free(exact);
}

static void load_and_pack(const struct image *image) {
  const bool has_roots = image_section(image, "gc_roots") != NULL;
  const struct load_options options = {.global_roots = has_roots ? "gc_roots" : NULL};
  struct problem problem = {0}, refusal = {0};
  struct loaded loaded;
  const enum load_kind kind = load_find(image, &options, &loaded, &problem);
  const bool is_one = kind == LOAD_RAW && loaded.raw_count == 1;
  const bool can_rewrite = is_one && rewrite_check(image, &loaded, &refusal);
  if (is_one && !can_rewrite)
    expect_problem(&refusal);
  problem = (struct problem){0};
  if (!load(image, &options, &loaded, &problem)) {
    expect_problem(&problem);
  } else if (can_rewrite) {
    struct problem reader = {0};
    if (raw_readers_find(image, loaded.raw, true, &reader) && reader.text[0] == 0)
      finding("a reference is described", NULL);
    pack(image, &loaded, &problem);
  }
  loaded_free(&loaded);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct problem problem = {0};
  struct image image;
  uint8_t *bytes = exact_block(data, size, size);
  struct code_range all = {0, size};
  if (image_open_memory(&image, bytes, size, &problem)) {
    image.file = (struct input){.bytes = bytes, .size = size, .data = {&all, 1, 1}};
    if (merged_separate(&image, NULL, &problem))
      load_and_pack(&image);
    else
      expect_problem(&problem);
    image.file = (struct input){0}; /* the block isn't the image's */
    image_close(&image);
  } else {
    expect_problem(&problem);
  }
  free(bytes);
  return 0;
}
