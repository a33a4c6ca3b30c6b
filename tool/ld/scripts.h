/* scripts.h - the inputs and folders that linker scripts name. */
#ifndef STACKPACK_LD_SCRIPTS_H
#define STACKPACK_LD_SCRIPTS_H

#include "tool/ld/words.h"

struct script {
  struct words inputs;  /* files, scripts among them, and -lNAME */
  struct words folders; /* for -lNAME, after those of -L */
};

/* Reads the names in a linker script; there are none if the file is no script. */
struct script script_read(const char *path);
void script_close(struct script *script);

#endif
