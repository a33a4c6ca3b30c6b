/* load.h - from an ELF image to a table of safepoints, of a packed program or a raw one. */
#ifndef STACKPACK_LOAD_H
#define STACKPACK_LOAD_H

#include "elf/map_entries.h"
#include "format/packed.h"
#include "format/safepoints.h"
#include "tool/image/image.h"

#define RAW_SECTION ".llvm_stackmaps"

struct load_options {
  const char *section;      /* the raw section's name; NULL: RAW_SECTION */
  const char *global_roots; /* the section that lists them; NULL: there are none */
  enum statepoint_rule statepoints;
  struct statepoint_ids ids; /* theirs; none: the program's */
};

/* Takes a number, hexadecimal with 0x in front, else decimal, and goes on behind it. */
bool load_take_number(const char **at, uint64_t *number);

/* Takes the value of --statepoints: auto, all, none, or ranges of IDs: 7,100-199. */
bool load_take_statepoints(void *options, const char *value, struct problem *problem);

/* Opens a file, and finds stack maps that a linker script has put among other data (merged.h). The
 * image is to be closed, even if that fails. */
bool load_open(struct image *image, const char *path, const struct load_options *options,
               struct problem *problem);

/* The stack maps of an image. */
enum load_kind { LOAD_NONE, LOAD_RAW, LOAD_PACKED, LOAD_BROKEN };

struct loaded {
  enum load_kind kind;
  struct safepoints table;                  /* to be freed: loaded_free */
  const struct image_section *raw;          /* LOAD_RAW: the first section */
  size_t raw_count;                         /* how many there are, */
  uint64_t raw_size;                        /* and their sizes together */
  const struct image_section *global_roots; /* LOAD_RAW: the section, or NULL */
  struct map_entries entries; /* LOAD_RAW: entries that the code contradicts, and conflicts */
  struct packed_table packed; /* LOAD_PACKED */
  struct section_bytes place; /* and its bytes: more may follow */
};

/* Finds the kind of an image's stack maps. LOAD_BROKEN, and a problem, if they are unusable. */
enum load_kind load_find(const struct image *image, const struct load_options *options,
                         struct loaded *loaded, struct problem *problem);

/* Sets the problem of an image without stack maps. Returns false. */
bool load_none(const struct image *image, const struct load_options *options,
               struct problem *problem);

/* Reads the records of the stack maps found; LOAD_NONE has none. loaded_free in any case. */
bool load_records(const struct image *image, const struct load_options *options,
                  struct loaded *loaded, struct problem *problem);

/* Finds and reads all records. False, and a problem, if there are none. loaded_free in any case. */
bool load(const struct image *image, const struct load_options *options, struct loaded *loaded,
          struct problem *problem);
void loaded_free(struct loaded *loaded);

/* A program's file, and all of its records. */
struct program {
  const char *path;
  struct image image;
  struct loaded loaded;
};

/* Opens a file and reads its records: to be closed, even if that fails. */
bool program_open(struct program *program, const char *path, const struct load_options *options,
                  struct problem *problem);
void program_close(struct program *program);

/* The relocated bytes of a section with raw stack maps: in *copy, which is to be freed, if they
 * differ from the image's. NULL on failure. */
const uint8_t *load_section(const struct image *image, const struct image_section *section,
                            uint8_t **copy, struct problem *problem);

#endif
