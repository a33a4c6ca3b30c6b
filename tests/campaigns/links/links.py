"""links.py STACKPACK LLVM-BIN LIBRARY FIRST COUNT - programs linked and changed in ways that nobody has chosen.

Number N is a program of random parts, linked by a random linker with random options, and changed by random tools. If it runs, `pack` must
refuse it in one line and leave it unchanged, or: it runs as before, with the same answers of the library; `verify` agrees; `unpack` gives
the same bytes back; packing twice changes nothing; and further tools leave it running, and readable by `dump`, if they leave the unpacked
program so. The folder of a failure stays.
"""

import collections
import os
import random
import shutil
import subprocess
import sys
import tempfile

STACKPACK, LLVM, LIBRARY = (os.path.abspath(path) for path in sys.argv[1:4])
OBJECTS = os.getcwd()
PARTS = ["thread_local", "large", "ifunc", "sections", "pointers", "aligned"]
KINDS = [["-no-pie"], ["-no-pie", "-static"], ["-pie"], ["-static-pie"], ["-shared"], ["-shared"]]
OPTIONS = """
    -z,relro -z,norelro -z,now -z,lazy -z,combreloc -z,nocombreloc --hash-style=gnu --hash-style=sysv --build-id=none --build-id=sha1
    -z,noseparate-code -z,separate-code --no-eh-frame-hdr -O2 -x -S -s -q --export-dynamic -Bsymbolic -z,max-page-size=65536
    -z,max-page-size=2097152 -z,common-page-size=65536 -z,text -z,notext --gc-sections -z,start-stop-gc -z,execstack -n -N
    --compress-debug-sections=zlib -z,initfirst --discard-locals -z,nognustack
""".split()
OWN_OPTIONS = {
    "lld": """
        --no-rosegment -z,separate-loadable-segments --icf=all -z,rodynamic --pack-dyn-relocs=relr --compress-debug-sections=zstd
        --image-base=0x10000000 --sort-section=alignment --section-start=.llvm_stackmaps=0x30000000 --section-start=.data=0x9000000
        -Ttext=0x3000000 --shuffle-sections=*=7 --nmagic
    """,
    "bfd": """
        -Ttext-segment=0x10000000 --section-start=.llvm_stackmaps=0x30000000 -z,pack-relative-relocs --sort-section=alignment --rosegment
        -z,unique-symbol --sort-common --section-start=.text=0x9000000 -Tdata=0x20000000 --traditional-format
    """,
    "gold": """
        --icf=all --rosegment -Ttext=0x3000000 --section-start=.llvm_stackmaps=0x30000000 --sort-section=name --gdb-index
        -Tdata=0x20000000 --compress-debug-sections=zlib-gnu
    """,
    "mold": """
        --icf=all --pack-dyn-relocs=relr --image-base=0x10000000 -z,separate-loadable-segments --shuffle-sections=5 --reverse-sections
        --spare-dynamic-tags=9 -z,nosectionheader --compress-debug-sections=zstd
    """,
}
TOOLS = [line.strip().replace("LLVM", LLVM) for line in """
    strip
    strip -g
    strip --strip-unneeded
    strip -R .note.gnu.build-id
    strip -R .note.ABI-tag -R .gnu.version
    strip -w -K run -K f*
    LLVM/llvm-strip
    LLVM/llvm-strip -x
    LLVM/llvm-objcopy
    LLVM/llvm-objcopy --strip-sections
    LLVM/llvm-objcopy --compress-debug-sections=zstd
    LLVM/llvm-objcopy -R .note.gnu.build-id
    eu-strip
    eu-strip -f debug
    eu-elfcompress -q -t zlib
    objcopy
    objcopy -R .note.gnu.build-id
    objcopy --compress-debug-sections=zlib
    objcopy --add-section=.extra=/etc/passwd
    objcopy --add-section=.a=/etc/passwd --set-section-flags=.a=alloc,readonly
    objcopy --set-section-alignment=.data=64
    objcopy --writable-text
    objcopy --merge-notes
    objcopy --localize-symbol=run --weaken
    objcopy --prefix-symbols=p_
    objcopy --pad-to=0x800000
    patchelf --set-rpath /a/path/that/needs/room/in/the/dynamic/string/table
    patchelf --add-needed libm.so.6
    patchelf --set-soname libother.so
    dwz
    gdb-add-index
""".splitlines() if line.strip()]  # fmt: skip
PACKING = [[], [], ["--keep-raw=kept"], ["--source=lines"], ["--source=functions", "--keep-raw=kept"], ["--gc-entry=collect", "--gc-entry=allocate"],
           ["--drop-unreachable", "--gc-entry=collect"]]  # fmt: skip


def call(folder, *command):
    """(status, stdout, stderr); a program that takes too long, or can't be run, has status None."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
        return done.returncode, done.stdout, done.stderr
    except (subprocess.TimeoutExpired, OSError) as error:
        return None, "", str(error)


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Link:
    def __init__(self, number, folder):
        draw = random.Random(number)
        self.folder = folder
        linker = draw.choice(sorted(OWN_OPTIONS))
        self.kind = draw.choice(KINDS)
        self.options = draw.sample(OPTIONS, draw.randint(0, 4)) + draw.sample(OWN_OPTIONS[linker].split(), draw.randint(0, 3))
        draw.shuffle(self.options)
        form = draw.choice(["", ".writable", ".split"] if "-no-pie" in self.kind else ["", ".writable", ".writable", ".split", ".split"])
        if "--gc-sections" in self.options and form != ".split":
            form = ".kept" + form
            self.options.append("-u,__LLVM_StackMaps")
        self.managed = f"many{draw.choice(['6', '400'])}{draw.choice(['', '-function-sections'])}{form}"
        self.parts = draw.sample(PARTS, draw.choice([0, 0, 1, 2, 3]))
        self.before = [draw.choice(TOOLS) for _ in range(draw.choice([0, 0, 1, 1, 2, 3]))]
        self.after = [draw.choice(TOOLS) for _ in range(draw.choice([0, 1, 1, 2]))]
        self.packing = draw.choice(PACKING)
        self.drops = [option for option in self.packing if option.startswith(("--gc-entry", "--drop"))]
        self.driver = ["gcc", f"-B{LLVM}", f"-fuse-ld={linker}"]
        self.file = "library.so" if "-shared" in self.kind else "app"
        self.text = f"{linker} {' '.join(self.kind + self.options)} {self.managed} {' '.join(self.parts)}; {'; '.join(self.before)} | pack {' '.join(self.packing)} | {'; '.join(self.after)}"  # fmt: skip

    def path(self, name):
        return os.path.join(self.folder, name)

    def link(self):
        """Whether it links."""
        objects = [f"{OBJECTS}/{name}.o" for name in [self.managed, *self.parts]]
        options = [f"-Wl,{option}" for option in self.options]
        own = [f"{OBJECTS}/answers.o", LIBRARY]
        if self.file == "app":
            return call(self.folder, *self.driver, *self.kind, "-o", "app", *objects, *own, *options)[0] == 0
        return (call(self.folder, *self.driver, "-shared", "-o", self.file, *objects, *options)[0] == 0
                and call(self.folder, *self.driver, "-no-pie", "-o", "app", own[0], self.file, own[1], "-Wl,-rpath,$ORIGIN")[0] == 0)  # fmt: skip

    def apply(self, tools):
        """What a tool that fails says; None: all have changed the file."""
        for tool in tools:
            status, _, error = call(self.folder, *tool.split(), self.file)
            if status != 0:
                return f"{tool}: {error}"
        return None

    def run(self):
        """The status and the output; without the answers, if records are dropped."""
        status, output, _ = call(self.folder, "./app")
        return status, output.splitlines()[: 6 if self.drops else None]

    def records(self, file):
        status, output, error = call(self.folder, STACKPACK, "dump", "--format=json", file)
        return (status, output.count("\n")) if status == 0 else (status, error)

    def check_refusal(self, error):
        reasons = [line for line in error.splitlines() if ": warning: " not in line]
        if len(reasons) != 1 or not reasons[0].startswith("stackpack: "):
            return f"a refusal of {len(reasons)} lines: {error}"
        return None if read(self.path(self.file)) == read(self.path("raw")) else "refused, but changed"

    def check_packed(self, printed):
        """What is wrong with the packed file; None: nothing."""
        now = self.run()
        if now != printed:
            return f"packed, it prints {now}, not {printed}"
        status, output, error = call(self.folder, STACKPACK, "verify", *self.drops, "raw", self.file)
        if status != 0:
            return f"verify: {output}{error}"
        if os.path.exists(self.path("kept")):
            status, _, error = call(self.folder, STACKPACK, "unpack", "--raw=kept", "-o", "original", self.file)
            if status != 0 or read(self.path("original")) != read(self.path("raw")):
                return f"unpack: {error}"
        shutil.copy(self.path(self.file), self.path("packed"))
        status, _, error = call(self.folder, STACKPACK, "pack", self.file)
        if status not in (0, 2) or read(self.path(self.file)) != read(self.path("packed")):
            return f"packed twice: {error}"
        return self.check_tools(printed)

    def check_tools(self, printed):
        shutil.copy(self.path("raw"), self.path(self.file))
        if self.apply(self.after) is not None or self.run() != printed:
            return None  # so it is with the raw file, too
        records = self.records(self.file)
        shutil.copy(self.path("packed"), self.path(self.file))
        failed = self.apply(self.after)
        if failed is not None:
            return f"after packing only, {failed}"
        now = self.run()
        if now != printed:
            return f"after the tools, it prints {now}, not {printed}"
        found = self.records(self.file)
        return None if self.drops or records[0] != 0 or found == records else f"after the tools, dump: {found}, not {records}"

    def check(self):
        """(the outcome in a word, what is wrong or None)"""
        if not self.link() or self.apply(self.before) is not None:
            return "not made", None
        printed = self.run()
        if printed[0] != 0:
            return "doesn't run", None
        shutil.copy(self.path(self.file), self.path("raw"))
        status, _, error = call(self.folder, STACKPACK, "pack", "--always", "--reader=elsewhere", *self.packing, self.file)
        if status == 2:
            return "refused", self.check_refusal(error)
        return "packed", self.check_packed(printed) if status == 0 else f"pack: status {status}: {error}"


def main():
    first, count = int(sys.argv[4]), int(sys.argv[5])
    outcomes, failures = collections.Counter(), 0
    for number in range(first, first + count):
        folder = tempfile.mkdtemp(prefix=f"{number}.", dir=OBJECTS)
        link = Link(number, folder)
        outcome, wrong = link.check()
        outcomes[outcome] += 1
        failures += wrong is not None
        if wrong is None:
            shutil.rmtree(folder)
        else:
            print(f"{number}: {link.text}\n  {wrong}", flush=True)
    print(f"{count} links from {first} on: " + ", ".join(f"{number} {outcome}" for outcome, number in sorted(outcomes.items())) + f"; {failures} wrong")
    return failures > 0 or outcomes["packed"] == 0


if __name__ == "__main__":
    sys.exit(main())
