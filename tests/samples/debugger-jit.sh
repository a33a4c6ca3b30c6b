#!/bin/bash
# gdb's commands with code that is compiled at run time, outside all files: they name it; after `stackpack process`, they print
# the roots that the library gives the collector, one by one, in the process and in its core. Broken tables end in a line.
. "$TOP/tests/samples/common.sh"

[[ $(uname -m) == x86_64 ]] || skip "the listing reads registers of x86-64"
[[ -x $programs/jit ]] || skip "no headers of LLVM's C interface"
ulimit -c unlimited
ulimit -S -t 60 # the end of each answer

# Deep in a chain of calls; the function that allocates is called by code that is compiled at run time.
# shellcheck disable=SC2016 # of gdb
LAST=copier_finish in_gdb process -ex 'break jit_compile' -ex 'ignore 1 80' -ex 'run --stress --threads 1 --functions 200 --live 100' -ex delete \
  -ex 'thread 2' -ex 'set scheduler-locking on' -ex 'break copier_start if self->steps >= 9 && self->steps < 12 && $_caller_is("step_ahead", 4) && !$_caller_is("step_ahead", 5)' \
  -ex continue -ex 'info roots all' -ex 'echo -- told\n' -ex 'stackpack process &process' -ex 'info roots all' -ex backtrace \
  -ex 'echo -- forgotten\n' -ex 'stackpack process' -ex 'info roots all' -ex 'stackpack process &process' -ex 'echo -- broken\n' -ex "source $TOP/tests/samples/debugger_broken.py" -ex 'echo -- listed\n' -ex 'generate-core-file core' -ex 'output/x (long) &process' -ex 'echo \ is the process\n' \
  -ex delete -ex "source $TOP/tests/samples/debugger_listing.py" -ex kill "$programs/jit"
part() { sed -n "/^-- $1\$/,/^-- $2\$/p" process; } # FROM TO

# ---- Without the command: gdb has the frames above such code, and a line about the code ----

grep -q ': in no file.s code, .* compiled at run time' process || fail "no frame of such code: $(<process)"
sed '/: in no file/q' process >before
roots_of before >printed
grep -q '^root' printed || fail "no roots: $(<process)"
grep -E '^(frame|root) ' process >listed
grep ^frame listed | head -n "$(grep -c ^frame printed)" | diff - <(grep ^frame printed) || fail "other frames"
! grep -vxFf listed printed || fail "other roots"

# ---- With it ----

part told forgotten >output
grep -qE '^[1-9][0-9]* ranges of added code$' output || fail "no code: $(<output)"
take_listing process jit "9 4 0"
expect_listed output
[[ $(grep -cE '^#[0-9]+ +0x[0-9a-f]+ in a function without a name: a statepoint, ' output) -ge 4 ]] || fail "few frames of such code: $(<output)"
[[ $(grep -cE '^#[0-9]+ .* in (\?\?|step_ahead) \[managed\] ' output) == $(grep -c ^frame listed) ]] || fail "no marks: $(<output)"
grep -qE '^#[0-9]+ run_thread ' output || fail "a backtrace without its end: $(<output)"

part forgotten broken | grep -q ': in no file.s code, ' || fail "not forgotten: $(<process)"

address=$(sed -nE 's/^(0x[0-9a-f]+) is the process$/\1/p' process)
strip -o stripped "$programs/jit"
for file in "$programs/jit-raw" ./stripped; do
  in_gdb from_core -ex 'stackpack process 16' -ex 'stackpack process nothing' -ex "stackpack process $address" -ex 'info roots all' "$file" core
  grep -q '^stackpack: Cannot access memory at address 0x10$' from_core || fail "a process where no memory is: $(<from_core)"
  grep -q '^stackpack: No symbol ' from_core || fail "an unknown symbol: $(<from_core)"
  expect_listed from_core
done

# ---- What is broken: a line, and an end ----

part broken listed >output
! grep -E 'Traceback|Python Exception|Error occurred in Python' output || fail "$(<output)"
[[ $(grep -c '^broken ' output) -ge 40 ]] || fail "few broken words: $(<output)"
awk '/^broken / { if (open) exit 1; open = 1 } /; the walk |^stackpack: / { open = 0 } END { exit open }' output || fail "no end: $(<output)"
for fault in 'stackpack: added code: Cannot access memory' 'stackpack: added code: no list of ranges' 'stackpack: added code: no packed table' \
  'stackpack: .*: a broken packed table' '#.*: unknown, there may be roots: .*From here on gdb guesses$'; do
  grep -q "^$fault" output || fail "no answer '$fault': $(<output)"
done
