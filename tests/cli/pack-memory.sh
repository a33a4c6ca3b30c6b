#!/bin/bash
# A large file is in memory once while it is packed: its pages, those of appended data included, become the new file's.
. "$TOP/tests/cli/common.sh"

times=1.3
[[ -z $(library_flags) ]] || times=100 # sanitizers need more
make_program lld raw list
head -c 64M /dev/zero | tr '\0' x >large
"$LLVM/bin/llvm-objcopy" --add-section .debug_large=large raw
cat large >>raw
python3 - "$stackpack" "$times" <<'END' || fail "too much memory"
import os, resource, subprocess, sys
subprocess.run([sys.argv[1], "pack", "--always", "-o", "packed", "raw"], check=True)
size = os.path.getsize("raw") >> 10
most = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print("%d KB for a file of %d KB" % (most, size))
sys.exit(most > float(sys.argv[2]) * size)
END
expect_same_run raw packed
