/* decoders_llvm.cpp - compares the decoders' facts on instructions with LLVM's tables.
 *
 *     decoders_llvm x86-64|aarch64|riscv64 FILE... | random SEED
 *
 * Of each instruction in a file's code, or in random bytes: whether it is a call, a jump, a branch, or a return; the general
 * registers that it writes to; whether it moves the stack pointer; on x86-64, whether it stores something. Instructions that one of
 * the two lacks, or reads as longer, are counted apart. Prints a line for each kind of difference, and then the numbers of all
 * instructions, of those apart, and of differences.
 */
#include <llvm/MC/MCAsmInfo.h>
#include <llvm/MC/MCContext.h>
#include <llvm/MC/MCDisassembler/MCDisassembler.h>
#include <llvm/MC/MCInst.h>
#include <llvm/MC/MCInstPrinter.h>
#include <llvm/MC/MCInstrInfo.h>
#include <llvm/MC/MCRegisterInfo.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

extern "C" {
#include "tool/code/code.h"
}

namespace {

struct Machine {
  const char *name, *triple, *features;
  uint16_t number; /* in ELF */
  unsigned stack;  /* the stack pointer's number */
  uint32_t preserved, ignored;
  std::vector<std::string> registers;
  std::vector<std::string> exempt; /* instructions, by the start of their names in LLVM */
};

std::vector<std::string> numbered(unsigned count, std::vector<std::string> last) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < count; i++)
    names.push_back("X" + std::to_string(i));
  names.insert(names.end(), last.begin(), last.end());
  return names;
}

/* x86-64: LLVM's tables have registers too many for the first ones, and too few, or the wrong ones, for the others. Zydis reads
 * `xchg` of %rax and itself, or with a `rep` prefix, as `nop` and `pause`. The decoder loses both registers with `lea` to half of
 * one. AArch64: LLVM lists no register for SYSL; signatures leave the link register what it is; pairs move their base by 0.
 * RISC-V: a call by another register than ra is a jump; LLVM lists one register of a pair. */
const Machine machines[] = {
    {"x86-64",
     "x86_64-linux-gnu",
     "",
     EM_X86_64,
     4,
     0xf028,
     0,
     {"RAX", "RCX", "RDX", "RBX", "RSP", "RBP", "RSI", "RDI", "R8", "R9", "R10", "R11", "R12",
      "R13", "R14", "R15"},
     {"CDQ", "CQO", "CWD", "PUSHFS", "PUSHGS", "POPFS", "POPGS", "VMWRITE", "ENCLS", "ENCLU",
      "ENCLV", "GETSEC", "XCHG16ar", "XCHG32ar", "XCHG64ar", "LEA64_32r"}},
    {"aarch64",
     "aarch64-linux-gnu",
     "+all",
     EM_AARCH64,
     31,
     0,
     0,
     numbered(29, {"FP", "LR", "SP"}),
     {"SYSL", "AUTIASPPC", "AUTIBSPPC", "STP", "LDP"}},
    {"riscv64",
     "riscv64-linux-gnu",
     "+m,+a,+f,+d,+c,+v,+zba,+zbb,+zbs,+zicond,+zfa,+zacas",
     EM_RISCV,
     2,
     0,
     1,
     numbered(32, {}),
     {"JAL", "C_JR", "AMOCAS_"}},
};

struct Tables {
  const Machine *machine;
  const struct code_architecture *architecture;
  const llvm::Target *target;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> assembly;
  std::unique_ptr<llvm::MCSubtargetInfo> processor;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::map<unsigned, unsigned> numbers; /* of a register, or a part of it */
  size_t total = 0, apart = 0, differences = 0;
  std::map<std::string, size_t> seen;
};

void number_registers(Tables &tables) {
  const std::vector<std::string> &names = tables.machine->registers;
  for (unsigned i = 1; i < tables.registers->getNumRegs(); i++)
    for (unsigned n = 0; n < names.size(); n++)
      if (names[n] == tables.registers->getName(i))
        for (llvm::MCPhysReg part : tables.registers->subregs_inclusive(i))
          tables.numbers[part] = n;
}

uint32_t bit_of(const Tables &tables, unsigned name) {
  const auto found = tables.numbers.find(name);
  return found == tables.numbers.end() ? 0 : 1u << found->second;
}

/* The registers that are written, by LLVM's tables. */
uint32_t written_by(const Tables &tables, const llvm::MCInst &instruction) {
  const llvm::MCInstrDesc &description = tables.instructions->get(instruction.getOpcode());
  uint32_t written = 0;
  for (unsigned i = 0; i < description.getNumDefs(); i++)
    if (instruction.getOperand(i).isReg())
      written |= bit_of(tables, instruction.getOperand(i).getReg());
  for (llvm::MCPhysReg name : description.implicit_defs())
    written |= bit_of(tables, name);
  return written & ~tables.machine->ignored;
}

const char *kind_of(const llvm::MCInstrDesc &description) {
  return description.isReturn()              ? "return"
         : description.isCall()              ? "call"
         : description.isConditionalBranch() ? "branch"
         : description.isBranch()            ? "jump"
                                             : "other";
}

const char *kind_of(const code_instruction &instruction) {
  switch (instruction.kind) {
  case CODE_CALL:
    return "call";
  case CODE_JUMP:
    return "jump";
  case CODE_BRANCH:
    return "branch";
  case CODE_RETURN:
    return "return";
  default:
    return "other";
  }
}

bool is_exempt(const Machine &machine, const std::string &name) {
  for (const std::string &exempt : machine.exempt)
    if (name.compare(0, exempt.size(), exempt) == 0)
      return true;
  return false;
}

/* Those that LLVM says to store something, so that memory is in order: barriers, prefetches, loads of states. */
bool is_barrier(const std::string &name) {
  static const char *const names[] = {
      "CLDEMOTE", "CLFLUSH", "CLWB",   "FEMMS",    "FXRSTOR", "LDMXCSR",  "VLDMXCSR",
      "LFENCE",   "MFENCE",  "SFENCE", "MMX_EMMS", "PAUSE",   "PREFETCH", "WBINVD",
      "WBNOINVD", "INVD",    "XABORT", "XEND",     "XTEST",   "XRSTOR",   "SERIALIZE"};
  for (const char *barrier : names)
    if (name.compare(0, strlen(barrier), barrier) == 0)
      return true;
  return false;
}

std::string difference_of(const Tables &tables, const code_instruction &own,
                          const llvm::MCInst &theirs) {
  const Machine &machine = *tables.machine;
  const llvm::MCInstrDesc &description = tables.instructions->get(theirs.getOpcode());
  const std::string name = tables.instructions->getName(theirs.getOpcode()).str();
  const uint32_t written = written_by(tables, theirs), may = own.parts.writes | own.parts.may_write;
  const uint32_t changed = code_registers(tables.architecture, own.stack.changes & ~CODE_LINK),
                 stack = 1u << machine.stack;
  const bool moves = own.stack.growth != 0 || own.stack.copy != CODE_NO_BASE || (may & stack) != 0;
  if (is_exempt(machine, name))
    return "";
  if (std::string(kind_of(own)) != kind_of(description))
    return std::string(" is a ") + kind_of(own);
  if (own.kind != CODE_OTHER)
    return "";
  std::string difference;
  if ((written & ~may & ~stack) != 0)
    difference += " misses a register";
  /* (On x86-64, LLVM leaves out registers that some string instructions and system calls change.) */
  const bool is_exact = own.values.operation != VALUE_COMPUTED;
  if (((machine.number != EM_X86_64 ? own.parts.writes : is_exact ? may : 0) & ~written) != 0)
    difference += " has a register too many";
  if (machine.preserved != 0 && changed != (written & machine.preserved))
    difference += " changes others";
  if ((written & stack) != 0 && !moves)
    difference += " keeps the stack pointer";
  if (machine.number == EM_X86_64 && (written & stack) == 0 && own.stack.growth != 0)
    difference += " moves the stack pointer";
  if (machine.number == EM_X86_64 && description.mayStore() && !own.may_store &&
      own.stack.growth <= 0 && !is_barrier(name))
    difference += " stores nothing";
  return difference;
}

void compare(Tables &tables, const code_instruction &own, const llvm::MCInst &theirs) {
  const std::string difference = difference_of(tables, own, theirs);
  const std::string text = tables.instructions->getName(theirs.getOpcode()).str() + difference;
  if (difference.empty())
    return;
  tables.differences++;
  if (tables.seen[text]++ == 0)
    llvm::outs() << text << '\n';
}

void read_code(Tables &tables, const uint8_t *bytes, size_t size, uint64_t address) {
  for (size_t at = 0; at < size;) {
    code_instruction own;
    llvm::MCInst theirs;
    uint64_t length = 0;
    tables.architecture->decode(bytes + at, size - at, address + at, &own);
    const auto status = tables.disassembler->getInstruction(
        theirs, length, llvm::ArrayRef<uint8_t>(bytes + at, size - at), address + at,
        llvm::nulls());
    tables.total++;
    if (status != llvm::MCDisassembler::Success || own.kind == CODE_INVALID || length != own.length)
      tables.apart++;
    else
      compare(tables, own, theirs);
    at += own.kind == CODE_INVALID && tables.architecture->has_link && length > 0 ? length
                                                                                  : own.length;
  }
}

void read_file(Tables &tables, const char *path) {
  std::ifstream file(path, std::ios::binary);
  const std::vector<char> text((std::istreambuf_iterator<char>(file)), {});
  const uint8_t *bytes = reinterpret_cast<const uint8_t *>(text.data());
  const auto *header = reinterpret_cast<const Elf64_Ehdr *>(bytes);
  const auto *segments = reinterpret_cast<const Elf64_Phdr *>(bytes + header->e_phoff);
  for (unsigned i = 0; i < header->e_phnum; i++)
    if (segments[i].p_type == PT_LOAD && (segments[i].p_flags & PF_X) != 0)
      read_code(tables, bytes + segments[i].p_offset, segments[i].p_filesz, segments[i].p_vaddr);
}

void read_random(Tables &tables, unsigned seed) {
  std::minstd_rand random(seed);
  std::vector<uint8_t> bytes(1 << 20);
  for (uint8_t &byte : bytes)
    byte = static_cast<uint8_t>(random() >> 8);
  read_code(tables, bytes.data(), bytes.size(), 0x400000);
}

} // namespace

int main(int argc, char **argv) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86Disassembler();
  LLVMInitializeAArch64TargetInfo();
  LLVMInitializeAArch64TargetMC();
  LLVMInitializeAArch64Disassembler();
  LLVMInitializeRISCVTargetInfo();
  LLVMInitializeRISCVTargetMC();
  LLVMInitializeRISCVDisassembler();
  Tables tables{};
  for (const Machine &machine : machines)
    if (argc > 2 && argv[1] == std::string(machine.name))
      tables.machine = &machine;
  if (tables.machine == nullptr)
    return 2;
  std::string error;
  const char *triple = tables.machine->triple;
  tables.architecture = code_architecture(tables.machine->number);
  tables.target = llvm::TargetRegistry::lookupTarget(triple, error);
  tables.registers.reset(tables.target->createMCRegInfo(triple));
  tables.assembly.reset(tables.target->createMCAsmInfo(*tables.registers, triple, {}));
  tables.processor.reset(
      tables.target->createMCSubtargetInfo(triple, "", tables.machine->features));
  tables.instructions.reset(tables.target->createMCInstrInfo());
  tables.context = std::make_unique<llvm::MCContext>(
      llvm::Triple(triple), tables.assembly.get(), tables.registers.get(), tables.processor.get());
  tables.disassembler.reset(
      tables.target->createMCDisassembler(*tables.processor, *tables.context));
  number_registers(tables);
  if (argc == 4 && argv[2] == std::string("random"))
    read_random(tables, static_cast<unsigned>(atoi(argv[3])));
  else
    for (int i = 2; i < argc; i++)
      read_file(tables, argv[i]);
  llvm::outs() << tables.total << ' ' << tables.apart << ' ' << tables.differences << '\n';
}
