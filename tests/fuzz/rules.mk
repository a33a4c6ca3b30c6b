# tests/fuzz/rules.mk - builds and runs the fuzzers; included by the top Makefile, or used alone.
#
#   make fuzzers        builds them: $(BUILD)/fuzz/fuzz_*
#   make fuzz           runs each for FUZZ_SECONDS (default 60), FUZZ_JOBS (default 2) at a time
#   make fuzz-long      the same for 600 seconds each, with choices that are others in every run
#
# It expects BUILD (the build folder) and LLVM (the prefix of an LLVM whose clang has libFuzzer). A run's corpus and its
# findings are kept in $(BUILD)/fuzz; the seeds in tests/fuzz/corpus come from make_corpus.py.

BUILD ?= build
LLVM ?= $(shell tests/find-llvm.sh 2>/dev/null)
FUZZ_SECONDS ?= $(if $(filter fuzz-long,$(MAKECMDGOALS)),600,60)
FUZZ_JOBS ?= 2

FUZZ_TARGETS := v3 encode packed elf eh_frame file kept walk split graph policy
FUZZERS := $(FUZZ_TARGETS:%=$(BUILD)/fuzz/fuzz_%)

FUZZ_FLAGS := -std=c17 -D_GNU_SOURCE -I. -fno-strict-aliasing -O1 -g -Wall -Wextra -fno-omit-frame-pointer \
  -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_COMPILE = $(LLVM)/bin/clang $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -MMD -MP -c
FUZZ_LINK = $(LLVM)/bin/clang $(FUZZ_FLAGS) -fsanitize=fuzzer

# The whole library, the rooms of the command (except for the readers of debug information), and the targets' shared code.
FUZZ_TOOL := $(wildcard tool/code/*.c tool/flow/*.c tool/image/*.c tool/rewrite/*.c tool/check/*.c tool/calls/*.c tool/split/*.c tool/objects/*.c) \
  tool/image/demangle.c tool/print/pieces.c tool/print/json.c
FUZZ_SHARED := tests/fuzz/fuzz.c tests/fuzz/walk.c tests/fuzz/round_trip.c tests/unit/v3_writer.c tests/unit/bytes.c
FUZZ_OBJECTS := $(patsubst %.c,$(BUILD)/fuzz/%.o, \
  $(wildcard format/*.c elf/*.c runtime/*.c) $(FUZZ_TOOL) $(FUZZ_SHARED))
FUZZ_OWN_OBJECTS := $(patsubst %,$(BUILD)/fuzz/tests/fuzz/%.o,$(FUZZ_TARGETS:%=fuzz_%) elf_mutator)

.PHONY: fuzz fuzz-long fuzzers
.SECONDARY: $(FUZZ_OBJECTS) $(FUZZ_OWN_OBJECTS)

fuzz: fuzzers
	printf '%s\n' $(FUZZ_TARGETS) | BUILD="$(BUILD)" FUZZ_SECONDS="$(FUZZ_SECONDS)" \
	  xargs -P $(FUZZ_JOBS) -n 1 tests/fuzz/run

# Its corpus stays in $(BUILD)/fuzz/corpus, so that the next run goes on from there.
fuzz-long: override export FUZZ_SEED := 0
fuzz-long: fuzz

fuzzers: $(FUZZERS)

# For scripts that count them.
.PHONY: list-fuzzers
list-fuzzers:
	@echo $(FUZZ_TARGETS)

$(BUILD)/fuzz/%.o: %.c
	@mkdir -p $(@D)
	$(FUZZ_COMPILE) -o $@ $<

$(BUILD)/fuzz/fuzz_elf $(BUILD)/fuzz/fuzz_file $(BUILD)/fuzz/fuzz_split $(BUILD)/fuzz/fuzz_graph: $(BUILD)/fuzz/tests/fuzz/elf_mutator.o

$(BUILD)/fuzz/fuzz_%: $(BUILD)/fuzz/tests/fuzz/fuzz_%.o $(FUZZ_OBJECTS)
	$(FUZZ_LINK) -o $@ $^ -ldw -lelf -lzstd -lZydis -liberty -ljansson

-include $(FUZZ_OBJECTS:.o=.d) $(FUZZ_OWN_OBJECTS:.o=.d)
