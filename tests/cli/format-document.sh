#!/bin/bash
# format/FORMAT.md says all that a reader must know: a decoder that was written from it reads what `pack` writes as
# `dump` does, gives the right answers, and reads the document's own example.
. "$TOP/tests/cli/common.sh"

decode() { # ARGUMENT...
  python3 "$TOP/tests/oracle/packed_decoder.py" "$@"
}

# Packs a program; the decoder must find the records of a dump, and the answers that follow from them.
expect_decoded() { # RAW
  expect_status 0 "$stackpack" pack -o packed "$1"
  expect_status 0 decode --compare="$stackpack" --check-look-ups=100 packed
  cat out
}

random_program() { # PROFILE SEED RECORDS FUNCTIONS
  python3 "$TOP/tests/oracle/random_stackmap.py" --profile "$1" --seed "$2" --records "$3" --functions "$4" -o random
}

# ---- Random programs -----------------------------------------------------------------------------------
while read -r profile seed records functions; do
  random_program "$profile" "$seed" "$records" "$functions"
  expect_decoded random
done <<'END'
wild 1 700 90
wild 2 1000 60
wild 3 600 3
wild 4 5 60
wild 5 0 1
typical 6 2500 700
typical 7 1500 2
END

# ---- Real ones -----------------------------------------------------------------------------------------
for sample in list deopt pairs frames patchpoints; do
  make_program lld $sample $sample
  expect_decoded $sample
done
many_functions 600 >many.ll
make_program bfd many ./many.ll
expect_decoded many

# ---- The decoder sees differences, and refuses what isn't sound ----------------------------------------
cat >other-stackpack <<END
#!/bin/bash
"$stackpack" "\$@" | sed '7s/"offset":[0-9]*,"frame_size"/"offset":1,"frame_size"/'
END
chmod +x other-stackpack
expect_status 1 decode --compare=./other-stackpack packed
expect_output '^1 differences$'

offset=$(section_offset packed .stackpack)
for change in "0 0" "4 3" "8 1" "48 255"; do # magic number, version, features, records
  read -r byte value <<<"$change"
  cp packed damaged
  set_byte damaged $((offset + byte)) "$value"
  expect_status 2 decode damaged
  [[ ! -s out ]] || fail "records from a damaged table"
done
expect_status 2 decode many
grep -q 'no packed table' err || { cat err >&2; fail "no word about the missing table"; }

# ---- The document's example ----------------------------------------------------------------------------
python3 - "$TOP/format/FORMAT.md" example <<'END'
import re, sys
with open(sys.argv[1], encoding="utf-8") as document, open(sys.argv[2], "wb") as example:
    example.write(bytes.fromhex("".join(re.findall(r"^ {4}[0-9a-f]{3}  ([0-9a-f ]+)$", document.read(), re.MULTILINE))))
END
decode --bare=0x400218 --check-look-ups=500 example
decode --bare=0x400218 example >example.json
expect_records example.json <<'END'
def slot(offset):
    return {"kind": "indirect", "register": 7, "offset": offset, "size": 8}

def pairs(*slots):
    return [{"base": slot(base), "derived": slot(derived)} for base, derived in slots]

assert [record["address"] for record in records] == [0x401010, 0x401032, 0x401041, 0x401050, 0x401060]
assert [record["function_address"] for record in records] == [0x401000] + 3 * [0x401020] + [0x401050]
assert [record["frame_size"] for record in records] == [24, 40, 40, 40, 24]
assert [record["id"] for record in records] == [1, 2, 3, 4, 5]
assert [record["gc"] for record in records] == [
    pairs((8, 8)), pairs((8, 8), (16, 16)), pairs((8, 8), (8, 16)), pairs((8, 8), (16, 16)), pairs((8, 8))]
assert [record["deopt"] for record in records] == [[], [], [{"kind": "constant", "value": 42, "size": 8}], [], []]
END
while read -r address answer; do
  expect_status 0 decode --bare=0x400218 --look-up="$address" example
  expect_output "^$address: $answer\$"
done <<'END'
0x401041 found
0x401050 found
0x401049 not a safepoint
0x40101c not a safepoint
0x400fff not managed
0x401069 not managed
END
