#!/bin/bash
# A report in a real browser, at the widths of a phone and of a desk: an empty console, content within the page's width,
# readable text, a map that works with keys alone, and names that stay text. With SHOTS=FOLDER, pictures
# of the pages are left there.
. "$TOP/tests/cli/common.sh"
command -v chromedriver >/dev/null && python3 -c 'import browser, sys; sys.exit(not browser.available())' || skip "no Chromium"

make_hostile_program app
make_program lld other list
"$stackpack" report -o hostile.html app
"$stackpack" pack --quiet -o packed app
"$stackpack" report -o packed.html packed
"$stackpack" report --gc-entry=collect -o two.html --before=other app
pages=(hostile.html packed.html two.html)
if [[ -n ${CORPUS-} && -e $CORPUS/python3.11.zst ]]; then
  zstd -dq "$CORPUS/python3.11.zst" -o python3.11
  "$stackpack" report -o python.html python3.11
  pages+=(python.html)
fi
HOME=$PWD SHOTS=${SHOTS-} timeout 1200 python3 "$TOP/tests/cli/report_browser.py" "${pages[@]}" || fail "the page isn't right"
