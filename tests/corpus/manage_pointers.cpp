// manage_pointers.cpp - an LLVM pass that makes ordinary C code look like a collected language's.
//
// To measure on real programs one needs real programs with statepoints, and there are few whose source is at hand. But
// any C program can play the part: declare its pointers to be references to managed objects, and
// LLVM will write down, for each call, the ones that live across it. The collector is then one that
// never moves or frees anything, so the program runs as before; yet its stack maps are as large and
// as varied as a collected program's.
//
// LLVM's own pass RewriteStatepointsForGC does the hard half: it finds bases and derived pointers, the values that live
// across each call, and turns calls to gc.statepoint. By the convention of its strategy "statepoint-example" it takes a
// pointer for a reference if it has address space 1. The remaining work here is to move pointers to
// that space:
//
//   - A pointer that was loaded, returned, passed in, or made from an integer is a reference from its origin on.
//   - An element of a reference (getelementptr) is a derived reference; so is a choice (phi, select) between references.
//   - Addresses of variables and of functions stay plain: the stack and the program's data don't
//     move. So do possible ones, and results of intrinsics.
//
// A reference goes back to being a plain pointer right in front of each use other than a load or a
// store through it. These casts go by way of an integer, since RewriteStatepointsForGC takes the
// result for a base then; they vanish in machine code.
//
// Some calls are unfit for statepoints, and stay plain calls ("gc-leaf-function", in the words of
// that pass): calls to variadic functions, with arguments by value or results of more than one
// register, assembly, tail calls that must be. In functions that call setjmp all stays unchanged: a
// second return would find other values in their slots. Calls to functions of the C library in
// LLVM's list are leaves by that pass's own rule.
//
// At -O0, where variables are in memory, pointers are taken to registers first, as a compiler of a
// collected language must do: elsewhere the collector would miss them.
//
// Options, for clang's -mllvm:
//   -managed-deopt   each call gets deopt state: a number, and the function's integer arguments
//   -managed-ids     each statepoint gets an ID of its own, instead of LLVM's 0xABCDEF00
//
// References: LLVM, "Garbage Collection Safepoints in LLVM", sections "RewriteStatepointsForGC" and "Supported
// Architectures"; "LLVM Language Reference Manual", "Operand Bundles".
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Support/CommandLine.h"
#include "llvm/Transforms/Scalar/RewriteStatepointsForGC.h"
#include "llvm/Transforms/Utils/PromoteMemToReg.h"

using namespace llvm;

namespace {

cl::opt<bool> WithDeopt("managed-deopt", cl::desc("record deopt state at every statepoint"));
cl::opt<bool> WithIds("managed-ids", cl::desc("number the statepoints"));

constexpr unsigned ManagedSpace = 1;

bool returnsTwice(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    return Call && Call->hasFnAttr(Attribute::ReturnsTwice);
  });
}

/// Types that fit one register: of others, instruction selection loses gc.result at -O0 (a long
/// double's, for one).
bool isPlainResult(const Type *T) {
  return T->isVoidTy() || T->isPointerTy() || T->isFloatTy() || T->isDoubleTy() ||
         (T->isIntegerTy() && T->getIntegerBitWidth() <= 64);
}

bool canBeStatepoint(const CallInst &Call) {
  if (Call.isInlineAsm() || Call.isMustTailCall() || Call.getFunctionType()->isVarArg() ||
      Call.hasOperandBundles() || !isPlainResult(Call.getType()))
    return false;
  for (unsigned N = 0; N < Call.arg_size(); N++)
    if (Call.isByValArgument(N) || Call.paramHasAttr(N, Attribute::InAlloca))
      return false;
  return true;
}

/// Moves one function's pointers to the managed address space.
class Manager {
public:
  explicit Manager(Function &F) : F(F), Managed(PointerType::get(F.getContext(), ManagedSpace)) {}

  void run() {
    findReferences();
    for (Value *Reference : References)
      Twins[Reference] = makeTwin(Reference);
    for (Value *Reference : References)
      fillTwin(Reference);
    for (Value *Reference : References)
      redirectUses(Reference);
    for (Value *Reference : References)
      if (isCopied(Reference))
        Reference->replaceAllUsesWith(PoisonValue::get(Reference->getType()));
    for (Value *Reference : References)
      if (isCopied(Reference))
        cast<Instruction>(Reference)->eraseFromParent();
  }

private:
  Function &F;
  PointerType *Managed;
  SetVector<Value *> References;
  DenseMap<Value *, Value *> Twins; // each reference in the managed address space

  /// Whether this instruction is repeated in the managed address space, rather than its result cast.
  static bool isCopied(const Value *V) {
    return isa<GetElementPtrInst>(V) || isa<PHINode>(V) || isa<SelectInst>(V);
  }

  static bool isOrigin(const Value *V) {
    if (auto *A = dyn_cast<Argument>(V))
      return !A->hasByValAttr() && !A->hasStructRetAttr() && !A->hasNestAttr() &&
             !A->hasSwiftErrorAttr() && !A->hasInAllocaAttr();
    return isa<LoadInst>(V) || (isa<CallInst>(V) && !isa<IntrinsicInst>(V)) ||
           isa<IntToPtrInst>(V) || isa<ExtractValueInst>(V) || isa<ExtractElementInst>(V) ||
           isa<VAArgInst>(V) || isa<AtomicRMWInst>(V);
  }

  /// A copied instruction's sources of its pointer.
  static SmallVector<Value *, 2> sources(Instruction *I) {
    if (auto *G = dyn_cast<GetElementPtrInst>(I))
      return {G->getPointerOperand()};
    if (auto *P = dyn_cast<PHINode>(I))
      return {P->op_begin(), P->op_end()};
    auto *S = cast<SelectInst>(I);
    return {S->getTrueValue(), S->getFalseValue()};
  }

  /// Copied instructions count as references until one of their sources is found to be none. A constant will do where
  /// there's a choice, but the element of a constant is a plain value.
  void findReferences() {
    const auto isPlain = [](const Value *V) {
      return V->getType()->isPointerTy() && V->getType()->getPointerAddressSpace() == 0;
    };
    for (Argument &A : F.args())
      if (isPlain(&A) && isOrigin(&A))
        References.insert(&A);
    for (Instruction &I : instructions(F))
      if (isPlain(&I) && (isCopied(&I) || isOrigin(&I)))
        References.insert(&I);
    while (References.remove_if([&](Value *V) { return isCopied(V) && !hasReferencesOnly(V); })) {
    }
  }

  bool hasReferencesOnly(Value *V) const {
    auto *I = cast<Instruction>(V);
    return all_of(sources(I), [&](Value *Source) {
      return References.contains(Source) || (isa<Constant>(Source) && !isa<GetElementPtrInst>(I));
    });
  }

  static BasicBlock::iterator after(Value *V) {
    if (auto *I = dyn_cast<Instruction>(V))
      return *I->getInsertionPointAfterDef();
    auto Place = cast<Argument>(V)->getParent()->getEntryBlock().getFirstInsertionPt();
    while (isa<AllocaInst>(*Place))
      ++Place;
    return Place;
  }

  Value *castTo(IRBuilder<> &Builder, Value *V, Type *To) {
    const DataLayout &Layout = F.getParent()->getDataLayout();
    return Builder.CreateIntToPtr(Builder.CreatePtrToInt(V, Layout.getIntPtrType(V->getType())),
                                  To);
  }

  Value *makeTwin(Value *V) {
    if (!isCopied(V)) {
      IRBuilder<> Builder(F.getContext());
      auto Place = after(V);
      Builder.SetInsertPoint(Place->getParent(), Place);
      return castTo(Builder, V, Managed);
    }
    auto *I = cast<Instruction>(V);
    Instruction *Twin = I->clone();
    Twin->mutateType(Managed);
    Twin->insertBefore(I->getIterator());
    return Twin;
  }

  Value *managedSource(Value *V) {
    if (auto Found = Twins.find(V); Found != Twins.end())
      return Found->second;
    auto *C = cast<Constant>(V);
    if (C->isNullValue())
      return ConstantPointerNull::get(Managed);
    if (isa<PoisonValue>(C))
      return PoisonValue::get(Managed);
    if (isa<UndefValue>(C))
      return UndefValue::get(Managed);
    const DataLayout &Layout = F.getParent()->getDataLayout();
    return ConstantExpr::getIntToPtr(
        ConstantExpr::getPtrToInt(C, Layout.getIntPtrType(C->getType())), Managed);
  }

  /// Gives the copy of an instruction its operands.
  void fillTwin(Value *V) {
    if (!isCopied(V))
      return;
    auto *Twin = cast<Instruction>(Twins[V]);
    if (auto *G = dyn_cast<GetElementPtrInst>(Twin)) {
      G->setOperand(0, managedSource(G->getPointerOperand()));
    } else if (auto *P = dyn_cast<PHINode>(Twin)) {
      for (unsigned N = 0; N < P->getNumIncomingValues(); N++)
        P->setIncomingValue(N, managedSource(P->getIncomingValue(N)));
    } else {
      auto *S = cast<SelectInst>(Twin);
      S->setTrueValue(managedSource(S->getTrueValue()));
      S->setFalseValue(managedSource(S->getFalseValue()));
    }
  }

  static bool isAccessThrough(const Use &U) {
    const User *I = U.getUser();
    return isa<LoadInst>(I) ||
           (isa<StoreInst>(I) && U.getOperandNo() == StoreInst::getPointerOperandIndex());
  }

  /// Lets all but the casts at the origin, and the instructions that were copied, use the twin.
  void redirectUses(Value *V) {
    Value *Twin = Twins[V];
    auto *TwinCast = dyn_cast<IntToPtrInst>(Twin);
    SmallVector<Use *> Uses;
    for (Use &U : V->uses())
      Uses.push_back(&U);
    DenseMap<BasicBlock *, Value *> AtEnd; // a phi's common value for all edges from one block
    for (Use *U : Uses) {
      auto *I = cast<Instruction>(U->getUser());
      if (!isCopied(V) && TwinCast && I == TwinCast->getOperand(0))
        continue;
      if (References.contains(I) && isCopied(I))
        continue;
      if (isAccessThrough(*U)) {
        U->set(Twin);
        continue;
      }
      auto *P = dyn_cast<PHINode>(I);
      Value *&Cast = AtEnd[P ? P->getIncomingBlock(*U) : nullptr];
      if (!P || !Cast) {
        IRBuilder<> Builder(P ? P->getIncomingBlock(*U)->getTerminator() : I);
        Cast = castTo(Builder, Twin, V->getType());
      }
      U->set(Cast);
    }
  }
};

/// Takes variables of pointer type out of memory, where unoptimised code has them.
void promotePointers(Function &F) {
  SmallVector<AllocaInst *> Variables;
  for (Instruction &I : F.getEntryBlock())
    if (auto *A = dyn_cast<AllocaInst>(&I))
      if (A->getAllocatedType()->isPointerTy() && isAllocaPromotable(A))
        Variables.push_back(A);
  DominatorTree Tree(F);
  if (!Variables.empty())
    PromoteMemToReg(Variables, Tree);
}

/// Marks a call for RewriteStatepointsForGC: as unfit for a statepoint, or with its attributes.
CallInst *describeCall(CallInst *Call, uint64_t Number) {
  LLVMContext &Context = Call->getContext();
  if (!canBeStatepoint(*Call)) {
    Call->addFnAttr(Attribute::get(Context, "gc-leaf-function"));
    return Call;
  }
  if (WithIds)
    Call->addFnAttr(Attribute::get(Context, "statepoint-id", std::to_string(Number)));
  if (!WithDeopt)
    return Call;
  SmallVector<Value *> State{ConstantInt::get(Type::getInt64Ty(Context), Number)};
  for (Argument &A : Call->getFunction()->args())
    if (A.getType()->isIntegerTy() && A.getType()->getIntegerBitWidth() <= 64)
      State.push_back(&A);
  auto *New = CallInst::Create(Call, OperandBundleDef("deopt", State));
  New->insertInto(Call->getParent(), Call->getIterator());
  New->takeName(Call);
  Call->replaceAllUsesWith(New);
  Call->eraseFromParent();
  return New;
}

class ManagePointers : public PassInfoMixin<ManagePointers> {
public:
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &) {
    uint64_t Number = 1;
    for (Function &F : M) {
      if (F.isDeclaration() || F.hasFnAttribute(Attribute::Naked) || F.hasGC() || returnsTwice(F))
        continue;
      F.setGC("statepoint-example");
      promotePointers(F);
      SmallVector<CallInst *> Calls;
      for (Instruction &I : instructions(F))
        if (auto *Call = dyn_cast<CallInst>(&I); Call && !isa<IntrinsicInst>(Call))
          Calls.push_back(Call);
      for (CallInst *Call : Calls)
        describeCall(Call, Number++);
      Manager(F).run();
    }
    return PreservedAnalyses::none();
  }
  static bool isRequired() { return true; }
};

void addPasses(ModulePassManager &Passes) {
  Passes.addPass(ManagePointers());
  Passes.addPass(RewriteStatepointsForGC());
}

void registerPasses(PassBuilder &Builder) {
#if LLVM_VERSION_MAJOR >= 20
  Builder.registerOptimizerLastEPCallback(
      [](ModulePassManager &Passes, OptimizationLevel, ThinOrFullLTOPhase) { addPasses(Passes); });
#else
  Builder.registerOptimizerLastEPCallback(
      [](ModulePassManager &Passes, OptimizationLevel) { addPasses(Passes); });
#endif
  Builder.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &Passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (Name != "manage-pointers")
          return false;
        addPasses(Passes);
        return true;
      });
}

} // namespace

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "manage-pointers", "1", registerPasses};
}
