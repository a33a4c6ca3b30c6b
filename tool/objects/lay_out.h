/* lay_out.h - lays out objects in memory like a linker, for the readers of linked programs.
 *
 *   a.o  .text.f .text.g .llvm_stackmaps .eh_frame .debug_info     .text           a's f and g, b's
 *   b.o  .text           .llvm_stackmaps .eh_frame .debug_info  -> .llvm_stackmaps both
 *                                                                  .eh_frame, .debug_info, .symtab
 *
 * The new file has the code, and the sections with stack maps and debug information, joined by
 * name. All other sections in memory get addresses only. Relocations are applied to stack maps and
 * debug information; code stays unchanged.
 */
#ifndef STACKPACK_LAY_OUT_H
#define STACKPACK_LAY_OUT_H

#include "tool/print/pieces.h"
#include "tool/split/object.h"

/* An object, and the name of its member of an archive, or NULL. */
struct laid_object {
  struct object object;
  char *member;              /* owned */
  struct laid_place *places; /* owned; by section */
};

/* The names of the sections with raw stack maps and global roots; the latter may be NULL. */
struct lay_out_names {
  const char *maps, *roots;
};

/* Makes the file, and lists its pieces by the names of the objects' sections. Takes one object or
 * more, all for one machine. Returns false and a problem for an unsupported section or
 * relocation. */
bool lay_out(struct laid_object *objects, size_t count, struct lay_out_names names,
             struct buffer *file, struct pieces *pieces, struct problem *problem);

#endif
