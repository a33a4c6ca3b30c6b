# tests/corpus/rules.mk - builds real programs with statepoints; included by the top Makefile.
#
#   make corpus                            lua, sqlite and cpython, in all variants
#   make corpus PROGRAMS="lua sqlite-O2"   some of them
#   make corpus-frames                     Lua, compiled in many ways: the facts on its frames, against two other readers
#   make edges                             whether all calls that happen in them are in the call graph
#   make edges PROGRAMS="/usr/local/bin/git"   and in other programs: gawk, git, tclsh, python
#
# They are in $(STACKPACK_CORPUS), by default $(BUILD)/corpus.

STACKPACK_CORPUS ?= $(BUILD)/corpus

.PHONY: corpus
corpus:
	STACKPACK_CORPUS="$(STACKPACK_CORPUS)" LLVM="$(LLVM)" tests/corpus/build $(or $(PROGRAMS),lua sqlite cpython)

.PHONY: corpus-frames
corpus-frames: all
	STACKPACK_CORPUS="$(STACKPACK_CORPUS)" LLVM="$(LLVM)" tests/corpus/build lua-O2
	STACKPACK_CORPUS="$(STACKPACK_CORPUS)" LLVM="$(LLVM)" BUILD="$(BUILD)" tests/corpus/frames

.PHONY: edges
edges: all
	STACKPACK="$(BUILD)/stackpack" STACKPACK_CORPUS="$(STACKPACK_CORPUS)" tests/corpus/edges $(PROGRAMS)
