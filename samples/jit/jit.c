/* jit.c - LLVM's JIT (ORC) with a memory manager that gets the sections' names.
 *
 * rewrite-statepoints-for-gc and the code generator turn a function's IR into an object in memory,
 * and ORC's RTDyld layer links that. The layer requests memory section by section, and applies the
 * relocations. Then the code, `.llvm_stackmaps` and `.eh_frame` are bytes in memory. They are
 * opened and added to the process before the function can be called.
 *
 *   compile    object -> sections in one mapping -> stackpack_memory_open -> stackpack_process_add
 *   free       one stackpack_process_wait, stackpack_process_remove for each, then the mappings:
 *              after all threads have left the functions, walks never look up their addresses. (A
 *              program that looks up arbitrary addresses, a profiler, waits once more.)
 */
#include "jit.h"

#include "die.h"

#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/OrcEE.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MAPPING_SIZE = 1 << 16 }; /* of a function; most of it is never touched */

struct jit_function {
  char *mapping;
  size_t used;
  struct stackpack_bytes code, maps, unwind;
  struct stackpack_memory memory;
  LLVMOrcResourceTrackerRef tracker;
  void *address;
};

struct jit {
  struct stackpack_process *process;
  LLVMOrcLLJITRef lljit;
  LLVMTargetMachineRef machine;
  struct jit_function *compiled; /* the one whose object is linked now */
};

static void expect(LLVMErrorRef error) {
  if (error != NULL)
    die("%s", LLVMGetErrorMessage(error));
}

/* ---- Memory for sections ---- */

static void *create_context(void *jit) { return ((struct jit *)jit)->compiled; }
static void notify_terminating(void *jit) { (void)jit; }

static uint8_t *allocate(struct jit_function *function, uintptr_t size, unsigned alignment,
                         struct stackpack_bytes *section) {
  const size_t start = (function->used + alignment - 1) / alignment * alignment;
  if (start > MAPPING_SIZE || size > MAPPING_SIZE - start)
    return NULL;
  function->used = start + size;
  uint8_t *bytes = (uint8_t *)function->mapping + start;
  if (section != NULL && section->bytes != NULL)
    die("a function with two sections of one kind");
  if (section != NULL)
    *section = (struct stackpack_bytes){bytes, size, (uintptr_t)bytes};
  return bytes;
}

static uint8_t *allocate_code(void *function, uintptr_t size, unsigned alignment, unsigned number,
                              const char *name) {
  (void)number, (void)name;
  struct jit_function *own = function;
  return allocate(own, size, alignment, &own->code);
}

/* Only the start: `stackpack pack` takes the whole name for a sign that the program reads its raw
 * maps. */
static const char maps_start[] = ".llvm_";

static uint8_t *allocate_data(void *function, uintptr_t size, unsigned alignment, unsigned number,
                              const char *name, LLVMBool is_read_only) {
  (void)number, (void)is_read_only;
  struct jit_function *own = function;
  return allocate(own, size, alignment,
                  strncmp(name, maps_start, sizeof maps_start - 1) == 0 ? &own->maps
                  : strcmp(name, ".eh_frame") == 0                      ? &own->unwind
                                                                        : NULL);
}

static LLVMBool finalize(void *function, char **error) {
  (void)error;
  const struct jit_function *own = function;
  __builtin___clear_cache(own->mapping, own->mapping + own->used);
  return mprotect(own->mapping, MAPPING_SIZE, PROT_READ | PROT_EXEC) != 0;
}

static void destroy(void *function) {
  munmap(((struct jit_function *)function)->mapping, MAPPING_SIZE);
}

static LLVMOrcObjectLayerRef create_layer(void *jit, LLVMOrcExecutionSessionRef session,
                                          const char *triple) {
  (void)triple;
  return LLVMOrcCreateRTDyldObjectLinkingLayerWithMCJITMemoryManagerLikeCallbacks(
      session, jit, create_context, notify_terminating, allocate_code, allocate_data, finalize,
      destroy);
}

/* ---- The compiler ---- */

static LLVMTargetMachineRef create_machine(void) {
  char *triple = LLVMGetDefaultTargetTriple(), *error;
  LLVMTargetRef target;
  if (LLVMGetTargetFromTriple(triple, &target, &error))
    die("%s", error);
  LLVMTargetMachineRef machine = LLVMCreateTargetMachine(
      target, triple, "", "", LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelJITDefault);
  LLVMDisposeMessage(triple);
  return machine;
}

struct jit *jit_open(struct stackpack_process *process) {
  struct jit *jit = calloc(1, sizeof *jit);
  LLVMOrcDefinitionGeneratorRef program;
  if (jit == NULL)
    die("no memory");
  LLVMInitializeNativeTarget();
  LLVMInitializeNativeAsmPrinter();
  LLVMInitializeNativeAsmParser();
  jit->process = process;
  jit->machine = create_machine();
  LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
  LLVMOrcLLJITBuilderSetObjectLinkingLayerCreator(builder, create_layer, jit);
  expect(LLVMOrcCreateLLJIT(&jit->lljit, builder));
  expect(LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
      &program, LLVMOrcLLJITGetGlobalPrefix(jit->lljit), NULL, NULL));
  LLVMOrcJITDylibAddGenerator(LLVMOrcLLJITGetMainJITDylib(jit->lljit), program);
  return jit;
}

void jit_close(struct jit *jit) {
  expect(LLVMOrcDisposeLLJIT(jit->lljit));
  LLVMDisposeTargetMachine(jit->machine);
  free(jit);
  LLVMShutdown();
}

/* Compiles a module's IR, with statepoints, to an object in memory. */
static LLVMMemoryBufferRef compile(struct jit *jit, const char *ir, const char *name) {
  LLVMContextRef context = LLVMContextCreate();
  LLVMMemoryBufferRef object;
  LLVMModuleRef module;
  char *error;
  LLVMMemoryBufferRef text = LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, strlen(ir), name);
  if (LLVMParseIRInContext(context, text, &module, &error))
    die("%s", error);
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  expect(LLVMRunPasses(module, "rewrite-statepoints-for-gc", jit->machine, options));
  LLVMDisposePassBuilderOptions(options);
  if (LLVMTargetMachineEmitToMemoryBuffer(jit->machine, module, LLVMObjectFile, &error, &object))
    die("%s", error);
  LLVMDisposeModule(module);
  LLVMContextDispose(context);
  return object;
}

/* From here on look-ups and walks find the function. */
static void add_maps(struct jit *jit, struct jit_function *function) {
  const struct stackpack_maps maps = {.bytes = function->maps.bytes,
                                      .size = function->maps.size,
                                      .code = &function->code,
                                      .code_count = 1,
                                      .unwind = function->unwind};
  enum stackpack_error error = stackpack_memory_open(&function->memory, &maps);
  if (error == STACKPACK_OK)
    error = stackpack_process_add(jit->process, function->code.address, function->code.size,
                                  &function->memory.table);
  if (error != STACKPACK_OK)
    die("cannot add the function's stack maps: %s", stackpack_error_text(error));
}

struct jit_function *jit_compile(struct jit *jit, const char *ir, const char *name) {
  struct jit_function *function = calloc(1, sizeof *function);
  LLVMOrcExecutorAddress address;
  if (function == NULL)
    die("no memory");
  function->mapping =
      mmap(NULL, MAPPING_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (function->mapping == MAP_FAILED)
    die("no memory for code");
  jit->compiled = function;
  function->tracker = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(jit->lljit));
  expect(LLVMOrcLLJITAddObjectFileWithRT(jit->lljit, function->tracker, compile(jit, ir, name)));
  expect(LLVMOrcLLJITLookup(jit->lljit, &address, name)); /* links it */
  function->address = (void *)(uintptr_t)address;
  add_maps(jit, function);
  return function;
}

void *jit_address(const struct jit_function *function) { return function->address; }

void jit_free(struct jit *jit, struct jit_function *const *functions, size_t count) {
  stackpack_process_wait(jit->process); /* until then, walks must find them */
  for (size_t i = 0; i < count; i++)
    if (!stackpack_process_remove(jit->process, functions[i]->code.address))
      die("a function that was not added");
  for (size_t i = 0; i < count; i++) {
    stackpack_memory_close(&functions[i]->memory);
    expect(LLVMOrcResourceTrackerRemove(functions[i]->tracker)); /* its mapping, too: destroy */
    LLVMOrcReleaseResourceTracker(functions[i]->tracker);
    free(functions[i]);
  }
}
