# samples/rules.mk - builds the samples; included by the top Makefile.
#
# It expects BUILD (the build folder), LLVM (a prefix such as /usr/lib/llvm-22), CC, COMPILE and LINK (CC with the
# flags for each), and rules for $(BUILD)/libstackpack.a and $(BUILD)/stackpack.
#
# Each sample has a rules.mk of its own, which adds its programs to SAMPLES. What they share, and how managed code is
# compiled, is in samples/common.

SAMPLES :=

include samples/common/rules.mk
include $(filter-out samples/common/rules.mk,$(wildcard samples/*/rules.mk))

.DELETE_ON_ERROR:
.PHONY: samples
samples: $(SAMPLES)
