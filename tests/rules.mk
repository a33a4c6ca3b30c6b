# tests/rules.mk - runs the tests; included by the top Makefile.
#
# UNIT_TESTS names the unit-test programs, each with a rule that builds it, and is set before this file is included.

CLI_TESTS := $(filter-out %/common.sh,$(wildcard tests/cli/*.sh))
CALLGRAPH_TESTS := $(filter-out %/common.sh,$(wildcard tests/callgraph/*.sh))
OTHER_TESTS := tests/oracle/test_oracle.sh $(wildcard tests/samples/*.sh) tests/fuzz/regressions.sh

include tests/samples/rules.mk

.PHONY: check
check: all samples $(UNIT_TESTS) $(BENCH_PROGRAMS) $(SAMPLE_MUTANTS)
	BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" tests/run $(UNIT_TESTS) $(OTHER_TESTS) $(CALLGRAPH_TESTS) $(CLI_TESTS)

# All kinds of files for the other machines, which takes some minutes: `check` has some of them.
.PHONY: check-machines
check-machines: all
	BUILD="$(BUILD)" LLVM="$(LLVM)" CC="$(CC)" tests/run tests/matrix/machines.sh
