/* eh_frame.c - reads the functions and frames of .eh_frame: see eh_frame.h. */
#include "elf/eh_frame.h"

#include "format/bits.h"
#include "format/search.h"

/* DW_EH_PE_*: how an address is encoded. (LSB, "DWARF Exception Header Encoding") */
enum {
  FORMAT_ABSOLUTE = 0x00,
  FORMAT_ULEB128 = 0x01,
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
  OMITTED = 0xff,
};

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

/* A number; its bits beyond 64 are lost, as are a hostile file's alone. */
static uint64_t take_leb128(struct cursor *cursor, bool is_signed) {
  uint64_t value = 0, byte;
  unsigned shift = 0;
  do {
    byte = take(cursor, 1);
    if (shift < 64) {
      value |= (byte & 0x7f) << shift;
      shift += 7;
    }
  } while ((byte & 0x80) != 0);
  if (is_signed && (byte & 0x40) != 0 && shift < 64)
    value |= UINT64_MAX << shift;
  return value;
}

static void skip(struct cursor *cursor, uint64_t size) {
  if (size > cursor->end - cursor->position) {
    cursor->bad = true;
    size = cursor->end - cursor->position;
  }
  cursor->position += (size_t)size;
}

static uint64_t take_encoded(struct cursor *cursor, unsigned format) {
  switch (format & FORMAT_MASK) {
  case FORMAT_ABSOLUTE:
  case FORMAT_UDATA8:
  case FORMAT_SDATA8:
    return take(cursor, 8);
  case FORMAT_ULEB128:
    return take_leb128(cursor, false);
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

/* What a CIE says of its FDEs' addresses and instructions, and which personality routine it names. */
struct cie_facts {
  unsigned encoding, data_encoding; /* data: language-specific ones, named by FDEs */
  uint64_t personality;             /* 0: none, or it isn't known */
  uint64_t code_alignment, data_alignment;
  uint64_t return_register; /* its rule is that of the return address */
  bool has_augmentation;    /* in FDEs, too */
  struct cursor instructions;
};

/* Whether a CIE is of a version that is known, and for addresses of 8 bytes. (DWARF 2, 3, 4 and 5, "Call Frame
 * Information": .eh_frame has 1, 3 or 4) */
static bool is_usable(struct cursor *cie, uint64_t version) {
  if (version != 4)
    return version == 1 || version == 3;
  const uint64_t address_size = take(cie, 1), segment_size = take(cie, 1);
  return address_size == sizeof(uint64_t) && segment_size == 0;
}

/* Goes to a CIE's augmentation data: past its version, its augmentation string (which is left in
 * *letters) and alignments. False if there are no data, or can't be read. */
static bool cie_data(struct cursor *cie, const uint8_t **letters, struct cie_facts *facts) {
  const uint64_t version = take(cie, 1);
  const size_t augmentation = cie->position;
  while (!cie->bad && take(cie, 1) != 0)
    ;
  cie->bad |= !is_usable(cie, version);
  facts->code_alignment = take_leb128(cie, false);
  facts->data_alignment = take_leb128(cie, true);
  facts->return_register = version == 1 ? take(cie, 1) : take_leb128(cie, false);
  *letters = cie->bytes + augmentation;
  facts->instructions = *cie;
  if (cie->bad || **letters != 'z')
    return false;
  facts->has_augmentation = true;
  const uint64_t size = take_leb128(cie, false);
  facts->instructions = *cie;
  skip(&facts->instructions, size);
  return true;
}

static bool cie_facts(struct cursor cie, struct cie_facts *facts) {
  const uint8_t *letters = NULL;
  bool is_known = false; /* facts->encoding, which is all that most want */
  *facts = (struct cie_facts){.encoding = FORMAT_ABSOLUTE, .data_encoding = OMITTED};
  if (!cie_data(&cie, &letters, facts))
    return !cie.bad && *letters == 0;
  for (const uint8_t *letter = letters + 1; *letter != 0; letter++) {
    if (*letter == 'R') {
      facts->encoding = (unsigned)take(&cie, 1);
      is_known = !cie.bad;
    } else if (*letter == 'L') {
      facts->data_encoding = (unsigned)take(&cie, 1);
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

/* Takes the length of an entry; 0 of a terminator, and at the section's end. */
static uint64_t take_length(struct cursor *section) {
  const uint64_t length = take(section, 4);
  return length == UINT32_MAX ? take(section, 8) : length;
}

size_t eh_frame_size(const uint8_t *bytes, size_t size) {
  struct cursor section = {bytes, 0, size, 0, false};
  for (;;) {
    const size_t start = section.position;
    const uint64_t length = take_length(&section);
    skip(&section, length);
    if (length == 0 || section.bad)
      return start;
  }
}

/* Takes the head of the next entry: its bytes behind the length. False at the section's end. */
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

/* The CIE that was read last: the FDEs behind it refer to it. */
struct last_cie {
  size_t position; /* SIZE_MAX: none yet */
  struct cie_facts facts;
  bool is_good;
};

static void read_cie(struct last_cie *cie, const struct cursor *fde, size_t position,
                     size_t section_size) {
  struct cursor section = {fde->bytes, position, section_size, fde->address, false};
  struct cursor entry;
  cie->position = position;
  cie->facts = (struct cie_facts){0};
  cie->is_good =
      take_entry(&section, &entry) && take(&entry, 4) == 0 && cie_facts(entry, &cie->facts);
}

/* Takes an FDE's addresses. False if they can't be read. */
static bool fde_range(struct cursor *fde, unsigned encoding, struct code_range *range) {
  const uint64_t place = fde->address + fde->position;
  const uint64_t start = take_encoded(fde, encoding);
  const uint64_t length = take_encoded(fde, encoding & FORMAT_MASK);
  const unsigned relative = encoding & RELATIVE_MASK;
  if (fde->bad || (encoding & INDIRECT) != 0 || (relative != 0 && relative != RELATIVE_TO_PLACE))
    return false;
  range->start = relative == RELATIVE_TO_PLACE ? start + place : start;
  range->end = range->start + length;
  return true;
}

/* Goes to the next FDE whose CIE and addresses can be read, and behind these. False at the section's
 * end. */
static bool next_fde(struct cursor *section, struct last_cie *cie, struct cursor *fde,
                     struct code_range *range) {
  while (take_entry(section, fde)) {
    const size_t place = fde->position;
    const uint64_t id = take(fde, 4);
    if (fde->bad || id == 0 || id > place)
      continue;
    if (cie->position != place - (size_t)id)
      read_cie(cie, fde, place - (size_t)id, section->end);
    if (cie->is_good && fde_range(fde, cie->facts.encoding, range))
      return true;
  }
  return false;
}

bool eh_frame_add(struct code_ranges *ranges, const uint8_t *bytes, size_t size, uint64_t address) {
  struct cursor section = {bytes, 0, size, address, false};
  struct last_cie cie = {.position = SIZE_MAX};
  struct cursor fde;
  struct code_range range;
  while (next_fde(&section, &cie, &fde, &range))
    if (!code_ranges_add(ranges, range.start, range.end))
      return false;
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

/* ---- Landing pads ---- */

/* The address of an FDE's language-specific data; 0 if it has none, UINT64_MAX if it can't be read. */
static uint64_t fde_data(struct cursor fde, const struct cie_facts *facts) {
  if (!facts->has_augmentation || facts->data_encoding == OMITTED)
    return 0;
  (void)take_leb128(&fde, false);
  const uint64_t place = fde.address + fde.position;
  const uint64_t value = take_encoded(&fde, facts->data_encoding);
  const unsigned relative = facts->data_encoding & RELATIVE_MASK;
  if (fde.bad || (facts->data_encoding & INDIRECT) != 0 ||
      (relative != 0 && relative != RELATIVE_TO_PLACE))
    return UINT64_MAX;
  return value == 0 || relative == 0 ? value : value + place;
}

/* Reads the call sites of a function at `table`: where each is, how long, and its landing pad; then
 * an action. (Itanium C++ ABI, Exception Handling Tables; GCC's unwind-c.c reads the same) */
static bool read_call_sites(struct cursor table, struct code_range function, landing_visitor *visit,
                            void *context) {
  uint64_t base = function.start;
  const unsigned base_encoding = (unsigned)take(&table, 1);
  if (base_encoding != OMITTED) {
    const uint64_t place = table.address + table.position;
    base = take_encoded(&table, base_encoding);
    if ((base_encoding & RELATIVE_MASK) == RELATIVE_TO_PLACE)
      base += place;
    else if ((base_encoding & (RELATIVE_MASK | INDIRECT)) != 0)
      return false;
  }
  if (take(&table, 1) != OMITTED) /* types */
    (void)take_leb128(&table, false);
  const unsigned encoding = (unsigned)take(&table, 1);
  const uint64_t size = take_leb128(&table, false);
  if (table.bad || size > table.end - table.position || (encoding & ~(unsigned)FORMAT_MASK) != 0)
    return false;
  table.end = table.position + (size_t)size;
  while (table.position < table.end) {
    const uint64_t start = take_encoded(&table, encoding), length = take_encoded(&table, encoding);
    const uint64_t landing = take_encoded(&table, encoding);
    (void)take_leb128(&table, false);
    if (table.bad)
      return false;
    if (landing != 0)
      visit(context, function,
            (struct code_range){function.start + start, function.start + start + length},
            base + landing);
  }
  return true;
}

void eh_frame_landings(const struct section_bytes *frames, const struct section_bytes *tables,
                       landing_visitor *visit, void *context) {
  struct cursor section = {frames->bytes, 0, frames->size, frames->address, false};
  struct last_cie cie = {.position = SIZE_MAX};
  struct cursor fde;
  struct code_range range;
  while (next_fde(&section, &cie, &fde, &range)) {
    const uint64_t data = fde_data(fde, &cie.facts);
    const uint64_t into = data - tables->address;
    const struct cursor table = {tables->bytes, (size_t)into, tables->size, tables->address, false};
    if (data != 0 && (into >= tables->size || !read_call_sites(table, range, visit, context)))
      visit(context, range, range, LANDING_UNKNOWN);
  }
}

/* ---- Facts of frames ---- */

/* DW_CFA_*: the instructions. The first three have their first operand in the low bits. (DWARF 5,
 * 7.24; LSB, "DWARF Extensions", for the last two; "DWARF for the
 * Arm 64-bit Architecture", 4.2) */
enum {
  CFA_ADVANCE_LOC = 0x40,
  CFA_OFFSET = 0x80,
  CFA_RESTORE = 0xc0,
  CFA_NOP = 0x00,
  CFA_SET_LOC = 0x01,
  CFA_ADVANCE_LOC1 = 0x02,
  CFA_ADVANCE_LOC2 = 0x03,
  CFA_ADVANCE_LOC4 = 0x04,
  CFA_OFFSET_EXTENDED = 0x05,
  CFA_RESTORE_EXTENDED = 0x06,
  CFA_UNDEFINED = 0x07,
  CFA_SAME_VALUE = 0x08,
  CFA_REGISTER = 0x09,
  CFA_REMEMBER_STATE = 0x0a,
  CFA_RESTORE_STATE = 0x0b,
  CFA_DEF_CFA = 0x0c,
  CFA_DEF_CFA_REGISTER = 0x0d,
  CFA_DEF_CFA_OFFSET = 0x0e,
  CFA_DEF_CFA_EXPRESSION = 0x0f,
  CFA_EXPRESSION = 0x10,
  CFA_OFFSET_EXTENDED_SF = 0x11,
  CFA_DEF_CFA_SF = 0x12,
  CFA_DEF_CFA_OFFSET_SF = 0x13,
  CFA_VAL_OFFSET = 0x14,
  CFA_VAL_OFFSET_SF = 0x15,
  CFA_VAL_EXPRESSION = 0x16,
  CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
  CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
  CFA_GNU_ARGS_SIZE = 0x2e,
  CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

enum {
  /* More than compilers need. A CIE's instructions run once for each FDE: so without a limit, time
   * wouldn't be in proportion to the section's size. */
  REMEMBERED_MAX = 16,
  CIE_INSTRUCTIONS_MAX = 256,

  NO_RULE = FRAME_NO_REGISTER - 1, /* the CFA has had none yet */
};

/* The number of facts at an address of which FDEs say different things, or one can't be read. */
#define IN_CONFLICT UINT32_MAX

/* The interpreter of the instructions, on its way through a function. */
struct interpreter {
  const struct cie_facts *cie;
  struct frame_facts now, initial, remembered[REMEMBERED_MAX];
  unsigned remembered_count;
  uint64_t place; /* in the code: from here on, `now` holds */
  uint64_t end;   /* of the function */

  /* The addresses from `place` on. */
  struct intern *set;
  uint32_t *numbers;
  const uint64_t *addresses;
  size_t next, count;
  size_t again; /* how often an address was found to have facts of another FDE */
  bool no_memory;
};

/* The next address has these facts. */
static void note(struct interpreter *interpreter, uint32_t number) {
  uint32_t *known = &interpreter->numbers[interpreter->next++];
  if (*known != 0)
    interpreter->again++;
  *known = *known == 0 || *known == number ? number : IN_CONFLICT;
}

/* Goes on to a place: the addresses up to it have the present facts. False if the place isn't ahead, or the
 * CFA has had no rule yet. */
static bool go_to(struct interpreter *interpreter, uint64_t place) {
  uint64_t words[FRAME_WORDS_MAX];
  uint32_t number = 0;
  if (place < interpreter->place || interpreter->now.cfa_register == NO_RULE)
    return false;
  const uint64_t end = place < interpreter->end ? place : interpreter->end;
  while (interpreter->next < interpreter->count &&
         interpreter->addresses[interpreter->next] < end) {
    if (number == 0)
      number = 1 + intern_add(interpreter->set, words, frame_words(&interpreter->now, words));
    if (number == 0) {
      interpreter->no_memory = true;
      return false;
    }
    note(interpreter, number);
  }
  interpreter->place = place;
  return true;
}

static bool advance(struct interpreter *interpreter, uint64_t delta) {
  uint64_t distance, place;
  return !__builtin_mul_overflow(delta, interpreter->cie->code_alignment, &distance) &&
         !__builtin_add_overflow(interpreter->place, distance, &place) && go_to(interpreter, place);
}

static bool set_location(struct interpreter *interpreter, struct cursor *code) {
  const unsigned encoding = interpreter->cie->encoding;
  const bool is_relative = (encoding & RELATIVE_MASK) == RELATIVE_TO_PLACE;
  const uint64_t place = code->address + code->position;
  const uint64_t value = take_encoded(code, encoding);
  return !code->bad && go_to(interpreter, is_relative ? value + place : value);
}

static bool remember(struct interpreter *interpreter) {
  if (interpreter->remembered_count == REMEMBERED_MAX)
    return false;
  interpreter->remembered[interpreter->remembered_count++] = interpreter->now;
  return true;
}

static bool restore_all(struct interpreter *interpreter) {
  if (interpreter->remembered_count == 0)
    return false;
  interpreter->now = interpreter->remembered[--interpreter->remembered_count];
  return true;
}

/* ---- The canonical frame address ---- */

/* What a register or an offset can't be is as if nothing were known of the CFA. */
static void set_cfa(struct frame_facts *facts, uint64_t reg, int64_t offset) {
  const bool is_known = reg < FRAME_REGISTERS && offset == (int32_t)offset;
  facts->cfa_register = is_known ? (uint8_t)reg : FRAME_NO_REGISTER;
  facts->cfa_offset = is_known ? (int32_t)offset : 0;
}

/* The CFA's rule is a whole one, or changes one that is a register and an offset. */
static bool define_cfa(struct interpreter *interpreter, unsigned instruction, struct cursor *code) {
  struct frame_facts *now = &interpreter->now;
  const bool is_factored = instruction == CFA_DEF_CFA_SF || instruction == CFA_DEF_CFA_OFFSET_SF;
  const bool is_whole = instruction == CFA_DEF_CFA || instruction == CFA_DEF_CFA_SF;
  if (!is_whole && now->cfa_register >= FRAME_REGISTERS)
    return false;
  uint64_t reg = now->cfa_register, offset = (uint64_t)(int64_t)now->cfa_offset;
  if (is_whole || instruction == CFA_DEF_CFA_REGISTER)
    reg = take_leb128(code, false);
  if (instruction != CFA_DEF_CFA_REGISTER)
    offset = take_leb128(code, is_factored) * (is_factored ? interpreter->cie->data_alignment : 1);
  set_cfa(now, reg, (int64_t)offset);
  return !code->bad;
}

/* ---- Registers ---- */

static void set_same(struct frame_facts *facts, uint64_t reg) {
  if (reg >= FRAME_REGISTERS)
    return;
  facts->saved &= ~((uint32_t)1 << reg);
  facts->lost &= ~((uint32_t)1 << reg);
  facts->offsets[reg] = 0;
}

static void set_lost(struct frame_facts *facts, uint64_t reg) {
  set_same(facts, reg);
  if (reg < FRAME_REGISTERS)
    facts->lost |= (uint32_t)1 << reg;
}

static void set_saved(struct interpreter *interpreter, uint64_t reg, uint64_t factored_offset) {
  const int64_t offset = (int64_t)(factored_offset * interpreter->cie->data_alignment);
  set_lost(&interpreter->now, reg);
  if (reg >= FRAME_REGISTERS || offset != (int32_t)offset)
    return;
  interpreter->now.lost &= ~((uint32_t)1 << reg);
  interpreter->now.saved |= (uint32_t)1 << reg;
  interpreter->now.offsets[reg] = (int32_t)offset;
}

/* As the CIE's instructions left it. */
static void restore_one(struct interpreter *interpreter, uint64_t reg) {
  if (reg >= FRAME_REGISTERS)
    return;
  const uint32_t bit = (uint32_t)1 << reg;
  set_same(&interpreter->now, reg);
  interpreter->now.saved |= interpreter->initial.saved & bit;
  interpreter->now.lost |= interpreter->initial.lost & bit;
  interpreter->now.offsets[reg] = interpreter->initial.offsets[reg];
}

/* Those that are about one register. False if the instruction isn't known. */
static bool run_register(struct interpreter *interpreter, struct cursor *code,
                         unsigned instruction) {
  const uint64_t reg = take_leb128(code, false);
  switch (instruction) {
  case CFA_SAME_VALUE:
    set_same(&interpreter->now, reg);
    return true;
  case CFA_UNDEFINED:
    set_lost(&interpreter->now, reg);
    return true;
  case CFA_RESTORE_EXTENDED:
    restore_one(interpreter, reg);
    return true;
  case CFA_OFFSET_EXTENDED:
  case CFA_OFFSET_EXTENDED_SF:
    set_saved(interpreter, reg, take_leb128(code, instruction == CFA_OFFSET_EXTENDED_SF));
    return true;
  case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
    set_saved(interpreter, reg, -take_leb128(code, false));
    return true;
  case CFA_REGISTER:
  case CFA_VAL_OFFSET:
  case CFA_VAL_OFFSET_SF:
    (void)take_leb128(code, false);
    set_lost(&interpreter->now, reg);
    return true;
  case CFA_EXPRESSION:
  case CFA_VAL_EXPRESSION:
    skip(code, take_leb128(code, false));
    set_lost(&interpreter->now, reg);
    return true;
  default:
    return false;
  }
}

/* ---- Instructions ---- */

/* Those that have no operand in the instruction's own byte. */
static bool run_extended(struct interpreter *interpreter, struct cursor *code,
                         unsigned instruction) {
  switch (instruction) {
  case CFA_NOP:
    return true;
  case CFA_SET_LOC:
    return set_location(interpreter, code);
  case CFA_ADVANCE_LOC1:
  case CFA_ADVANCE_LOC2:
  case CFA_ADVANCE_LOC4: {
    const uint64_t delta = take(code, 1U << (instruction - CFA_ADVANCE_LOC1));
    return !code->bad && advance(interpreter, delta);
  }
  case CFA_REMEMBER_STATE:
    return remember(interpreter);
  case CFA_RESTORE_STATE:
    return restore_all(interpreter);
  case CFA_DEF_CFA:
  case CFA_DEF_CFA_SF:
  case CFA_DEF_CFA_REGISTER:
  case CFA_DEF_CFA_OFFSET:
  case CFA_DEF_CFA_OFFSET_SF:
    return define_cfa(interpreter, instruction, code);
  case CFA_DEF_CFA_EXPRESSION:
    skip(code, take_leb128(code, false));
    set_cfa(&interpreter->now, FRAME_NO_REGISTER, 0);
    return true;
  case CFA_GNU_ARGS_SIZE:
    (void)take_leb128(code, false);
    return true;
  case CFA_AARCH64_NEGATE_RA_STATE:
  case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
    interpreter->now.is_signed = !interpreter->now.is_signed;
    return true;
  default:
    return run_register(interpreter, code, instruction);
  }
}

/* Runs one instruction. False if it can't be read: then what follows isn't known. */
static bool run_one(struct interpreter *interpreter, struct cursor *code) {
  enum { OPERAND_MASK = 0x3f };
  const unsigned byte = (unsigned)take(code, 1), operand = byte & OPERAND_MASK;
  switch (byte & ~(unsigned)OPERAND_MASK) {
  case CFA_ADVANCE_LOC:
    return advance(interpreter, operand);
  case CFA_OFFSET:
    set_saved(interpreter, operand, take_leb128(code, false));
    return !code->bad;
  case CFA_RESTORE:
    restore_one(interpreter, operand);
    return true;
  default:
    return run_extended(interpreter, code, byte) && !code->bad;
  }
}

static bool run(struct interpreter *interpreter, struct cursor code) {
  while (code.position < code.end)
    if (!run_one(interpreter, &code))
      return false;
  return true;
}

/* A CIE's instructions give the rules that a function starts with. False if something can't be read. */
static bool run_fde(struct interpreter *interpreter, struct cursor fde) {
  const struct cursor start = interpreter->cie->instructions;
  if (interpreter->cie->has_augmentation)
    skip(&fde, take_leb128(&fde, false));
  if (fde.bad || start.bad || start.end - start.position > CIE_INSTRUCTIONS_MAX ||
      interpreter->now.return_register >= FRAME_REGISTERS || !run(interpreter, start))
    return false;
  interpreter->initial = interpreter->now;
  return run(interpreter, fde) && go_to(interpreter, interpreter->end);
}

bool eh_frame_facts(struct intern *set, uint32_t *numbers, const uint64_t *addresses, size_t count,
                    const uint8_t *bytes, size_t size, uint64_t address) {
  struct cursor section = {bytes, 0, size, address, false};
  struct last_cie cie = {.position = SIZE_MAX};
  struct cursor fde;
  struct code_range range;
  size_t again = 0;
  bool no_memory = false;
  while (!no_memory && again <= size + count && next_fde(&section, &cie, &fde, &range)) {
    const size_t first = search_words_below(addresses, count, range.start);
    if (first == count || addresses[first] >= range.end)
      continue;
    const uint64_t return_register = cie.facts.return_register;
    struct interpreter interpreter = {.cie = &cie.facts,
                                      .now = {.cfa_register = NO_RULE,
                                              .return_register = return_register < FRAME_REGISTERS
                                                                     ? (uint8_t)return_register
                                                                     : FRAME_NO_REGISTER},
                                      .place = range.start,
                                      .end = range.end,
                                      .set = set,
                                      .numbers = numbers,
                                      .addresses = addresses,
                                      .next = first,
                                      .count = count,
                                      .again = again};
    const bool has_all = run_fde(&interpreter, fde);
    while (!has_all && interpreter.next < count && addresses[interpreter.next] < range.end)
      note(&interpreter, IN_CONFLICT);
    no_memory = interpreter.no_memory;
    again = interpreter.again;
  }
  for (size_t i = 0; i < count; i++)
    if (numbers[i] == IN_CONFLICT || again > size + count)
      numbers[i] = 0;
  return !no_memory;
}
