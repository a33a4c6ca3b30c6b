# samples/semispace/rules.mk - builds the semispace sample; included by samples/rules.mk. See samples/common/rules.mk.
#
# It exists five times, all with the same output:
#
#   semispace-plain     the workload as plain C, without a collector
#   semispace-raw       with references and the collector; as linked, with .llvm_stackmaps
#   semispace           the same file, packed
#   semispace-O0-raw,   the same two from unoptimised code, which has other frames and other stack maps
#   semispace-O0

SEMISPACE := $(BUILD)/samples/semispace.d
SAMPLES += $(addprefix $(BUILD)/samples/,semispace semispace-raw semispace-O0 semispace-O0-raw semispace-plain)

SEMISPACE_MODULES := trees lists arrays words
SEMISPACE_LEAVES := checksum_add random_next

$(eval $(call SAMPLE_MANAGED,$(SEMISPACE)/O0,samples/semispace,$(SEMISPACE_MODULES),O0,$(SEMISPACE_LEAVES),))
$(eval $(call SAMPLE_MANAGED,$(SEMISPACE)/O2,samples/semispace,$(SEMISPACE_MODULES),O2,$(SEMISPACE_LEAVES),))
$(eval $(call SAMPLE_NATIVE,$(SEMISPACE),samples/semispace))

$(SEMISPACE)/plain/%.o: samples/semispace/%.c
	@mkdir -p $(@D)
	$(COMPILE) -DPLAIN_HEAP -Isamples/common -c $< -o $@

-include $(wildcard $(SEMISPACE)/plain/*.d)

# The objects of all builds, of the builds with a collector, and of the plain one.
SEMISPACE_ALL := $(SEMISPACE)/main.o $(addprefix $(SAMPLE_COMMON)/,numbers.o options.o die.o)
SEMISPACE_COLLECTOR := $(addprefix $(SEMISPACE)/,collector.o stack.o) \
  $(addprefix $(SAMPLE_COMMON)/,bounds.o copier.o heap_allocate.o managed_call.o) $(BUILD)/libstackpack.a
SEMISPACE_PLAIN := $(addprefix $(SEMISPACE)/plain/,$(addsuffix .o,$(SEMISPACE_MODULES) plain))

$(BUILD)/samples/semispace-raw: $(SEMISPACE_MODULES:%=$(SEMISPACE)/O2/%.o) $(SEMISPACE_ALL) $(SEMISPACE_COLLECTOR)
	$(SAMPLE_LINK)

$(BUILD)/samples/semispace-O0-raw: $(SEMISPACE_MODULES:%=$(SEMISPACE)/O0/%.o) $(SEMISPACE_ALL) $(SEMISPACE_COLLECTOR)
	$(SAMPLE_LINK)

$(BUILD)/samples/semispace-plain: $(SEMISPACE_PLAIN) $(SEMISPACE_ALL)
	$(LINK) $^ -o $@

$(eval $(call SAMPLE_PACK,samples/semispace,$(addprefix $(BUILD)/samples/,semispace semispace-O0)))
