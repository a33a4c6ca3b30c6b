/* types_pass.cpp - an LLVM pass that gives stackpack the types of functions and of indirect calls: for clang's -fpass-plugin, and as
 * an example for frontends.
 *
 * Which functions may `p->free(x)` call? From machine code alone, stackpack has to assume every function whose address is taken. A
 * frontend has more information: the pointer comes from the field `free` of one struct, and few functions are ever stored there.
 * This pass collects it for C, a module at a time. It tracks places where pointers to functions are kept:
 *
 *   - a field of a struct, by the struct's name and the field's offset, in any object;
 *   - a global or local variable;
 *   - a parameter, or the result, of a static function.
 *
 * Each place is a type. `elsewhere` is a type for each signature (LLVM's type of a function, the same for all compatible types of C),
 * and one for all signatures. The rules:
 *
 *   1. A function stored to a place has the place's type. A function whose address is used in any other way is elsewhere.
 *   2. A place that gets another place's value includes that place. A place that gets any other value (an argument or a result of a
 *      function that isn't static; a value loaded from outside of all places) includes all functions elsewhere.
 *   3. Elsewhere includes a place whose value is used in any other way than to be called, compared, or followed as a pointer to data.
 *      If a place's own address is used for more than to load and store pointers, each includes the other.
 *   4. A pointer computed in bytes from a struct's start (offsetof) may load from any place, and store to any place.
 *   5. A call of a value loaded from places has a type that includes these. Any other call of a pointer leads elsewhere, to functions
 *      of the call's signature.
 *
 * The section .stackpack.types has the functions of each type, and .stackpack.subtypes has the types that a type includes. Neither is
 * loaded. stackpack(1) has the format, under SAFEPOINTS THAT NO COLLECTION CAN REACH. The linker joins the sections of all modules.
 *
 * A call gets its type at the start of the pipeline, as the attribute "statepoint-id". The attribute stays when the call is inlined or
 * cloned, and rewrite-statepoints-for-gc copies it to the stack map's record. A function's types are metadata, and the end of the
 * pipeline writes them for the remaining functions. A function made by an optimisation has no types, so every pointer may lead to it.
 * A call without prototype has a variable number of arguments in LLVM: it gets no type.
 *
 * The pass assumes the rules of C, and that all of the program was compiled with it:
 *
 *   - A function is called by a pointer to a compatible type.
 *   - A value stored in a struct is read as the same field of the same struct (effective types, ISO C 6.5), or in a copy of the whole
 *     struct. A program must not read a field through another struct with an equal start, through another member of a union of
 *     structs, or by a computed pointer that was kept in a variable first.
 *   - A struct has the same name in all modules.
 */
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/Dwarf.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Passes/PassBuilder.h"
#if __has_include("llvm/Plugins/PassPlugin.h")
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

#include <map>
#include <set>

using namespace llvm;

namespace {

using Place = std::string; /* "": unknown */
using Places = std::set<Place>;

constexpr const char *ANY_ELSEWHERE = "elsewhere"; /* all functions there */
constexpr const char *LEAKED = "leaked";           /* those from places */
constexpr const char *ANYWHERE = "anywhere";       /* for a store to any place */
constexpr const char *EVERYTHING = "everything";   /* for a load from any place */
constexpr const char *IN_UNION = "union";          /* counts as elsewhere */
constexpr const char *NO_VALUE = "none";           /* of functions only called by name */

/* 31 bits: LLVM 18 keeps only 32 bits of an ID, and the statepoints' default ID is larger. Two types with one number count as
 * one. */
uint64_t numberOf(const std::string &type) { return xxh3_64bits(type) & INT32_MAX; }

/* A type as text, without the names of structs, which differ between modules. */
std::string textOf(const Type *type) {
  std::string text;
  if (auto *structure = dyn_cast<StructType>(type)) {
    for (const Type *element : structure->elements())
      text += textOf(element) + ",";
    return "{" + text + "}";
  }
  if (auto *array = dyn_cast<ArrayType>(type))
    return "[" + std::to_string(array->getNumElements()) + " x " + textOf(array->getElementType()) +
           "]";
  raw_string_ostream(text) << *type;
  return text;
}

std::string elsewhere(const FunctionType *type) {
  std::string text = "elsewhere " + textOf(type->getReturnType());
  for (const Type *parameter : type->params())
    text += ", " + textOf(parameter);
  return text + (type->isVarArg() ? ", ..." : "");
}

/* LLVM numbers structs of one name when it joins modules. */
std::string nameOf(const StructType *type) {
  StringRef name = type->getName();
  const size_t dot = name.rfind('.');
  if (dot != StringRef::npos && dot + 1 < name.size() && all_of(name.substr(dot + 1), isDigit))
    name = name.substr(0, dot);
  return name.str();
}

uint64_t sizeOf(const DIType *type) {
  while (type && type->getSizeInBits() == 0 && isa<DIDerivedType>(type))
    type = cast<DIDerivedType>(type)->getBaseType();
  return type ? type->getSizeInBits() / 8 : 0;
}

/* The member of a struct at an offset; NULL if there is none, or it is a bit-field. */
const DIDerivedType *memberAt(const DICompositeType *structure, uint64_t offset) {
  for (const DINode *node : structure->getElements()) {
    const auto *member = dyn_cast<DIDerivedType>(node);
    if (member && member->getTag() == dwarf::DW_TAG_member && !member->isBitField() &&
        !member->isStaticMember() && offset * 8 >= member->getOffsetInBits() &&
        offset * 8 - member->getOffsetInBits() < 8 * sizeOf(member->getBaseType()))
      return member;
  }
  return nullptr;
}

/* Whether no member of a union is a struct, whose fields would be places. */
bool isFlat(const DICompositeType *type) {
  return all_of(type->getElements(), [](const DINode *node) {
    const auto *member = dyn_cast<DIDerivedType>(node);
    const DIType *type = member ? member->getBaseType() : nullptr;
    while (type && isa<DIDerivedType>(type) && type->getTag() != dwarf::DW_TAG_pointer_type)
      type = cast<DIDerivedType>(type)->getBaseType();
    return type && !isa<DICompositeType>(type);
  });
}

Place fieldOf(const std::string &structure, uint64_t offset) {
  return structure + "+" + std::to_string(offset);
}

/* The field at an offset of a type in debug info. */
Place fieldAt(const DIType *type, uint64_t offset) {
  std::string name;
  Place place;
  while (type != nullptr) {
    const auto *derived = dyn_cast<DIDerivedType>(type);
    const auto *composite = dyn_cast<DICompositeType>(type);
    if (derived && derived->getTag() == dwarf::DW_TAG_pointer_type)
      return offset == 0 ? place : "";
    if (derived) { /* const, volatile, or a typedef */
      if (derived->getTag() == dwarf::DW_TAG_typedef)
        name = derived->getName().str();
      type = derived->getBaseType();
    } else if (composite && composite->getTag() == dwarf::DW_TAG_array_type &&
               composite->getBaseType()) {
      type = composite->getBaseType();
      const uint64_t size = sizeOf(type);
      if (size == 0)
        return "";
      offset %= size;
      name = "";
    } else if (composite && composite->getTag() == dwarf::DW_TAG_structure_type) {
      const DIDerivedType *field = memberAt(composite, offset);
      if (field == nullptr)
        return "";
      const std::string own = composite->getName().str();
      place = fieldOf("struct." + (!own.empty()    ? own
                                   : !name.empty() ? name
                                                   : "anon"),
                      field->getOffsetInBits() / 8);
      offset -= field->getOffsetInBits() / 8;
      type = field->getBaseType();
      name = "";
    } else {
      return composite && composite->getTag() == dwarf::DW_TAG_union_type && isFlat(composite)
                 ? IN_UNION
                 : "";
    }
  }
  return "";
}

/* The field at an offset of a type: "" if it isn't a pointer, or its struct has no name. */
Place fieldAt(const DataLayout &layout, Type *type, uint64_t offset) {
  Place place;
  for (;;) {
    if (auto *structure = dyn_cast<StructType>(type)) {
      if (!structure->isSized() || offset >= layout.getTypeAllocSize(type))
        return "";
      const StructLayout *fields = layout.getStructLayout(structure);
      const unsigned field = fields->getElementContainingOffset(offset);
      if (!structure->hasName() || structure->getName().starts_with("union."))
        return "";
      const uint64_t start = fields->getElementOffset(field);
      place = fieldOf(nameOf(structure), start);
      offset -= start;
      type = structure->getElementType(field);
    } else if (auto *array = dyn_cast<ArrayType>(type)) {
      type = array->getElementType();
      const uint64_t size = layout.getTypeAllocSize(type);
      if (size == 0)
        return "";
      offset %= size;
    } else {
      return type->isPointerTy() && offset == 0 ? place : "";
    }
  }
}

class Analysis {
  Module &module;
  const DataLayout &layout;
  std::map<const Function *, std::set<std::string>> types;
  std::set<std::pair<std::string, std::string>> subtypes;

  std::string own(const Value &value) const {
    return module.getSourceFileName() + ":" + value.getName().str();
  }

  /* Whether a function's parameters and result are places. */
  static bool isPrivate(const Function *function) {
    return function != nullptr && function->hasLocalLinkage() && !function->isVarArg();
  }
  Place parameter(const Function *function, unsigned number) const {
    return isPrivate(function) && number < function->arg_size()
               ? own(*function) + "#" + std::to_string(number)
               : "";
  }
  Place result(const Function *function) const {
    return isPrivate(function) ? own(*function) + "#result" : "";
  }

  Place variable(const GlobalVariable &variable) const {
    return "variable " + (variable.hasLocalLinkage() ? own(variable) : variable.getName().str());
  }
  Place local(const AllocaInst &variable) {
    auto [entry, isNew] = locals.try_emplace(&variable, locals.size());
    return module.getSourceFileName() + ":" + variable.getFunction()->getName().str() + " local " +
           std::to_string(entry->second);
  }
  std::map<const AllocaInst *, size_t> locals;

  static Type *elementType(Type *type) {
    while (auto *array = dyn_cast<ArrayType>(type))
      type = array->getElementType();
    return type;
  }

  /* The place at an address: a pointer's, or the first field's of a struct. */
  Place placeOf(const Value *pointer) {
    const Place place = rawPlaceOf(pointer);
    return place == IN_UNION ? "" : place;
  }
  Place rawPlaceOf(const Value *pointer) {
    if (auto *variable = dyn_cast<GlobalVariable>(pointer))
      return inVariable(*variable, 0);
    if (auto *variable = dyn_cast<AllocaInst>(pointer))
      return elementType(variable->getAllocatedType())->isPointerTy()
                 ? local(*variable)
                 : fieldAt(layout, variable->getAllocatedType(), 0);
    auto *element = dyn_cast<GEPOperator>(pointer);
    if (element == nullptr)
      return "";
    uint64_t offset;
    if (auto *variable = variableOf(*element, offset))
      return inVariable(*variable, offset);
    Type *source = elementType(element->getSourceElementType());
    if (isa<StructType>(source))
      return inElement(*element);
    return source->isPointerTy() ? placeOf(element->getPointerOperand()) : "";
  }
  /* The variable at a constant distance from a pointer. */
  const GlobalVariable *variableOf(const GEPOperator &element, uint64_t &offset) const {
    APInt distance(64, 0);
    auto *variable = dyn_cast<GlobalVariable>(element.getPointerOperand());
    if (variable == nullptr || !element.accumulateConstantOffset(layout, distance))
      return nullptr;
    offset = distance.getZExtValue();
    return variable;
  }
  bool isInVariable(const Value *pointer) const {
    uint64_t offset;
    auto *element = dyn_cast<GEPOperator>(pointer);
    return isa<GlobalVariable>(pointer) || (element && variableOf(*element, offset));
  }
  /* A pointer computed in bytes from a struct's start may point to any place. */
  bool isCounted(const Value *pointer) const {
    auto *element = dyn_cast<GEPOperator>(pointer);
    return element && element->getSourceElementType()->isIntegerTy();
  }
  bool isAnyPlace(const Value *pointer) {
    return rawPlaceOf(pointer).empty() && (isInVariable(pointer) || isCounted(pointer));
  }
  Place loadedFrom(const Value *pointer) {
    return isAnyPlace(pointer) ? EVERYTHING : placeOf(pointer);
  }
  Place storedTo(const Value *pointer) { return isAnyPlace(pointer) ? ANYWHERE : placeOf(pointer); }
  static Place orAnywhere(const Place &place) {
    return place.empty() ? ANYWHERE : place == IN_UNION ? "" : place;
  }
  /* Whether an address is a whole struct's, and not only its first field's. For global variables, constants can't distinguish them. */
  static bool isWhole(const Value *pointer) {
    if (auto *variable = dyn_cast<AllocaInst>(pointer))
      return isa<StructType>(elementType(variable->getAllocatedType()));
    auto *element = dyn_cast<GetElementPtrInst>(pointer);
    return element && isa<StructType>(elementType(element->getResultElementType()));
  }
  /* Clang gives a variable another type if its initialiser has padding, or a union in it is initialised: debug info has the
   * right one. */
  Place inVariable(const GlobalVariable &global, uint64_t offset) {
    SmallVector<DIGlobalVariableExpression *> infos;
    if (elementType(global.getValueType())->isPointerTy())
      return variable(global);
    const Place place = fieldAt(layout, global.getValueType(), offset);
    global.getDebugInfo(infos);
    return place.empty() && infos.size() == 1 ? fieldAt(infos[0]->getVariable()->getType(), offset)
                                              : place;
  }
  /* The place that the last indices select, within the innermost struct. */
  Place inElement(const GEPOperator &element) {
    Place place;
    Type *type = element.getSourceElementType();
    for (auto index = element.idx_begin() + 1; index != element.idx_end(); ++index) {
      if (auto *structure = dyn_cast<StructType>(type)) {
        const unsigned field = (unsigned)cast<ConstantInt>(index->get())->getZExtValue();
        if (!structure->hasName() || structure->getName().starts_with("union."))
          return "";
        place =
            fieldOf(nameOf(structure), layout.getStructLayout(structure)->getElementOffset(field));
        type = structure->getElementType(field);
      } else if (auto *array = dyn_cast<ArrayType>(type)) {
        type = array->getElementType();
      } else {
        return "";
      }
    }
    type = elementType(type);
    return type->isPointerTy() && !place.empty() ? place
           : isa<StructType>(type)               ? fieldAt(layout, type, 0)
                                                 : "";
  }

  /* ---- Uses of a value ---- */

  struct Origin {
    const Function *function; /* the value is its address, */
    Place place;              /* or it comes from here */
  };

  void goTo(const Origin &origin, const Place &place) {
    if (origin.function && place.empty())
      types[origin.function].insert({elsewhere(origin.function->getFunctionType()), ANY_ELSEWHERE});
    else if (origin.function)
      types[origin.function].insert(place);
    else if (place != origin.place)
      subtypes.insert({place.empty() ? LEAKED : place, origin.place});
  }

  /* Whether a value may come from elsewhere. */
  bool isForeign(const Value *value, std::set<const Value *> &seen) {
    if (!seen.insert(value).second)
      return false;
    if (isa<PHINode>(value) || isa<FreezeInst>(value))
      return any_of(cast<Instruction>(value)->operands(),
                    [&](const Use &part) { return isForeign(part.get(), seen); });
    if (auto *choice = dyn_cast<SelectInst>(value))
      return isForeign(choice->getTrueValue(), seen) || isForeign(choice->getFalseValue(), seen);
    if (auto *argument = dyn_cast<Argument>(value))
      return parameter(argument->getParent(), argument->getArgNo()).empty();
    if (auto *load = dyn_cast<LoadInst>(value))
      return loadedFrom(load->getPointerOperand()).empty();
    if (auto *call = dyn_cast<CallBase>(value))
      return result(dyn_cast<Function>(call->getCalledOperand())).empty();
    return !(isa<GEPOperator>(value) || isa<AllocaInst>(value) || isa<Function>(value) ||
             isa<GlobalVariable>(value) || isa<ConstantData>(value));
  }
  void receive(const Place &place, const Value *value) {
    std::set<const Value *> seen;
    if (!place.empty() && value->getType()->isPointerTy() && isForeign(value, seen))
      subtypes.insert({place, ANY_ELSEWHERE});
  }

  void follow(const Origin &origin, const Value *value, std::set<const Value *> &seen) {
    if (!seen.insert(value).second)
      return;
    for (const Use &use : value->uses()) {
      const auto *user = dyn_cast<Instruction>(use.getUser());
      if (user == nullptr)
        followConstant(origin, use);
      else if (isa<PHINode>(user) || isa<SelectInst>(user) || isa<FreezeInst>(user))
        follow(origin, user, seen);
      else if (auto *call = dyn_cast<CallBase>(user))
        followCall(origin, use, *call);
      else if (auto *store = dyn_cast<StoreInst>(user); store && use.getOperandNo() == 0)
        goTo(origin, storedTo(store->getPointerOperand()));
      else if (auto *end = dyn_cast<ReturnInst>(user))
        goTo(origin, result(end->getFunction()));
      else if (!isa<ICmpInst>(user) && !(origin.function == nullptr && isPointerUse(use)))
        goTo(origin, "");
    }
  }
  /* Whether it is followed as a pointer to data. */
  static bool isPointerUse(const Use &use) {
    const User *user = use.getUser();
    return isa<LoadInst>(user) || isa<StoreInst>(user) ||
           (isa<GetElementPtrInst>(user) && use.getOperandNo() == 0);
  }
  void followCall(const Origin &origin, const Use &use, const CallBase &call) {
    const Function *callee = dyn_cast<Function>(call.getCalledOperand());
    if (call.isCallee(&use)) {
      if (origin.function == nullptr)
        called[&call].insert(origin.place);
      else if (callee != origin.function ||
               call.getFunctionType() != origin.function->getFunctionType())
        direct[&call].insert(origin.function);
    } else if (callee && callee->isIntrinsic() && origin.function == nullptr &&
               isa<MemIntrinsic>(call)) {
      return;
    } else {
      const bool isArgument = call.isArgOperand(&use);
      goTo(origin, isArgument ? parameter(callee, call.getArgOperandNo(&use)) : "");
    }
  }
  void followConstant(const Origin &origin, const Use &use) {
    if (auto *global = dyn_cast<GlobalVariable>(use.getUser())) {
      if (!global->getName().starts_with("llvm."))
        goTo(origin, orAnywhere(inVariable(*global, 0)));
    } else if (!isa<ConstantAggregate>(use.getUser()) || origin.function == nullptr) {
      goTo(origin, "");
    } /* an initialiser's: see initialise */
  }

  /* Functions in a variable's initialiser. */
  void initialise(const GlobalVariable &global, Constant *value, uint64_t offset) {
    if (auto *function = dyn_cast<Function>(value->stripPointerCasts()))
      goTo({function, ""}, orAnywhere(inVariable(global, offset)));
    else if (isa<GlobalAlias>(value) || isa<GlobalIFunc>(value))
      receive(orAnywhere(inVariable(global, offset)), value);
    auto *aggregate = dyn_cast<ConstantAggregate>(value);
    if (aggregate == nullptr)
      return;
    for (unsigned i = 0; i < aggregate->getNumOperands(); i++) {
      uint64_t into = 0;
      if (auto *structure = dyn_cast<StructType>(value->getType()))
        into = layout.getStructLayout(structure)->getElementOffset(i);
      else
        into = i * layout.getTypeAllocSize(aggregate->getOperand(i)->getType());
      initialise(global, cast<Constant>(aggregate->getOperand(i)), offset + into);
    }
  }

  /* ---- Calls ---- */

  std::map<const CallBase *, Places> called; /* by values from these places */
  std::map<const CallBase *, std::set<const Function *>>
      direct; /* by a choice among these functions */

  void nameCall(CallBase &call) {
    const Value *pointer = call.getCalledOperand();
    std::set<const Value *> seen;
    std::set<std::string> parts = called[&call];
    std::string type;
    if (isForeign(pointer, seen))
      parts.insert(elsewhere(call.getFunctionType()));
    for (const std::string &part : parts)
      type += "|" + part;
    for (const Function *function : direct[&call])
      type += "|" + own(*function);
    for (const std::string &part : parts)
      subtypes.insert({type, part});
    subtypes.insert({type, ANYWHERE});
    for (const Function *function : direct[&call])
      types[function].insert(type);
    subtypes.insert({elsewhere(call.getFunctionType()), LEAKED});
    known.insert(type);
    call.addFnAttr(
        Attribute::get(module.getContext(), "statepoint-id", std::to_string(numberOf(type))));
  }
  std::set<std::string> known;

  /* Finds a place whose address is used for more than to load and store pointers; a whole struct's address, also its first field's, is ignored. */
  void checkAddress(const Value *pointer) {
    const Place place = placeOf(pointer);
    if (place.empty() || isWhole(pointer))
      return;
    for (const Use &use : pointer->uses()) {
      const User *user = use.getUser();
      const auto *load = dyn_cast<LoadInst>(user);
      const auto *store = dyn_cast<StoreInst>(user);
      const bool isPlain =
          (load && load->getType()->isPointerTy()) ||
          (store && use.getOperandNo() == 1 && store->getValueOperand()->getType()->isPointerTy());
      const bool isElement = isa<GEPOperator>(user) || isa<ICmpInst>(user);
      if (!isPlain && !isElement && !isa<LifetimeIntrinsic>(user))
        subtypes.insert({{LEAKED, place}, {place, ANY_ELSEWHERE}});
    }
  }

  void write(std::string &lines) const {
    raw_string_ostream out(lines);
    out << "  .section .stackpack.types, \"\", @progbits\n";
    for (const std::string &type : known)
      out << "  .quad 0, " << numberOf(type) << "\n";
    out << "  .section .stackpack.subtypes, \"\", @progbits\n";
    for (const auto &[type, part] : subtypes)
      out << "  .quad " << numberOf(type) << ", " << numberOf(part) << "\n";
    out << "  .text\n";
  }

public:
  explicit Analysis(Module &module) : module(module), layout(module.getDataLayout()) {}

  void run() {
    std::set<const Value *> seen;
    const auto start = [&](const Origin &origin, const Value *value) {
      seen.clear();
      follow(origin, value, seen);
    };
    for (Function &function : module) {
      if (function.isIntrinsic())
        continue;
      start({&function, ""}, &function);
      if (function.getName() == "main")
        goTo({&function, ""}, "");
      const bool isTaken = function.hasAddressTaken();
      if (isPrivate(&function) && isTaken)
        subtypes.insert({LEAKED, result(&function)});
      for (const Argument &argument : function.args())
        if (const Place place = parameter(&function, argument.getArgNo());
            !place.empty() && argument.getType()->isPointerTy()) {
          start({nullptr, place}, &argument);
          if (isTaken)
            subtypes.insert({place, ANY_ELSEWHERE});
        }
    }
    for (GlobalVariable &global : module.globals()) {
      checkAddress(&global);
      if (global.hasInitializer() && !global.getName().starts_with("llvm."))
        initialise(global, global.getInitializer(), 0);
    }
    for (GlobalAlias &alias : module.aliases())
      if (auto *function = dyn_cast<Function>(alias.getAliaseeObject()))
        goTo({function, ""}, "");
    for (Function &function : module)
      for (Instruction &instruction : instructions(function))
        look(instruction, start);
    for (Function &function : module)
      for (Instruction &instruction : instructions(function))
        if (auto *call = dyn_cast<CallBase>(&instruction);
            call && call->isIndirectCall() && !call->getFunctionType()->isVarArg())
          nameCall(*call);
    subtypes.insert({ANY_ELSEWHERE, LEAKED});
    keep();
  }

private:
  template <typename Start> void look(Instruction &instruction, Start start) {
    if (isa<AllocaInst>(instruction) || isa<GetElementPtrInst>(instruction))
      checkAddress(&instruction);
    for (const Use &operand : instruction.operands()) {
      auto *expression = dyn_cast<ConstantExpr>(operand.get());
      if (expression && expression->getOpcode() == Instruction::GetElementPtr)
        checkAddress(expression);
    }
    if (auto *store = dyn_cast<StoreInst>(&instruction))
      receive(storedTo(store->getPointerOperand()), store->getValueOperand());
    else if (auto *end = dyn_cast<ReturnInst>(&instruction); end && end->getReturnValue())
      receive(result(end->getFunction()), end->getReturnValue());
    else if (auto *call = dyn_cast<CallBase>(&instruction))
      for (const Use &argument : call->args())
        receive(parameter(dyn_cast<Function>(call->getCalledOperand()),
                          call->getArgOperandNo(&argument)),
                argument.get());
    if (!instruction.getType()->isPointerTy())
      return;
    Place place;
    if (auto *load = dyn_cast<LoadInst>(&instruction))
      place = loadedFrom(load->getPointerOperand());
    else if (auto *call = dyn_cast<CallBase>(&instruction))
      place = result(dyn_cast<Function>(call->getCalledOperand()));
    if (!place.empty())
      start({nullptr, place}, &instruction);
  }

  /* Keeps the functions' types for the end of the pipeline. */
  void keep() {
    LLVMContext &context = module.getContext();
    for (Function &function : module) {
      if (function.isIntrinsic())
        continue;
      std::set<std::string> &all = types[&function];
      if (!all.empty())
        all.insert(EVERYTHING);
      else if (!function.isDeclaration())
        all.insert(NO_VALUE);
      SmallVector<Metadata *> numbers;
      for (const std::string &type : all)
        numbers.push_back(
            ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(context), numberOf(type))));
      if (!numbers.empty())
        function.setMetadata("stackpack.types", MDNode::get(context, numbers));
    }
    std::string lines;
    write(lines);
    module.appendModuleInlineAsm(lines);
  }
};

struct NameTypes : PassInfoMixin<NameTypes> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    Analysis(module).run();
    return PreservedAnalyses::all();
  }
  static bool isRequired() { return true; }
};

struct ListFunctions : PassInfoMixin<ListFunctions> {
  PreservedAnalyses run(Module &module, ModuleAnalysisManager &) {
    std::string lines;
    for (const Function &function : module) {
      const MDNode *types = function.getMetadata("stackpack.types");
      const bool isThere = function.isDeclarationForLinker()
                               ? !function.use_empty()
                               : !(function.isDiscardableIfUnused() && function.use_empty());
      for (unsigned i = 0; types && isThere && i < types->getNumOperands(); i++)
        lines +=
            "  .quad \"" + function.getName().str() + "\", " +
            std::to_string(mdconst::extract<ConstantInt>(types->getOperand(i))->getZExtValue()) +
            "\n";
    }
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
                [](ModulePassManager &passes, auto...) { passes.addPass(NameTypes()); });
            builder.registerOptimizerLastEPCallback(
                [](ModulePassManager &passes, auto...) { passes.addPass(ListFunctions()); });
          }};
}
