/* code_x86_64.c - tests the decoder's facts on x86-64 instructions, on their bytes. Assemblers give
 * them for the text beside them.
 */
#include "suite.h"
#include "tool/code/code.h"

#include <elf.h>
#include <string.h>

enum { ADDRESS = 0x401000 };

static const struct code_architecture *architecture(void) {
  const struct code_architecture *found = code_architecture(EM_X86_64);
  ck_assert_ptr_nonnull(found);
  return found;
}

#define BYTES(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static struct code_instruction decode(const uint8_t *bytes, size_t size) {
  struct code_instruction instruction;
  architecture()->decode(bytes, size, ADDRESS, &instruction);
  return instruction;
}

static void check_direct(struct code_instruction instruction, enum code_kind kind, unsigned length,
                         uint64_t target) {
  ck_assert_uint_eq(instruction.kind, kind);
  ck_assert_uint_eq(instruction.length, length);
  ck_assert_uint_eq(instruction.target_kind, CODE_DIRECT);
  ck_assert_uint_eq(instruction.target, target);
}

TEST(direct_transfers) {
  check_direct(decode(BYTES(0xe8, 0xfb, 0x0f, 0, 0)), CODE_CALL, 5, 0x402000); /* call 0x402000 */
  check_direct(decode(BYTES(0xe9, 0xfb, 0x0f, 0, 0)), CODE_JUMP, 5, 0x402000); /* jmp */
  check_direct(decode(BYTES(0xeb, 0xfe)), CODE_JUMP, 2, ADDRESS);              /* jmp . */
  check_direct(decode(BYTES(0x74, 0x10)), CODE_BRANCH, 2, 0x401012);           /* je */
  check_direct(decode(BYTES(0x0f, 0x8f, 0xfa, 0xef, 0xff, 0xff)), CODE_BRANCH, 6,
               0x400000);                                                              /* jg */
  check_direct(decode(BYTES(0xe3, 0x02)), CODE_BRANCH, 2, 0x401004);                   /* jrcxz */
  check_direct(decode(BYTES(0xe2, 0xfe)), CODE_BRANCH, 2, ADDRESS);                    /* loop . */
  check_direct(decode(BYTES(0xc7, 0xf8, 0xfa, 0x0f, 0, 0)), CODE_BRANCH, 6, 0x402000); /* xbegin */
  check_direct(decode(BYTES(0x67, 0xe8, 0xfa, 0x0f, 0, 0)), CODE_CALL, 6,
               0x402000); /* addr32 call */
}

TEST(transfers_by_a_word_in_memory) {
  const struct code_instruction call = decode(BYTES(0xff, 0x15, 0xfa, 0x0f, 0, 0)); /* *X(%rip) */
  ck_assert_uint_eq(call.kind, CODE_CALL);
  ck_assert_uint_eq(call.target_kind, CODE_SLOT);
  ck_assert_uint_eq(call.target, 0x402000);
  const struct code_instruction jump = decode(BYTES(0xf2, 0xff, 0x25, 0xf9, 0x0f, 0, 0)); /* bnd */
  ck_assert_uint_eq(jump.kind, CODE_JUMP);
  ck_assert_uint_eq(jump.target_kind, CODE_SLOT);
  ck_assert_uint_eq(jump.target, 0x402000);
  const struct code_instruction fixed = decode(BYTES(0xff, 0x14, 0x25, 0, 0x20, 0x40, 0));
  ck_assert_uint_eq(fixed.target_kind, CODE_SLOT);
  ck_assert_uint_eq(fixed.target, 0x402000);
}

TEST(computed_transfers) {
  const struct code_instruction call = decode(BYTES(0xff, 0xd0)); /* call *%rax */
  ck_assert_uint_eq(call.kind, CODE_CALL);
  ck_assert_uint_eq(call.target_kind, CODE_COMPUTED);
  ck_assert_uint_eq(decode(BYTES(0x41, 0xff, 0x53, 0x18)).target_kind, CODE_COMPUTED);
  const struct code_instruction jump = decode(BYTES(0x3e, 0xff, 0xe2)); /* notrack jmp *%rdx */
  ck_assert_uint_eq(jump.kind, CODE_JUMP);
  ck_assert_uint_eq(jump.target_kind, CODE_COMPUTED);
  /* jmp *0x402000(,%rax,8): the table's address is a constant */
  const struct code_instruction table = decode(BYTES(0xff, 0x24, 0xc5, 0, 0x20, 0x40, 0));
  ck_assert_uint_eq(table.target_kind, CODE_COMPUTED);
  ck_assert_uint_eq(table.constant_count, 1);
  ck_assert_uint_eq(table.constants[0], 0x402000);
  /* call *%fs:0x10 is no word at a fixed address */
  ck_assert_uint_eq(decode(BYTES(0x64, 0xff, 0x14, 0x25, 0x10, 0, 0, 0)).target_kind,
                    CODE_COMPUTED);
}

TEST(ends_and_padding) {
  ck_assert(decode(BYTES(0xcc)).is_break && !decode(BYTES(0x0f, 0x0b)).is_break); /* int3, ud2 */
  ck_assert_uint_eq(decode(BYTES(0xc3)).kind, CODE_RETURN);
  ck_assert_uint_eq(decode(BYTES(0xf3, 0xc3)).kind, CODE_RETURN);
  ck_assert_uint_eq(decode(BYTES(0xc2, 8, 0)).kind, CODE_RETURN);
  ck_assert_uint_eq(decode(BYTES(0x0f, 0x0b)).kind, CODE_STOP);
  ck_assert_uint_eq(decode(BYTES(0xcc)).kind, CODE_STOP);
  ck_assert_uint_eq(decode(BYTES(0xf4)).kind, CODE_STOP);
  ck_assert_uint_eq(decode(BYTES(0x90)).kind, CODE_PADDING);
  ck_assert_uint_eq(decode(BYTES(0x66, 0x90)).kind, CODE_PADDING);
  ck_assert_uint_eq(decode(BYTES(0x0f, 0x1f, 0x44, 0, 0)).kind, CODE_PADDING);
  ck_assert_uint_eq(decode(BYTES(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0)).kind, CODE_PADDING);
  ck_assert_uint_eq(decode(BYTES(0x0f, 0x05)).kind, CODE_OTHER); /* syscall */
}

TEST(no_instructions) {
  ck_assert_uint_eq(decode(BYTES(0x06)).kind, CODE_INVALID);       /* not in 64-bit mode */
  ck_assert_uint_eq(decode(BYTES(0xe8, 0, 0)).kind, CODE_INVALID); /* cut off */
  ck_assert_uint_eq(decode(BYTES(0x06)).length, 1);
}

TEST(references) {
  const struct code_instruction lea = decode(BYTES(0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0));
  ck_assert(lea.has_reference && !lea.is_access);
  ck_assert_uint_eq(lea.reference, 0x402000);
  const struct code_instruction load = decode(BYTES(0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0));
  ck_assert(load.has_reference && load.is_access);
  ck_assert_uint_eq(load.reference, 0x402000);
  /* movl $0x402000, 0x10(%rip): both, and the distance counts from the end */
  const struct code_instruction store = decode(BYTES(0xc7, 0x05, 0x10, 0, 0, 0, 0, 0x20, 0x40, 0));
  ck_assert(store.has_reference && store.is_access);
  ck_assert_uint_eq(store.reference, 0x40101a);
  ck_assert_uint_eq(store.constant_count, 1);
  ck_assert_uint_eq(store.constants[0], 0x402000);
  /* cmpq $0, X(%rip) takes nothing from there */
  ck_assert(!decode(BYTES(0x48, 0x83, 0x3d, 0, 0x10, 0, 0, 0)).has_reference);
}

TEST(constants) {
  const struct code_instruction move = decode(BYTES(0xbf, 0, 0x20, 0x40, 0)); /* mov $, %edi */
  ck_assert_uint_eq(move.constant_count, 1);
  ck_assert_uint_eq(move.constants[0], 0x402000);
  ck_assert(!move.is_wide);
  /* mov $0x90402000, %edi has the upper half clear; movq $ extends the sign */
  ck_assert_uint_eq(decode(BYTES(0xbf, 0, 0x20, 0x40, 0x90)).constants[0], 0x90402000);
  ck_assert_uint_eq(decode(BYTES(0x48, 0xc7, 0xc7, 0, 0x20, 0x40, 0)).constants[0], 0x402000);
  const struct code_instruction wide =
      decode(BYTES(0x48, 0xb8, 0, 0x20, 0x40, 0, 0, 0, 0, 0)); /* movabs */
  ck_assert(wide.is_wide);
  ck_assert_uint_eq(wide.constants[0], 0x402000);
  ck_assert_uint_eq(decode(BYTES(0x68, 0, 0x20, 0x40, 0)).constants[0], 0x402000); /* push $ */
  /* lea 0x402000(%rax), %rcx */
  ck_assert_uint_eq(decode(BYTES(0x48, 0x8d, 0x88, 0, 0x20, 0x40, 0)).constants[0], 0x402000);
  ck_assert_uint_eq(decode(BYTES(0x48, 0x83, 0xc0, 0x10)).constant_count, 0); /* add $16, %rax */
}

/* The memory near the stack pointer or frame pointer that an instruction uses, and where they are then. */
static void check_stack(struct code_instruction instruction, struct code_stack expected) {
  const struct code_stack *stack = &instruction.stack;
  ck_assert_int_eq(stack->growth, expected.growth);
  ck_assert_int_eq(stack->base, expected.base);
  ck_assert_int_eq(stack->copy, expected.copy);
  ck_assert_int_eq(stack->copy_offset, expected.copy_offset);
  if (expected.base == CODE_NO_BASE)
    return;
  ck_assert_int_eq(stack->offset, expected.offset);
  ck_assert_int_eq(stack->size, expected.size);
  ck_assert(stack->is_read == expected.is_read);
}
#define TOP(at, bytes) .base = CODE_STACK_POINTER, .offset = (at), .size = (bytes)
#define FRAME(at, bytes) .base = CODE_FRAME_POINTER, .offset = (at), .size = (bytes)
#define STACK(...) ((struct code_stack){__VA_ARGS__})

TEST(the_stack) {
  check_stack(decode(BYTES(0x4c, 0x89, 0x1c, 0x24)), STACK(TOP(0, 8))); /* mov %r11, (%rsp) */
  check_stack(decode(BYTES(0x48, 0x87, 0x04, 0x24)), STACK(TOP(0, 8))); /* xchg %rax, (%rsp) */
  /* mov %rax, -8(%rsp) */
  check_stack(decode(BYTES(0x48, 0x89, 0x44, 0x24, 0xf8)), STACK(TOP(-8, 8)));
  check_stack(decode(BYTES(0xc7, 0x44, 0x24, 0x04, 0, 0, 0, 0)), STACK(TOP(4, 4))); /* movl */
  /* push %rax; pop %rax */
  check_stack(decode(BYTES(0x50)), STACK(TOP(0, 8), .growth = 8));
  check_stack(decode(BYTES(0x58)), STACK(TOP(-8, 8), .growth = -8, .is_read = true));
  /* push 8(%rsp); push 0x7fffffff(%rsp): at a distance that has no number afterwards */
  check_stack(decode(BYTES(0xff, 0x74, 0x24, 0x08)),
              STACK(TOP(16, 8), .growth = 8, .is_read = true));
  check_stack(decode(BYTES(0xff, 0xb4, 0x24, 0xff, 0xff, 0xff, 0x7f)),
              STACK(TOP(0, 8), .growth = 8));
  check_stack(decode(BYTES(0x48, 0x83, 0xec, 0x18)), STACK(.growth = 24));  /* sub $24, %rsp */
  check_stack(decode(BYTES(0x48, 0x83, 0xc4, 0x18)), STACK(.growth = -24)); /* add $24, %rsp */
  check_stack(decode(BYTES(0x48, 0x8d, 0x64, 0x24, 0x08)),
              STACK(.growth = -8)); /* lea 8(%rsp), %rsp */
  /* mov (%rsp), %r11 */
  check_stack(decode(BYTES(0x4c, 0x8b, 0x1c, 0x24)), STACK(TOP(0, 8), .is_read = true));
  check_stack(decode(BYTES(0xc9)), STACK(TOP(-8, 8), .copy = CODE_FRAME_POINTER, .copy_offset = 8,
                                         .is_read = true));             /* leave */
  check_stack(decode(BYTES(0x49, 0x83, 0xc4, 0x18)), STACK(.size = 0)); /* add $24, %r12 */
  /* mov %rsp, %rbp; lea -24(%rbp), %rsp; mov %rdi, %rsp; and $-32, %rsp */
  check_stack(decode(BYTES(0x48, 0x89, 0xe5)), STACK(.copy = CODE_STACK_POINTER));
  check_stack(decode(BYTES(0x48, 0x8d, 0x65, 0xe8)),
              STACK(.copy = CODE_FRAME_POINTER, .copy_offset = -24));
  check_stack(decode(BYTES(0x48, 0x89, 0xfc)), STACK(.growth = CODE_STACK_LOST));
  check_stack(decode(BYTES(0x48, 0x83, 0xe4, 0xe0)), STACK(.growth = CODE_STACK_LOST));
  /* add %rax, 8(%rbp); movups %xmm0, 16(%rsp); vmovups %ymm0, (%rsp); movups 16(%rsp), %xmm0 */
  check_stack(decode(BYTES(0x48, 0x01, 0x45, 0x08)), STACK(FRAME(8, 8)));
  check_stack(decode(BYTES(0x0f, 0x11, 0x44, 0x24, 0x10)), STACK(TOP(16, 16)));
  check_stack(decode(BYTES(0xc5, 0xfc, 0x11, 0x04, 0x24)), STACK(TOP(0, 32)));
  check_stack(decode(BYTES(0x0f, 0x10, 0x44, 0x24, 0x10)), STACK(TOP(16, 16), .is_read = true));
  /* mov %rsp, %rax; lea 24(%rsp), %rax: addresses of the stack */
  check_stack(decode(BYTES(0x48, 0x89, 0xe0)), STACK(TOP(0, 1)));
  check_stack(decode(BYTES(0x48, 0x8d, 0x44, 0x24, 0x18)), STACK(TOP(24, 1)));
  check_stack(decode(BYTES(0xf0, 0x83, 0x0c, 0x24, 0)), STACK(.size = 0)); /* lock orl $0, (%rsp) */
  /* mov %rax, 8(%rsp,%rcx,8): somewhere in the array at 8(%rsp); its load */
  check_stack(decode(BYTES(0x48, 0x89, 0x44, 0xcc, 0x08)), STACK(TOP(8, 1)));
  check_stack(decode(BYTES(0x48, 0x8b, 0x44, 0xcc, 0x08)), STACK(.size = 0));
}

static bool loses_frame(struct code_instruction instruction) {
  return code_loses_frame(&instruction.stack);
}

TEST(parts_of_the_stack_pointer) {
  const struct code_stack lost = STACK(.growth = CODE_STACK_LOST);
  check_stack(decode(BYTES(0x83, 0xe4, 0xe0)), lost);             /* and $-32, %esp */
  check_stack(decode(BYTES(0x83, 0xec, 0x10)), lost);             /* sub $16, %esp */
  check_stack(decode(BYTES(0x66, 0x83, 0xc4, 0x10)), lost);       /* add $16, %sp */
  check_stack(decode(BYTES(0x40, 0x80, 0xec, 0x10)), lost);       /* sub $16, %spl */
  check_stack(decode(BYTES(0x89, 0xc4)), lost);                   /* mov %eax, %esp */
  check_stack(decode(BYTES(0x80, 0xec, 0x10)), STACK(.size = 0)); /* sub $16, %ah */
  check_stack(decode(BYTES(0x88, 0xe5)), STACK(.size = 0));       /* mov %ah, %ch */
  check_stack(decode(BYTES(0x89, 0xe5)), STACK(.size = 0));       /* mov %esp, %ebp */
  ck_assert(loses_frame(decode(BYTES(0x89, 0xe5))));
  /* push %ax; pushw $1; pushfw; popfw; lea 8(%rsp), %esp; leavew */
  check_stack(decode(BYTES(0x66, 0x50)), lost);
  check_stack(decode(BYTES(0x66, 0x6a, 0x01)), lost);
  check_stack(decode(BYTES(0x66, 0x9c)), lost);
  check_stack(decode(BYTES(0x66, 0x9d)), lost);
  check_stack(decode(BYTES(0x8d, 0x64, 0x24, 0x08)), lost);
  check_stack(decode(BYTES(0x66, 0xc9)), lost);
  /* lea 8(%rsp), %ebp; lea 1(%rbx), %ebp: a number */
  check_stack(decode(BYTES(0x8d, 0x6c, 0x24, 0x08)), lost);
  const struct code_instruction number = decode(BYTES(0x8d, 0x6b, 0x01));
  check_stack(number, STACK(.size = 0));
  ck_assert(loses_frame(number));
}

/* %ah is a part of %rax, and %fs is a register apart: both have the numbers of others. */
TEST(registers_with_numbers_of_others) {
  enum { RAX = 1, RBX = 1 << 3, SET_OF_RBX = 1 << 1 };
  const struct code_stack none = STACK(.size = 0);
  const struct code_instruction high = decode(BYTES(0x88, 0xc7)); /* mov %al, %bh */
  ck_assert_uint_eq(high.parts.reads, RAX);
  ck_assert_uint_eq(high.parts.may_write, RBX);
  ck_assert_uint_eq(high.stack.changes, SET_OF_RBX);
  ck_assert_uint_eq(decode(BYTES(0x00, 0xff)).stack.changes, SET_OF_RBX); /* add %bh, %bh */
  check_stack(decode(BYTES(0x8a, 0x22)), none);                           /* mov (%rdx), %ah */
  ck_assert_uint_eq(decode(BYTES(0x88, 0x3a)).parts.reads, RBX);          /* mov %bh, (%rdx) */
  ck_assert_uint_eq(decode(BYTES(0x0f, 0xa8)).parts.reads, 0);            /* push %gs */
  ck_assert_uint_eq(decode(BYTES(0x8e, 0xd8)).parts.writes, 0);           /* mov %eax, %ds */
  ck_assert_uint_eq(decode(BYTES(0x8e, 0xdb)).stack.changes, 0);          /* mov %ebx, %ds */
  /* cmov %rbx, %rax: only one of the two changes */
  ck_assert_uint_eq(decode(BYTES(0x48, 0x0f, 0x44, 0xc3)).stack.changes, 0);
  ck_assert_uint_eq(decode(BYTES(0x0f, 0x05)).parts.may_write & RAX, RAX); /* syscall */
  ck_assert_uint_eq(decode(BYTES(0xc8, 0x10, 0, 0)).kind, CODE_INVALID);   /* enter */
}

/* Zydis lists neither these registers, nor the ways of transactions' ends. */
TEST(registers_beyond_the_operands) {
  enum { RAX = 1, RBX = 1 << 3, RSI = 1 << 6, RDI = 1 << 7 };
  ck_assert_uint_eq(decode(BYTES(0xf2, 0xae)).parts.may_write & RDI, RDI); /* repne scasb */
  ck_assert_uint_eq(decode(BYTES(0xa6)).parts.may_write, RSI | RDI);       /* cmpsb */
  ck_assert_uint_eq(decode(BYTES(0x6e)).parts.may_write & RSI, RSI);       /* outsb */
  ck_assert_uint_eq(decode(BYTES(0xd7)).parts.may_write, RAX);             /* xlat */
  ck_assert(decode(BYTES(0x0f, 0x01, 0xd7)).parts.may_write & RBX);        /* enclu */
  ck_assert_uint_eq(decode(BYTES(0xc6, 0xf8, 0x01)).kind, CODE_OTHER);     /* xabort $1 */
  ck_assert_uint_eq(decode(BYTES(0x0f, 0x01, 0xd5)).kind, CODE_OTHER);     /* xend */
}

/* Instructions that name no operand in memory may store something there. */
TEST(stores) {
  ck_assert(decode(BYTES(0xf3, 0x48, 0xa5)).may_store);       /* rep movsq */
  ck_assert(decode(BYTES(0xaa)).may_store);                   /* stos %al */
  ck_assert(decode(BYTES(0x66, 0x0f, 0xf7, 0xc1)).may_store); /* maskmovdqu %xmm1, %xmm0 */
  ck_assert(decode(BYTES(0x48, 0x89, 0x07)).may_store);       /* mov %rax, (%rdi) */
  ck_assert(!decode(BYTES(0x48, 0x8b, 0x07)).may_store);      /* mov (%rdi), %rax */
  ck_assert(!decode(BYTES(0x50)).may_store);                  /* push %rax */
  ck_assert(decode(BYTES(0x8f, 0x00)).may_store);             /* pop (%rax) */
}

/* Some instructions name the register that they write to in their VEX, EVEX or XOP prefix. */
TEST(registers_in_a_prefix) {
  const struct code_stack lost = STACK(.growth = CODE_STACK_LOST), none = STACK(.size = 0);
  check_stack(decode(BYTES(0xc4, 0xe2, 0xd8, 0xf3, 0xc8)), lost);    /* blsr %rax, %rsp */
  check_stack(decode(BYTES(0xc4, 0xe2, 0x58, 0xf3, 0xd8)), lost);    /* blsi %eax, %esp */
  check_stack(decode(BYTES(0xc4, 0xe2, 0xdb, 0xf6, 0xc8)), lost);    /* mulx %rax, %rsp, %rcx */
  check_stack(decode(BYTES(0xc4, 0xe2, 0xe0, 0xf2, 0xe0)), lost);    /* andn %rax, %rbx, %rsp */
  check_stack(decode(BYTES(0xc4, 0xe2, 0xf9, 0xf7, 0xe3)), lost);    /* shlx %rax, %rbx, %rsp */
  check_stack(decode(BYTES(0xc4, 0xe3, 0xfb, 0xf0, 0xe0, 3)), lost); /* rorx $3, %rax, %rsp */
  check_stack(decode(BYTES(0x8f, 0xe9, 0xd8, 0x01, 0xc8)), lost);    /* blcfill %rax, %rsp */
  check_stack(decode(BYTES(0xc4, 0xe2, 0xda, 0xf5, 0xc8)),
              none);                                        /* pext %rax, %rsp, %rcx: reads it */
  check_stack(decode(BYTES(0xc5, 0xd8, 0x58, 0xc8)), none); /* vaddps %xmm0, %xmm4, %xmm1 */
  /* blsmsk 8(%rax), %rbp; blsr %eax, %ebp; mulx %rax, %rcx, %rbp; mulx %rax, %rbp, %rcx; blcfill %rax, %rbp */
  ck_assert(loses_frame(decode(BYTES(0xc4, 0xe2, 0xd0, 0xf3, 0x50, 0x08))));
  ck_assert(loses_frame(decode(BYTES(0xc4, 0xe2, 0x50, 0xf3, 0xc8))));
  ck_assert(loses_frame(decode(BYTES(0xc4, 0xe2, 0xf3, 0xf6, 0xe8))));
  ck_assert(loses_frame(decode(BYTES(0xc4, 0xe2, 0xd3, 0xf6, 0xc8))));
  ck_assert(loses_frame(decode(BYTES(0x8f, 0xe9, 0xd0, 0x01, 0xc8))));
  /* blsr %r12, %r13; vaddpd %zmm0, %zmm5, %zmm1; pext %rax, %rbp, %rcx */
  ck_assert(!loses_frame(decode(BYTES(0xc4, 0xc2, 0x90, 0xf3, 0xcc))));
  ck_assert(!loses_frame(decode(BYTES(0x62, 0xf1, 0xd5, 0x48, 0x58, 0xc8))));
  ck_assert(!loses_frame(decode(BYTES(0xc4, 0xe2, 0xd2, 0xf5, 0xc8))));
}

/* Runs instructions one after another, and gives the operand of the last one, a jump. */
static struct code_value follow(const uint8_t *bytes, size_t size) {
  struct code_slots slots = {.is_fixed = true};
  struct code_state state = {.slots = &slots};
  struct code_value jump = {0};
  for (size_t at = 0; at < size;) {
    struct code_instruction instruction;
    architecture()->decode(bytes + at, size - at, ADDRESS + at, &instruction);
    ck_assert_uint_ne(instruction.kind, CODE_INVALID);
    code_follow(architecture(), &instruction, &state, &jump);
    at += instruction.length;
  }
  return jump;
}

static void check_value(struct code_value value, enum code_value_kind kind, uint64_t table) {
  ck_assert_int_eq(value.kind, kind);
  ck_assert_uint_eq(value.table, table);
}

TEST(jump_tables) {
  /* lea 0x402000(%rip), %rcx; movslq (%rcx,%rax,4), %rax; add %rcx, %rax; jmp *%rax */
  check_value(follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0x48, 0x63, 0x04, 0x81, 0x48, 0x01,
                           0xc8, 0xff, 0xe0)),
              CODE_TARGET, 0x402000);
  /* the same with a call between that keeps %rbx: lea X, %rbx; call; movslq (%rbx,%rax,4), %rax; ... */
  check_value(follow(BYTES(0x48, 0x8d, 0x1d, 0xf9, 0x0f, 0, 0, 0xe8, 0, 0, 0, 0, 0x48, 0x63, 0x04,
                           0x83, 0x48, 0x01, 0xd8, 0xff, 0xe0)),
              CODE_TARGET, 0x402000);
  /* without optimisation: lea X, %rax; mov (%rdx,%rax,1), %eax; cltq; lea X, %rdx; add %rdx, %rax;
   * notrack jmp *%rax */
  check_value(follow(BYTES(0x48, 0x8d, 0x05, 0xf9, 0x0f, 0, 0, 0x8b, 0x04, 0x02, 0x48, 0x98, 0x48,
                           0x8d, 0x15, 0xed, 0x0f, 0, 0, 0x48, 0x01, 0xd0, 0x3e, 0xff, 0xe0)),
              CODE_TARGET, 0x402000);
  /* shl $3, %rax; add $0x402000, %rax; mov (%rax), %rax; jmp *%rax */
  check_value(follow(BYTES(0x48, 0xc1, 0xe0, 0x03, 0x48, 0x05, 0, 0x20, 0x40, 0, 0x48, 0x8b, 0x00,
                           0xff, 0xe0)),
              CODE_ENTRY, 0x402000);
  /* lea X, %rcx; lea Y, %rdx; movslq (%rcx,%rax,4), %rax; add %rdx, %rax; jmp *%rax */
  const struct code_value distant =
      follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0x48, 0x8d, 0x15, 0xf9, 0x0f, 0, 0, 0x48,
                   0x63, 0x04, 0x81, 0x48, 0x01, 0xd0, 0xff, 0xe0));
  check_value(distant, CODE_TARGET, 0x402000);
  ck_assert_uint_eq(distant.base, 0x402007);
  /* jmp *0x402000(,%rax,8) */
  check_value(follow(BYTES(0xff, 0x24, 0xc5, 0, 0x20, 0x40, 0)), CODE_ENTRY, 0x402000);
  /* lea X, %rcx; jmp *(%rcx,%rax,8) */
  check_value(follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0xff, 0x24, 0xc1)), CODE_ENTRY,
              0x402000);
  /* lea X, %rcx; add $8, %rcx; jmp *(%rcx,%rax,8) */
  check_value(
      follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0x48, 0x83, 0xc1, 0x08, 0xff, 0x24, 0xc1)),
      CODE_ENTRY, 0x402008);
}

TEST(jumps_by_something_else) {
  /* movslq (%rdi,%rax,4), %rax; add %rdi, %rax; jmp *%rax: any table */
  check_value(follow(BYTES(0x48, 0x63, 0x04, 0x87, 0x48, 0x01, 0xf8, 0xff, 0xe0)), CODE_UNKNOWN, 0);
  /* lea X, %rcx; call: %rcx is lost; movslq (%rcx,%rax,4), %rax; add %rcx, %rax; jmp *%rax */
  check_value(follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0xe8, 0, 0, 0, 0, 0x48, 0x63, 0x04,
                           0x81, 0x48, 0x01, 0xc8, 0xff, 0xe0)),
              CODE_UNKNOWN, 0);
  /* lea X, %rcx; pop %rcx; jmp *(%rcx,%rax,8) */
  check_value(follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0x59, 0xff, 0x24, 0xc1)),
              CODE_UNKNOWN, 0);
  /* lea X, %rcx; add %rdx, %rcx; jmp *(%rcx,%rax,8) */
  check_value(follow(BYTES(0x48, 0x8d, 0x0d, 0xf9, 0x0f, 0, 0, 0x48, 0x01, 0xd1, 0xff, 0x24, 0xc1)),
              CODE_UNKNOWN, 0);
  /* mov 0x402000(%rip), %rax; jmp *%rax: a pointer in a variable */
  check_value(follow(BYTES(0x48, 0x8b, 0x05, 0xf9, 0x0f, 0, 0, 0xff, 0xe0)), CODE_WORD, 0x402000);
}

TEST(other_machines_are_unknown) {
  ck_assert_ptr_null(code_architecture(EM_386));
  ck_assert_ptr_null(code_architecture(EM_NONE));
}
