/* selection.c - see selection.h. */
#include "tool/print/selection.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/calls/patterns.h"
#include "tool/image/load.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Words of the command line ---- */

bool address_parse(const char *text, uint64_t *address) {
  return load_take_number(&text, address) && *text == 0;
}

bool address_parse_hexadecimal(const char *text, uint64_t *address) {
  const bool has_prefix = strncmp(text, "0x", 2) == 0 || strncmp(text, "0X", 2) == 0;
  const char *const digits = text + (has_prefix ? 2 : 0);
  char *end;
  errno = 0;
  *address = strtoull(digits, &end, 16);
  return isxdigit((unsigned char)digits[0]) && *end == 0 && errno == 0 &&
         tolower((unsigned char)digits[1]) != 'x';
}

bool selection_add_function(void *selection, const char *word, struct problem *problem) {
  struct selection *items = selection;
  (void)problem;
  return ARRAY_ADD(items->items, items->count, items->capacity,
                   (struct selection_item){.word = word, .is_name = true});
}

bool selection_add_address(void *selection, const char *word, struct problem *problem) {
  struct selection *items = selection;
  struct selection_item item = {.word = word};
  const char *at = word;
  if (strchr(word, '+') != NULL)
    return ARRAY_ADD(items->items, items->count, items->capacity,
                     (struct selection_item){.word = word, .is_place = true});
  bool ok = load_take_number(&at, &item.first);
  item.last = item.first;
  if (ok && *at == '-') {
    item.is_range = true;
    at++;
    ok = load_take_number(&at, &item.last) && item.first <= item.last;
  }
  if (!ok || *at != 0)
    return problem_set(problem,
                       "'%s' is no address (hexadecimal with 0x), no range START-END, and no "
                       "place in an object, as FUNCTION+0x12",
                       word);
  return ARRAY_ADD(items->items, items->count, items->capacity, item);
}

/* ---- Records ---- */

/* Marks the records of [first, last]. Returns whether there are any. */
static bool mark_addresses(const struct safepoints *table, uint64_t first, uint64_t last,
                           bool *is_selected) {
  const uint32_t start = safepoints_first_record(table, first);
  uint32_t i = start;
  for (; i < table->record_count && table->records[i].address <= last; i++)
    is_selected[i] = true;
  return i > start;
}

static bool is_named(const struct safepoint_function *function, const struct names *names,
                     const char *word) {
  bool result = false;
  const char *name;
  for (size_t at = 0; !result && (name = names_next(names, function->address, &at)) != NULL;) {
    struct pattern_name forms;
    pattern_name_open(&forms, name);
    result = pattern_means(word, &forms, PATTERN_WIDE);
    pattern_name_close(&forms);
  }
  return result;
}

/* An address inside a function, between records, selects all of its records. (The end is inside,
 * unless another function starts there: a call that never returns may be the last instruction.) */
static bool contains(const struct safepoints *table, uint32_t number, uint64_t address) {
  const struct safepoint_function *function = &table->functions[number];
  if (address < function->address || address > function->end)
    return false;
  const size_t below = SEARCH_BELOW(table->functions, table->function_count, address, address);
  const size_t next = below > number ? below : (size_t)number + 1;
  return address < function->end || next == table->function_count ||
         table->functions[next].address > address;
}

/* Marks the records of the selected functions. Returns whether there are any. */
static bool mark_functions(const struct selection_item *item, const struct safepoints *table,
                           const struct names *names, bool *is_selected) {
  bool any = false, is_wanted = false;
  for (uint32_t i = 0; i < table->record_count; i++) {
    const uint32_t function = table->records[i].function;
    if (i == 0 || function != table->records[i - 1].function)
      is_wanted = item->is_name ? is_named(&table->functions[function], names, item->word)
                                : contains(table, function, item->first);
    if (is_wanted)
      any = is_selected[i] = true;
  }
  return any;
}

/* Places of objects that a word means. */
static bool mark_places(const struct selection_item *item, const struct safepoints *table,
                        struct pieces *pieces, const struct names *names, bool *is_selected,
                        struct problem *problem) {
  bool any = false;
  if (item->is_place != (pieces->count > 0))
    return problem_set(problem,
                       item->is_place
                           ? "'%s' is a place in an object, and this is a program"
                           : "'%s' is no place in an object: SECTION+0x12 or FUNCTION+0x12 is",
                       item->word);
  if (!pieces_search(pieces, names, item->word, problem))
    return false;
  for (size_t i = 0; i < pieces->found.count; i++) {
    const struct selection_item place = {.first = pieces->found.items[i]};
    any |= mark_addresses(table, place.first, place.first, is_selected) ||
           mark_functions(&place, table, names, is_selected);
  }
  return any || problem_set(problem, "no record at %s, nor a function with records", item->word);
}

bool selection_apply(const struct selection *selection, const struct safepoints *table,
                     struct pieces *pieces, const struct names *names, bool *is_selected,
                     struct problem *problem) {
  if (selection->count == 0)
    memset(is_selected, true, table->record_count);
  for (size_t i = 0; i < selection->count; i++) {
    const struct selection_item *item = &selection->items[i];
    if (!item->is_name && (item->is_place || pieces->count > 0)) {
      if (!mark_places(item, table, pieces, names, is_selected, problem))
        return false;
      continue;
    }
    if ((!item->is_name && mark_addresses(table, item->first, item->last, is_selected)) ||
        (!item->is_range && mark_functions(item, table, names, is_selected)))
      continue;
    if (item->is_name)
      return problem_set(problem, "no function with records is called '%s'", item->word);
    return problem_set(problem, "no record %s %s, nor a function with records",
                       item->is_range ? "in" : "at", item->word);
  }
  return true;
}
