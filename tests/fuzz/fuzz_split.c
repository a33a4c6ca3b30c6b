/* fuzz_split.c - attacks `stackpack split`, and the layout for `dump`, with made-up objects and
 * archives.
 *
 * Findings: a read or write outside the bytes, a refusal without a reason, a result larger than a
 * file of that size can ask for, one that fails to split again or would be changed by that, and
 * records that are lost or added.
 */
#include "fuzz.h"

#include "tool/image/load.h"
#include "tool/objects/lay_out.h"
#include "tool/split/maps.h"
#include "tool/split/split.h"

#include <ar.h>
#include <stdlib.h>
#include <string.h>

enum { GROWTH_MAX = 64 }; /* a new section takes some 300 bytes, an old function's entry 24 */

/* The records of an object's stack maps. */
static uint64_t count_records(const uint8_t *bytes, size_t size) {
  struct problem problem = {0};
  struct object object;
  struct maps maps;
  uint64_t records = 0;
  if (!object_open(&object, bytes, size, &problem))
    finding("what was split, and its result, are objects", problem.text);
  if (!maps_read(&maps, &object, &problem))
    finding("the stack maps can be read before and after", problem.text);
  for (size_t i = 0; i < maps.function_count; i++)
    records += maps.functions[i].count;
  maps_close(&maps);
  object_close(&object);
  return records;
}

static void check_result(const struct split *split, size_t old_size) {
  struct problem problem = {0};
  struct split again;
  if (split->file.size > old_size * GROWTH_MAX)
    finding("a file grows within limits", NULL);
  uint8_t *bytes = exact_block(split->file.bytes, split->file.size, split->file.size);
  if (!split_file(&again, "again", bytes, split->file.size, &problem))
    finding("what was split can be split", problem.text);
  if (again.file.bytes != NULL)
    finding("what was split stays as it is", NULL);
  free(bytes);
}

/* Reads an object's records as `dump` does. */
static void lay_out_object(const uint8_t *bytes, size_t size) {
  struct problem problem = {0};
  struct laid_object object = {0};
  struct buffer file = {0};
  struct pieces pieces = {0};
  struct image image;
  struct loaded loaded;
  const bool ok = object_open(&object.object, bytes, size, &problem) &&
                  lay_out(&object, 1, (struct lay_out_names){RAW_SECTION, ".roots"}, &file, &pieces,
                          &problem) &&
                  image_open_memory(&image, file.bytes, file.size, &problem);
  if (ok) {
    const struct load_options options = {.global_roots = ".roots"};
    image.is_laid_out = true;
    (void)load(&image, &options, &loaded, &problem);
    loaded_free(&loaded);
    image_close(&image);
  }
  pieces_close(&pieces);
  free(file.bytes);
  free(object.places);
  object_close(&object.object);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct problem problem = {0};
  struct split split;
  if (size >= SARMAG && memcmp(data, "!<thin>\n", SARMAG) == 0)
    return 0; /* its members are any files of this machine */
  uint8_t *bytes = exact_block(data, size, size);
  lay_out_object(bytes, size);
  if (!split_file(&split, "file", bytes, size, &problem)) {
    if (problem.text[0] == 0)
      finding("a failure says what is wrong", NULL);
    if (split.file.bytes != NULL)
      finding("a failure has no result", NULL);
  } else if (split.file.bytes != NULL) {
    check_result(&split, size);
    if (memcmp(bytes, ELFMAG, SELFMAG) == 0 &&
        count_records(bytes, size) != count_records(split.file.bytes, split.file.size))
      finding("all records are there after it, and no others", NULL);
  }
  free(split.file.bytes);
  free(bytes);
  return 0;
}
