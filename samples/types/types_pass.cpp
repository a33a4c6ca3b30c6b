/* types_pass.cpp - tells stackpack the types of functions and of indirect calls: an LLVM pass, for clang's -fpass-plugin, and an
 * example for frontends.
 *
 * To which functions may `p(x, 3)` lead? Machine code doesn't say, so stackpack takes every function whose address is taken. A
 * frontend knows more: at the least, that a pointer to a function of one argument never leads to one of two. This pass says that
 * for C, by LLVM's types, in which all compatible types of C are the same. A frontend with better types (a method's, or that of the
 * field that a pointer comes from) numbers those instead.
 *
 *   - Where the pipeline starts, each indirect call gets the attribute "statepoint-id": a hash of its type. What makes the
 *     statepoint (rewrite-statepoints-for-gc) takes it along into the stack map's record, whatever inlines or clones the call. One
 *     without prototype has a variable number of arguments in LLVM; it gets no type, and may lead anywhere.
 *   - At the end, each function that is left is listed in the section .stackpack.types, which isn't loaded: two words, its address
 *     and the hash of its type.
 *
 * It takes as given what C says: a function is called by a pointer to a compatible type, or it is no program. stackpack(1) has the
 * format, under SAFEPOINTS THAT NO COLLECTION CAN REACH.
 */
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

using namespace llvm;

namespace {

/* 32 bits, as LLVM 18 keeps no more of an ID. Two types of one number are taken for one. */
std::string numberOf(const FunctionType *type) {
  std::string text;
  raw_string_ostream(text) << *type;
  return std::to_string(xxh3_64bits(text) & UINT32_MAX);
}

struct NumberCalls : PassInfoMixin<NumberCalls> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    for (Function &function : module)
      for (Instruction &instruction : instructions(function)) {
        auto *call = dyn_cast<CallBase>(&instruction);
        if (call && call->isIndirectCall() && !call->getFunctionType()->isVarArg())
          call->addFnAttr(Attribute::get(module.getContext(), "statepoint-id",
                                         numberOf(call->getFunctionType())));
      }
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

struct ListFunctions : PassInfoMixin<ListFunctions> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    std::string lines;
    for (const Function &function : module)
      if (!function.isDeclarationForLinker() &&
          !(function.isDiscardableIfUnused() && function.use_empty()))
        lines += "  .quad \"" + function.getName().str() + "\", " +
                 numberOf(function.getFunctionType()) + "\n";
    if (!lines.empty())
      module.appendModuleInlineAsm("  .section .stackpack.types, \"\", @progbits\n" + lines +
                                   "  .text\n");
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "types", "1", [](PassBuilder &builder) {
            builder.registerPipelineStartEPCallback(
                [](ModulePassManager &passes, auto...) { passes.addPass(NumberCalls()); });
            builder.registerOptimizerLastEPCallback(
                [](ModulePassManager &passes, auto...) { passes.addPass(ListFunctions()); });
          }};
}
