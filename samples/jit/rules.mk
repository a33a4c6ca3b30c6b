# samples/jit/rules.mk - builds the jit sample; included by samples/rules.mk. See samples/common/rules.mk.
#
# It needs LLVM's headers and library, and this machine's compiler: it isn't built for others. The program exports its names,
# which the compiled functions use.

JIT := $(BUILD)/samples/jit.d
JIT_HEADERS := $(wildcard $(LLVM)/include/llvm-c/LLJIT.h)
ifneq ($(JIT_HEADERS),)
SAMPLES += $(addprefix $(BUILD)/samples/,jit jit-raw)
endif

$(eval $(call SAMPLE_MANAGED,$(JIT),samples/jit,managed,O2,list_take,))
$(eval $(call SAMPLE_NATIVE,$(JIT),samples/jit))
$(JIT)/jit.o: CPPFLAGS += -isystem $(LLVM)/include

$(BUILD)/samples/jit-raw: $(addprefix $(JIT)/,managed.o main.o jit.o) \
		$(addprefix $(SAMPLE_COMMON)/,bounds.o copier.o heap_allocate.o managed_call.o numbers.o options.o die.o) $(BUILD)/libstackpack.a
	$(SAMPLE_LINK) -rdynamic -pthread -L$(LLVM)/lib -Wl,-rpath,$(LLVM)/lib -lLLVM

# Without --gc-entry: the call graph sees no code that comes later.
$(BUILD)/samples/jit: $(BUILD)/samples/jit-raw $(STACKPACK)
	$(STACKPACK) pack --always -o $@ $<
