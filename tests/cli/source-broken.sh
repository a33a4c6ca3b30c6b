#!/bin/bash
# Records are printed in spite of broken debug information: with lines or without, and if its reader fails, one line says so.
. "$TOP/tests/cli/common.sh"

compile_debug "$TOP/tests/cli/source/inlined.c" inlined.o -g
"$LLVM/bin/clang" -O1 -g -c "$TOP/tests/cli/source/main.c" -o main.o
sed -i 's/second(run(5))/run(5)/' "$(cp "$TOP/tests/cli/source/main.c" own.c && echo own.c)"
"$LLVM/bin/clang" -O1 -g -c own.c -o main.o
link_with lld app inlined.o main.o

# libdwarf's own mistakes are its own: a sanitizer reports the reader's end in an ignored file.
export ASAN_OPTIONS=log_path=$PWD/reader:exitcode=99:detect_leaks=0:allocator_may_return_null=1
export UBSAN_OPTIONS=$ASAN_OPTIONS:halt_on_error=1 LSAN_OPTIONS=$ASAN_OPTIONS
python3 - "$stackpack" "${ROUNDS:-$([[ $SAMPLING == few ]] && echo 60 || echo 300)}" <<'PYTHON'
import json, os, random, re, subprocess, sys

stackpack, rounds = sys.argv[1], int(sys.argv[2])
data = open("app", "rb").read()
listing = subprocess.run(["readelf", "--section-headers", "--wide", "app"], capture_output=True, text=True, check=True)
sections = [(int(offset, 16), int(size, 16)) for offset, size in
            re.findall(r"\] \.debug_\S+\s+PROGBITS\s+\S+\s+(\S+)\s+(\S+)", listing.stdout)]
assert len(sections) >= 5
random.seed(7)


def dump(path, *options):
    return subprocess.run([stackpack, "dump", "--format=json", *options, path], capture_output=True, text=True,
                          timeout=60, errors="replace")


def records(text):
    lines = [json.loads(line) for line in text.splitlines()]
    for line in lines:
        line.pop("source", None)
    return lines


expected = records(dump("app").stdout)
outcomes = {0: 0, 2: 0}
for number in range(rounds):
    broken = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 4, 16, 64])):
        offset, size = random.choice(sections)
        place = offset + random.randrange(size if random.random() < 0.7 else min(size, 48))
        broken[place] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256), broken[place] ^ 1 << random.randrange(8)])
    with open("broken", "wb") as file:
        file.write(broken)
    result = dump("broken", "--source")
    complaint = result.stderr.splitlines()
    problem = None
    if result.returncode not in outcomes:
        problem = f"exit status {result.returncode}"
    elif result.returncode == 0 and complaint and complaint != ["stackpack: broken: no debug information"]:
        problem = "words on stderr"
    elif result.returncode == 2 and (len(complaint) != 1 or not complaint[0].startswith("stackpack: broken: ")):
        problem = "not one line on stderr"
    elif records(result.stdout) != expected:
        problem = "other records"
    if problem:
        os.rename("broken", f"broken-{number}")
        sys.exit(f"round {number}: {problem}: {result.stderr[-2000:]}")
    outcomes[result.returncode] += 1
print(outcomes)
assert outcomes[0] > rounds // 10, "nothing could be read"
PYTHON

# Sections that fail to decompress, and (12) one that says it has gigabytes.
for kind in zlib zstd; do
  "$LLVM/bin/llvm-objcopy" --compress-debug-sections=$kind app compressed
  offset=$(section_offset compressed .debug_info)
  for at in 0 8 12 30 60; do
    cp compressed broken
    set_byte broken $((offset + at)) 255
    set_byte broken $((offset + at + 1)) 254
    expect_status 2 "$stackpack" dump --source broken
    only_line_matches '^stackpack: broken: ' err || fail "$kind, byte $at: $(<err)"
    [[ -s out ]] || fail "no records"
  done
done
