#!/bin/bash
# Each subcommand once, on one program: does it do its work at all? `make quick` runs this; other tests look at the details.
. "$TOP/tests/cli/common.sh"

make_program lld app list
expect_status 0 "$stackpack" pack --always --keep-raw=raw -o packed app
expect_output '^app: .* records'
expect_same_run app packed
expect_status 0 "$stackpack" unpack --raw=raw -o unpacked packed
expect_same app unpacked
expect_status 0 "$stackpack" verify app packed
dump_json app >app.json
dump_json packed >packed.json
expect_same app.json packed.json
address=$(sed -nE '1s/.*"address":([0-9]+).*/\1/p' packed.json)
expect_status 0 "$stackpack" lookup packed "$(printf '0x%x' "$address")"
expect_output found
expect_status 0 "$stackpack" stats packed
expect_output records
expect_status 0 "$stackpack" report -o report.html packed
grep -q '</html>' report.html || fail "the page has no end"
expect_status 0 "$stackpack" callgraph app
expect_output run
expect_status 0 "$stackpack" why --gc-entry=collect app run
expect_output '^0x[0-9a-f]+ in run'

# STACKPACK_TRACE: a line for each pass of the groups that it names.
expect_status 0 env STACKPACK_TRACE=other,calls "$stackpack" pack --always --gc-entry=collect -o dropped app
grep -qE '^stackpack: calls: sweep: [0-9]+\.[0-9]{2} ms, [0-9]+ functions, [0-9]+ calls$' err || { cat err; fail "the call graph isn't traced"; }
! grep -q '^stackpack: pack:' err || fail "another group is traced"
expect_status 0 env STACKPACK_TRACE=pack "$stackpack" pack --always -o traced app
grep -qE '^stackpack: pack: write_files: ' err || { cat err; fail "pack isn't traced"; }
expect_status 0 env STACKPACK_TRACE=pac,callss "$stackpack" pack --always -o traced app
! grep -qE "^stackpack: (pack|calls):" err || fail "a part of a name is taken for it"

compile list split.o -function-sections
expect_status 0 "$stackpack" split split.o

commands=$("$stackpack" --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
[[ -n $commands ]] || fail "no commands in --help"
for command in $commands; do
  [[ $command == dump ]] || grep -q "stackpack\" $command " "$0" || fail "$command isn't tried here"
  expect_status 0 "$stackpack" "$command" --help
done
