#!/bin/bash
# The links between the documents lead somewhere: see documents_links.py. The check itself notices a file and a heading
# that are missing.
. "$TOP/tests/cli/common.sh"

links() { # FOLDER
  python3 "$TOP/tests/cli/documents_links.py" "$1"
}

links "$TOP" || fail "links that lead nowhere"

mkdir -p pages/doc
printf '# A `b`: [c](doc/d.md), e\n[here](#a-b-c-e)\n```\n[x](no.md)\n```\n' >pages/a.md
printf '[up](../a.md#a-b-c-e) [far](https://example.org/no)\n' >pages/doc/d.md
links pages || fail "links that lead to a page are refused"
bad=(no.md doc/no.md '#no' doc/d.md#a)
printf '[x](%s)\n' "${bad[@]}" >pages/e.md
! links pages >said || fail "links that should lead nowhere"
printf 'pages/e.md: %s leads nowhere\n' "${bad[@]}" | diff - said >&2 || fail "other links"
