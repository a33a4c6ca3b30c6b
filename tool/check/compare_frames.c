/* compare_frames.c - compares facts of frames with those of elfutils' libdw at the same addresses.
 *
 * A walk trusts these facts with every root of all callers, and the reader of them is stackpack's
 * own (elf/eh_frame.h). libdw has another one. It answers with DWARF expressions: `bregx R, N`
 * where the CFA is a register and an offset; `call_frame_cfa, plus_uconst N` for a register that is
 * saved at an offset from the CFA; no expression for one that still has its value, or has lost it.
 */
#include "tool/check/compare_frames.h"

#include "elf/evidence.h"
#include "format/frames.h"
#include "format/search.h"

#include <assert.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <time.h>

/* Libdw's answer for the addresses [start, end). */
struct answer {
  Dwarf_Addr start, end;
  bool is_known;
  struct frame_facts facts;
  uint32_t same; /* registers that still have their values */
};

static void read_cfa(Dwarf_Frame *frame, struct frame_facts *facts) {
  Dwarf_Op *ops;
  size_t count;
  facts->cfa_register = FRAME_NO_REGISTER;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count != 1 || ops->atom != DW_OP_bregx ||
      ops->number >= FRAME_REGISTERS || (int64_t)ops->number2 != (int32_t)ops->number2)
    return;
  facts->cfa_register = (uint8_t)ops->number;
  facts->cfa_offset = (int32_t)ops->number2;
}

static void read_register(Dwarf_Frame *frame, unsigned reg, struct answer *answer) {
  Dwarf_Op memory[3], *ops = NULL;
  size_t count = 0;
  const uint32_t bit = (uint32_t)1 << reg;
  if (dwarf_frame_register(frame, (int)reg, memory, &ops, &count) != 0)
    return;
  if (count == 0 && ops == NULL) {
    answer->same |= bit;
  } else if (count > 0 && count <= 2 && ops[0].atom == DW_OP_call_frame_cfa &&
             (count == 1 || ops[1].atom == DW_OP_plus_uconst)) {
    answer->facts.saved |= bit;
    answer->facts.offsets[reg] = count == 1 ? 0 : (int32_t)ops[1].number;
  }
}

static void ask(Dwarf_CFI *tables, Dwarf_Addr address, struct answer *answer) {
  Dwarf_Frame *frame = NULL;
  *answer = (struct answer){.start = address, .end = address + 1};
  if (dwarf_cfi_addrframe(tables, address, &frame) != 0)
    return;
  const int reg = dwarf_frame_info(frame, &answer->start, &answer->end, NULL);
  answer->is_known = reg >= 0;
  answer->facts.return_register = (uint8_t)reg;
  read_cfa(frame, &answer->facts);
  for (unsigned i = 0; i < FRAME_REGISTERS; i++)
    read_register(frame, i, answer);
  free(frame);
}

/* The first difference, by its name; NULL: there is none. For a register without a rule, libdw
 * answers by the machine's calling convention: it has its value, or is lost. Libdw has no answer
 * for some addresses: it searches by .eh_frame_hdr, and linkers may sort that in another order. On
 * a machine that saves more registers than unwind tables describe, a register that has its value
 * may be saved, too. */
static const char *first_difference(const struct frame_facts *facts, const struct answer *answer,
                                    bool saves_more) {
  if (!answer->is_known)
    return NULL;
  if (facts == NULL)
    return "whether the frame is known";
  if (facts->return_register != answer->facts.return_register)
    return "the return address's register";
  if (facts->cfa_register != answer->facts.cfa_register ||
      facts->cfa_offset != answer->facts.cfa_offset)
    return "the canonical frame address";
  const uint32_t saved_too = saves_more ? answer->same : 0;
  if ((answer->facts.saved & ~facts->saved) != 0 ||
      (facts->saved & ~(answer->facts.saved | saved_too)) != 0 || (facts->lost & answer->same) != 0)
    return "the saved registers";
  for (unsigned i = 0; i < FRAME_REGISTERS; i++)
    if ((answer->facts.saved >> i & 1) != 0 && facts->offsets[i] != answer->facts.offsets[i])
      return "where a register is saved";
  return NULL;
}

/* Goes through functions and addresses in their order. */
struct overlaps {
  const struct code_ranges *functions;
  size_t next;
  uint64_t last_end, end_before; /* the two highest ones of the functions that start so far */
};

/* Whether more than one entry of the unwind table has an address: libdw's choice is arbitrary. */
static bool is_in_several(struct overlaps *overlaps, uint64_t address) {
  const struct code_ranges *functions = overlaps->functions;
  for (; overlaps->next < functions->count && functions->items[overlaps->next].start <= address;
       overlaps->next++) {
    const uint64_t end = functions->items[overlaps->next].end;
    const bool is_last = end > overlaps->last_end;
    const uint64_t other = is_last ? overlaps->last_end : end;
    overlaps->end_before = other > overlaps->end_before ? other : overlaps->end_before;
    overlaps->last_end = is_last ? end : overlaps->last_end;
  }
  return overlaps->end_before > address;
}

/* For each address libdw runs a function's instructions from the first one on: for a large function
 * of 100,000 calls that is 10 seconds. Hostile instructions, such as of register number 60 million,
 * might keep it busy for days. */
static clock_t end_of_time(const struct image *image) {
  enum { SECONDS = 4, BYTES_A_SECOND = 1 << 20 };
  return clock() + (clock_t)(SECONDS + image->size / BYTES_A_SECOND) * CLOCKS_PER_SEC;
}

/* Where libdw has too little memory, its answer is that of a broken table. */
static bool find_answer(Dwarf_CFI *tables, Dwarf_Addr address, clock_t end, struct answer *answer,
                        struct problem *problem) {
  if (address >= answer->start && address < answer->end)
    return true;
  if (clock() > end)
    return problem_set(problem, "unwind tables that take libdw too long, at 0x%" PRIx64, address);
  errno = 0;
  ask(tables, address, answer);
  return errno != ENOMEM || problem_set(problem, "not enough memory");
}

static bool compare_all(const struct image *image, const struct safepoints *table,
                        const struct code *code, Dwarf_CFI *tables, struct differences *differences,
                        struct problem *problem) {
  const clock_t end = end_of_time(image);
  const bool saves_more = code->machine != NULL && code->machine->save_more != NULL;
  struct answer answer = {0};
  struct overlaps overlaps = {.functions = &code->unwound};
  assert(IS_SORTED(code->unwound.items, code->unwound.count, start));
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const Dwarf_Addr address = safepoints_instruction(table, record);
    struct frame_facts facts;
    if (!find_answer(tables, address, end, &answer, problem))
      return false;
    const uint64_t size = table->functions[record->function].frame_size;
    if (record->frame == 0 && (!frames_has_room(&table->frame_machine, size, &answer.facts) ||
                               is_in_several(&overlaps, address)))
      continue; /* no packed table has room for it; or the unwind table contradicts itself */
    if (record->frame != 0)
      facts = frame_facts_get(&table->frames, record->frame);
    const char *difference =
        first_difference(record->frame != 0 ? &facts : NULL, &answer, saves_more);
    if (difference != NULL)
      differences_add(differences, "at 0x%" PRIx64 ", libdw differs in %s", record->address,
                      difference);
  }
  return true;
}

bool compare_frames(const struct image *image, const struct safepoints *table,
                    struct differences *differences, struct problem *problem) {
  Dwarf_CFI *tables = dwarf_getcfi_elf(image->elf);
  struct evidence evidence;
  (void)evidence_find(&evidence, &image->elf_image); /* only fails if memory runs out */
  const bool ok =
      tables == NULL || compare_all(image, table, &evidence.code, tables, differences, problem);
  evidence_free(&evidence);
  if (tables != NULL)
    dwarf_cfi_end(tables);
  return ok;
}
