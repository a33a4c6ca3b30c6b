# tests/rules.mk - runs the tests; included by the top Makefile.
#
# UNIT_TESTS names the unit-test programs, each with a rule that builds it, and is set before this file is included.

CLI_TESTS := $(filter-out %/common.sh,$(wildcard tests/cli/*.sh))
CALLGRAPH_TESTS := $(filter-out %/common.sh,$(wildcard tests/callgraph/*.sh))
OTHER_TESTS := tests/oracle/test_oracle.sh $(filter-out %/common.sh,$(wildcard tests/samples/*.sh)) tests/fuzz/regressions.sh

include tests/samples/rules.mk

# Tests of the parts around the code: installed files, packages, other build systems and tools, programs that take
# long to build. A second compiler or a sanitizer repeats their results. So do fuzzers, and samples that are built with the thread
# sanitizer: LLVM's clang compiles them always.
AROUND := $(addprefix tests/cli/,bench.sh bindings.sh builds.sh cargo.sh completions.sh corpus-%.sh documents-%.sh faults.sh library-abi.sh library-musl.sh library-situations.sh library-threads.sh library-plain.sh walk-ends.sh \
  format-document.sh help.sh install%.sh library-size.sh sources-format.sh machines-calls.sh machines-readers.sh make-quiet.sh managed-compiler.sh \
  matrix-machines.sh packages.sh report-browser.sh split-pie.sh tools-%.sh unwind-machines.sh walk-machines.sh) tests/callgraph/edges.sh tests/callgraph/lua.sh \
  $(addprefix tests/samples/,debugger%.sh handles.sh jit-threads.sh machines.sh shadow-stack.sh threads.sh types.sh) tests/fuzz/regressions.sh tests/oracle/test_oracle.sh

# Tests that compile many programs for a verdict or a layout each. Under sanitizers, the fuzzers and the other tests of the analysis
# of calls (fuzz_graph, gc-tables.sh ...) go through the same code.
VERDICTS := $(filter-out $(addprefix tests/cli/gc-,answers.sh bad-headers.sh data.sh policy.sh sums.sh tables.sh undecodable.sh why.sh), \
  $(wildcard tests/cli/gc-*.sh)) $(addprefix tests/cli/,conflicts-comdat.sh linker.sh lookup.sh matrix.sh matrix-tools.sh pack-clients.sh \
  pack-layouts.sh pack-no-room.sh pack-pie-shrinks.sh pack-references.sh relro.sh several-addresses.sh split-copies.sh stats-sums.sh stats-units.sh \
  unwind-mixed.sh walk-shared-prologues.sh) $(addprefix tests/callgraph/,family-%.sh why.sh)

# The tests of `check-all`; the tests of `check`: few samples of each kind, without the tests that take longest and look around
# the code; the tests of `check-inputs` (for sanitizers), and of `check-code` (for another compiler). TEST names some tests by a
# pattern; they then try all their cases: make check TEST='gc-*'.
LONG := $(addprefix tests/cli/,builds.sh completions.sh corpus-python.sh format-document.sh managed-compiler.sh matrix.sh matrix-machines.sh packages.sh report-browser.sh \
  tools-patchelf.sh tools-release.sh unwind-machines.sh) $(addprefix tests/samples/,debugger%.sh handles.sh jit-threads.sh machines.sh threads.sh types.sh)
# They need real programs, which `make corpus` builds: `check` has them if CORPUS names the folder.
CORPUS_TESTS := $(addprefix tests/cli/corpus-,depths.sh lua%.sh python.sh source.sh tools.sh) tests/cli/documents-figures.sh tests/callgraph/lua.sh
ALL_TESTS := $(UNIT_TESTS) $(OTHER_TESTS) $(CALLGRAPH_TESTS) $(CLI_TESTS)
INPUT_TESTS := $(filter-out $(AROUND) $(VERDICTS),$(ALL_TESTS))
CODE_TESTS := $(filter-out $(AROUND),$(UNIT_TESTS) $(OTHER_TESTS))
QUICK_TESTS := $(UNIT_TESTS) tests/fuzz/regressions.sh tests/cli/smoke.sh
SOME_TESTS := $(filter-out $(LONG) $(if $(CORPUS),,$(CORPUS_TESTS)),$(ALL_TESTS))
NAMED_TESTS = $(foreach test,$(ALL_TESTS),$(if $(filter $(subst *,%,$(TEST)),$(basename $(notdir $(test)))),$(test)))

.PHONY: check check-all check-inputs check-code quick
check: TESTS := $(SOME_TESTS)
check-all: TESTS := $(ALL_TESTS)
check-inputs: TESTS := $(INPUT_TESTS)
check-code: TESTS := $(CODE_TESTS)
quick: TESTS := $(QUICK_TESTS)
check quick: export SAMPLING := few
ifneq ($(TEST),)
check: TESTS = $(or $(NAMED_TESTS),$(error no test is named $(TEST)))
check: SAMPLING := all
endif
quick: all $(UNIT_TESTS)
.PHONY: test-programs
test-programs: all samples $(UNIT_TESTS) $(RANDOM_PROGRAM) $(BENCH_PROGRAMS) $(SAMPLE_MUTANTS)
check check-all check-inputs check-code: test-programs
check check-all check-inputs check-code quick:
	BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" tests/run $(TESTS)

# Random programs with known call graphs: ROUNDS of each family, others in every run (FIRST= repeats one: it is printed); and each name of
# GC entries with each suffix of copies.
.PHONY: campaign
campaign: ROUNDS ?= 300
campaign: FIRST ?= $(shell date +%s)
campaign: all
	@echo "FIRST=$(FIRST) ROUNDS=$(ROUNDS)"
	FIRST="$(FIRST)" ROUNDS="$(ROUNDS)" TEST_TIMEOUT=14400 BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" \
	  tests/run $(filter %/family-made.sh %/family-mixed.sh %/family-direct.sh %/family-machines.sh,$(CALLGRAPH_TESTS)) tests/cli/gc-names-languages.sh

# Files of many kinds that double in size: work and memory must stay in proportion (KINDS= names some of them).
.PHONY: grow
grow: all
	PYTHONDONTWRITEBYTECODE=1 tests/growth/grow.py $(BUILD)/stackpack $(KINDS)

# Changed files: FILES of them, from SEED on. With SANITIZE=1 and a BUILD of its own, sanitizers look on.
.PHONY: mutate
mutate: FILES ?= 10000
mutate: SEED ?= 1
mutate: all
	PYTHONDONTWRITEBYTECODE=1 tests/growth/mutate.py $(BUILD)/stackpack "$(LLVM)" $(FILES) $(SEED)

# COUNT changes of the code, from SEED on, one at a time: the tests should fail for each.
.PHONY: mutants
mutants: COUNT ?= 50
mutants: SEED ?= 1
mutants:
	PYTHONDONTWRITEBYTECODE=1 tests/mutants/mutants.py --count "$(COUNT)" --seed "$(SEED)"

# The jit sample with FUNCTIONS functions, under sanitizers and for AArch64.
.PHONY: campaign-jit
campaign-jit: FUNCTIONS ?= 10000
campaign-jit: all
	FUNCTIONS="$(FUNCTIONS)" BUILD="$(abspath $(BUILD))" TOP="$(CURDIR)" LLVM="$(LLVM)" tests/campaigns/jit

# PROGRAMS random programs, from FIRST on, stopped at each instruction: the unwinder beside libgcc's, for glibc and musl.
.PHONY: campaign-unwinding
campaign-unwinding: PROGRAMS ?= 20
campaign-unwinding: FIRST ?= 1
campaign-unwinding: all
	PROGRAMS="$(PROGRAMS)" FIRST="$(FIRST)" BUILD="$(abspath $(BUILD))" TOP="$(CURDIR)" LLVM="$(LLVM)" tests/campaigns/unwinding

# LINKS programs, from FIRST on, linked by random options, and changed by random tools before and after they are packed.
.PHONY: campaign-links
campaign-links: LINKS ?= 500
campaign-links: FIRST ?= $(shell date +%s)
campaign-links: all
	LINKS="$(LINKS)" FIRST="$(FIRST)" BUILD="$(abspath $(BUILD))" TOP="$(CURDIR)" LLVM="$(LLVM)" CC="$(CC)" tests/campaigns/links/run

# All kinds of files, and all samples, for the other machines: it takes some minutes, and `check` has some of them.
.PHONY: check-machines
check-machines: all samples
	CHECK_MACHINES=all TEST_TIMEOUT=3600 BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" \
	  tests/run tests/cli/matrix-machines.sh tests/cli/machines-decoders.sh tests/cli/machines-decoders-llvm.sh tests/samples/machines.sh

# Tools that change packed files afterwards, on the plain links of all machines (CHECK_TOOLS=all: on every cell, for hours).
.PHONY: check-tools
check-tools: CHECK_TOOLS ?= plain
check-tools: all
	CHECK_TOOLS="$(CHECK_TOOLS)" TEST_TIMEOUT=14400 BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" tests/run tests/cli/matrix-tools.sh

# What releases keep (tests/cli/library-abi.sh, golden.sh): written anew for a deliberate change, which CHANGELOG names.
.PHONY: abi golden
abi: $(BUILD)/libstackpack.so
	abidw --headers-dir runtime --drop-private-types --exported-interfaces-only --drop-undefined-syms --no-elf-needed \
	  --no-show-locs --short-locs --no-corpus-path --no-comp-dir-path --no-write-default-sizes $< >tests/golden/libstackpack.abi
golden: all
	BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" tests/golden/make.sh
