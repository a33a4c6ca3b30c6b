/* eh_frame.c - reads the function ranges of .eh_frame: see eh_frame.h. */
#include "eh_frame.h"

#include "bits.h"

#include <stdlib.h>

/* DW_EH_PE_*: how an address is encoded. (LSB, "DWARF Exception Header Encoding") */
enum {
  FORMAT_ABSOLUTE = 0x00,
  FORMAT_UDATA2 = 0x02,
  FORMAT_UDATA4 = 0x03,
  FORMAT_UDATA8 = 0x04,
  FORMAT_SDATA2 = 0x0a,
  FORMAT_SDATA4 = 0x0b,
  FORMAT_SDATA8 = 0x0c,
  FORMAT_MASK = 0x0f,
  RELATIVE_TO_PLACE = 0x10,
  RELATIVE_MASK = 0x70,
  INDIRECT = 0x80,
};

void code_ranges_free(struct code_ranges *ranges) {
  free(ranges->items);
  *ranges = (struct code_ranges){0};
}

bool code_ranges_add(struct code_ranges *ranges, uint64_t start, uint64_t end) {
  if (end <= start)
    return true;
  if (ranges->count == ranges->capacity) {
    const size_t capacity = ranges->capacity * 2 + 64;
    struct code_range *items = realloc(ranges->items, capacity * sizeof *items);
    if (items == NULL)
      return false;
    ranges->items = items;
    ranges->capacity = capacity;
  }
  ranges->items[ranges->count++] = (struct code_range){start, end};
  return true;
}

static int compare_ranges(const void *a, const void *b) {
  const struct code_range *x = a, *y = b;
  if (x->start != y->start)
    return x->start < y->start ? -1 : 1;
  return x->end < y->end ? -1 : x->end > y->end;
}

void code_ranges_sort(struct code_ranges *ranges) {
  if (ranges->count > 0)
    qsort(ranges->items, ranges->count, sizeof *ranges->items, compare_ranges);
}

/* Bytes of one entry, and where they are in the section. */
struct cursor {
  const uint8_t *bytes; /* of the section */
  size_t position, end;
  uint64_t address; /* of the section */
  bool bad;
};

static uint64_t take(struct cursor *cursor, unsigned size) {
  if (size > cursor->end - cursor->position) {
    cursor->bad = true;
    cursor->position = cursor->end;
    return 0;
  }
  uint64_t value = 0;
  memcpy(&value, cursor->bytes + cursor->position, size);
  cursor->position += size;
  return value;
}

static void skip_leb128(struct cursor *cursor) {
  while (!cursor->bad && (take(cursor, 1) & 0x80) != 0)
    ;
}

static uint64_t take_encoded(struct cursor *cursor, unsigned format) {
  switch (format & FORMAT_MASK) {
  case FORMAT_ABSOLUTE:
  case FORMAT_UDATA8:
  case FORMAT_SDATA8:
    return take(cursor, 8);
  case FORMAT_UDATA4:
    return take(cursor, 4);
  case FORMAT_SDATA4:
    return (uint64_t)(int64_t)(int32_t)take(cursor, 4);
  case FORMAT_UDATA2:
    return take(cursor, 2);
  case FORMAT_SDATA2:
    return (uint64_t)(int64_t)(int16_t)take(cursor, 2);
  default:
    cursor->bad = true;
    return 0;
  }
}

/* Goes to a CIE's augmentation data: past its version, its augmentation string (which is left in
 * *letters) and alignments. False if there are no data, or can't be read. */
static bool cie_data(struct cursor *cie, const uint8_t **letters) {
  const uint64_t version = take(cie, 1);
  const size_t augmentation = cie->position;
  while (!cie->bad && take(cie, 1) != 0)
    ;
  skip_leb128(cie); /* code alignment */
  skip_leb128(cie); /* data alignment */
  if (version == 1)
    take(cie, 1); /* return address register */
  else
    skip_leb128(cie);
  *letters = cie->bytes + augmentation;
  if (cie->bad || **letters != 'z')
    return false;
  skip_leb128(cie); /* augmentation size */
  return true;
}

/* What a CIE says of its FDEs' addresses, and which personality routine it names. */
struct cie_facts {
  unsigned encoding;
  uint64_t personality; /* 0: none, or it isn't known */
};

static bool cie_facts(struct cursor cie, struct cie_facts *facts) {
  const uint8_t *letters = NULL;
  bool is_known = false; /* facts->encoding, which is all that most want */
  *facts = (struct cie_facts){.encoding = FORMAT_ABSOLUTE};
  if (!cie_data(&cie, &letters))
    return !cie.bad && *letters == 0;
  for (const uint8_t *letter = letters + 1; *letter != 0; letter++) {
    if (*letter == 'R') {
      facts->encoding = (unsigned)take(&cie, 1);
      is_known = !cie.bad;
    } else if (*letter == 'L') {
      take(&cie, 1); /* encoding of language-specific data */
    } else if (*letter == 'P') {
      const unsigned encoding = (unsigned)take(&cie, 1);
      const uint64_t place = cie.address + cie.position;
      const uint64_t value = take_encoded(&cie, encoding);
      const bool is_relative = (encoding & RELATIVE_MASK) == RELATIVE_TO_PLACE;
      if (!cie.bad && (encoding & INDIRECT) == 0 &&
          (is_relative || (encoding & RELATIVE_MASK) == 0))
        facts->personality = is_relative ? value + place : value;
    } else if (*letter != 'S' && *letter != 'B' && *letter != 'G') {
      return is_known;
    }
  }
  return is_known || !cie.bad;
}

/* Takes the head of the entry at a position: its bytes behind the length. False at the section's
 * end. */
static bool take_entry(struct cursor *section, struct cursor *entry) {
  uint64_t length = take(section, 4);
  if (length == UINT32_MAX)
    length = take(section, 8);
  if (section->bad || length == 0 || length > section->end - section->position)
    return false;
  *entry = *section;
  entry->end = section->position + (size_t)length;
  section->position = entry->end;
  return true;
}

/* The CIE that was read last: the FDEs behind it refer to it. */
struct last_cie {
  size_t position; /* SIZE_MAX: none yet */
  unsigned encoding;
  bool is_good;
};

static void read_cie(struct last_cie *cie, const struct cursor *fde, size_t position,
                     size_t section_size) {
  struct cursor section = {fde->bytes, position, section_size, fde->address, false};
  struct cursor entry;
  cie->position = position;
  struct cie_facts facts = {0};
  cie->is_good = take_entry(&section, &entry) && take(&entry, 4) == 0 && cie_facts(entry, &facts);
  cie->encoding = facts.encoding;
}

/* Adds what an FDE says, behind its reference to a CIE. */
static bool add_fde(struct code_ranges *ranges, struct cursor *fde, const struct last_cie *cie) {
  const unsigned encoding = cie->encoding;
  if (!cie->is_good)
    return true;
  const uint64_t place = fde->address + fde->position;
  uint64_t start = take_encoded(fde, encoding);
  const uint64_t length = take_encoded(fde, encoding & FORMAT_MASK);
  if ((encoding & RELATIVE_MASK) == RELATIVE_TO_PLACE)
    start += place;
  else if ((encoding & RELATIVE_MASK) != 0)
    return true;
  if (fde->bad || (encoding & INDIRECT) != 0)
    return true;
  return code_ranges_add(ranges, start, start + length);
}

bool eh_frame_add(struct code_ranges *ranges, const uint8_t *bytes, size_t size, uint64_t address) {
  struct cursor section = {bytes, 0, size, address, false};
  struct last_cie cie = {.position = SIZE_MAX};
  struct cursor entry;
  while (take_entry(&section, &entry)) {
    const size_t place = entry.position;
    const uint64_t id = take(&entry, 4);
    if (entry.bad || id == 0 || id > place)
      continue;
    if (cie.position != place - (size_t)id)
      read_cie(&cie, &entry, place - (size_t)id, size);
    if (!add_fde(ranges, &entry, &cie))
      return false;
  }
  return true;
}

bool eh_frame_add_personalities(struct code_ranges *ranges, const uint8_t *bytes, size_t size,
                                uint64_t address) {
  struct cursor section = {bytes, 0, size, address, false};
  struct cursor entry;
  struct cie_facts facts;
  while (take_entry(&section, &entry))
    if (take(&entry, 4) == 0 && !entry.bad && cie_facts(entry, &facts) && facts.personality != 0 &&
        !code_ranges_add(ranges, facts.personality, facts.personality + 1))
      return false;
  return true;
}
