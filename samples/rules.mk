# samples/rules.mk - builds the samples; included by the top Makefile.
#
# It expects BUILD (the build folder), LLVM (a prefix such as /usr/lib/llvm-22), CC, COMPILE and LINK (CC with the
# flags for each), and rules for $(BUILD)/libstackpack.a and $(BUILD)/stackpack.
#
# The semispace sample exists five times, all with the same output:
#
#   semispace-plain     the workload as plain C, without a collector
#   semispace-raw       with references and the collector; as linked, with .llvm_stackmaps
#   semispace           the same file, packed
#   semispace-O0-raw,   the same two from unoptimised code, which has other frames and other stack maps
#   semispace-O0
#
# A module of the workload becomes code in four steps, as it would in a compiler:
#
#   .clang.ll  by clang: references are marked by their address space, nothing is optimised yet. (DWARF 4 is debug
#              info that the valgrind of Debian 12 can read.)
#   .gc.ll     by statepoints.awk: each function has a GC strategy or is a GC leaf
#   .ll        by opt: local variables become values (sroa is enough for that), the code is optimised, and then each
#              call that may collect becomes a statepoint with the references that are alive there. In optimised
#              code, dce then takes out what no instruction uses: references that the collector need not update.
#              check-references.awk looks for references that the stack map will not tell of.
#   .o         by llc: machine code and .llvm_stackmaps. Arguments aren't pushed before a call, as the frame size
#              doesn't count them, and the walk goes by it
#
# The vectorisers are off so that each reference has a slot of its own. The program is linked at a fixed address by
# lld: LLVM's stack maps hold absolute addresses in a section that is read-only.

SEMISPACE := $(BUILD)/samples/semispace.d
SAMPLES := $(addprefix $(BUILD)/samples/,semispace semispace-raw semispace-O0 semispace-O0-raw semispace-plain)

SEMISPACE_MODULES := trees lists arrays words
SEMISPACE_HEADERS := $(addprefix samples/semispace/,collector.h die.h heap.h stack.h workload.h)

# The runtime's functions in which nothing is allocated. A function that isn't listed may collect, which is always safe
# to say; which ones of the program's own can't, `stackpack pack` finds out.
SEMISPACE_LEAVES := checksum_add random_next

SEMISPACE_OPT_O0 := -passes='function(sroa),rewrite-statepoints-for-gc'
SEMISPACE_OPT_O2 := -passes='default<O2>,rewrite-statepoints-for-gc,function(dce)' \
	-vectorize-loops=false -vectorize-slp=false

# What all builds share, what those with a collector share, and what is of the plain one.
SEMISPACE_COMMON := $(addprefix $(SEMISPACE)/,main.o numbers.o die.o)
SEMISPACE_COLLECTOR := $(addprefix $(SEMISPACE)/,collector.o stack.o heap_allocate.o)
SEMISPACE_PLAIN := $(addprefix $(SEMISPACE)/plain/,$(addsuffix .o,$(SEMISPACE_MODULES) plain))

.DELETE_ON_ERROR:
.PHONY: samples
samples: $(SAMPLES)

# ---- The workload with references, at optimisation level $(1) -----------------------------------

define SEMISPACE_RULES
$(SEMISPACE)/$(1)/%.clang.ll: samples/semispace/%.c $(SEMISPACE_HEADERS)
	@mkdir -p $$(@D)
	$(LLVM)/bin/clang -std=c17 -Wall -Wextra $(if $(WERROR),-Werror) -$(1) -gdwarf-4 -fno-pie \
		-Xclang -disable-llvm-passes -Xclang -disable-O0-optnone -S -emit-llvm $$< -o $$@

$(SEMISPACE)/$(1)/%.gc.ll: $(SEMISPACE)/$(1)/%.clang.ll samples/semispace/statepoints.awk samples/rules.mk
	awk -v leaves="$(SEMISPACE_LEAVES)" -f samples/semispace/statepoints.awk $$< >$$@

$(SEMISPACE)/$(1)/%.ll: $(SEMISPACE)/$(1)/%.gc.ll samples/semispace/check-references.awk
	$(LLVM)/bin/opt $(SEMISPACE_OPT_$(1)) -S $$< -o $$@
	awk -v leaves="$(SEMISPACE_LEAVES)" -f samples/semispace/check-references.awk $$@

$(SEMISPACE)/$(1)/%.o: $(SEMISPACE)/$(1)/%.ll
	$(LLVM)/bin/llc -$(1) -relocation-model=static -no-x86-call-frame-opt -filetype=obj $$< -o $$@

.SECONDARY: $(foreach module,$(SEMISPACE_MODULES),$(addprefix $(SEMISPACE)/$(1)/$(module),.clang.ll .gc.ll .ll))
endef

$(eval $(call SEMISPACE_RULES,O0))
$(eval $(call SEMISPACE_RULES,O2))

# ---- The runtime, and the plain build -----------------------------------------------------------

$(SEMISPACE)/%.o: samples/semispace/%.c $(SEMISPACE_HEADERS) runtime/stackpack.h
	@mkdir -p $(@D)
	$(COMPILE) -Iruntime -c $< -o $@

$(SEMISPACE)/%.o: samples/semispace/%.S
	@mkdir -p $(@D)
	$(CC) -c $< -o $@

$(SEMISPACE)/plain/%.o: samples/semispace/%.c $(SEMISPACE_HEADERS)
	@mkdir -p $(@D)
	$(COMPILE) -DSEMISPACE_PLAIN -c $< -o $@

# ---- The programs -------------------------------------------------------------------------------

SEMISPACE_LINK = $(LINK) -B$(LLVM)/bin/ -fuse-ld=lld -no-pie $(filter %.o %.a,$^) -o $@

$(BUILD)/samples/semispace-raw: $(SEMISPACE_MODULES:%=$(SEMISPACE)/O2/%.o) $(SEMISPACE_COMMON) \
		$(SEMISPACE_COLLECTOR) $(BUILD)/libstackpack.a
	$(SEMISPACE_LINK)

$(BUILD)/samples/semispace-O0-raw: $(SEMISPACE_MODULES:%=$(SEMISPACE)/O0/%.o) $(SEMISPACE_COMMON) \
		$(SEMISPACE_COLLECTOR) $(BUILD)/libstackpack.a
	$(SEMISPACE_LINK)

$(BUILD)/samples/semispace-plain: $(SEMISPACE_PLAIN) $(SEMISPACE_COMMON)
	$(LINK) $^ -o $@

$(BUILD)/samples/semispace $(BUILD)/samples/semispace-O0: %: %-raw $(BUILD)/stackpack samples/semispace/gc.policy
	$(BUILD)/stackpack pack --policy=samples/semispace/gc.policy --strict --report -o $@ $<
