/* target.c - the frame that is to be unwound, as libunwind is shown it.
 *
 * libunwind can unwind its own process directly, and most programs use it so. Then it reads
 * whatever address it is led to; it finds unwind tables by dl_iterate_phdr, which takes a lock that
 * a stopped thread may hold for as long as it stays stopped; and where there is no table, it tries
 * what might be a frame pointer. None of that will do for a collector. So it is used as a debugger
 * uses it, on a "remote" process, which happens to be ours: libunwind asks the functions here for
 * each word of memory, each register and each unwind table.
 *
 * - Memory is read within the bounds of the walk's stack, and within the module whose table is read.
 *   (Of a module with gaps between its segments, _dl_find_object tells the bounds of one segment.)
 * - Registers are those of the walk's context. One that isn't known is an error.
 * - Tables are found by _dl_find_object, which takes no lock (glibc's manual, "Dynamic Linker
 *   Introspection").
 *
 * libunwind's numbers of registers are DWARF's.
 */
#include "runtime/unwind/unwinder.h"

#include "runtime/walk.h"

#include <dlfcn.h>
#include <string.h>

/* libunwind exports this function for such uses, but declares it in no public header. It searches
 * the table of an .eh_frame_hdr, and reads the entry that it finds. */
#define search_unwind_table UNW_OBJ(dwarf_search_unwind_table)
extern int search_unwind_table(unw_addr_space_t space, unw_word_t address, unw_dyn_info_t *table,
                               unw_proc_info_t *info, int need_unwind_info, void *argument);

/* An .eh_frame_hdr with the encodings that all linkers give it (Linux Standard Base, "Exception
 * Frames"): 4-byte differences, to itself in the sorted table. */
struct eh_frame_hdr {
  uint8_t version, frame_encoding, count_encoding, table_encoding;
  int32_t frame;
  uint32_t count;
};
enum { UDATA4 = 0x03, DATAREL_SDATA4 = 0x3b };

_Static_assert((int)UNW_REG_SP == STACKPACK_STACK_POINTER,
               "libunwind numbers registers as DWARF does");

struct target target_of(struct stackpack_stack stack, const struct stackpack_context *context) {
  /* A call may be the last instruction of its function, so a return address is no address in it. */
  return (struct target){.stack = stack,
                         .context = context,
                         .pc = context->is_exact != 0 ? context->pc : context->pc - 1};
}

bool target_has_word(const struct target *target, uintptr_t address) {
  return address % WORD == 0 && walk_has_word(&target->stack, address);
}

/* ---- libunwind's questions ---- */

/* The address sanitizer's marks are for what a program does with its variables. */
__attribute__((no_sanitize("address"))) static unw_word_t read_word(unw_word_t address) {
  return *(const unw_word_t *)address;
}

/* Whether a word is in the module of the unwind tables: in their segment, as nearly always, or in
 * another one, which may have the address of a personality routine. */
static bool is_in_module(const struct target *target, unw_word_t address) {
  struct dl_find_object found;
  if (address % WORD != 0 || target->module == NULL)
    return false;
  if (address >= target->tables_start && address < target->tables_end)
    return true;
  return _dl_find_object((void *)address, &found) == 0 && found.dlfo_link_map == target->module;
}

static int access_memory(unw_addr_space_t space, unw_word_t address, unw_word_t *value, int write,
                         void *argument) {
  (void)space;
  struct target *target = argument;
  if (write != 0)
    return -UNW_EINVAL;
  const bool in_module = is_in_module(target, address);
  if (!in_module && target->is_trial) {
    *value = 0;
    return 0;
  }
  if (!in_module && !target_has_word(target, address)) {
    target->reason = STACKPACK_UNWINDER_OUT_OF_STACK;
    return -UNW_EINVAL;
  }
  *value = read_word(address);
  return 0;
}

static int access_register(unw_addr_space_t space, unw_regnum_t reg, unw_word_t *value, int write,
                           void *argument) {
  (void)space;
  struct target *target = argument;
  const struct stackpack_context *context = target->context;
  if (write != 0)
    return -UNW_EREADONLYREG;
  if (reg == unwinder_machine.pc) {
    *value = target->pc;
    return 0;
  }
  if (reg == STACKPACK_STACK_POINTER) {
    *value = context->stack_pointer;
    return 0;
  }
  if (reg < 0 || reg >= STACKPACK_REGISTERS || !walk_knows(context, (unsigned)reg)) {
    target->reason = STACKPACK_UNWINDER_REGISTER;
    return -UNW_EBADREG;
  }
  const uintptr_t word = context->registers[reg];
  *value = (context->in_memory >> reg & 1) != 0 ? read_word(word) : word;
  return 0;
}

static int find_table(unw_addr_space_t space, unw_word_t address, unw_proc_info_t *info,
                      int need_unwind_info, void *argument) {
  struct target *target = argument;
  struct dl_find_object found, tables;
  target->reason = STACKPACK_UNWINDER_NO_TABLE;
  if (_dl_find_object((void *)address, &found) != 0 || found.dlfo_eh_frame == NULL ||
      _dl_find_object(found.dlfo_eh_frame, &tables) != 0)
    return -UNW_ENOINFO;
  target->tables_start = (uintptr_t)tables.dlfo_map_start;
  target->tables_end = (uintptr_t)tables.dlfo_map_end;
  target->module = tables.dlfo_link_map;
  struct eh_frame_hdr header;
  memcpy(&header, found.dlfo_eh_frame, sizeof header);
  if (header.version != 1 || header.count_encoding != UDATA4 ||
      header.table_encoding != DATAREL_SDATA4)
    return -UNW_ENOINFO;
  unw_dyn_info_t table = {.format = UNW_INFO_FORMAT_REMOTE_TABLE,
                          .start_ip = (unw_word_t)found.dlfo_map_start,
                          .end_ip = (unw_word_t)found.dlfo_map_end};
  table.u.rti.segbase = (unw_word_t)found.dlfo_eh_frame;
  table.u.rti.table_data = table.u.rti.segbase + sizeof header;
  table.u.rti.table_len = header.count; /* an entry is two words of 4 bytes: one of libunwind's */
  const int result = search_unwind_table(space, address, &table, info, need_unwind_info, target);
  if (result != -UNW_ENOINFO)
    target->reason = STACKPACK_UNWINDER_NO_REASON;
  return result;
}

static void put_unwind_info(unw_addr_space_t space, unw_proc_info_t *info, void *argument) {
  (void)space, (void)info, (void)argument; /* search_unwind_table's: libunwind frees it itself */
}

static int no_dynamic_info(unw_addr_space_t space, unw_word_t *list, void *argument) {
  (void)space, (void)list, (void)argument;
  return -UNW_ENOINFO;
}

static int no_float(unw_addr_space_t space, unw_regnum_t reg, unw_fpreg_t *value, int write,
                    void *argument) {
  (void)space, (void)reg, (void)value, (void)write, (void)argument;
  return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t space, unw_cursor_t *cursor, void *argument) {
  (void)space, (void)cursor, (void)argument;
  return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t space, unw_word_t address, char *name, size_t size,
                   unw_word_t *offset, void *argument) {
  (void)space, (void)address, (void)name, (void)size, (void)offset, (void)argument;
  return -UNW_ENOINFO;
}

const unw_accessors_t target_accessors = {.find_proc_info = find_table,
                                          .put_unwind_info = put_unwind_info,
                                          .get_dyn_info_list_addr = no_dynamic_info,
                                          .access_mem = access_memory,
                                          .access_reg = access_register,
                                          .access_fpreg = no_float,
                                          .resume = no_resume,
                                          .get_proc_name = no_name};
