#!/bin/bash
# Random programs of direct calls (calls, tail calls, jump tables, computed gotos, cold parts, inlined and cloned functions),
# at -O0 and -O2, by gcc and clang, linked by four linkers: exactly the records out of reach of collections are dropped. ROUNDS:
# how many.
. "$TOP/tests/callgraph/common.sh"

make_recorder
make_answers
python3 "$TOP/tests/callgraph/family.py" direct --rounds "${ROUNDS:-8}" --every "$((every / 2 + 1))" --first "${FIRST:-1}"
