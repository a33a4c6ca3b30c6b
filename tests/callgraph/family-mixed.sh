#!/bin/bash
# Random programs, each about one way of control flow hidden from plain calls (pointers in tables, callbacks,
# handlers, exceptions, thunks, other modules ...): all records that a collection can meet are kept. One round for each way,
# or as many as ROUNDS says.
. "$TOP/tests/callgraph/common.sh"

make_recorder
make_answers
python3 "$TOP/tests/callgraph/family.py" mixed ${ROUNDS:+--rounds "$ROUNDS"} --every "$every" --first "${FIRST:-1}"
