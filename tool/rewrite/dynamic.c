/* dynamic.c - brings the dynamic section up to date: sizes of the relocation tables, addresses of
 * tables that have moved, and DT_TEXTREL, the mark of relocations in read-only segments. LLVM emits
 * its stack maps read-only, so in a position-independent file they often are the only reason for
 * it.
 */
#include "tool/rewrite/plan.h"

#include <string.h>

bool plan_dynamic(const struct image *image, Elf64_Sxword tag, uint64_t *value) {
  return elf_image_dynamic(&image->elf_image, tag, value) == 1;
}

/* Whether an entry holds the address of a table that may have moved. */
static bool is_address(Elf64_Sxword tag) {
  switch (tag) {
  case DT_HASH:
  case DT_GNU_HASH:
  case DT_STRTAB:
  case DT_SYMTAB:
  case DT_VERSYM:
  case DT_VERNEED:
  case DT_VERDEF:
    return true;
  }
  return false;
}

static uint64_t moved_address(const struct plan *plan, uint64_t address) {
  const struct plan_move *move = plan_move_of(plan, address - plan->first->p_vaddr, 1);
  return move == NULL ? address : address - move->old_address + move->new_address;
}

/* Changes one entry. False: it is to be left out. */
static bool update(const struct plan *plan, Elf64_Dyn *entry) {
  const struct plan_relocations *relocations = &plan->relocations;
  const bool clear_text =
      !relocations->text_remains && (relocations->rela != NULL || relocations->relr != NULL);
  switch (entry->d_tag) {
  case DT_RELA:
    if (relocations->rela_shrinks)
      entry->d_un.d_ptr += relocations->rela_removed;
    return true;
  case DT_RELASZ:
    if (relocations->rela_shrinks)
      entry->d_un.d_val -= relocations->rela_removed;
    return true;
  case DT_RELACOUNT: /* 0 only makes ld.so look at each one's type */
    if (relocations->rela != NULL && !relocations->rela_shrinks)
      entry->d_un.d_val = 0;
    entry->d_un.d_val -= relocations->relative_removed < entry->d_un.d_val
                             ? relocations->relative_removed
                             : entry->d_un.d_val;
    return true;
  case DT_RELRSZ:
    if (relocations->relr != NULL)
      entry->d_un.d_val = relocations->relr_size;
    return true;
  case DT_TEXTREL:
    return !clear_text;
  case DT_FLAGS:
    if (clear_text)
      entry->d_un.d_val &= ~(uint64_t)DF_TEXTREL;
    return true;
  }
  if (is_address(entry->d_tag))
    entry->d_un.d_ptr = moved_address(plan, entry->d_un.d_ptr);
  return true;
}

/* ld.so finds the section by its address, and its end by DT_NULL; so do we. */
void write_dynamic(const struct plan *plan, uint8_t *bytes) {
  EACH_SEGMENT(plan->image, segment) {
    uint64_t size;
    const uint8_t *old = segment->p_type == PT_DYNAMIC
                             ? elf_image_at(&plan->image->elf_image, segment->p_vaddr, &size)
                             : NULL;
    if (old == NULL)
      continue;
    uint8_t *start = bytes + plan_new_offset(plan, (uint64_t)(old - plan->image->bytes));
    Elf64_Dyn entry;
    uint64_t kept = 0, at = 0;
    for (; at + sizeof entry <= size; at += sizeof entry) {
      memcpy(&entry, start + at, sizeof entry);
      if (entry.d_tag == DT_NULL)
        break;
      if (!update(plan, &entry))
        continue;
      memcpy(start + kept, &entry, sizeof entry);
      kept += sizeof entry;
    }
    memset(start + kept, 0, at - kept); /* DT_NULL is all zeros */
  }
}
