/* sample.c - see sample.h. */
#include "sample.h"

#include <stdlib.h>

enum { LONGEST_GAP = 1 << 16 }; /* farther apart are only parts of programs */

/* A layout is told apart by its frame size and the live sets of its records. */
static bool number_layout(const struct safepoints *table, const struct safepoint_function *function,
                          struct intern *layouts, uint32_t *number) {
  uint64_t *words = malloc(((size_t)function->records + 1) * sizeof *words);
  if (words == NULL)
    return false;
  words[0] = function->frame_size;
  for (uint32_t i = 0; i < function->records; i++)
    words[i + 1] = table->records[function->first_record + i].live;
  *number = intern_add(layouts, words, (uint64_t)function->records + 1);
  free(words);
  return *number != INTERN_FAILED;
}

static struct sample_function measure(const struct safepoints *table, uint32_t number) {
  const struct safepoint_function *function = &table->functions[number];
  const struct safepoint *last = &table->records[function->first_record + function->records - 1];
  const uint64_t end = function->end > last->address ? function->end : last->address + 1;
  const uint64_t next = number + 1 < table->function_count ? function[1].address : end;
  const uint64_t gap = next > end ? next - end : 0;
  return (struct sample_function){
      .function = number,
      .extent = end - function->address,
      .distance = end - function->address + (gap < LONGEST_GAP ? gap : LONGEST_GAP),
  };
}

static bool measure_all(struct sample *sample) {
  const struct safepoints *table = &sample->program.loaded.table;
  struct intern layouts = {0};
  uint32_t *users = calloc((size_t)table->function_count + 1, sizeof *users);
  sample->functions = calloc((size_t)table->function_count + 1, sizeof *sample->functions);
  bool ok = users != NULL && sample->functions != NULL;
  for (uint32_t i = 0; ok && i < table->function_count; i++) {
    if (table->functions[i].records == 0)
      continue;
    struct sample_function *function = &sample->functions[sample->function_count++];
    *function = measure(table, i);
    ok = number_layout(table, &table->functions[i], &layouts, &function->layout);
    users[function->layout] += ok;
  }
  for (uint32_t i = 0; ok && i < sample->function_count; i++)
    sample->functions[i].shared = users[sample->functions[i].layout] > 1;
  const uint32_t maps = table->maps > 0 ? table->maps : 1;
  sample->functions_per_map = sample->function_count / maps + 1;
  free(users);
  intern_free(&layouts);
  return ok;
}

bool sample_open(struct sample *sample, const char *path, struct problem *problem) {
  const struct load_options options = {0};
  *sample = (struct sample){0};
  const bool ok = program_open(&sample->program, path, &options, problem) &&
                  (measure_all(sample) || problem_set(problem, "not enough memory")) &&
                  (sample->function_count > 0 || problem_set(problem, "no records"));
  if (!ok)
    sample_close(sample);
  return ok;
}

void sample_close(struct sample *sample) {
  free(sample->functions);
  program_close(&sample->program);
}
