/* record_source.c - see record_source.h. */
#include "tool/print/record_source.h"

#include "tool/source/positions.h"

#include <assert.h>

bool record_source_open(struct record_source *record_source, const struct source_options *options,
                        const struct program *program, const struct names *names,
                        struct problem *problem) {
  struct problem absent = {0};
  record_source->names = names;
  record_source->is_wanted = options->is_wanted;
  if (!options->is_wanted)
    return true;
  record_source->source =
      source_open(&program->image, program->path, &options->folders, &absent, problem);
  const bool is_absent = absent.text[0] != 0;
  if (is_absent && program->loaded.table.sources.places.count == 0)
    problem_print(&absent, program->path);
  return is_absent || record_source->source != NULL;
}

/* A question costs more than its answer, and many answers take a while: so their number grows. */
static void find_planned(struct record_source *record_source, struct source_frames *frames) {
  assert(record_source->answer_count <= record_source->address_count);
  if (record_source->answer_count == 0) {
    record_source->batch = 2 * record_source->batch + 1;
    if (record_source->batch > record_source->address_count)
      record_source->batch = record_source->address_count;
    record_source->answer_count = source_find_some(record_source->source, record_source->addresses,
                                                   record_source->batch, &record_source->answers);
  }
  record_source->addresses++;
  record_source->address_count--;
  if (record_source->answer_count == 0)
    return;
  *frames = *record_source->answers++;
  record_source->answer_count--;
}

void record_source_find(struct record_source *record_source, const struct record_view *view,
                        struct source_frames *frames) {
  *frames = (struct source_frames){0};
  if (!record_source->is_wanted)
    return;
  assert(record_source->address_count == 0 ||
         *record_source->addresses == safepoints_instruction(view->table, view->record));
  if (record_source->address_count > 0)
    find_planned(record_source, frames);
  else
    source_find(record_source->source, safepoints_instruction(view->table, view->record), frames);
  if (frames->count == 0)
    positions_frames(view->table, view->record->source, record_source->items, frames);
  if (record_source->source != NULL)
    positions_name(record_source->names, view->function, record_source->items, frames);
}
