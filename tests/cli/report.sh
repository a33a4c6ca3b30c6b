#!/bin/bash
# `report` writes one self-contained page: the same bytes each time, complete, and with names as text, for any content.
. "$TOP/tests/cli/common.sh"

make_hostile_program app
expect_status 0 "$stackpack" report -o page.html app
[[ ! -s out && ! -s err ]] || fail "it should say nothing"
cp page.html first.html
mkdir elsewhere
cp app elsewhere
(cd elsewhere && "$stackpack" report -o page.html app)
expect_same first.html elsewhere/page.html
expect_status 0 "$stackpack" report -o page.html app # replaces it
expect_same first.html page.html
[[ ! -x page.html ]] || fail "a page is no program"

cat >check.py <<'PYTHON'
"""A page is well-formed, runs only its own script, names nothing of the network, and has the numbers of `stats`."""
import base64
import hashlib
import html.parser
import json
import sys

text = open(sys.argv[1], encoding="utf-8").read()
stats = json.load(open(sys.argv[2]))
void = {"meta", "input", "link", "br", "img", "hr"}


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.texts, self.policy, self.rows = [], {}, "", 0

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "style", "srcset"), (tag, name)
            assert name != "href" or value.startswith("#"), value
            if dict(attributes).get("http-equiv") == "Content-Security-Policy" and name == "content":
                self.policy = value
        assert tag not in ("link", "img", "iframe", "object", "embed", "base"), tag
        if tag not in void:
            self.open.append(tag + ("#data" if ("id", "data") in attributes else ""))

    def handle_startendtag(self, tag, attributes):
        assert tag in ("rect", "line"), tag

    def handle_endtag(self, tag):
        assert self.open and self.open.pop().partition("#")[0] == tag, (tag, self.open)

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)


reader = Reader()
reader.feed(text)
reader.close()
assert reader.open == [], reader.open
assert all(ord(c) >= 0x20 or c == "\n" for c in text)
for tag in "style", "script":
    digest = base64.b64encode(hashlib.sha256("".join(reader.texts[tag]).encode()).digest()).decode()
    assert f"{tag}-src 'sha256-{digest}'" in reader.policy, reader.policy
assert reader.policy.startswith("default-src 'none';")
for word in "http:", "https:", "@import", "url(", "fetch(", "XMLHttpRequest":
    assert word not in text, word

data = json.loads("".join(reader.texts["script#data"]))
for member in data["stats"]:  # but for the options that were given
    assert member == "options" or data["stats"][member] == stats[member], member
assert (data["growth"] is not None) == (len(sys.argv) > 3)
PYTHON
check_page() { # PAGE FILE [OPTION...]
  "$stackpack" stats --format=json "${@:3}" "$2" >stats.json
  python3 check.py "$1" stats.json || fail "$1 isn't right"
}
check_page page.html app
for name in '\u003c/script\u003e\u003cscript\u003ewindow.hostile=1\u003c/script\u003e' '\u003cimg src=x onerror=window.hostile=2\u003e' \
  "\\\"'\u0026amp;" 'escape\u001B[31m' 'not\\xffutf8'; do
  grep -qF -- "$name" page.html || fail "no $name"
done

expect_status 0 "$stackpack" stats app
! grep -q $'\x1b' out || fail "stats prints a control character"
grep -qF 'escape\x1b[31m' out || fail "stats doesn't show a control character"

# Of a packed file, with a policy, and of two builds.
expect_status 0 "$stackpack" pack --quiet -o packed app
expect_status 0 "$stackpack" report -o packed.html packed
check_page packed.html packed
expect_status 0 "$stackpack" report --gc-entry=collect -o policy.html app
check_page policy.html app --gc-entry=collect
grep -q 'calls lead to a GC entry' policy.html || fail "no reasons"
make_program lld other list
expect_status 0 "$stackpack" report -o two.html --before=other app
"$stackpack" stats --format=json app >stats.json
python3 check.py two.html stats.json growth || fail "two.html isn't right"

# A failure leaves the page unchanged.
expect_refusal 'missing: ' "$stackpack" report -o page.html missing
expect_refusal 'missing: ' "$stackpack" report -o page.html --before=missing app
expect_refusal 'app: .*the program itself' "$stackpack" report -o app app
expect_refusal 'no/such/folder/page.html: ' "$stackpack" report -o no/such/folder/page.html app
expect_same first.html page.html
expect_status 2 "$stackpack" report app
expect_status 2 "$stackpack" report -o page.html
expect_status 2 "$stackpack" report -o app --before=app packed

if [[ -n ${CORPUS-} && -e $CORPUS/python3.11.zst ]]; then
  zstd -dq "$CORPUS/python3.11.zst" -o python3.11
  expect_status 0 "$stackpack" report -o python.html python3.11
  check_page python.html python3.11
  (($(stat -c %s python.html) < 2000000)) || fail "CPython's page has $(stat -c %s python.html) bytes"
fi
