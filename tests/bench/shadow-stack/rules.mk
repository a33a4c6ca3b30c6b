# tests/bench/shadow-stack/rules.mk - builds the programs with linked frames; included by tests/bench/rules.mk.
# See samples/common/rules.mk.
#
# Its workload is samples/semispace's, from the same optimised IR:
#
#   shadow-stack            with its references in linked frames
#   shadow-stack-unrooted   without roots: as fast as code for this heap can be, until the
#                           heap is full
#
#   .frames.ll     by frames.awk: each call that may collect is an ordinary one, with stores before and loads after it
#   .shadow.ll     by opt: without the loads and stores that turned out to be unnecessary
#   .unrooted.ll   by opt: clang's output, optimised as for the other ones
#
# compare.sh measures them beside the semispace sample.

SHADOW_STACK := $(BUILD)/samples/shadow-stack.d
SHADOW_STACKS := $(addprefix $(BUILD)/samples/,shadow-stack shadow-stack-unrooted)

SHADOW_STACK_MODULES := trees lists arrays words

$(SHADOW_STACK)/%.frames.ll: $(BUILD)/samples/semispace.d/O2/%.ll tests/bench/shadow-stack/frames.awk
	@mkdir -p $(@D)
	awk -f tests/bench/shadow-stack/frames.awk $< >$@

$(SHADOW_STACK)/%.shadow.ll: $(SHADOW_STACK)/%.frames.ll tests/bench/shadow-stack/rules.mk
	$(LLVM)/bin/opt -passes='function(early-cse<memssa>,dse)' -S $< -o $@

$(SHADOW_STACK)/%.unrooted.ll: $(BUILD)/samples/semispace.d/O2/%.clang.ll tests/bench/shadow-stack/rules.mk
	@mkdir -p $(@D)
	$(LLVM)/bin/opt -passes='default<O2>' -vectorize-loops=false -vectorize-slp=false -S $< -o $@

$(SHADOW_STACK)/%.ll.o: $(SHADOW_STACK)/%.ll
	$(LLVM)/bin/llc -O2 -relocation-model=static -filetype=obj $< -o $@

.SECONDARY: $(foreach module,$(SHADOW_STACK_MODULES),\
  $(addprefix $(SHADOW_STACK)/$(module),.frames.ll .shadow.ll .unrooted.ll))

$(eval $(call SAMPLE_NATIVE,$(SHADOW_STACK),tests/bench/shadow-stack))
$(SHADOW_STACK)/collector.o: CPPFLAGS += -Isamples/semispace

SHADOW_STACK_ALL := $(BUILD)/samples/semispace.d/main.o $(SHADOW_STACK)/collector.o \
  $(addprefix $(SAMPLE_COMMON)/,copier.o numbers.o options.o die.o)

$(BUILD)/samples/shadow-stack: $(SHADOW_STACK_MODULES:%=$(SHADOW_STACK)/%.shadow.ll.o) $(SHADOW_STACK)/roots.o \
		$(SHADOW_STACK_ALL)
	$(SAMPLE_LINK)

$(BUILD)/samples/shadow-stack-unrooted: $(SHADOW_STACK_MODULES:%=$(SHADOW_STACK)/%.unrooted.ll.o) \
		$(SHADOW_STACK)/no_roots.o $(SHADOW_STACK_ALL)
	$(SAMPLE_LINK)
