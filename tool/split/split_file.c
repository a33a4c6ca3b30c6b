/* split_file.c - see split.h: distinguishes objects, archives and bitcode. */
#include "tool/split/split.h"

#include "tool/image/load.h"
#include "tool/split/archive.h"

#include <string.h>

static const char statepoint[] = "llvm.experimental.gc.statepoint";
static const char bitcode_section[] = ".llvm.lto"; /* of clang -ffat-lto-objects */

static bool begins_with(const uint8_t *bytes, size_t size, const char *magic, size_t length) {
  return size >= length && memcmp(bytes, magic, length) == 0;
}

bool split_is_object(const uint8_t *bytes, size_t size) {
  uint16_t type;
  if (!begins_with(bytes, size, ELFMAG, SELFMAG) || size < EI_NIDENT + sizeof type)
    return false;
  memcpy(&type, bytes + EI_NIDENT, sizeof type);
  return type == (bytes[EI_DATA] == ELFDATA2MSB ? ET_REL << 8 : ET_REL);
}

/* "LLVM Bitcode File Format": the magic number, and the wrapper's. */
static bool is_bitcode(const uint8_t *bytes, size_t size) {
  return begins_with(bytes, size, "BC\xc0\xde", 4) ||
         begins_with(bytes, size, "\xde\xc0\x17\x0b", 4);
}

bool split_is_input(const uint8_t bytes[SPLIT_MAGIC_SIZE]) {
  const size_t size = SPLIT_MAGIC_SIZE;
  return split_is_object(bytes, size) || archive_is(bytes, size) || is_bitcode(bytes, size);
}

bool split_file(struct split *split, const char *path, const uint8_t *bytes, size_t size,
                struct problem *problem) {
  *split = (struct split){0};
  if (path != NULL && archive_is_thin(bytes, size))
    return split_archive(split, path, bytes, size, problem);
  /* A section has its name in the file; bitcode that makes one has the intrinsic's. */
  const bool has_maps = memmem(bytes, size, RAW_SECTION, sizeof RAW_SECTION) != NULL;
  const bool has_statepoints = memmem(bytes, size, statepoint, sizeof statepoint - 1) != NULL;
  const bool is_object = split_is_object(bytes, size);
  if ((has_maps || has_statepoints) && path != NULL && archive_is(bytes, size))
    return split_archive(split, path, bytes, size, problem);
  const bool ok = !has_maps || !is_object || split_object(split, bytes, size, problem);
  split->is_uncompiled = has_statepoints && is_bitcode(bytes, size);
  split->is_fat = has_statepoints && is_object &&
                  memmem(bytes, size, bitcode_section, sizeof bitcode_section) != NULL;
  return ok;
}
