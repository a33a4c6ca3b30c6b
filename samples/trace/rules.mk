# samples/trace/rules.mk - builds the trace sample; included by samples/rules.mk. See samples/common/rules.mk.
#
#   trace-raw     as linked, with .llvm_stackmaps
#   trace         packed, with source positions

TRACE := $(BUILD)/samples/trace.d
SAMPLES += $(addprefix $(BUILD)/samples/,trace trace-raw)

$(eval $(call SAMPLE_MANAGED,$(TRACE)/O2,samples/trace,calculator,O2,,))
$(eval $(call SAMPLE_NATIVE,$(TRACE),samples/trace))

$(BUILD)/samples/trace-raw: $(addprefix $(TRACE)/,O2/calculator.o main.o exception.o) \
  $(addprefix $(SAMPLE_COMMON)/,bounds.o die.o managed_call.o) $(BUILD)/libstackpack.a
	$(SAMPLE_LINK)

$(eval $(call SAMPLE_PACK,samples/trace,$(BUILD)/samples/trace,--source=lines))
