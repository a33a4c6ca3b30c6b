/* Part of a program for another machine, whose GC entries call it: it writes down the return
 * addresses on the stack then, as recorder.c does for programs that it watches from outside. A GC
 * entry's own calls are irrelevant to dropping.
 *
 * In the environment: RECORD_OUT=FILE, written at exit: "MODULE:ADDRESS" for each distinct return address.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum { SLOTS = 1 << 16 };
static uintptr_t seen[SLOTS];

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *data) {
  (void)data;
  const uintptr_t address = _Unwind_GetIP(context);
  for (size_t i = address * 0x9e3779b97f4a7c15 >> 48;; i++) {
    uintptr_t *slot = &seen[i % SLOTS];
    if (*slot != 0 && *slot != address)
      continue;
    *slot = address;
    return _URC_NO_REASON;
  }
}

void note(void) { _Unwind_Backtrace(visit, NULL); }

static int report_module(struct dl_phdr_info *module, size_t size, void *data) {
  (void)size;
  const char *slash = strrchr(module->dlpi_name, '/');
  const char *name = *module->dlpi_name == 0 ? "app"
                     : slash != NULL         ? slash + 1
                                             : module->dlpi_name;
  for (size_t i = 0; i < SLOTS; i++)
    for (size_t p = 0; seen[i] != 0 && p < module->dlpi_phnum; p++) {
      const ElfW(Phdr) *segment = &module->dlpi_phdr[p];
      if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X) != 0 &&
          seen[i] - module->dlpi_addr - segment->p_vaddr <= segment->p_memsz)
        fprintf(data, "%s:%#" PRIxPTR "\n", name, seen[i] - module->dlpi_addr);
    }
  return 0;
}

__attribute__((destructor)) static void end(void) {
  const char *name = getenv("RECORD_OUT");
  FILE *file = name != NULL ? fopen(name, "w") : NULL;
  if (file == NULL)
    return;
  dl_iterate_phdr(report_module, file);
  fclose(file);
}
