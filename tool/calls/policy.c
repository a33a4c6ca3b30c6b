/* policy.c - see policy.h. */
#include "tool/calls/policy.h"

#include "format/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void policy_close(struct policy *policy) {
  for (size_t i = 0; i < policy->count; i++)
    free(policy->patterns[i].text);
  free(policy->patterns);
  *policy = (struct policy){0};
}

static bool add_pattern(struct policy *policy, enum policy_kind kind, const char *text,
                        struct problem *problem) {
  if (*text == 0)
    return problem_set(problem, "an empty pattern: no function has such a name");
  const bool is_plain = pattern_is_plain(text);
  (void)ARRAY_ADD(
      policy->patterns, policy->count, policy->capacity,
      (struct policy_pattern){.text = strdup(text), .kind = kind, .is_plain = is_plain});
  return true;
}

bool policy_add_entry(void *policy, const char *pattern, struct problem *problem) {
  return add_pattern(policy, POLICY_GC_ENTRY, pattern, problem);
}

bool policy_add_leaf(void *policy, const char *pattern, struct problem *problem) {
  return add_pattern(policy, POLICY_NO_GC, pattern, problem);
}

bool policy_take_malloc(void *policy, const char *library, struct problem *problem) {
  ((struct policy *)policy)->has_libc_malloc = true;
  return strcmp(library, "libc") == 0 ||
         problem_set(problem, "malloc is libc or left out, not '%s'", library);
}

/* ---- Files ---- */

static const char blanks[] = " \t\r\n";

/* Takes the next word of a line, which may have blanks between quotation marks; NULL at its end, or
 * before a comment. */
static char *next_word(char **line) {
  char *word = *line + strspn(*line, blanks);
  if (*word == 0 || *word == '#')
    return NULL;
  const bool is_quoted = *word == '"' && strchr(word + 1, '"') != NULL;
  word += is_quoted;
  char *end = word + strcspn(word, is_quoted ? "\"" : blanks);
  *line = *end == 0 ? end : end + 1;
  *end = 0;
  return word;
}

/* The lines of a policy file: a word, and its value. */
static const struct line_kind {
  const char *word;
  bool (*take)(void *policy, const char *value, struct problem *problem);
} line_kinds[] = {
    {"gc-entry", policy_add_entry},
    {"no-gc", policy_add_leaf},
    {"malloc", policy_take_malloc},
};

static const struct line_kind *find_kind(const char *word) {
  for (size_t i = 0; i < sizeof line_kinds / sizeof *line_kinds; i++)
    if (strcmp(line_kinds[i].word, word) == 0)
      return &line_kinds[i];
  return NULL;
}

/* Editors may begin a text in UTF-8 with this. */
static const char mark[] = "\xef\xbb\xbf";

static bool take_line(struct policy *policy, char *line, unsigned number, struct problem *problem) {
  if (number == 1 && strncmp(line, mark, strlen(mark)) == 0)
    line += strlen(mark);
  const char *word = next_word(&line);
  if (word == NULL)
    return true;
  if (strcmp(word, "complete") == 0) {
    policy->is_complete = true;
    return next_word(&line) == NULL ||
           problem_set(problem, "line %u: more than the word complete", number);
  }
  const struct line_kind *kind = find_kind(word);
  if (kind == NULL)
    return problem_set(problem, "line %u: neither gc-entry, no-gc, malloc nor complete, but '%s'",
                       number, word);
  const char *value = next_word(&line);
  if (value == NULL)
    return problem_set(problem, "line %u: no pattern", number);
  return kind->take(policy, value, problem) &&
         (next_word(&line) == NULL ||
          problem_set(problem, "line %u: more than one pattern", number));
}

bool policy_read_file(void *policy, const char *path, struct problem *problem) {
  problem->file = path;
  ((struct policy *)policy)->has_file = true;
  struct stat status;
  if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
    return problem_set(problem, "a FIFO, which may never end");
  FILE *file = fopen(path, "re");
  if (file == NULL)
    return problem_set_errno(problem, "can't be opened");
  char *line = NULL;
  size_t capacity = 0;
  bool ok = true;
  ssize_t size;
  for (unsigned number = 1; ok && (size = getline(&line, &capacity, file)) >= 0; number++)
    ok = strlen(line) == (size_t)size
             ? take_line(policy, line, number, problem)
             : problem_set(problem, "line %u: a zero byte, which text doesn't have", number);
  if (ok && !feof(file)) /* or there was no memory for a line */
    ok = problem_set_errno(problem, "can't be read");
  free(line);
  fclose(file);
  if (ok)
    problem->file = NULL;
  return ok;
}

/* ---- Asking ---- */

bool policy_has_entries(const struct policy *policy) {
  for (size_t i = 0; i < policy->count; i++)
    if (policy->patterns[i].kind == POLICY_GC_ENTRY)
      return true;
  return false;
}

bool policy_is_empty(const struct policy *policy) {
  return !policy->drop_unreachable && !policy_has_entries(policy);
}

bool policy_check(const struct policy *policy, const char *path, struct problem *problem) {
  static const char why[] = "no GC entry is named, so the policy's other facts drop nothing";
  const bool has_facts = policy->count > 0 || policy->has_libc_malloc || policy->has_file;
  if (!has_facts || policy_has_entries(policy))
    return true;
  if (policy->strict)
    return problem_set(problem, why);
  problem_warn(path, why);
  return true;
}

bool policy_matches(const struct policy_pattern *pattern, const struct pattern_name *name) {
  return pattern->kind == POLICY_GC_ENTRY ? pattern_means(pattern->text, name, PATTERN_WIDE) ||
                                                pattern_may_mean(pattern->text, name)
                                          : pattern_means(pattern->text, name, PATTERN_NARROW);
}
