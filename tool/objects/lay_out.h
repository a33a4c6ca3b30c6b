/* lay_out.h - objects that are laid out in memory as a linker would, so that the readers of linked
 * programs read them.
 *
 *     a.o  .text.f .text.g .llvm_stackmaps .eh_frame .debug_info        .text            a's f and g, b's
 *     b.o  .text           .llvm_stackmaps .eh_frame .debug_info   ->   .llvm_stackmaps  both
 *                                                                       .eh_frame, .debug_info, .symtab
 *
 * The new file has the sections that are about stack maps, put together by their names; the code; and
 * addresses, without bytes, for all other sections. Relocations are applied to the sections about
 * stack maps and to debug information; code is as it was.
 */
#ifndef STACKPACK_LAY_OUT_H
#define STACKPACK_LAY_OUT_H

#include "tool/print/pieces.h"
#include "tool/split/object.h"

/* An object, and the name of its member of an archive, or NULL. */
struct laid_object {
  struct object object;
  char *member;              /* owned, as the next one */
  struct laid_place *places; /* by section */
};

/* The names of the sections with raw stack maps and global roots; the latter may be NULL. */
struct lay_out_names {
  const char *maps, *roots;
};

/* Makes the file, and lists its pieces, whose names are the objects'. At least one object; all are
 * for one machine. False, and a problem, where a section or relocation can't be understood. */
bool lay_out(struct laid_object *objects, size_t count, struct lay_out_names names,
             struct buffer *file, bool *has_debug, struct pieces *pieces, struct problem *problem);

#endif
