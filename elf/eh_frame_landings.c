/* eh_frame_landings.c - reads the landing pads of exceptions: see eh_frame.h.
 *
 * An FDE may have the address of its function's language-specific data in .gcc_except_table: a
 * table of the function's calls. Each has a landing pad, the place where the unwinder lets the
 * function go on if the call throws; or none.
 */
#include "elf/eh_frame.h"

#include "elf/eh_frame_entries.h"

/* The address of an FDE's language-specific data; 0 if it has none, UINT64_MAX if it is
 * unreadable. */
static uint64_t fde_data(struct cursor fde, const struct cie_facts *facts) {
  if (!facts->has_augmentation || facts->data_encoding == OMITTED)
    return 0;
  (void)cursor_take_leb128(&fde, false);
  uint64_t base, value;
  if (!cursor_take_relative(&fde, facts->data_encoding, &base, &value))
    return UINT64_MAX;
  return value == 0 ? 0 : base + value;
}

/* Reads the call sites of a function at `table`: each one's start, length and landing pad; then an
 * action. (Itanium C++ ABI, Exception Handling Tables; GCC's unwind-c.c reads the same) */
static bool read_call_sites(struct cursor *table, struct code_range function,
                            landing_visitor *visit, void *context) {
  uint64_t base = function.start;
  const unsigned base_encoding = (unsigned)cursor_take(table, 1);
  if (base_encoding != OMITTED) {
    uint64_t value;
    if (!cursor_take_relative(table, base_encoding, &base, &value))
      return false;
    base += value;
  }
  if (cursor_take(table, 1) != OMITTED) /* types */
    (void)cursor_take_leb128(table, false);
  const unsigned encoding = (unsigned)cursor_take(table, 1);
  const uint64_t size = cursor_take_leb128(table, false);
  if (table->bad || size > table->end - table->position || (encoding & ~(unsigned)FORMAT_MASK) != 0)
    return false;
  table->end = table->position + (size_t)size;
  while (table->position < table->end) {
    const uint64_t start = cursor_take_encoded(table, encoding),
                   length = cursor_take_encoded(table, encoding);
    const uint64_t landing = cursor_take_encoded(table, encoding);
    (void)cursor_take_leb128(table, false);
    if (table->bad)
      return false;
    if (landing != 0)
      visit(context, function,
            (struct code_range){function.start + start, function.start + start + length},
            base + landing);
  }
  return true;
}

bool eh_frame_landings(const struct section_bytes *frames, const struct section_bytes *tables,
                       landing_visitor *visit, void *context) {
  enum { TIMES_MAX = 4 };
  struct eh_frame_entry entry = eh_frame_open(frames->bytes, frames->size, frames->address);
  uint64_t taken = 0;
  while (eh_frame_next(&entry)) {
    const uint64_t data = fde_data(entry.fde, &entry.cie.facts);
    const uint64_t into = data - tables->address;
    struct cursor table = {tables->bytes, (size_t)into, tables->size, tables->address, false};
    if (data == 0)
      continue;
    if (into >= tables->size || !read_call_sites(&table, entry.function, visit, context))
      visit(context, entry.function, entry.function, LANDING_UNKNOWN);
    taken += table.position - (size_t)into;
    if (taken / TIMES_MAX > tables->size)
      return false;
  }
  return true;
}
