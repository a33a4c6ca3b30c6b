/* debug_info.c - see debug_info.h. */
#include "tool/source/debug_info.h"

#include "format/array.h"
#include "tool/source/debug_object.h"
#include "tool/source/debug_unit.h"
#include "tool/source/paths.h"

#include <assert.h>
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct split_unit {
  Dwarf_Sig8 id;
  Dwarf_Die die;
};

/* A file of split units: link-time optimisation puts many into one. */
struct split_file {
  char *path; /* owned; NULL: none is open */
  struct debug_object object;
  struct split_unit *units; /* by ID; owned */
  size_t count, capacity;
  struct entry_names names;
};

struct debug_info {
  struct debug_object object;
  struct split_file split;  /* the last one */
  struct debug_unit *units; /* owned */
  size_t unit_count, unit_capacity;
  struct spans spans; /* of units */
  struct entry_names names;
  struct debug_limits limits;
  uint64_t texts; /* how many bytes of long texts may be answered yet */
  struct source_frame frames[SOURCE_FRAMES_MOST];
  char *missing; /* see debug_info_missing; owned */
};

/* ---- Units ---- */

static struct debug_context context_of(struct debug_info *info, Dwarf_Die die) {
  struct debug_context context = debug_context_of(info->object.dwarf, die);
  context.names = &info->names;
  context.lists = &info->object.lists;
  context.limits = &info->limits;
  return context;
}

/* DWARF 5 has the ID of a split unit in the header, earlier forms in an attribute (GNU's). */
static void find_split_id(Dwarf_Die die, Dwarf_Half version, Dwarf_Sig8 *id) {
  uint64_t number;
  if (version < 5 && debug_entry_number(die, DW_AT_GNU_dwo_id, &number))
    memcpy(id->signature, &number, sizeof number);
}

static void add_unit(struct debug_info *info, Dwarf_Die die, Dwarf_Sig8 id) {
  const struct debug_context context = context_of(info, die);
  struct debug_unit unit = {.die = die, .split_id = id};
  find_split_id(die, context.version, &unit.split_id);
  debug_entry_spans(&context, die, &info->spans, (uint32_t)info->unit_count);
  (void)ARRAY_ADD(info->units, info->unit_count, info->unit_capacity, unit);
}

/* Moves to the next unit, and to its first entry. */
static bool next_unit(struct unit_course *course, struct debug_limits *limits, Dwarf_Die *die,
                      Dwarf_Sig8 *id) {
  return unit_course_next(course, id) &&
         debug_limits_abbreviations(limits, course->dwarf, course->abbreviations) &&
         dwarf_siblingof_b(course->dwarf, NULL, 1, die, NULL) == DW_DLV_OK;
}

static void add_units(struct debug_info *info) {
  Dwarf_Die die;
  Dwarf_Sig8 id;
  struct unit_course course = {.dwarf = info->object.dwarf};
  while (next_unit(&course, &info->limits, &die, &id))
    add_unit(info, die, id);
  spans_sort(&info->spans);
}

/* ---- Split units ---- */

static int compare_split(const void *a, const void *b) {
  const struct split_unit *x = a, *y = b;
  return memcmp(x->id.signature, y->id.signature, sizeof x->id.signature);
}

static void add_split_units(struct split_file *file, struct debug_limits *limits) {
  struct split_unit unit;
  struct unit_course course = {.dwarf = file->object.dwarf};
  while (next_unit(&course, limits, &unit.die, &unit.id)) {
    Dwarf_Half version = 0, offset_size;
    dwarf_get_version_of_die(unit.die, &version, &offset_size);
    find_split_id(unit.die, version, &unit.id);
    (void)ARRAY_ADD(file->units, file->count, file->capacity, unit);
  }
  array_sort(file->units, file->count, sizeof *file->units, compare_split);
}

static void close_split(struct split_file *file) {
  if (file->path != NULL) {
    entry_names_free(&file->names);
    debug_object_close(&file->object);
  }
  free(file->units);
  free(file->path);
  *file = (struct split_file){0};
}

/* Opens another file than the last one. */
static bool open_split(struct split_file *file, const struct debug_context *context,
                       const char *path) {
  struct problem problem = {0};
  if (file->path != NULL && strcmp(file->path, path) == 0)
    return true;
  close_split(file);
  if (!debug_object_open(&file->object, path, true, &problem))
    return false;
  file->path = strdup(path);
  file->names = entry_names_of(file->object.dwarf, context->names->shared.dwarf, true);
  debug_limits_add(context->limits, file->object.size);
  add_split_units(file, context->limits);
  return true;
}

/* A path, to be freed, of a name that may be relative to a folder. */
static char *path_in(const char *folder, const char *name) {
  const bool is_relative = folder != NULL && *name != '/';
  char *path;
  return asprintf(&path, "%s%s%s", is_relative ? folder : "", is_relative ? "/" : "", name) < 0
             ? NULL
             : path;
}

/* The path of a unit's .dwo file, to be freed; NULL for a whole unit. */
static char *split_path(Dwarf_Die die) {
  const char *name = debug_entry_text(die, DW_AT_dwo_name);
  if (name == NULL)
    name = debug_entry_text(die, DW_AT_GNU_dwo_name);
  return name == NULL ? NULL : path_in(debug_entry_text(die, DW_AT_comp_dir), name);
}

/* Returns whether there is such a file, and it is of the same compilation. */
static bool read_split(struct split_file *file, struct debug_unit *unit,
                       struct debug_context context, const char *path) {
  const struct split_unit wanted = {.id = unit->split_id};
  if (!open_split(file, &context, path))
    return false;
  const struct split_unit *found = file->count == 0 ? NULL
                                                    : bsearch(&wanted, file->units, file->count,
                                                              sizeof *file->units, compare_split);
  if (found == NULL)
    return false;
  const struct range_tables *lists = &file->object.lists;
  context.entries = file->object.dwarf;
  context.names = &file->names;
  context.lists = lists;
  if (context.version >= 5) /* it has one table (7.3.2.2) */
    context.ranges_base = lists->count == 0 ? 0 : lists->items[0].array;
  debug_unit_read_scopes(unit, &context, found->die);
  entry_names_read(&file->names);
  return true;
}

/* ---- Long texts ---- */

/* A name of a few letters may be many instructions' name: long ones are counted, each time that
 * they are an answer. A compiler's are short. */
enum { TEXT_LONG = 1 << 10, TEXTS_TIMES = 12 };

static void take_text(struct debug_info *info, const char *text) {
  const size_t length = text == NULL ? 0 : strlen(text);
  if (length < TEXT_LONG)
    return;
  if (length > info->texts)
    problem_set(info->limits.problem, "long names in debug information, %d times the file's bytes",
                TEXTS_TIMES);
  info->texts -= length <= info->texts ? length : info->texts;
}

/* ---- Reading a unit ---- */

static void read_scopes(struct debug_info *info, struct debug_unit *unit,
                        const struct debug_context *context) {
  char *path = split_path(context->unit);
  if (path == NULL) {
    debug_unit_read_scopes(unit, context, context->unit);
  } else if (!read_split(&info->split, unit, *context, path) && info->missing == NULL) {
    info->missing = path;
    path = NULL;
  }
  free(path);
}

/* Without the names of functions. */
static void read_unit(struct debug_info *info, struct debug_unit *unit) {
  const Dwarf_Die die = unit->die;
  if (unit->is_loaded)
    return;
  unit->is_loaded = true;
  const struct debug_context context = context_of(info, die);
  unit->folder = debug_entry_text(die, DW_AT_comp_dir);
  debug_unit_read_lines(unit, &info->object, &info->limits);
  read_scopes(info, unit, &context);
}

/* Wants the names of an address's functions: mostly a few of a unit's. */
static void want_names(struct debug_info *info, uint64_t address) {
  const uint32_t number = spans_find(&info->spans, address);
  assert(number == SPANS_NONE || number < info->unit_count);
  if (number == SPANS_NONE)
    return;
  const struct debug_unit *unit = &info->units[number];
  uint32_t scope = spans_find(&unit->scope_spans, address);
  for (size_t i = 0; scope != SPANS_NONE && i < SOURCE_FRAMES_MOST; i++) {
    assert(scope < unit->scope_count);
    struct debug_scope *one = &unit->scopes[scope];
    if (one->name == NULL)
      one->name = entry_name_at(&info->names, one->entry);
    scope = one->parent;
  }
}

/* ---- The whole ---- */

struct debug_info *debug_info_open(const char *path, struct problem *problem) {
  struct debug_info *info = calloc(1, sizeof *info);
  if (!debug_object_open(&info->object, path, false, problem))
    return NULL; /* and the reader ends */
  info->limits = debug_limits_of(info->object.size, problem);
  info->texts = info->object.size * TEXTS_TIMES;
  info->names = entry_names_of(info->object.dwarf, info->object.shared, false);
  add_units(info);
  return info;
}

const char *debug_info_missing(const struct debug_info *info) { return info->missing; }

void debug_info_read(struct debug_info *info, const uint64_t *addresses, size_t count) {
  uint64_t *numbers = calloc(count + 1, sizeof *numbers);
  size_t wanted = 0;
  for (size_t i = 0; i < count; i++) {
    const uint32_t number = spans_find(&info->spans, addresses[i]);
    if (number != SPANS_NONE && !info->units[number].is_loaded)
      numbers[wanted++] = number;
  }
  wanted = array_sort_words(numbers, wanted);
  for (size_t i = 0; i < wanted; i++)
    read_unit(info, &info->units[numbers[i]]);
  for (size_t i = 0; i < count; i++)
    want_names(info, addresses[i]);
  entry_names_read(&info->names);
  free(numbers);
}

void debug_info_find(struct debug_info *info, uint64_t address, struct source_frames *frames) {
  *frames = (struct source_frames){.items = info->frames};
  const uint32_t number = spans_find(&info->spans, address);
  if (number == SPANS_NONE)
    return;
  struct debug_unit *unit = &info->units[number];
  read_unit(info, unit);
  want_names(info, address);
  entry_names_read(&info->names);
  frames->folder = unit->folder;
  take_text(info, unit->folder);
  const uint32_t row = spans_find(&unit->row_spans, address);
  assert(row == SPANS_NONE || row < unit->row_count);
  struct source_frame place = row != SPANS_NONE ? unit->rows[row] : (struct source_frame){0};
  uint32_t scope = spans_find(&unit->scope_spans, address);
  if (row != SPANS_NONE && scope == SPANS_NONE)
    info->frames[frames->count++] = place;
  for (; scope != SPANS_NONE && frames->count < SOURCE_FRAMES_MOST;
       scope = unit->scopes[scope].parent) {
    place.function = entry_name_text(unit->scopes[scope].name);
    info->frames[frames->count++] = place;
    place = unit->scopes[scope].call;
  }
  for (size_t i = 0; i < frames->count; i++) {
    take_text(info, frames->items[i].function);
    take_text(info, frames->items[i].file);
  }
}

/* ---- Units' names ---- */

/* A split unit has its name in the other file; but here in its table of lines, too: as the first
 * file. */
static void read_path(struct debug_info *info, struct debug_unit *unit) {
  const Dwarf_Die die = unit->die;
  const char *name = debug_entry_text(die, DW_AT_name);
  if (name == NULL)
    read_unit(info, unit);
  for (size_t i = 0; name == NULL && i < unit->files.count; i++)
    name = unit->files.paths[i];
  unit->path = name == NULL ? NULL : path_in(debug_entry_text(die, DW_AT_comp_dir), name);
  if (unit->path != NULL)
    path_normalize(unit->path);
}

const char *debug_info_find_unit(struct debug_info *info, uint64_t address) {
  const uint32_t number = spans_find(&info->spans, address);
  if (number == SPANS_NONE)
    return NULL;
  struct debug_unit *unit = &info->units[number];
  if (unit->path == NULL)
    read_path(info, unit);
  take_text(info, unit->path);
  return unit->path;
}
