/* debug_info.c - see debug_info.h. Sections are those of the DWARF 5 document. */
#include "tool/source/debug_info.h"

#include "format/array.h"
#include "tool/source/sections.h"
#include "tool/source/spans.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A function; or one that was inlined, and the place of the call that was replaced by it. */
struct scope {
  Dwarf_Die die;
  uint32_t parent; /* the scope that it's inlined into; SPANS_NONE: it's a function itself */
};

struct unit {
  Dwarf_Die die;     /* has the lines */
  Dwarf_Die entries; /* has the functions: another one in split DWARF */
  bool is_loaded;
  struct scope *scopes; /* owned */
  size_t scope_count, scope_capacity;
  struct spans spans; /* of scopes */
};

struct debug_info {
  Elf *elf;
  Dwarf *dwarf;
  struct unit *units; /* owned */
  size_t unit_count, unit_capacity;
  struct spans spans; /* of units */
  struct source_frame *found;
  size_t found_capacity;
  char *name;          /* of the unit that was asked for last; owned */
  const char *missing; /* not told yet; libdw has it */
};

/* ---- Entries ---- */

/* The text or number of an attribute; of the entry itself, or of the one that it is an instance or a
 * definition of. */
static const char *text_of(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute found;
  return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

static uint64_t number_of(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word number;
  return dwarf_formudata(dwarf_attr(die, attribute, &found), &number) == 0 ? number : 0;
}

static const char *name_of(Dwarf_Die *die) {
  const char *name = text_of(die, DW_AT_linkage_name);
  if (name == NULL)
    name = text_of(die, DW_AT_MIPS_linkage_name);
  return name != NULL ? name : text_of(die, DW_AT_name);
}

/* Adds the addresses of an entry's code. Linkers give code that they discard the address 0. */
static bool add_spans(struct spans *spans, Dwarf_Die *die, uint32_t item) {
  Dwarf_Addr base, start, end;
  for (ptrdiff_t next = 0; (next = dwarf_ranges(die, next, &base, &start, &end)) > 0;)
    if (start != 0 && !spans_add(spans, start, end, item))
      return false;
  return true;
}

/* ---- Functions ---- */

enum { DEPTH_MOST = 512 }; /* of entries in entries: more than a compiler makes */

struct walk {
  struct unit *unit;
  Dwarf_Off last; /* entries come in their order in the file: broken ones may lead back */
};

static bool read_children(struct walk *walk, Dwarf_Die *die, uint32_t scope, unsigned depth);

static bool add_scope(struct walk *walk, Dwarf_Die *die, uint32_t parent, unsigned depth) {
  struct unit *unit = walk->unit;
  const uint32_t scope = (uint32_t)unit->scope_count;
  if (!array_make_room((void **)&unit->scopes, &unit->scope_capacity, unit->scope_count + 1,
                       sizeof *unit->scopes))
    return false;
  unit->scopes[unit->scope_count++] = (struct scope){*die, parent};
  return add_spans(&unit->spans, die, scope) && read_children(walk, die, scope, depth);
}

static bool read_entry(struct walk *walk, Dwarf_Die *die, uint32_t scope, unsigned depth) {
  switch (dwarf_tag(die)) {
  case DW_TAG_subprogram:
    /* What is only declared, or inlined everywhere, has no code, and nothing in it has. */
    return !(dwarf_hasattr(die, DW_AT_low_pc) || dwarf_hasattr(die, DW_AT_ranges)) ||
           add_scope(walk, die, SPANS_NONE, depth);
  case DW_TAG_inlined_subroutine:
    return add_scope(walk, die, scope, depth);
  default:
    return read_children(walk, die, scope, depth);
  }
}

static bool read_children(struct walk *walk, Dwarf_Die *die, uint32_t scope, unsigned depth) {
  Dwarf_Die child;
  if (depth == DEPTH_MOST || dwarf_child(die, &child) != 0)
    return true;
  do {
    const Dwarf_Off offset = dwarf_dieoffset(&child);
    if (offset <= walk->last)
      return true;
    walk->last = offset;
    if (!read_entry(walk, &child, scope, depth + 1))
      return false;
  } while (dwarf_siblingof(&child, &child) == 0);
  return true;
}

/* A unit that is split names the file that has its functions. */
static bool load_unit(struct debug_info *info, struct unit *unit) {
  Dwarf_Die split = {0};
  if (unit->is_loaded)
    return true;
  unit->is_loaded = true;
  unit->entries = unit->die;
  if (dwarf_cu_info(unit->die.cu, NULL, NULL, NULL, &split, NULL, NULL, NULL) == 0 &&
      split.addr != NULL) {
    unit->entries = split;
  } else {
    const char *file = text_of(&unit->die, DW_AT_dwo_name);
    info->missing = file != NULL ? file : text_of(&unit->die, DW_AT_GNU_dwo_name);
  }
  struct walk walk = {.unit = unit};
  return read_children(&walk, &unit->entries, SPANS_NONE, 0) && spans_flatten(&unit->spans);
}

/* ---- Opening ---- */

static bool add_units(struct debug_info *info) {
  Dwarf_Die die;
  uint8_t type;
  for (Dwarf_CU *unit = NULL;
       dwarf_get_units(info->dwarf, unit, &unit, NULL, &type, &die, NULL) == 0;) {
    if (type != DW_UT_compile && type != DW_UT_skeleton)
      continue;
    if (!array_make_room((void **)&info->units, &info->unit_capacity, info->unit_count + 1,
                         sizeof *info->units) ||
        !add_spans(&info->spans, &die, (uint32_t)info->unit_count))
      return false;
    info->units[info->unit_count++] = (struct unit){.die = die};
  }
  return spans_flatten(&info->spans);
}

struct debug_info *debug_info_open(const char *path, struct problem *problem) {
  struct debug_info *info = calloc(1, sizeof *info);
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  elf_version(EV_CURRENT);
  if (info == NULL || file < 0) {
    problem_set_errno(problem, "debug information can't be opened");
    return NULL;
  }
  info->elf = elf_begin(file, ELF_C_READ, NULL);
  if (!sections_decompress(info->elf, problem))
    return NULL;
  info->dwarf = dwarf_begin_elf(info->elf, DWARF_C_READ, NULL);
  if (info->dwarf != NULL && add_units(info))
    return info;
  problem_set(problem, "debug information that can't be read");
  return NULL;
}

const char *debug_info_missing(struct debug_info *info) {
  const char *missing = info->missing;
  info->missing = NULL;
  return missing;
}

/* ---- Finding ---- */

static struct unit *unit_at(const struct debug_info *info, uint64_t address) {
  const uint32_t number = spans_find(&info->spans, address);
  return number == SPANS_NONE ? NULL : &info->units[number];
}

static bool add_found(struct debug_info *info, struct source_frame frame,
                      struct source_frames *found) {
  if (!array_make_room((void **)&info->found, &info->found_capacity, found->count + 1,
                       sizeof *info->found))
    return false;
  info->found[found->count++] = frame;
  found->items = info->found;
  return true;
}

/* The place that a table of lines gives an address; false if it gives none. */
static bool find_line(struct unit *unit, uint64_t address, struct source_frame *frame) {
  int number = 0, column = 0;
  Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
  if (line == NULL)
    return false;
  dwarf_lineno(line, &number);
  dwarf_linecol(line, &column);
  *frame = (struct source_frame){NULL, dwarf_linesrc(line, NULL, NULL), (uint64_t)number,
                                 (uint64_t)column};
  return true;
}

/* The place of the call that was replaced by an inlined function. */
static struct source_frame call_of(struct unit *unit, Dwarf_Die *inlined) {
  Dwarf_Files *files;
  size_t count;
  struct source_frame frame = {.line = number_of(inlined, DW_AT_call_line),
                               .column = number_of(inlined, DW_AT_call_column)};
  if (dwarf_hasattr(inlined, DW_AT_call_file) &&
      dwarf_getsrcfiles(&unit->entries, &files, &count) == 0)
    frame.file = dwarf_filesrc(files, number_of(inlined, DW_AT_call_file), NULL, NULL);
  return frame;
}

bool debug_info_find(struct debug_info *info, uint64_t address, struct source_frames *found) {
  struct source_frame frame = {0};
  struct unit *unit = unit_at(info, address);
  *found = (struct source_frames){0};
  if (unit == NULL)
    return true;
  if (!load_unit(info, unit))
    return false;
  uint32_t scope = spans_find(&unit->spans, address);
  if (!find_line(unit, address, &frame) && scope == SPANS_NONE)
    return true;
  while (scope != SPANS_NONE) {
    struct scope *inner = &unit->scopes[scope];
    frame.function = name_of(&inner->die);
    scope = inner->parent;
    if (scope == SPANS_NONE)
      break;
    if (!add_found(info, frame, found))
      return false;
    frame = call_of(unit, &inner->die);
  }
  return add_found(info, frame, found);
}

/* ---- Units' names ---- */

/* Takes "." and empty parts, and "name/..", out of a path. */
static void normalize(char *path) {
  char *const start = path + (*path == '/');
  char *out = start, *root = start; /* root: behind the "..", which can't be taken out */
  for (const char *in = start; *in != 0;) {
    const size_t length = strcspn(in, "/");
    const bool is_up = length == 2 && in[0] == '.' && in[1] == '.';
    if (is_up && out > root) {
      do
        out--;
      while (out > root && *out != '/');
    } else if (length > 0 && !(length == 1 && *in == '.') && !(is_up && start > path)) {
      if (out > start)
        *out++ = '/';
      memmove(out, in, length);
      out += length;
      root = is_up ? out : root;
    }
    in += length;
    in += *in == '/';
  }
  *out = 0;
}

/* A split unit has its name in the other file; but here in its table of lines, too: as the first file,
 * whose number is 0 since DWARF 5 (6.2.4). */
static const char *unit_name(struct unit *unit) {
  Dwarf_Files *files;
  size_t count;
  Dwarf_Half version;
  const char *name = text_of(&unit->die, DW_AT_name);
  if (name != NULL || dwarf_getsrcfiles(&unit->die, &files, &count) != 0 ||
      dwarf_cu_info(unit->die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) != 0)
    return name;
  return dwarf_filesrc(files, version < 5, NULL, NULL);
}

bool debug_info_find_unit(struct debug_info *info, uint64_t address, struct source_frames *found) {
  struct unit *unit = unit_at(info, address);
  const char *name = unit == NULL ? NULL : unit_name(unit);
  *found = (struct source_frames){0};
  if (name == NULL)
    return true;
  const char *folder = *name == '/' ? NULL : text_of(&unit->die, DW_AT_comp_dir);
  free(info->name);
  if (asprintf(&info->name, "%s%s%s", folder == NULL ? "" : folder, folder == NULL ? "" : "/",
               name) < 0) {
    info->name = NULL;
    return false;
  }
  normalize(info->name);
  return add_found(info, (struct source_frame){.file = info->name}, found);
}
