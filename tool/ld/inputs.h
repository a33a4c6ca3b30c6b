/* inputs.h - splits the stack maps of a linker's inputs. */
#ifndef STACKPACK_LD_INPUTS_H
#define STACKPACK_LD_INPUTS_H

#include "format/sources.h"
#include "tool/image/problem.h"
#include "tool/ld/words.h"

struct inputs {
  char *folder;         /* of the split files; NULL: there is none */
  struct sources names; /* of the inputs, by number from 1 on */
  struct words copies;  /* of each the path of its copy, in the folder number - 1; "": none */
};

/* Finds the objects and archives with stack maps among a linker's words, splits them into files of
 * the same names in a new folder, and puts these into the words. Files without stack maps, and all
 * inputs of an object file (-r) without --gc-sections, stay unchanged. A failure leaves the folder,
 * too: inputs_remove. */
bool inputs_split(struct inputs *inputs, struct words *words, struct problem *problem);
void inputs_remove(struct inputs *inputs);

#endif
