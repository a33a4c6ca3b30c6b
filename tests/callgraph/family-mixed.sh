#!/bin/bash
# Random programs, each about one way by which control goes where no plain call shows it (pointers in tables, callbacks,
# handlers, exceptions, thunks, other modules ...): nothing is dropped that a collection can meet. One round for each way,
# or as many as ROUNDS says.
. "$TOP/tests/callgraph/common.sh"

make_recorder
make_answers
python3 "$TOP/tests/callgraph/family.py" mixed ${ROUNDS:+--rounds "$ROUNDS"} --every "$every" --first "${FIRST:-1}"
