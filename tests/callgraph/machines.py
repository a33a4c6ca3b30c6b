"""What the random programs of generate.py and family.py need of a machine: how code for it is compiled, linked and run, and
how functions in assembly go on to a target in ways that no plain call shows.

Programs for the build's own machine are watched by recorder.c; those for others by note.c, which their GC entries call.
"""

import dataclasses
from typing import Dict, List


@dataclasses.dataclass(frozen=True)
class Machine:
    name: str
    triple: str
    gcc: str  # a prefix of commands
    clang_options: List[str]
    llc_options: List[str]
    emulator: List[str]
    unit_flags: Dict[str, tuple]
    link_flags: Dict[str, tuple]
    asm_start: str  # of every function: it ends the calls at a depth, or goes on
    asm_return: str
    asm_forms: Dict[str, str]  # by kind: the way to the target {g}
    asm_fixed: tuple = ()  # kinds that need a file that doesn't move


def cross(name, **more):
    return Machine(name=name, triple=f"{name}-unknown-linux-gnu", gcc=f"{name}-linux-gnu-", emulator=[f"qemu-{name}", "-L", f"/usr/{name}-linux-gnu"],
                   **more)  # fmt: skip


# ---- AArch64 -------------------------------------------------------------------------------------------

AARCH64_DATA = "  adrp x9, 8f\n  ldr x9, [x9, :lo12:8f]\n  br x9\n"
AARCH64 = cross(
    "aarch64",
    clang_options=["--target=aarch64-linux-gnu"],
    llc_options=[],
    unit_flags={
        "gcc": ([], ["-mbranch-protection=standard"], ["-fno-plt"], ["-mcmodel=large", "-fno-pic"], ["-ffunction-sections"],
                ["-fno-asynchronous-unwind-tables"], ["-fpatchable-function-entry=4,2"], ["-fomit-frame-pointer"]),
        "clang": ([], ["-mbranch-protection=standard"], ["-fno-plt"], ["-ffunction-sections"], ["-fno-jump-tables"],
                  ["-fexperimental-call-graph-section"], ["-mcmodel=large", "-fno-pic"], ["-moutline"], ["-fomit-frame-pointer"]),
    },
    link_flags={
        "every": ([], ["-rdynamic"], ["-Wl,-z,now"], ["-Wl,--emit-relocs"]),
        "lld": (["-Wl,-z,pack-relative-relocs"], ["-Wl,-z,separate-code"], ["-Wl,--icf=all"]),
        "bfd": (["-Wl,-z,separate-code"],),
        "gold": (["-Wl,--icf=all"],),
        "mold": (["-Wl,--icf=all"], ["-Wl,-z,separate-code"]),
    },
    asm_start="  mov x9, x0\nmiddle_{f}:\n  cmp x1, #{depth}\n  b.ge 1f\n  add x1, x1, #1\n  b 2f\n1:  mov x0, x1\n  ret\n2:",
    asm_return="  mov x0, x1\n  ret",
    asm_fixed=("short", "odd-short", "wide"),
    asm_forms={
        "fall-through": "",
        "jump": "  b {g}\n",
        "conditional": "  cbnz x0, {g}\n  ret\n",
        "register": "  adrp x9, :got:{g}\n  ldr x9, [x9, :got_lo12:{g}]\n  str x30, [sp, #-16]!\n  .cfi_adjust_cfa_offset 16\n"
        "  .cfi_offset 30, -16\n  blr x9\n  ldr x30, [sp], #16\n  .cfi_adjust_cfa_offset -16\n  ret\n",
        "memory": "  adrp x9, :got:{g}\n  ldr x9, [x9, :got_lo12:{g}]\n  br x9\n",
        "return": "  adrp x9, {g}\n  add x9, x9, :lo12:{g}\n  ret x9\n",
        "split": "  adrp x9, {g}\n  b 3f\n  udf #0\n3:  add x9, x9, :lo12:{g}\n  br x9\n",
        "copied": "  adrp x9, {g}\n  mov x10, x9\n  add x10, x10, :lo12:{g}\n  br x10\n",
        "other": "  adrp x9, {g}\n  cbz x9, 3f\n  add x10, x9, :lo12:{g}\n  br x10\n3:  ret\n",
        "stored": "  adrp x9, {g}\n  str x9, [sp, #-16]!\n  ldr x10, [sp], #16\n  add x10, x10, :lo12:{g}\n  br x10\n",
        "near": "  adr x9, {g}\n  br x9\n",
        "wide": "  movz x9, #:abs_g1:{g}\n  movk x9, #:abs_g0_nc:{g}\n  br x9\n",
        "short": "  adrp x9, 8f\n  ldr w9, [x9, :lo12:8f]\n  br x9\n  .section .rodata\n  .balign 4\n8:  .word {g}\n  .text\n",
        "odd-short": "  adrp x9, 8f\n  add x9, x9, :lo12:8f\n  ldr w9, [x9]\n  br x9\n  .section .rodata\n  .balign 4\n  .byte 1\n8:  .word {g}\n  .text\n",
        "relative": "  adrp x9, 9f\n  add x9, x9, :lo12:9f\n  ldrsw x10, [x9]\n  add x9, x9, x10\n  br x9\n"
        "  .section .rodata\n  .balign 4\n9:  .word {g} - 9b\n  .text\n",
        "odd-relative": "  adrp x9, 9f\n  add x9, x9, :lo12:9f\n  ldrsw x10, [x9]\n  add x9, x9, x10\n  br x9\n"
        "  .section .rodata\n  .balign 4\n  .byte 1\n9:  .word {g} - 9b\n  .text\n",
        "table": "  and x10, x0, #1\n  adrp x9, 9f\n  add x9, x9, :lo12:9f\n  adr x11, 7f\n  ldrh w10, [x9, x10, lsl #1]\n"
        "  add x11, x11, w10, sxth #2\n  br x11\n7:  ret\n  .section .rodata\n  .balign 4\n9:  .hword ({g} - 7b) / 4, ({g} - 7b) / 4\n  .text\n",
        "sum": "  ldrsw x10, 8f\n  adr x9, 9f\n9:  add x9, x9, x10\n  br x9\n8:  .word {g} - 9b\n",
        "difference": "  ldrsw x10, 8f\n  adr x9, 9f\n9:  neg x10, x10\n  sub x9, x9, x10\n  br x9\n8:  .word {g} - 9b\n",
        "kept-sum": "  ldrsw x10, 8f\n  adr x9, 9f\n9:  add x9, x9, x10\n  str x9, [sp, #-16]!\n  ldr x11, [sp], #16\n  br x11\n8:  .word {g} - 9b\n",
        "chosen-sum": "  ldrsw x10, 8f\n  adr x9, 9f\n9:  add x10, x9, x10\n  cmp x9, x10\n  csel x11, x10, x9, ne\n  br x11\n8:  .word {g} - 9b\n",
        "middle": "  add x2, x2, #1\n  b middle_{g}\n",
        "high-tag": "  adrp x9, 8f\n  ldr x9, [x9, :lo12:8f]\n  ubfx x9, x9, #0, #48\n  br x9\n"
        '  .section .data.rel,"aw"\n  .balign 8\n8:  .xword {g} + (0x5a << 48)\n  .text\n',
        "note": AARCH64_DATA + '  .section .note.odd,"aw",@note\n  .balign 8\n8:  .xword {g}\n  .text\n',
        "prefix": "  ldr x9, 8f\n  br x9\n  .balign 8\n8:  .xword {g}\n",
        "data": AARCH64_DATA + '  .section .data.rel,"aw"\n  .balign 8\n8:  .xword {g}\n  .text\n',
    },
)

# ---- RISC-V --------------------------------------------------------------------------------------------

RISCV64_DATA = "  lla t1, 8f\n  ld t1, 0(t1)\n  jr t1\n"
RISCV64 = cross(
    "riscv64",
    clang_options=["--target=riscv64-linux-gnu", "-march=rv64gc"],
    llc_options=["-mattr=+m,+a,+f,+d,+c", "-target-abi=lp64d"],
    unit_flags={
        "gcc": ([], ["-fno-plt"], ["-ffunction-sections"], ["-msave-restore"], ["-mno-relax"], ["-mcmodel=medany"],
                ["-fno-asynchronous-unwind-tables"], ["-fomit-frame-pointer"], ["-fno-omit-frame-pointer"]),
        "clang": ([], ["-fno-plt"], ["-ffunction-sections"], ["-msave-restore"], ["-mno-relax"], ["-mcmodel=medany"], ["-fno-jump-tables"],
                  ["-fexperimental-call-graph-section"], ["-moutline"], ["-fno-omit-frame-pointer"]),
    },
    link_flags={
        "every": ([], ["-rdynamic"], ["-Wl,-z,now"], ["-Wl,--emit-relocs"]),
        "lld": (["-Wl,-z,pack-relative-relocs"], ["-Wl,-z,separate-code"], ["-Wl,--icf=all"], ["-Wl,--relax-gp"], ["-Wl,--no-relax"]),
        "bfd": (["-Wl,-z,separate-code"], ["-Wl,--no-relax"]),
        "gold": (),
        "mold": (["-Wl,--icf=all"], ["-Wl,-z,separate-code"]),
    },
    asm_start="  mv t0, a0\nmiddle_{f}:\n  li t2, {depth}\n  bge a1, t2, 1f\n  addi a1, a1, 1\n  j 2f\n1:  mv a0, a1\n  ret\n2:",
    asm_return="  mv a0, a1\n  ret",
    asm_fixed=("short", "odd-short", "wide"),
    asm_forms={
        "fall-through": "",
        "jump": "  tail {g}\n",
        "far": "  .option push\n  .option norelax\n  tail {g}\n  .option pop\n",
        "conditional": "  beqz a0, 3f\n  j {g}\n3:  ret\n",
        "register": "  .option push\n  .option pic\n  la t1, {g}\n  .option pop\n  addi sp, sp, -16\n  .cfi_adjust_cfa_offset 16\n  sd ra, 8(sp)\n"
        "  .cfi_offset ra, -8\n  jalr t1\n  ld ra, 8(sp)\n  addi sp, sp, 16\n  .cfi_adjust_cfa_offset -16\n  ret\n",
        "memory": "  .option push\n  .option pic\n  la t1, {g}\n  .option pop\n  jr t1\n",
        "near": "  lla t1, {g}\n  jr t1\n",
        "split": "4:  auipc t1, %pcrel_hi({g})\n  j 3f\n  unimp\n3:  addi t1, t1, %pcrel_lo(4b)\n  jr t1\n",
        "copied": "4:  auipc t1, %pcrel_hi({g})\n  mv t3, t1\n  addi t3, t3, %pcrel_lo(4b)\n  jr t3\n",
        "other": "4:  auipc t1, %pcrel_hi({g})\n  beqz t1, 3f\n  addi t3, t1, %pcrel_lo(4b)\n  jr t3\n3:  ret\n",
        "stored": "4:  auipc t1, %pcrel_hi({g})\n  sd t1, -8(sp)\n  ld t3, -8(sp)\n  addi t3, t3, %pcrel_lo(4b)\n  jr t3\n",
        "wide": "  lui t1, %hi({g})\n  addi t1, t1, %lo({g})\n  jr t1\n",
        "short": "  lla t1, 8f\n  lwu t1, 0(t1)\n  jr t1\n  .section .rodata\n  .balign 4\n8:  .word {g}\n  .text\n",
        "odd-short": "  lla t1, 8f\n  lwu t1, 0(t1)\n  jr t1\n  .section .rodata\n  .balign 4\n  .byte 1\n8:  .word {g}\n  .text\n",
        "relative": "  lla t1, 9f\n  lw t3, 0(t1)\n  add t1, t1, t3\n  jr t1\n  .section .rodata\n  .balign 4\n9:  .word {g} - 9b\n  .text\n",
        "odd-relative": "  lla t1, 9f\n  lw t3, 0(t1)\n  add t1, t1, t3\n  jr t1\n  .section .rodata\n  .balign 4\n  .byte 1\n9:  .word {g} - 9b\n  .text\n",
        "sum": "  lla t1, 8f\n  lw t3, 0(t1)\n  lla t1, 9f\n9:  add t1, t1, t3\n  jr t1\n  .balign 4\n8:  .word {g} - 9b\n",
        "difference": "  lla t1, 8f\n  lw t3, 0(t1)\n  lla t1, 9f\n9:  neg t3, t3\n  sub t1, t1, t3\n  jr t1\n  .balign 4\n8:  .word {g} - 9b\n",
        "kept-sum": "  lla t1, 8f\n  lw t3, 0(t1)\n  lla t1, 9f\n9:  add t1, t1, t3\n  sd t1, -8(sp)\n  ld t2, -8(sp)\n  jr t2\n  .balign 4\n8:  .word {g} - 9b\n",
        "distance": "  lla t1, 8f\n  ld t1, 0(t1)\n  jr 64(t1)\n"
        '  .section .data.rel,"aw"\n  .balign 8\n8:  .quad {g} - 64\n  .text\n',
        "middle": "  addi a2, a2, 1\n  j middle_{g}\n",
        "high-tag": "  lla t1, 8f\n  ld t1, 0(t1)\n  slli t1, t1, 16\n  srli t1, t1, 16\n  jr t1\n"
        '  .section .data.rel,"aw"\n  .balign 8\n8:  .quad {g} + (0x5a << 48)\n  .text\n',
        "note": RISCV64_DATA + '  .section .note.odd,"aw",@note\n  .balign 8\n8:  .quad {g}\n  .text\n',
        "prefix": RISCV64_DATA + "  .balign 8\n8:  .quad {g}\n",
        "data": RISCV64_DATA + '  .section .data.rel,"aw"\n  .balign 8\n8:  .quad {g}\n  .text\n',
    },
)

MACHINES = {"aarch64": AARCH64, "riscv64": RISCV64}
