/* debug_info.c - see debug_info.h. elfutils' libdw reads DWARF; here is what it has no index for:
 * which unit, and which function of the unit, an address is in. */
#include "tool/source/debug_info.h"

#include "format/array.h"
#include "tool/source/debug_sections.h"
#include "tool/source/spans.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct debug_unit {
  Dwarf_Die die;        /* the first entry, which has the lines */
  Dwarf_Die entries;    /* the entry that has the functions: of a split unit, in the other file */
  bool is_loaded;       /* `entries` and what follows */
  Dwarf_Die *functions; /* owned */
  size_t function_count, function_capacity;
  struct spans spans; /* of functions */
};

struct debug_info {
  struct debug_unit *units; /* owned */
  size_t unit_count, unit_capacity;
  struct spans spans;                             /* of units */
  struct source_frame frames[SOURCE_FRAMES_MOST]; /* the last answer, */
  char *paths[SOURCE_FRAMES_MOST];                /* and its paths that were put together; owned */
  size_t path_count;
  char *missing; /* see debug_info_missing; owned */
};

/* ---- Entries ---- */

static const char *text_of(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute found;
  return dwarf_formstring(dwarf_attr_integrate(die, attribute, &found));
}

/* 0 if it isn't told. */
static uint64_t number_of(Dwarf_Die *die, unsigned attribute) {
  Dwarf_Attribute found;
  Dwarf_Word number;
  return dwarf_formudata(dwarf_attr(die, attribute, &found), &number) == 0 ? number : 0;
}

/* A path that may be relative to the folder in which the unit was compiled: a whole one, to be
 * freed. */
static char *whole_path(Dwarf_Die *unit, const char *path) {
  const char *folder = *path == '/' ? NULL : text_of(unit, DW_AT_comp_dir);
  const size_t length = folder == NULL ? 0 : strlen(folder);
  const bool needs_slash = length > 0 && folder[length - 1] != '/';
  char *whole = malloc(length + strlen(path) + 2);
  stpcpy(stpcpy(stpcpy(whole, length > 0 ? folder : ""), needs_slash ? "/" : ""), path);
  return whole;
}

/* Starts an answer. */
static void clear(struct debug_info *info, struct source_frames *frames) {
  while (info->path_count > 0)
    free(info->paths[--info->path_count]);
  *frames = (struct source_frames){.items = info->frames};
}

/* Adds a frame to the answer. */
static void add_frame(struct debug_info *info, struct debug_unit *unit, struct source_frame frame,
                      struct source_frames *frames) {
  if (frame.file != NULL)
    frame.file = info->paths[info->path_count++] = whole_path(&unit->die, frame.file);
  info->frames[frames->count++] = frame;
}

static void add_spans(struct spans *spans, Dwarf_Die *die, size_t item) {
  Dwarf_Addr base, start, end;
  for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
    spans_add(spans, start, end, (uint32_t)item);
}

/* ---- Units ---- */

struct debug_info *debug_info_open(const char *path, struct problem *problem) {
  struct debug_info *info = calloc(1, sizeof *info);
  struct debug_unit unit = {.is_loaded = false};
  Elf *elf = debug_sections_open(path, problem);
  Dwarf *dwarf = elf == NULL ? NULL : dwarf_begin_elf(elf, DWARF_C_READ, NULL);
  if (dwarf == NULL) {
    problem_set(problem, "debug information that can't be read");
    free(info);
    return NULL;
  }
  for (Dwarf_CU *at = NULL; dwarf_get_units(dwarf, at, &at, NULL, NULL, &unit.die, NULL) == 0;) {
    add_spans(&info->spans, &unit.die, info->unit_count);
    (void)ARRAY_ADD(info->units, info->unit_count, info->unit_capacity, unit);
  }
  spans_sort(&info->spans);
  return info;
}

const char *debug_info_missing(const struct debug_info *info) { return info->missing; }

/* Finds the entry with the functions. A skeleton names the file that has them. */
static void find_entries(struct debug_info *info, struct debug_unit *unit) {
  uint8_t type = 0;
  Dwarf_Die split = {0};
  unit->entries = unit->die;
  if (dwarf_cu_info(unit->die.cu, NULL, &type, NULL, &split, NULL, NULL, NULL) != 0 ||
      type != DW_UT_skeleton)
    return;
  const char *name = text_of(&unit->die, DW_AT_dwo_name);
  if (name == NULL)
    name = text_of(&unit->die, DW_AT_GNU_dwo_name);
  if (split.cu != NULL)
    unit->entries = split;
  else if (info->missing == NULL && name != NULL)
    info->missing = whole_path(&unit->die, name);
}

static int add_function(Dwarf_Die *die, void *context) {
  struct debug_unit *unit = context;
  const size_t before = unit->spans.count;
  add_spans(&unit->spans, die, unit->function_count);
  if (unit->spans.count > before) /* else it is only declared, or inlined everywhere */
    (void)ARRAY_ADD(unit->functions, unit->function_count, unit->function_capacity, *die);
  return DWARF_CB_OK;
}

/* The unit with an address, loaded; NULL if there is none. */
static struct debug_unit *find_unit(struct debug_info *info, uint64_t address) {
  const uint32_t number = spans_find(&info->spans, address);
  if (number == SPANS_NONE)
    return NULL;
  struct debug_unit *unit = &info->units[number];
  if (!unit->is_loaded) {
    unit->is_loaded = true;
    find_entries(info, unit);
    dwarf_getfuncs(&unit->entries, add_function, unit, 0);
    spans_sort(&unit->spans);
  }
  return unit;
}

/* ---- Frames ---- */

/* Finds the scopes that an address is in: a function, and those inlined there, from the outermost
 * to the innermost. Blocks lie between them. Returns how many there are. */
static size_t find_scopes(const struct debug_unit *unit, uint64_t address,
                          Dwarf_Die scopes[SOURCE_FRAMES_MOST]) {
  const uint32_t function = spans_find(&unit->spans, address);
  size_t count = 0;
  if (function == SPANS_NONE)
    return 0;
  Dwarf_Die outer = unit->functions[function], die;
  scopes[count++] = outer;
  for (int found = dwarf_child(&outer, &die); found == 0;) {
    if (dwarf_haspc(&die, address) <= 0) {
      found = dwarf_siblingof(&die, &die);
      continue;
    }
    if (dwarf_tag(&die) == DW_TAG_inlined_subroutine && count < SOURCE_FRAMES_MOST)
      scopes[count++] = die;
    outer = die;
    found = dwarf_child(&outer, &die);
  }
  return count;
}

static const char *name_of(Dwarf_Die *die) {
  const char *name = text_of(die, DW_AT_linkage_name);
  if (name == NULL)
    name = text_of(die, DW_AT_MIPS_linkage_name);
  return name != NULL ? name : dwarf_diename(die);
}

static struct source_frame place_of_line(struct debug_unit *unit, uint64_t address) {
  struct source_frame place = {0};
  int line = 0, column = 0;
  Dwarf_Line *found = dwarf_getsrc_die(&unit->die, address);
  if (found == NULL)
    return place;
  dwarf_lineno(found, &line);
  dwarf_linecol(found, &column);
  place.file = dwarf_linesrc(found, NULL, NULL);
  place.line = (unsigned)line;
  place.column = (unsigned)column;
  return place;
}

/* Where the call was that an inlined function replaced. */
static struct source_frame place_of_call(struct debug_unit *unit, Dwarf_Die *die) {
  Dwarf_Files *files;
  Dwarf_Attribute attribute;
  Dwarf_Word number;
  struct source_frame place = {.line = number_of(die, DW_AT_call_line),
                               .column = number_of(die, DW_AT_call_column)};
  if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attribute), &number) == 0 &&
      dwarf_getsrcfiles(&unit->entries, &files, NULL) == 0)
    place.file = dwarf_filesrc(files, number, NULL, NULL);
  return place;
}

void debug_info_find(struct debug_info *info, uint64_t address, struct source_frames *frames) {
  Dwarf_Die scopes[SOURCE_FRAMES_MOST];
  struct debug_unit *unit = find_unit(info, address);
  clear(info, frames);
  if (unit == NULL)
    return;
  struct source_frame place = place_of_line(unit, address);
  size_t count = find_scopes(unit, address, scopes);
  if (count == 0 && place.file != NULL)
    add_frame(info, unit, place, frames);
  while (count-- > 0) {
    place.function = name_of(&scopes[count]);
    add_frame(info, unit, place, frames);
    place = place_of_call(unit, &scopes[count]);
  }
}

/* ---- Units' names ---- */

/* Takes "." and empty parts, and "name/..", out of a path. */
static void normalize(char *path) {
  char *const start = path + (*path == '/');
  char *out = start, *root = start; /* root: after each "..", which can't be taken out */
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

void debug_info_find_unit(struct debug_info *info, uint64_t address, struct source_frames *frames) {
  struct debug_unit *unit = find_unit(info, address);
  const char *name = unit == NULL ? NULL : dwarf_diename(&unit->entries);
  clear(info, frames);
  if (name == NULL)
    return;
  add_frame(info, unit, (struct source_frame){.file = name}, frames);
  normalize(info->paths[0]);
}
