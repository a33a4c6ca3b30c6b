#!/bin/bash
# The second reader, the reference for dumps, passes its own tests.
set -euo pipefail
export PATH="$LLVM/bin:$PATH" PYTHONDONTWRITEBYTECODE=1
cd "$TOP/tests/oracle"
python3 -m unittest test_oracle
