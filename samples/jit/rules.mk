# samples/jit/rules.mk - builds the jit sample; included by samples/rules.mk. See samples/common/rules.mk.
#
# It needs LLVM's headers and library for the machine that CC compiles for. For a cross compiler, set JIT_INCLUDE and JIT_LLVM.
# The program exports its names, for the compiled functions.

JIT := $(BUILD)/samples/jit.d
JIT_INCLUDE ?= $(LLVM)/include
JIT_LLVM ?= -L$(LLVM)/lib -Wl,-rpath,$(LLVM)/lib -lLLVM
JIT_HEADERS := $(wildcard $(JIT_INCLUDE)/llvm-c/LLJIT.h)
ifneq ($(JIT_HEADERS),)
SAMPLES += $(addprefix $(BUILD)/samples/,jit jit-raw)
endif

$(eval $(call SAMPLE_MANAGED,$(JIT),samples/jit,managed,O2,list_take,))
$(eval $(call SAMPLE_NATIVE,$(JIT),samples/jit))
$(JIT)/jit.o: CPPFLAGS += -isystem $(JIT_INCLUDE)
# RISC-V: GCC makes no unwind tables by itself.
$(JIT)/main.o: CPPFLAGS += -fasynchronous-unwind-tables

$(BUILD)/samples/jit-raw: $(addprefix $(JIT)/,managed.o main.o jit.o) \
		$(addprefix $(SAMPLE_COMMON)/,bounds.o copier.o heap_allocate.o managed_call.o numbers.o options.o die.o) $(BUILD)/libstackpack.a
	$(SAMPLE_LINK) -rdynamic -pthread $(JIT_LLVM)

# Without --gc-entry: the call graph lacks code compiled at run time.
$(BUILD)/samples/jit: $(BUILD)/samples/jit-raw $(STACKPACK)
	$(STACKPACK) pack --always -o $@ $<
