/* arguments.h - what stackpack-ld must know of a linker's command line. */
#ifndef STACKPACK_LD_ARGUMENTS_H
#define STACKPACK_LD_ARGUMENTS_H

#include "tool/image/problem.h"
#include "tool/ld/words.h"

struct arguments {
  struct words linker;  /* what the linker is told: all but stackpack-ld's own options */
  struct words options; /* of `stackpack pack` */
  char *output;         /* the file that the linker writes */
  char *linker_name;    /* NULL: not said */
  bool help;
  int response; /* a response file that the linker reads; -1: none */
};

/* Reads the arguments behind a linker's name, and from the environment what they don't say. */
bool arguments_read(struct arguments *arguments, int count, char **words, struct problem *problem);
void arguments_close(struct arguments *arguments);

#endif
