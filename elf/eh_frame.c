/* eh_frame.c - reads the entries of .eh_frame, and their functions: see eh_frame_entries.h and
 * eh_frame.h.
 */
#include "elf/eh_frame.h"

#include "elf/eh_frame_entries.h"

/* Whether a CIE is of a known version, and for addresses of 8 bytes. (DWARF 2, 3, 4 and 5, "Call
 * Frame Information": .eh_frame has 1, 3 or 4) */
static bool is_usable(struct cursor *cie, uint64_t version) {
  if (version != 4)
    return version == 1 || version == 3;
  const uint64_t address_size = cursor_take(cie, 1), segment_size = cursor_take(cie, 1);
  return address_size == sizeof(uint64_t) && segment_size == 0;
}

/* Goes to a CIE's augmentation data: past its version, its augmentation string (left in *letters)
 * and alignments. False if the data are missing or unreadable. FDEs may refer to two CIEs in turn,
 * and have these read each time: so a CIE with a long string is bad. */
static bool cie_data(struct cursor *cie, const uint8_t **letters, struct cie_facts *facts) {
  enum { LETTERS_MAX = 32 };
  const uint64_t version = cursor_take(cie, 1);
  const size_t augmentation = cie->position;
  unsigned letters_left = LETTERS_MAX;
  while (!cie->bad && cursor_take(cie, 1) != 0)
    cie->bad = --letters_left == 0;
  cie->bad |= !is_usable(cie, version);
  facts->code_alignment = cursor_take_leb128(cie, false);
  facts->data_alignment = cursor_take_leb128(cie, true);
  facts->return_register = version == 1 ? cursor_take(cie, 1) : cursor_take_leb128(cie, false);
  *letters = cie->bytes + augmentation;
  facts->instructions = *cie;
  if (cie->bad || **letters != 'z')
    return false;
  facts->has_augmentation = true;
  const uint64_t size = cursor_take_leb128(cie, false);
  facts->instructions = *cie;
  cursor_skip(&facts->instructions, size);
  return true;
}

static bool cie_facts(struct cursor cie, struct cie_facts *facts) {
  const uint8_t *letters = NULL;
  bool is_known = false; /* facts->encoding, enough for most callers */
  *facts = (struct cie_facts){.encoding = FORMAT_ABSOLUTE, .data_encoding = OMITTED};
  if (!cie_data(&cie, &letters, facts))
    return !cie.bad && *letters == 0;
  for (const uint8_t *letter = letters + 1; *letter != 0; letter++) {
    if (*letter == 'R') {
      facts->encoding = (unsigned)cursor_take(&cie, 1);
      is_known = !cie.bad;
    } else if (*letter == 'L') {
      facts->data_encoding = (unsigned)cursor_take(&cie, 1);
    } else if (*letter == 'P') {
      uint64_t base, value;
      if (cursor_take_relative(&cie, (unsigned)cursor_take(&cie, 1), &base, &value))
        facts->personality = base + value;
    } else if (*letter != 'S' && *letter != 'B' && *letter != 'G') {
      return is_known;
    }
  }
  return is_known || !cie.bad;
}

/* Takes the length of an entry; 0 of a terminator, and at the section's end. */
static uint64_t take_length(struct cursor *section) {
  const uint64_t length = cursor_take(section, 4);
  return length == UINT32_MAX ? cursor_take(section, 8) : length;
}

size_t eh_frame_size(const uint8_t *bytes, size_t size) {
  struct cursor section = cursor_open(bytes, size, 0);
  for (;;) {
    const size_t start = section.position;
    const uint64_t length = take_length(&section);
    cursor_skip(&section, length);
    if (length == 0 || section.bad)
      return start;
  }
}

/* Takes the next entry: its bytes after the length. False at the section's end. */
static bool take_entry(struct cursor *section, struct cursor *entry) {
  uint64_t length;
  do
    length = take_length(section);
  while (length == 0 && section->position < section->end);
  if (section->bad || length == 0 || length > section->end - section->position)
    return false;
  *entry = *section;
  entry->end = section->position + (size_t)length;
  section->position = entry->end;
  return true;
}

static void read_cie(struct last_cie *cie, const struct cursor *fde, size_t position,
                     size_t section_size) {
  struct cursor section = {fde->bytes, position, section_size, fde->address, false};
  struct cursor entry;
  cie->position = position;
  cie->facts = (struct cie_facts){0};
  cie->is_good =
      take_entry(&section, &entry) && cursor_take(&entry, 4) == 0 && cie_facts(entry, &cie->facts);
}

/* Takes an FDE's addresses. False if they are unreadable. */
static bool fde_range(struct cursor *fde, unsigned encoding, struct code_range *range) {
  uint64_t base, start;
  const bool is_start = cursor_take_relative(fde, encoding, &base, &start);
  range->start = base + start;
  range->end = range->start + cursor_take_encoded(fde, encoding & FORMAT_MASK);
  return is_start && !fde->bad;
}

/* Reads the FDE that take_entry has found. False for another entry than a readable one. */
static bool read_fde(struct eh_frame_entry *entry) {
  struct last_cie *cie = &entry->cie;
  struct cursor *fde = &entry->fde;
  const size_t place = fde->position;
  const uint64_t id = cursor_take(fde, 4);
  if (fde->bad || id == 0 || id > place)
    return false;
  if (cie->position != place - (size_t)id)
    read_cie(cie, fde, place - (size_t)id, entry->section.end);
  return cie->is_good && fde_range(fde, cie->facts.encoding, &entry->function);
}

bool eh_frame_take(struct eh_frame_entry *entry) {
  return take_entry(&entry->section, &entry->fde) && read_fde(entry);
}

bool eh_frame_next(struct eh_frame_entry *entry) {
  while (take_entry(&entry->section, &entry->fde))
    if (read_fde(entry))
      return true;
  return false;
}

bool eh_frame_add(struct code_ranges *ranges, const struct section_bytes *frames) {
  struct eh_frame_entry entry = eh_frame_open(frames->bytes, frames->size, frames->address);
  while (eh_frame_next(&entry))
    if (!code_ranges_add(ranges, entry.function.start, entry.function.end))
      return false;
  code_ranges_sort(ranges);
  return true;
}

bool eh_frame_add_personalities(struct code_ranges *ranges, const struct section_bytes *frames) {
  struct cursor section = cursor_open(frames->bytes, frames->size, frames->address);
  struct cursor entry;
  struct cie_facts facts;
  while (take_entry(&section, &entry))
    if (cursor_take(&entry, 4) == 0 && !entry.bad && cie_facts(entry, &facts) &&
        facts.personality != 0 &&
        !code_ranges_add(ranges, facts.personality, facts.personality + 1))
      return false;
  return true;
}
