/* debug_entry.c - see debug_entry.h. Sections are those of the DWARF 5 document. */
#include "tool/source/debug_entry.h"

#include <dwarf.h>

/* ---- Attributes ---- */

/* The attribute and its form; NULL if the entry hasn't that attribute. */
static Dwarf_Attribute find(Dwarf_Die die, Dwarf_Half number, Dwarf_Half *form) {
  Dwarf_Attribute attribute;
  if (dwarf_attr(die, number, &attribute, NULL) != DW_DLV_OK)
    return NULL;
  if (dwarf_whatform(attribute, form, NULL) == DW_DLV_OK)
    return attribute;
  dwarf_dealloc_attribute(attribute);
  return NULL;
}

/* Constants have signed forms, too. */
static bool number_of(Dwarf_Attribute attribute, Dwarf_Half form, uint64_t *number) {
  Dwarf_Unsigned plain;
  Dwarf_Signed with_sign;
  Dwarf_Off offset;
  if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
    if (dwarf_formsdata(attribute, &with_sign, NULL) != DW_DLV_OK || with_sign < 0)
      return false;
    *number = (uint64_t)with_sign;
    return true;
  }
  if (form == DW_FORM_sec_offset) {
    if (dwarf_global_formref(attribute, &offset, NULL) != DW_DLV_OK)
      return false;
    *number = offset;
    return true;
  }
  if (dwarf_formudata(attribute, &plain, NULL) != DW_DLV_OK)
    return false;
  *number = plain;
  return true;
}

bool debug_entry_number(Dwarf_Die die, Dwarf_Half attribute, uint64_t *value) {
  Dwarf_Half form;
  const Dwarf_Attribute found = find(die, attribute, &form);
  const bool ok = found != NULL && number_of(found, form, value);
  if (found != NULL)
    dwarf_dealloc_attribute(found);
  return ok;
}

const char *debug_entry_text(Dwarf_Die die, Dwarf_Half attribute) {
  Dwarf_Half form;
  char *text = NULL;
  const Dwarf_Attribute found = find(die, attribute, &form);
  if (found == NULL)
    return NULL;
  if (dwarf_formstring(found, &text, NULL) != DW_DLV_OK)
    text = NULL;
  dwarf_dealloc_attribute(found);
  return text;
}

Dwarf_Die debug_entry_reference(Dwarf_Debug dwarf, Dwarf_Die die, Dwarf_Half attribute) {
  Dwarf_Half form;
  Dwarf_Off offset;
  Dwarf_Die result = NULL;
  const Dwarf_Attribute found = find(die, attribute, &form);
  if (found == NULL)
    return NULL;
  if (form != DW_FORM_GNU_ref_alt && form != DW_FORM_ref_sig8 &&
      dwarf_global_formref(found, &offset, NULL) == DW_DLV_OK &&
      dwarf_offdie_b(dwarf, offset, 1, &result, NULL) != DW_DLV_OK)
    result = NULL;
  dwarf_dealloc_attribute(found);
  return result;
}

/* ---- Addresses ---- */

static bool indexed_address(const struct debug_context *context, uint64_t index,
                            uint64_t *address) {
  Dwarf_Addr found;
  if (dwarf_debug_addr_index_to_addr(context->unit, index, &found, NULL) != DW_DLV_OK)
    return false;
  *address = found;
  return true;
}

static bool is_address_index(Dwarf_Half form) {
  return form == DW_FORM_addrx || form == DW_FORM_GNU_addr_index ||
         (form >= DW_FORM_addrx1 && form <= DW_FORM_addrx4);
}

/* DW_AT_low_pc, or DW_AT_high_pc where that is an address. */
static bool address_of(const struct debug_context *context, Dwarf_Attribute attribute,
                       Dwarf_Half form, uint64_t *address) {
  Dwarf_Unsigned index;
  Dwarf_Addr plain;
  if (is_address_index(form))
    return dwarf_get_debug_addr_index(attribute, &index, NULL) == DW_DLV_OK &&
           indexed_address(context, index, address);
  if (form != DW_FORM_addr || dwarf_formaddr(attribute, &plain, NULL) != DW_DLV_OK)
    return false;
  *address = plain;
  return true;
}

static bool low_address(const struct debug_context *context, Dwarf_Die die, uint64_t *address) {
  Dwarf_Half form;
  const Dwarf_Attribute attribute = find(die, DW_AT_low_pc, &form);
  const bool found = attribute != NULL && address_of(context, attribute, form, address);
  if (attribute != NULL)
    dwarf_dealloc_attribute(attribute);
  return found;
}

/* DW_AT_high_pc is an address, or how far it is from DW_AT_low_pc (2.17.2). */
static bool high_address(const struct debug_context *context, Dwarf_Die die, uint64_t low,
                         uint64_t *address) {
  Dwarf_Half form;
  bool found = false;
  const Dwarf_Attribute attribute = find(die, DW_AT_high_pc, &form);
  if (attribute == NULL)
    return false;
  if (form == DW_FORM_addr || is_address_index(form)) {
    found = address_of(context, attribute, form, address);
  } else if (number_of(attribute, form, address) && *address <= UINT64_MAX - low) {
    *address += low;
    found = true;
  }
  dwarf_dealloc_attribute(attribute);
  return found;
}

struct debug_context debug_context_of(Dwarf_Debug dwarf, Dwarf_Die unit) {
  struct debug_context context = {.dwarf = dwarf, .unit = unit};
  Dwarf_Half offset_size;
  if (dwarf_get_version_of_die(unit, &context.version, &offset_size) != DW_DLV_OK)
    context.version = 0;
  if (!low_address(&context, unit, &context.low_address))
    context.low_address = 0;
  if (!debug_entry_number(unit, DW_AT_GNU_ranges_base, &context.ranges_base))
    context.ranges_base = 0;
  return context;
}

/* ---- Ranges ---- */

/* An entry of a list of DWARF 5 (7.25). What offsets are relative to may change from here on. */
static bool add_list_entry(const struct debug_context *context, unsigned kind, uint64_t a,
                           uint64_t b, uint64_t *base, struct spans *spans, uint32_t item) {
  uint64_t start = a, end = b;
  switch (kind) {
  case DW_RLE_base_addressx:
    if (!indexed_address(context, a, base))
      *base = 0;
    return true;
  case DW_RLE_base_address:
    *base = a;
    return true;
  case DW_RLE_startx_endx:
    if (!indexed_address(context, a, &start) || !indexed_address(context, b, &end))
      return true;
    break;
  case DW_RLE_startx_length:
    if (!indexed_address(context, a, &start))
      return true;
    end = start + b;
    break;
  case DW_RLE_offset_pair:
    start = *base + a;
    end = *base + b;
    break;
  case DW_RLE_start_length:
    end = a + b;
    break;
  case DW_RLE_start_end:
    break;
  default:
    return true;
  }
  return spans_add(spans, start, end, item);
}

/* The number of the table of lists that starts at an offset of the section, and where its array of
 * offsets stands, from which these count (7.28). */
static bool find_table(Dwarf_Debug dwarf, uint64_t offset, uint64_t *number, uint64_t *array) {
  Dwarf_Unsigned count, header, offsets, entries, first, end;
  Dwarf_Small offset_size, extension_size, address_size, segment_size;
  unsigned version;
  if (dwarf_load_rnglists(dwarf, &count, NULL) != DW_DLV_OK)
    return false;
  for (Dwarf_Unsigned i = 0; i < count; i++)
    if (dwarf_get_rnglist_context_basics(dwarf, i, &header, &offset_size, &extension_size, &version,
                                         &address_size, &segment_size, &entries, &offsets, &first,
                                         &end, NULL) == DW_DLV_OK &&
        header == offset) {
      *number = i;
      *array = offsets;
      return true;
    }
  return false;
}

/* Lists of split entries are counted from the start of the .dwo file's table (7.3.2.2), which in a
 * package is one of many. libdwarf finds them by an offset only; of the two that it tells, versions
 * differ in what the second one is of. */
static bool find_split_list(Dwarf_Debug dwarf, Dwarf_Die die, uint64_t *where) {
  Dwarf_Debug_Fission_Per_CU parts = {0};
  Dwarf_Unsigned in_table, ignored;
  uint64_t table, array, start = 0;
  if (dwarf_get_debugfission_for_die(die, &parts, NULL) == DW_DLV_OK)
    start = parts.pcu_offset[DW_SECT_RNGLISTS];
  if (!find_table(dwarf, start, &table, &array) ||
      dwarf_get_rnglist_offset_index_value(dwarf, table, *where, &in_table, &ignored, NULL) !=
          DW_DLV_OK)
    return false;
  *where = array + in_table;
  return true;
}

/* `where`: an offset, or with DW_FORM_rnglistx a number. */
static bool add_list(const struct debug_context *context, Dwarf_Attribute attribute,
                     Dwarf_Half form, uint64_t where, struct spans *spans, uint32_t item) {
  Dwarf_Rnglists_Head head;
  Dwarf_Unsigned count, offset;
  uint64_t base = context->low_address;
  bool ok = true;
  if (dwarf_rnglists_get_rle_head(attribute, form, where, &head, &count, &offset, NULL) !=
      DW_DLV_OK)
    return true;
  for (Dwarf_Unsigned i = 0; i < count && ok; i++) {
    unsigned length, kind;
    Dwarf_Unsigned a, b, cooked_a, cooked_b;
    Dwarf_Bool unavailable;
    if (dwarf_get_rnglists_entry_fields_a(head, i, &length, &kind, &a, &b, &unavailable, &cooked_a,
                                          &cooked_b, NULL) != DW_DLV_OK)
      break;
    ok = add_list_entry(context, kind, a, b, &base, spans, item);
  }
  dwarf_dealloc_rnglists_head(head);
  return ok;
}

static void free_ranges(Dwarf_Debug dwarf, Dwarf_Ranges *ranges, Dwarf_Signed count) {
#ifdef DW_LIBDWARF_VERSION
  dwarf_dealloc_ranges(dwarf, ranges, count);
#else
  dwarf_ranges_dealloc(dwarf, ranges, count);
#endif
}

/* A list of .debug_ranges, up to DWARF 4 (there, 2.17.3). It is always the program's. */
static bool add_old_list(const struct debug_context *context, uint64_t offset, struct spans *spans,
                         uint32_t item) {
  Dwarf_Ranges *ranges;
  Dwarf_Signed count;
  Dwarf_Unsigned size;
  Dwarf_Off actual;
  uint64_t base = context->low_address;
  bool ok = true;
  if (dwarf_get_ranges_b(context->dwarf, offset, NULL, &actual, &ranges, &count, &size, NULL) !=
      DW_DLV_OK)
    return true;
  for (Dwarf_Signed i = 0; i < count && ok; i++)
    if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
      base = ranges[i].dwr_addr2;
    else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
      ok = spans_add(spans, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, item);
  free_ranges(context->dwarf, ranges, count);
  return ok;
}

static bool add_ranges(const struct debug_context *context, Dwarf_Die die, Dwarf_Debug dwarf,
                       Dwarf_Attribute attribute, Dwarf_Half form, struct spans *spans,
                       uint32_t item) {
  const bool is_split = dwarf != context->dwarf;
  uint64_t where;
  if (!number_of(attribute, form, &where))
    return true;
  if (context->version < 5)
    return add_old_list(context, is_split ? where + context->ranges_base : where, spans, item);
  if (is_split && form == DW_FORM_rnglistx) {
    if (!find_split_list(dwarf, die, &where))
      return true;
    form = DW_FORM_sec_offset;
  }
  return add_list(context, attribute, form, where, spans, item);
}

bool debug_entry_spans(const struct debug_context *context, Dwarf_Debug dwarf, Dwarf_Die die,
                       struct spans *spans, uint32_t item) {
  Dwarf_Half form;
  uint64_t low, high;
  const Dwarf_Attribute ranges = find(die, DW_AT_ranges, &form);
  if (ranges != NULL) {
    const bool ok = add_ranges(context, die, dwarf, ranges, form, spans, item);
    dwarf_dealloc_attribute(ranges);
    return ok;
  }
  if (!low_address(context, die, &low) || !high_address(context, die, low, &high))
    return true;
  return spans_add(spans, low, high, item);
}
