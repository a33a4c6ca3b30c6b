/* bolt.h - stack maps of a program that BOLT has changed.
 *
 * BOLT moves functions, and in them adds and removes instructions. In a stack map it corrects the
 * functions' addresses, if the linker left relocations of these (--emit-relocs), but leaves the
 * records' offsets: they are right in unchanged functions only.
 *
 *   llvm-bolt --use-gnu-stack --skip-funcs-file=managed app -o app.bolt && stackpack pack app.bolt
 */
#ifndef STACKPACK_BOLT_H
#define STACKPACK_BOLT_H

#include "tool/image/load.h"

/* A problem if BOLT has changed functions of a raw program, as their code shows. Where it may have
 * done so, a warning. */
bool bolt_check(const char *path, const struct image *image, const struct loaded *loaded,
                struct problem *problem);

#endif
