/* record_frames.c - the frames of records, from unwind tables.
 *
 * A frame that waits in a call is looked up by the call's last byte, as unwinders do: the return
 * address may be the next function's start; and after the call, where the callee's arguments are
 * taken off the stack again, another rule may hold already. A stack map's or patch point's address
 * is the instruction's own.
 */
#include "elf/map_entries.h"

#include "format/owned.h"

struct question {
  uint64_t address;
  uint32_t record;
};

ORDER_FUNCTION(compare_questions, struct question, address, record)

static void ask(const struct safepoints *table, struct question *questions) {
  for (uint32_t i = 0; i < table->record_count; i++)
    questions[i] = (struct question){safepoints_instruction(table, &table->records[i]), i};
  array_sort(questions, table->record_count, sizeof *questions, compare_questions);
}

/* Facts that have no form in a packed table count as unknown. */
static bool can_tell(const struct safepoints *table, uint32_t function, uint32_t number) {
  if (number == 0)
    return false;
  const struct frame_facts facts = frame_facts_get(&table->frames, number);
  return frames_has_room(&table->frame_machine, table->functions[function].frame_size, &facts);
}

/* Most records have the same function and frame as the one before. */
static void tell(const struct safepoints *table, const struct question *questions,
                 const uint32_t *numbers) {
  uint32_t function = 0, number = 0;
  bool is_told = false;
  for (uint32_t i = 0; i < table->record_count; i++) {
    struct safepoint *record = &table->records[questions[i].record];
    if (numbers[i] != number || record->function != function)
      is_told = can_tell(table, record->function, numbers[i]);
    number = numbers[i];
    function = record->function;
    if (is_told)
      record->frame = number;
  }
}

bool eh_frame_tell_frames(struct safepoints *table, const struct code *code,
                          const struct section_bytes *frames) {
  if (code->machine == NULL)
    return true;
  table->frame_machine = eh_frame_machine(code->machine);
  const size_t count = table->record_count;
  struct owned owned = {0};
  struct question *questions = owned_array(&owned, count, sizeof *questions);
  uint64_t *addresses = owned_array(&owned, count, sizeof *addresses);
  uint32_t *numbers = owned_array(&owned, count, sizeof *numbers);
  bool ok = !owned.failed;
  if (ok) {
    ask(table, questions);
    for (size_t i = 0; i < count; i++)
      addresses[i] = questions[i].address;
    ok = eh_frame_facts(&table->frames, numbers, addresses, count, code, frames);
    tell(table, questions, numbers);
  }
  owned_free(&owned);
  return ok;
}
