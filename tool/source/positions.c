/* positions.c - see positions.h. */
#include "tool/source/positions.h"

#include <assert.h>
#include <stdlib.h>

struct collector {
  struct safepoints *table;
  const struct positions_options *options;
  struct names names;
  struct source *source; /* NULL: there is no debug information */
};

/* The name of a function by the symbol table; NULL if debug information tells it better: of several
 * functions that were folded into one, it has the one that was compiled here. */
static const char *linked_name(const struct names *names, uint64_t function, const char *told) {
  return told == NULL || names_is_only(names, function) ? names_find(names, function) : NULL;
}

void positions_name(const struct names *names, uint64_t function, struct source_frame *own,
                    struct source_frames *frames) {
  *own = (struct source_frame){0};
  struct source_frame *outermost = frames->count == 0 ? own : &frames->items[frames->count - 1];
  const char *name = linked_name(names, function, outermost->function);
  if (name != NULL)
    outermost->function = name;
  if (frames->count == 0 && name != NULL)
    *frames = (struct source_frames){own, 1, NULL};
}

static bool add_file(const struct collector *collector, const struct source_frames *frames,
                     const char *file, uint32_t *number) {
  char *path =
      file == NULL ? NULL : path_of_source(&collector->options->maps, frames->folder, file);
  const bool ok = sources_add_name(&collector->table->sources, path, number);
  free(path);
  return ok;
}

/* Adds a record's frames, the outermost first. */
static bool add_frames(const struct collector *collector, struct safepoint *record,
                       const struct source_frames *frames) {
  struct sources *sources = &collector->table->sources;
  const bool lines = collector->options->wanted == POSITIONS_LINES;
  for (size_t i = frames->count; i-- > 0;) {
    const struct source_frame *frame = &frames->items[i];
    struct source_place place = {.caller = record->source};
    if (!sources_add_name(sources, frame->function, &place.function) ||
        (lines && !add_file(collector, frames, frame->file, &place.file)))
      return false;
    place.line = lines && frame->line <= UINT32_MAX ? (uint32_t)frame->line : 0;
    if (!sources_add_place(sources, place, &record->source))
      return false;
  }
  return true;
}

static bool add_record(const struct collector *collector, struct safepoint *record,
                       struct source_frames frames) {
  const uint64_t function = collector->table->functions[record->function].address;
  struct source_frame own;
  record->source = 0;
  positions_name(&collector->names, function, &own, &frames);
  return add_frames(collector, record, &frames);
}

/* Asks for all records at once: a question costs more than its answer. */
static bool add_records(const struct collector *collector) {
  struct safepoints *table = collector->table;
  const size_t count = table->record_count;
  const struct source_frames none = {0}, *frames;
  uint64_t *addresses = malloc((count + 1) * sizeof *addresses);
  bool ok = true;
  for (size_t i = 0; i < count; i++)
    addresses[i] = safepoints_instruction(table, &table->records[i]);
  for (size_t i = 0, answered; i < count && ok; i += answered) {
    answered = source_find_some(collector->source, addresses + i, count - i, &frames);
    const bool has_answers = answered > 0;
    assert(answered <= count - i);
    answered += !has_answers;
    for (size_t k = 0; k < answered && ok; k++)
      ok = add_record(collector, &table->records[i + k], has_answers ? frames[k] : none);
  }
  free(addresses);
  return ok;
}

bool positions_collect(struct safepoints *table, const struct positions_options *options,
                       const struct image *image, const char *path, struct problem *problem) {
  struct collector collector = {.table = table, .options = options};
  const struct debug_folders folders = {0};
  struct problem absent = {0};
  if (options->wanted == POSITIONS_NONE)
    return true;
  collector.source = source_open(image, path, &folders, &absent, problem);
  const bool is_absent = absent.text[0] != 0;
  if (is_absent)
    problem_warn(path, "%s: positions are functions' names, by the symbol table", absent.text);
  names_open(&collector.names, image);
  const bool ok = (is_absent || collector.source != NULL) &&
                  (add_records(&collector) || problem_set(problem, "not enough memory")) &&
                  source_check(collector.source, problem);
  names_close(&collector.names);
  source_close(collector.source);
  return ok;
}

bool positions_are_known(const struct image *image, const char *path) {
  const struct debug_folders folders = {0};
  struct problem ignored = {0};
  char *debug_path = debug_file_find(image, path, &folders, &ignored);
  free(debug_path);
  return debug_path != NULL;
}

static struct source_frame frame_of(const struct sources *sources, struct source_place place) {
  return (struct source_frame){
      .function = place.function == 0 ? NULL : sources_name(sources, place.function),
      .file = place.file == 0 ? NULL : sources_name(sources, place.file),
      .line = place.line};
}

void positions_frames(const struct safepoints *table, uint32_t place,
                      struct source_frame items[SOURCE_FRAMES_MOST], struct source_frames *frames) {
  *frames = (struct source_frames){.items = items};
  while (place != 0 && frames->count < SOURCE_FRAMES_MOST) {
    const struct source_place at = sources_place(&table->sources, place);
    items[frames->count++] = frame_of(&table->sources, at);
    place = at.caller;
  }
}

struct source_frame positions_function(const struct safepoints *table,
                                       const struct safepoint_function *function) {
  uint32_t place = 0;
  for (uint32_t i = 0; i < function->records && place == 0; i++)
    place = table->records[function->first_record + i].source;
  if (place == 0)
    return (struct source_frame){0};
  place = sources_outermost(&table->sources, place);
  struct source_frame frame = frame_of(&table->sources, sources_place(&table->sources, place));
  frame.line = 0;
  return frame;
}
