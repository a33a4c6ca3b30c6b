/* eh_frame_facts.c - the facts of frames by unwind tables: see eh_frame.h.
 *
 * The rules of each function (frame_rules.h) are gone through beside the sorted addresses. A rule
 * is a fact if it is a saved place at an offset from the CFA, and if the CFA is a register and an
 * offset.
 */
#include "elf/eh_frame.h"

#include "elf/frame_rules.h"
#include "elf/map_entries.h"
#include "format/search.h"

#include <assert.h>

/* The number of facts at an address where FDEs differ, or one is unreadable. */
#define IN_CONFLICT UINT32_MAX

/* On the way through the addresses. */
struct teller {
  const struct code *code;
  uint8_t return_register; /* of the function at hand; */
  uint64_t start;          /* its start; */
  bool has_frame;          /* a row of it has had a frame */

  struct intern *set;
  uint32_t *numbers;
  const uint64_t *addresses;
  size_t next, count;
  size_t again; /* how often an address already had facts of another FDE */
  bool no_memory;
};

/* The next addresses, up to `end`, have these facts. */
static void note(struct teller *teller, uint64_t end, uint32_t number) {
  for (; teller->next < teller->count && teller->addresses[teller->next] < end; teller->next++) {
    uint32_t *known = &teller->numbers[teller->next];
    if (*known != 0)
      teller->again++;
    *known = *known == 0 || *known == number ? number : IN_CONFLICT;
  }
}

static struct frame_facts facts_of(const struct frame_rules *rules, uint8_t return_register) {
  const bool is_known = rules->cfa == RULE_REGISTER && rules->cfa_register < FRAME_REGISTERS;
  struct frame_facts facts = {.cfa_register =
                                  is_known ? (uint8_t)rules->cfa_register : FRAME_NO_REGISTER,
                              .return_register = return_register,
                              .is_signed = rules->is_signed,
                              .cfa_offset = is_known ? rules->cfa_value : 0};
  for (unsigned reg = 0; reg < FRAME_REGISTERS; reg++) {
    const uint32_t bit = (uint32_t)1 << reg;
    if (rules->kinds[reg] == RULE_SAME)
      continue;
    if (rules->kinds[reg] != RULE_AT) {
      facts.lost |= bit;
      continue;
    }
    facts.saved |= bit;
    facts.offsets[reg] = rules->values[reg];
  }
  return facts;
}

/* The first instruction that makes a frame may have saved more than its FDE says. */
static void complete(struct teller *teller, struct frame_rules *rules, uint64_t place) {
  const struct machine *machine = teller->code != NULL ? teller->code->machine : NULL;
  uint64_t size;
  if (machine == NULL || machine->save_more == NULL || teller->has_frame)
    return;
  struct frame_facts facts = facts_of(rules, teller->return_register);
  teller->has_frame = facts.cfa_offset != machine->pushed_by_call;
  const uint8_t *end = teller->has_frame ? code_before(teller->code, place, &size) : NULL;
  if (end == NULL || (facts.saved >> machine->return_address & 1) == 0)
    return;
  const uint64_t own = place - teller->start;
  machine->save_more(&facts, end, size < own ? size : (size_t)own);
  for (unsigned reg = 0; reg < FRAME_REGISTERS; reg++)
    if ((facts.saved >> reg & 1) != 0) {
      rules->kinds[reg] = RULE_AT;
      rules->values[reg] = facts.offsets[reg];
    }
}

/* Of frame_rules_run. */
static bool tell_row(void *context, struct frame_rules *rules, struct code_range range) {
  struct teller *teller = context;
  complete(teller, rules, range.start);
  if (teller->next == teller->count || teller->addresses[teller->next] >= range.end)
    return true;
  const struct frame_facts facts = facts_of(rules, teller->return_register);
  const uint32_t number = frame_facts_add(teller->set, &facts);
  teller->no_memory = number == 0;
  if (!teller->no_memory)
    note(teller, range.end, number);
  return !teller->no_memory;
}

bool eh_frame_facts(struct intern *set, uint32_t *numbers, const uint64_t *addresses, size_t count,
                    const struct code *code, const struct section_bytes *frames) {
  struct eh_frame_entry entry = eh_frame_open(frames->bytes, frames->size, frames->address);
  const struct code_range *range = &entry.function;
  const size_t again_most = frames->size + count;
  struct teller teller = {
      .code = code, .set = set, .numbers = numbers, .addresses = addresses, .count = count};
  while (!teller.no_memory && teller.again <= again_most && eh_frame_next(&entry)) {
    teller.next = search_words_below(addresses, count, range->start);
    if (teller.next == count || addresses[teller.next] >= range->end)
      continue;
    const uint64_t return_register = entry.cie.facts.return_register;
    teller.return_register = (uint8_t)return_register;
    teller.start = range->start;
    teller.has_frame = false;
    if (return_register >= FRAME_REGISTERS ||
        !frame_rules_run(&entry.cie.facts, entry.fde, *range, tell_row, &teller))
      note(&teller, range->end, IN_CONFLICT);
  }
  for (size_t i = 0; i < count; i++) {
    assert(i == 0 || addresses[i - 1] <= addresses[i]);
    if (numbers[i] == IN_CONFLICT || teller.again > again_most)
      numbers[i] = 0;
  }
  return !teller.no_memory;
}
