/* debug_entry.c - see debug_entry.h. Sections refer to the DWARF 5 document. */
#include "tool/source/debug_entry.h"

#include <dwarf.h>

/* ---- Attributes ---- */

/* Constants have signed forms, too; and numbers that are offsets have functions of their own. */
static bool number_of(Dwarf_Attribute attribute, uint64_t *number) {
  Dwarf_Unsigned plain;
  Dwarf_Signed with_sign;
  Dwarf_Off offset;
  if (dwarf_formudata(attribute, &plain, NULL) == DW_DLV_OK)
    *number = plain;
  else if (dwarf_formsdata(attribute, &with_sign, NULL) == DW_DLV_OK && with_sign >= 0)
    *number = (uint64_t)with_sign;
  else if (dwarf_global_formref(attribute, &offset, NULL) == DW_DLV_OK)
    *number = offset;
  else
    return false;
  return true;
}

bool debug_entry_number(Dwarf_Die die, Dwarf_Half attribute, uint64_t *value) {
  Dwarf_Attribute found;
  if (dwarf_attr(die, attribute, &found, NULL) != DW_DLV_OK)
    return false;
  const bool ok = number_of(found, value);
  dwarf_dealloc_attribute(found);
  return ok;
}

const char *debug_entry_text(Dwarf_Die die, Dwarf_Half attribute) {
  char *text;
  return dwarf_die_text(die, attribute, &text, NULL) == DW_DLV_OK ? text : NULL;
}

bool debug_entry_reference(Dwarf_Debug shared, Dwarf_Die die, Dwarf_Half attribute,
                           Dwarf_Debug *dwarf, uint64_t *offset) {
  Dwarf_Attribute found;
  Dwarf_Half form;
  Dwarf_Off where;
  if (dwarf_attr(die, attribute, &found, NULL) != DW_DLV_OK)
    return false;
  const bool is_usable = dwarf_whatform(found, &form, NULL) == DW_DLV_OK &&
                         form != DW_FORM_ref_sig8 && /* of a type */
                         dwarf_global_formref(found, &where, NULL) == DW_DLV_OK;
  if (is_usable && form == DW_FORM_GNU_ref_alt)
    *dwarf = shared;
  *offset = is_usable ? where : 0;
  dwarf_dealloc_attribute(found);
  return is_usable && *dwarf != NULL;
}

/* ---- Addresses ---- */

/* An address by its number in a unit's table; 0 if there is none. */
static bool address_of(Dwarf_Die unit, uint64_t number, uint64_t *address) {
  Dwarf_Addr found;
  const bool ok = dwarf_debug_addr_index_to_addr(unit, number, &found, NULL) == DW_DLV_OK;
  *address = ok ? found : 0;
  return ok;
}

static bool low_address(Dwarf_Die die, Dwarf_Die unit, uint64_t *address) {
  Dwarf_Attribute attribute;
  Dwarf_Unsigned number;
  Dwarf_Addr plain;
  if (dwarf_lowpc(die, &plain, NULL) == DW_DLV_OK) {
    *address = plain;
    return true;
  }
  if (dwarf_attr(die, DW_AT_low_pc, &attribute, NULL) != DW_DLV_OK)
    return false;
  const bool ok = dwarf_get_debug_addr_index(attribute, &number, NULL) == DW_DLV_OK &&
                  address_of(unit, number, address);
  dwarf_dealloc_attribute(attribute);
  return ok;
}

struct debug_context debug_context_of(Dwarf_Debug dwarf, Dwarf_Die unit) {
  struct debug_context context = {.dwarf = dwarf, .entries = dwarf, .unit = unit};
  Dwarf_Half offset_size;
  if (dwarf_get_version_of_die(unit, &context.version, &offset_size) != DW_DLV_OK)
    context.version = 0;
  low_address(unit, unit, &context.low_address);
  debug_entry_number(unit, context.version < 5 ? DW_AT_GNU_ranges_base : DW_AT_rnglists_base,
                     &context.ranges_base);
  return context;
}

/* ---- Ranges ---- */

/* Counts a list's entries: an honest list is one entry's, or that of a few that are within it. */
static bool take_list(const struct debug_context *context, uint64_t count) {
  enum { BYTES = 16 }; /* of two addresses: more than DWARF 5 needs */
  return budget_take(&context->limits->ranges, count * BYTES, context->limits->problem);
}

/* An entry of a list of DWARF 5 (7.25). It may change the base of later offsets. */
static void add_list_entry(Dwarf_Die unit, struct range_entry entry, uint64_t *base,
                           struct spans *spans, uint32_t item) {
  const uint64_t a = entry.a, b = entry.b;
  uint64_t start = a, end = b;
  switch (entry.kind) {
  case DW_RLE_base_addressx:
    address_of(unit, a, base);
    return;
  case DW_RLE_base_address:
    *base = a;
    return;
  case DW_RLE_startx_endx:
    if (!address_of(unit, a, &start) || !address_of(unit, b, &end))
      return;
    break;
  case DW_RLE_startx_length:
    if (!address_of(unit, a, &start))
      return;
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
    return;
  }
  spans_add(spans, start, end, item);
}

/* `where`: an offset, or with DW_FORM_rnglistx a number. */
static void add_list(const struct debug_context *context, Dwarf_Half form, uint64_t where,
                     struct spans *spans, uint32_t item) {
  uint64_t base = context->low_address;
  struct range_list list;
  struct range_entry entry;
  const bool is_found =
      form == DW_FORM_rnglistx
          ? range_list_numbered(context->lists, context->ranges_base, where, &list)
          : range_list_at(context->lists, where, &list);
  while (is_found && range_list_next(context->lists, &list, &entry) && take_list(context, 1))
    add_list_entry(context->unit, entry, &base, spans, item);
}

static void free_ranges(Dwarf_Debug dwarf, Dwarf_Ranges *ranges, Dwarf_Signed count) {
#ifdef DW_LIBDWARF_VERSION
  dwarf_dealloc_ranges(dwarf, ranges, count);
#else
  dwarf_ranges_dealloc(dwarf, ranges, count);
#endif
}

/* A list of .debug_ranges, up to DWARF 4 (there, 2.17.3). It is always the program's. */
static void add_old_list(const struct debug_context *context, uint64_t offset, struct spans *spans,
                         uint32_t item) {
  Dwarf_Ranges *ranges;
  Dwarf_Signed count;
  Dwarf_Unsigned size;
  Dwarf_Off actual;
  uint64_t base = context->low_address;
  if (dwarf_get_ranges_b(context->dwarf, offset, NULL, &actual, &ranges, &count, &size, NULL) !=
      DW_DLV_OK)
    return;
  const bool is_read = take_list(context, (uint64_t)count);
  for (Dwarf_Signed i = 0; i < count && is_read; i++)
    if (ranges[i].dwr_type == DW_RANGES_ADDRESS_SELECTION)
      base = ranges[i].dwr_addr2;
    else if (ranges[i].dwr_type == DW_RANGES_ENTRY)
      spans_add(spans, base + ranges[i].dwr_addr1, base + ranges[i].dwr_addr2, item);
  free_ranges(context->dwarf, ranges, count);
}

static void add_ranges(const struct debug_context *context, Dwarf_Attribute attribute,
                       struct spans *spans, uint32_t item) {
  const bool is_split = context->entries != context->dwarf;
  Dwarf_Half form;
  uint64_t where;
  if (!number_of(attribute, &where) || dwarf_whatform(attribute, &form, NULL) != DW_DLV_OK)
    return;
  if (context->version >= 5)
    add_list(context, form, where, spans, item);
  else
    add_old_list(context, where + (is_split ? context->ranges_base : 0), spans, item);
}

void debug_entry_spans(const struct debug_context *context, Dwarf_Die die, struct spans *spans,
                       uint32_t item) {
  Dwarf_Attribute ranges;
  uint64_t low;
  Dwarf_Addr high;
  Dwarf_Half form;
  enum Dwarf_Form_Class class;
  if (dwarf_attr(die, DW_AT_ranges, &ranges, NULL) == DW_DLV_OK) {
    if (*context->limits->problem->text == 0)
      add_ranges(context, ranges, spans, item);
    dwarf_dealloc_attribute(ranges);
  } else if (low_address(die, context->unit, &low) &&
             dwarf_highpc_b(die, &high, &form, &class, NULL) == DW_DLV_OK) {
    /* an address, or how far it is from the low one (2.17.2) */
    spans_add(spans, low, class == DW_FORM_CLASS_CONSTANT ? low + high : high, item);
  }
}
