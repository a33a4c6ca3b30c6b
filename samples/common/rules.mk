# samples/common/rules.mk - how the samples are built; included by samples/rules.mk.
#
# Managed code: a module becomes code in four steps, as it would in a compiler.
#
#   .clang.ll  by clang: references are marked by their address space, nothing is optimised yet. (DWARF 4 is debug
#              info that the valgrind of Debian 12 can read.)
#   .gc.ll     by statepoints.awk: each function has a GC strategy or is a GC leaf
#   .ll        by opt: local variables become values (sroa is enough for that), the code is optimised, and then each
#              call that may collect becomes a statepoint with the references that are alive there. In optimised
#              code, dce then takes out unused results: references that the collector need not update.
#              check-references.awk refuses references that the stack map would omit.
#   .o         by llc: machine code and .llvm_stackmaps. It passes arguments without pushes: the stack map's frame
#              size, which the walk uses, excludes pushed arguments
#
# The vectorisers are off so that each reference has a slot of its own. Programs are linked at a fixed address by lld:
# LLVM's stack maps hold absolute addresses in a section that is read-only.
#
# For a sample's own rules.mk:
#
#   $(eval $(call SAMPLE_MANAGED,FOLDER,SOURCES,MODULES,LEVEL,LEAVES,PASSES))
#                             compiles SOURCES/MODULE.c to FOLDER/MODULE.o, for each of MODULES, at optimisation level
#                             O0 or O2. LEAVES are the runtime's functions that never allocate. Any other function is
#                             assumed to collect, which is always safe; `stackpack pack` finds the program's own
#                             functions that can't. PASSES are passes of opt to run before calls become statepoints
#                             (place-safepoints), each followed by a comma, or empty.
#   $(eval $(call SAMPLE_NATIVE,FOLDER,SOURCES))
#                             compiles other files of SOURCES (.c, .S) to FOLDER/NAME.o
#   $(SAMPLE_COMMON)/NAME.o   is the object of samples/common/NAME.c or .S
#   $(SAMPLE_LINK)            links all objects and archives among the prerequisites to the target
#   $(eval $(call SAMPLE_PACK,SOURCES,PROGRAMS,OPTIONS))
#                             packs PROGRAM-raw to PROGRAM, with the policy SOURCES/gc.policy and other options, if any

SAMPLE_COMMON := $(BUILD)/samples/common.d
# For another machine than the build's, CC is a cross compiler and STACKPACK a command that runs here. There, managed code
# keeps frame pointers: only on x86-64 the frame's size gives the place of the return address. The call graph supports
# x86-64 only.
SAMPLE_TARGET := $(shell $(CC) -dumpmachine)
STACKPACK ?= $(BUILD)/stackpack
SAMPLE_OPTIONS ?= # more options for managed code
SAMPLE_CLANG = $(LLVM)/bin/clang --target=$(SAMPLE_TARGET) $(SAMPLE_OPTIONS)
SAMPLE_LLC = $(LLVM)/bin/llc
ifneq ($(filter x86_64-%,$(SAMPLE_TARGET)),)
SAMPLE_LLC += -no-x86-call-frame-opt
SAMPLE_HAS_CALLS := yes
else
SAMPLE_CLANG += -fno-omit-frame-pointer
endif

SAMPLE_LINK = $(LINK) -B$(LLVM)/bin/ -fuse-ld=lld -no-pie $(filter %.o %.a,$^) -o $@

COMMA := ,

SAMPLE_PASSES_O0 := function(sroa),
SAMPLE_PASSES_O2 := default<O2>,
SAMPLE_CLEANING_O0 :=
SAMPLE_CLEANING_O2 := ,function(dce)

define SAMPLE_MANAGED
$(1)/%.clang.ll: $(2)/%.c $(wildcard $(2)/*.h) $(wildcard samples/common/*.h)
	@mkdir -p $$(@D)
	$$(SAMPLE_CLANG) -std=c17 -Wall -Wextra $(if $(WERROR),-Werror) -$(4) -gdwarf-4 -fno-pie -Isamples/common \
		-Xclang -disable-llvm-passes -Xclang -disable-O0-optnone -S -emit-llvm $$< -o $$@

$(1)/%.gc.ll: $(1)/%.clang.ll samples/common/statepoints.awk $(2)/rules.mk
	awk -v leaves="$(5)" -f samples/common/statepoints.awk $$< >$$@

$(1)/%.ll: $(1)/%.gc.ll samples/common/check-references.awk samples/common/rules.mk
	$(LLVM)/bin/opt -passes='$(SAMPLE_PASSES_$(4))$(strip $(6))rewrite-statepoints-for-gc$(SAMPLE_CLEANING_$(4))' \
		-vectorize-loops=false -vectorize-slp=false -S $$< -o $$@
	awk -v leaves="$(5)" -f samples/common/check-references.awk $$@

$(3:%=$(1)/%.o): $(1)/%.o: $(1)/%.ll
	$$(SAMPLE_LLC) -$(4) -relocation-model=static -filetype=obj $$< -o $$@

.SECONDARY: $(foreach module,$(3),$(addprefix $(1)/$(module),.clang.ll .gc.ll .ll))
endef

define SAMPLE_NATIVE
$(1)/%.o: $(2)/%.c
	@mkdir -p $$(@D)
	$$(COMPILE) -Iruntime -Isamples/common -c $$< -o $$@

$(1)/%.o: $(2)/%.S samples/common/enter.inc
	@mkdir -p $$(@D)
	$$(CC) -Isamples/common -c $$< -o $$@

-include $(wildcard $(1)/*.d)
endef

define SAMPLE_PACK
$(2): %: %-raw $(STACKPACK) $(1)/gc.policy
	$(STACKPACK) pack --always $(if $(SAMPLE_HAS_CALLS),--policy=$(1)/gc.policy --strict --report) $(3) -o $$@ $$<
endef

$(eval $(call SAMPLE_NATIVE,$(SAMPLE_COMMON),samples/common))
