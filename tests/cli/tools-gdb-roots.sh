#!/bin/bash
# The roots that gdb prints by stackpack.py are those that the collector updates, one by one: of a process and of its core, packed
# and raw, stripped and not. Frames without a record, and a program that doesn't run, give one clear line.
. "$TOP/tests/cli/common.sh"
export STACKPACK=$stackpack

# Stops in a collection, prints the roots, and then each old value that the collector forwards for a place on the stack.
cat >session.py <<'END'
import gdb

class Forward(gdb.Breakpoint):
    def stop(self):
        print(f"forwarded {int(gdb.parse_and_eval('$rsi')) & (1 << 64) - 1:#x}")
        return False

def collector_list():
    gdb.execute("delete")
    Forward("*copier_forward", internal=True)
    gdb.execute("break *copier_finish")
    gdb.execute("continue")
END
run_gdb() { gdb --batch -nx -ex 'set debuginfod enabled off' -ex "source $TOP/tool/gdb/stackpack.py" "$@" >out 2>&1 </dev/null || true; }
# The bases of the roots that gdb printed; each place once.
printed() { sed -nE 's/^    [^ ]+ +(0x[0-9a-f]+)  (readable|not mapped).*/\1/p' "$1" | sort; }

for program in semispace semispace-raw semispace-O0; do
  cp "$BUILD/samples/$program" app
  strip --strip-debug app
  run_gdb -ex 'break *copier_start' -ex 'run --size=20' -ex 'info roots all' -ex 'generate-core-file core' \
    -ex 'source session.py' -ex 'python collector_list()' app
  printed out >roots
  sed -n 's/^forwarded //p' out | sort >forwarded
  (($(wc -l <roots) > 500)) || { head -n 30 out; fail "$program: $(wc -l <roots) roots"; }
  diff roots forwarded >differences || { head differences; fail "$program: other roots than the collector's"; }
  run_gdb -ex 'info roots all' app core
  printed out >roots
  diff roots forwarded >differences || { head differences; fail "$program: other roots in the core"; }
done

# A position-independent program, and its shared C library.
make_program lld raw list -pie -Wl,-z,notext
expect_status 0 "$stackpack" pack --always -o pie raw
run_gdb -ex 'break collect' -ex run -ex 'info roots all' pie
grep -qE '^#1 +sum at 0x[0-9a-f]+: [1-9][0-9]* references?$' out && grep -qE '^#[0-9]+ +main at 0x[0-9a-f]+: not managed$' out &&
  grep -qE '^    \[rsp\+[0-9]+\] +0x[0-9a-f]+  readable$' out || { cat out; fail "a position-independent program"; }

# One frame, by its number; and frames without a record.
strip app
run_gdb -ex 'up 4' -ex 'stackpack frame' -ex 'frame 0' -ex 'info roots' -ex 'frame 1' -ex 'stackpack frame' -ex 'info roots some' app core
grep -qE '^0x[0-9a-f]+: found, in .*a frame of [0-9]+ bytes' out && grep -qE '^#4 .*: [0-9]+ references?$' out || { cat out; fail "a managed frame"; }
grep -q '^#0 .*: not at a call$' out && grep -q '^#1 .*: not managed$' out || { cat out; fail "frames without a record"; }
grep -qx 'info roots \[all \[THREAD\]\]' out || { cat out; fail "bad usage"; }
run_gdb -ex 'info roots' app
[[ $(<out) == "No frame is currently selected." || $(<out) == *$'\n'"No frame is currently selected." ]] || { cat out; fail "without a process"; }
STACKPACK=/none/stackpack run_gdb -ex 'info roots all' app core
grep -q '^/none/stackpack: No such file' out || { cat out; fail "without the command"; }
