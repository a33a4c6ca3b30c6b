/* scripts.h - the inputs that linker scripts name. */
#ifndef STACKPACK_LD_SCRIPTS_H
#define STACKPACK_LD_SCRIPTS_H

#include "tool/ld/words.h"

/* Lists the inputs that a linker script names, by file or by -lNAME; none if the file is no
 * script. */
struct words scripts_inputs(const char *path);

#endif
