/* entry_names.c - see entry_names.h. */
#include "tool/source/entry_names.h"

#include "format/array.h"
#include "tool/source/debug_entry.h"

#include <assert.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

struct entry_name {
  const char *text;               /* NULL: unknown */
  const struct entry_name *other; /* it is this one; NULL: it is the text */
};

enum { REFERENCES_MOST = 8 }; /* from an entry to the one that has its name */

/* An entry whose name is wanted, at the end of a chain of so many references. */
struct wanted_name {
  Dwarf_Debug dwarf;
  uint64_t offset;
  unsigned references;
  struct entry_name *name;
};

const char *entry_name_text(const struct entry_name *name) {
  while (name->other != NULL)
    name = name->other;
  return name->text;
}

/* ---- Names ---- */

struct entry_names entry_names_of(Dwarf_Debug dwarf, Dwarf_Debug shared, bool is_closed) {
  return (struct entry_names){
      .own = unit_course_of(dwarf), .shared = unit_course_of(shared), .is_closed = is_closed};
}

void entry_names_free(struct entry_names *names) {
  intern_free(&names->referred);
  free(names->names);
  free(names->wanted);
}

/* The name of an entry that others refer to, over so many of them. */
static const struct entry_name *referred_name(struct entry_names *names, Dwarf_Debug dwarf,
                                              uint64_t offset, unsigned references) {
  assert(references <= REFERENCES_MOST); /* each name in a chain has one more: so it ends */
  const uint64_t words[] = {(uintptr_t)dwarf, offset, references};
  const uint32_t before = names->referred.count;
  const uint32_t number = intern_add(&names->referred, words, sizeof words / sizeof *words);
  if (number == before) {
    struct entry_name *name = calloc(1, sizeof *name);
    (void)ARRAY_ADD(names->names, names->name_count, names->name_capacity, name);
    (void)ARRAY_ADD(names->wanted, names->wanted_count, names->wanted_capacity,
                    (struct wanted_name){dwarf, offset, references, name});
  }
  assert(names->name_count == names->referred.count && number < names->name_count);
  return names->names[number];
}

/* Many entries may have one long text: it is copied only if libdwarf closes the file. */
static const struct entry_name *plain_name(const struct entry_names *names, const char *text) {
  struct entry_name *name = calloc(1, sizeof *name);
  name->text = text != NULL && names->is_closed ? strdup(text) : text;
  return name;
}

static const struct entry_name *name_of(struct entry_names *names, Dwarf_Debug dwarf, Dwarf_Die die,
                                        unsigned references) {
  static const Dwarf_Half attributes[] = {DW_AT_abstract_origin, DW_AT_specification};
  const char *text = debug_entry_text(die, DW_AT_linkage_name);
  if (text == NULL)
    text = debug_entry_text(die, DW_AT_MIPS_linkage_name);
  for (size_t i = 0; i < 2 && text == NULL && references < REFERENCES_MOST; i++) {
    uint64_t offset;
    Dwarf_Debug there = dwarf;
    if (debug_entry_reference(names->shared.dwarf, die, attributes[i], &there, &offset))
      return referred_name(names, there, offset, references + 1);
  }
  return plain_name(names, text != NULL ? text : debug_entry_text(die, DW_AT_name));
}

const struct entry_name *entry_name_of(struct entry_names *names, Dwarf_Die die) {
  return name_of(names, names->own.dwarf, die, 0);
}

const struct entry_name *entry_name_at(struct entry_names *names, uint64_t offset) {
  return referred_name(names, names->own.dwarf, offset, 0);
}

/* ---- Reading ---- */

ORDER_FUNCTION(compare_wanted, struct wanted_name, dwarf, offset)

static void read_wanted(struct entry_names *names, const struct wanted_name *wanted) {
  Dwarf_Die die;
  unit_course_go_to(wanted->dwarf == names->own.dwarf ? &names->own : &names->shared,
                    wanted->offset);
  if (dwarf_offdie_b(wanted->dwarf, wanted->offset, 1, &die, NULL) != DW_DLV_OK)
    return;
  assert(wanted->name->other == NULL && wanted->name->text == NULL);
  wanted->name->other = name_of(names, wanted->dwarf, die, wanted->references);
  dwarf_dealloc_die(die);
}

void entry_names_read(struct entry_names *names) {
  while (names->wanted_count > 0) {
    struct wanted_name *wanted = names->wanted;
    const size_t count = names->wanted_count;
    names->wanted = NULL;
    names->wanted_count = names->wanted_capacity = 0;
    qsort(wanted, count, sizeof *wanted, compare_wanted);
    for (size_t i = 0; i < count; i++)
      read_wanted(names, &wanted[i]);
    free(wanted);
  }
}
