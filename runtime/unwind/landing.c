/* landing.c - a frame of the C++ runtime that is about to go on at an exception's handler.
 *
 * _Unwind_RaiseException and its like save all registers that a call preserves, find the handler's
 * frame, overwrite what they have saved with that frame's registers, and return into it, by
 * __builtin_eh_return. Their unwind rules still name these words as their caller's registers, which
 * are lost then: a walk would take the handler's frame pointer for that of the caller, and miss the
 * frames between and the handler's. And a reference in a register is in two places.
 *
 * GCC gives such functions a place for the registers that pass the exception to its handler, and
 * none for other registers that a call needn't preserve: functions that save those, too, do so for
 * their caller (LLVM's preserve_mostcc). The personality routine writes the exception into the
 * first one just before. So if an exception is there, a thread that was interrupted in the
 * function, or in one that it has called, or in a frameless one that this calls (memcpy, on
 * RISC-V), may be too far.
 */
#include "runtime/unwind/unwinder.h"

/* The words of struct _Unwind_Exception (Itanium C++ ABI, "Exception Handling", 1.2): the class,
 * the function that frees it, and two of libgcc's own: 0, and the CFA of the handler's frame; or a
 * function and its argument (_Unwind_ForcedUnwind). */
enum { STOP_FUNCTION = 2, HANDLER = 3, EXCEPTION_WORDS = 4 };

/* Whether the word is the address of an exception that is being thrown on this stack. */
static bool is_exception(const struct target *target, uintptr_t address) {
  if (address == 0 || address % WORD != 0 ||
      !machine_can_read(address, EXCEPTION_WORDS * sizeof(uintptr_t)))
    return false;
  const uintptr_t *words = (const uintptr_t *)address;
  return words[STOP_FUNCTION] != 0 ||
         (words[HANDLER] > target->context->stack_pointer && words[HANDLER] <= target->stack.end);
}

/* Those that pass an exception, by GCC; -1 after the last one. */
static uint32_t exception_registers(void) {
  const int registers[] = {__builtin_eh_return_data_regno(0), __builtin_eh_return_data_regno(1),
                           __builtin_eh_return_data_regno(2), __builtin_eh_return_data_regno(3)};
  uint32_t result = 0;
  for (unsigned i = 0; i < sizeof registers / sizeof *registers; i++)
    if (registers[i] >= 0)
      result |= 1u << registers[i];
  return result;
}

bool landing_is_in(const struct frame_rules *row, uint32_t others) {
  return row->kinds[__builtin_eh_return_data_regno(0)] == RULE_AT &&
         row->kinds[__builtin_eh_return_data_regno(1)] == RULE_AT &&
         (others & ~exception_registers()) == 0;
}

bool landing_begins(const struct rules *rules, struct target *target, uintptr_t cfa) {
  const int32_t value = rules->row.values[__builtin_eh_return_data_regno(0)];
  uintptr_t word;
  return landing_is_in(&rules->row, rules->others) &&
         target_read(target, cfa + (uintptr_t)(intptr_t)value, &word) && is_exception(target, word);
}
