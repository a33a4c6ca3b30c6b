# tests/corpus/rules.mk - builds real programs with statepoints; included by the top Makefile.
#
#   make corpus                            lua, sqlite and cpython, in all variants
#   make corpus PROGRAMS="lua sqlite-O2"   some of them
#
# They stand in $(STACKPACK_CORPUS), by default $(BUILD)/corpus.

STACKPACK_CORPUS ?= $(BUILD)/corpus

.PHONY: corpus
corpus:
	STACKPACK_CORPUS="$(STACKPACK_CORPUS)" LLVM="$(LLVM)" tests/corpus/build $(or $(PROGRAMS),lua sqlite cpython)
