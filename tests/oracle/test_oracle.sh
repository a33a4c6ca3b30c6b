#!/bin/bash
# The second reader, against which dumps are compared, passes its own tests.
set -euo pipefail
export PATH="$LLVM/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
cd "$TOP/tests/oracle"
python3 -m unittest test_oracle
