# samples/deopt/rules.mk - builds the deopt sample; included by samples/rules.mk.
#
#   deopt-raw, deopt         inlined, by opt -O2; as linked, and packed
#   deopt-O0-raw, deopt-O0   the same without inlining: a frame for each function
#
# Packed deopt state is compressed. For other machines, Zstandard is rarely installed: there, the packed program reports that.

DEOPT := $(BUILD)/samples/deopt.d
SAMPLES += $(addprefix $(BUILD)/samples/,deopt deopt-raw deopt-O0 deopt-O0-raw)
DEOPT_ZSTD ?= $(if $(SAMPLE_HAS_CALLS),-lzstd)

$(eval $(call SAMPLE_NATIVE,$(DEOPT),samples/deopt))
# RISC-V: GCC makes no unwind tables by itself.
$(DEOPT)/main.o: CPPFLAGS += -fasynchronous-unwind-tables $(if $(DEOPT_ZSTD),-DWITH_ZSTD)

DEOPT_PASSES_O0 :=
DEOPT_PASSES_O2 := default<O2>,

# The IR names no machine's variant: for RISC-V, the C compiler's.
DEOPT_LLC := $(if $(filter riscv64-%,$(SAMPLE_TARGET)),-target-abi=lp64d -mattr=+m$(COMMA)+a$(COMMA)+f$(COMMA)+d$(COMMA)+c)

$(DEOPT)/program-%.o: samples/deopt/program.ll
	@mkdir -p $(@D)
	$(LLVM)/bin/opt -mtriple=$(SAMPLE_TARGET) -passes='$(DEOPT_PASSES_$*)rewrite-statepoints-for-gc' $< -o $(@:.o=.bc)
	$(SAMPLE_LLC) $(DEOPT_LLC) -$* -relocation-model=static -filetype=obj $(@:.o=.bc) -o $@

DEOPT_NATIVE := $(addprefix $(DEOPT)/,main.o interpreter.o deoptimize.o) \
  $(addprefix $(SAMPLE_COMMON)/,bounds.o managed_call.o options.o die.o) $(BUILD)/libstackpack.a

$(BUILD)/samples/deopt-raw: $(DEOPT)/program-O2.o $(DEOPT_NATIVE)
	$(SAMPLE_LINK) $(DEOPT_ZSTD)
$(BUILD)/samples/deopt-O0-raw: $(DEOPT)/program-O0.o $(DEOPT_NATIVE)
	$(SAMPLE_LINK) $(DEOPT_ZSTD)

$(addprefix $(BUILD)/samples/,deopt deopt-O0): %: %-raw $(STACKPACK)
	$(STACKPACK) pack --always -o $@ $<
