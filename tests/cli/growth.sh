#!/bin/bash
# Work stays in proportion to a file's size: twice as much of a structure, twice as many instructions. (`make grow` tries
# more kinds and sizes, and memory.)
. "$TOP/tests/cli/common.sh"

command -v valgrind >/dev/null || skip "no valgrind"
# Valgrind can't run a program that has sanitizers.
if [[ -z $(library_flags) ]]; then python3 "$TOP/tests/growth/grow.py" --short "$stackpack"; fi

# One line names the table that refers to the same bytes again.
PYTHONPATH=$TOP/tests/growth python3 - <<'END'
import kinds
for kind in ("symbols-one-name", "sections-one-name", "relocations-one-table", "version-needs", "bit-maps-full", "unwind-one-call-table", "map-sections", "ranges-one-list", "ranges-one-list-5", "debug-long-name",
             "lines-folder", "abbreviations-one-table", "abbreviations-long"):
    kinds.KINDS[kind](1 << 16).write(kind)
END
expect_refusal 'symbols-one-name: names of symbols that lead to more than 4 times the file' "$stackpack" dump symbols-one-name
expect_refusal 'sections-one-name: names of sections that lead to more' "$stackpack" stats sections-one-name
expect_refusal 'relocations-one-table: section headers that lead to more' "$stackpack" pack -o packed relocations-one-table
expect_refusal 'version-needs: version needs that lead to more' "$stackpack" callgraph version-needs
expect_refusal 'bit-maps-full: relative relocations that lead to more' "$stackpack" callgraph bit-maps-full
expect_refusal 'bit-maps-full: relative relocations that lead to more' "$stackpack" pack -o packed bit-maps-full
expect_refusal 'map-sections: more than 64 sections .llvm_stackmaps' "$stackpack" dump map-sections
expect_refusal 'unwind-one-call-table: unwind entries that lead to more' "$stackpack" callgraph unwind-one-call-table
for kind in ranges-one-list ranges-one-list-5; do # the records are printed without lines
  expect_status 2 "$stackpack" dump --source $kind
  only_line_matches "$kind: ranges in debug information that lead to more" err || { cat err; fail "another complaint"; }
done

refuse_source() { # KIND TEXT
  expect_status 2 "$stackpack" dump --source $1
  only_line_matches "$1: $2" err || { cat err; fail "another complaint"; }
}
refuse_source lines-folder "files' folders in debug information that lead to more"
refuse_source abbreviations-one-table 'abbreviations in debug information that lead to more'
refuse_source abbreviations-long 'an entry in debug information with 64 attributes, or more'
PYTHONPATH=$TOP/tests/growth python3 -c 'import kinds; kinds.lines_one_table(1 << 19).write("lines-one-table")'
refuse_source lines-one-table 'tables of lines in debug information that lead to more'
expect_status 2 "$stackpack" dump --source debug-long-name
only_line_matches 'debug-long-name: long names in debug information, 12 times' err || { cat err; fail "another complaint"; }
PYTHONPATH=$TOP/tests/growth python3 -c 'import kinds; kinds.other_callees(True)(1 << 18).write("other-callees-kept")'
expect_status 2 "$stackpack" why --gc-entry=f other-callees-kept f
only_line_matches 'other-callees-kept: too many ways for one answer: ask for one address, such as 0x' err || { cat err; fail "another complaint"; }

# A file of split units is read once. (The reader's time is limited.)
PYTHONPATH=$TOP/tests/growth python3 -c 'import kinds; kinds.split_units(6000, "all.dwo").write("split-units")'
expect_status 0 "$stackpack" dump --source split-units
(($(grep -c '^ *g at ' out) == 5999)) || fail "functions of split units are missing"

# libdw's time has a limit.
PYTHONPATH=$TOP/tests/growth python3 -c 'import kinds; kinds.unwind_large_register(1 << 16).write("large-register")'
expect_status 0 "$stackpack" pack --always -o packed large-register
expect_refusal 'large-register: unwind tables that take libdw too long, at 0x' "$stackpack" verify large-register packed

# A thin archive that names one object again and again; response files that name two others each.
"$LLVM/bin/llvm-mc" -filetype=obj -triple=x86_64 /dev/null -o empty.o
python3 - <<'END'
def header(name, size):
    return b"%-16s%-12d%-6d%-6d%-8d%-10d`\n" % (name, 0, 0, 0, 644, size)
with open("thin.a", "wb") as file:
    file.write(b"!<thin>\n" + header(b"//", 10) + b"empty.o/\n\n" + header(b"/0", 9) * 100)
for i in range(40):
    with open("response%d" % i, "w") as file:
        file.write("@response%d @response%d\n" % (i + 1, i + 1))
END
touch response40
expect_refusal 'thin.a: members of the thin archive that lead to more' "$stackpack" split thin.a
expect_status 2 "${stackpack}-ld" @response0
only_line_matches 'response[0-9]*: more than 1000 response files' err || { cat err; fail "another complaint"; }

# Libraries of a link: the folders are looked for once.
for ((i = 0; i < 4000; i++)); do echo -lx; done >words
if [[ -z $(library_flags) ]]; then
  count=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null "${stackpack}-ld" --stackpack-ld=true @words 2>&1 | sed -n 's/.*Collected : //p')
  ((count < 50000000)) || fail "4000 libraries take $count instructions"
fi

# An input that is named again and again is split once.
compile frames frames.o
printf '#!/bin/sh\nprintf "%%s\\n" "$@" | sort | uniq -c\n' >linker
chmod +x linker
"${stackpack}-ld" --stackpack-ld=./linker frames.o empty.o frames.o empty.o frames.o >words
grep -q '^ *3 .*/0/frames.o$' words && grep -q '^ *2 empty.o$' words || { cat words; fail "not one copy of an input"; }

# A command that needs more memory than it may have says so in one line, with the limit.
if [[ -z $(library_flags) ]]; then # a sanitizer needs more memory than that
  PYTHONPATH=$TOP/tests/growth python3 -c 'import kinds; kinds.records(1 << 23).write("records")'
  expect_status 2 bash -c 'ulimit -d 16384; exec "$@"' - "$stackpack" pack -o packed records
  only_line_matches 'not enough memory: the limit is 16 MB' err || { cat err; fail "another complaint"; }
fi
