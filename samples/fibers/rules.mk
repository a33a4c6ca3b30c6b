# samples/fibers/rules.mk - builds the fibers sample; included by samples/rules.mk. See samples/common/rules.mk.
#
#   fibers-plain     plain C without a collector, with the same fibers
#   fibers-raw       with references and the collector; as linked, with .llvm_stackmaps
#   fibers           the same file, packed

FIBERS := $(BUILD)/samples/fibers.d
SAMPLES += $(addprefix $(BUILD)/samples/,fibers fibers-raw fibers-plain)

FIBERS_MODULES := sort fringe rows
FIBERS_LEAVES := checksum_add random_next fiber_start setting_fibers setting_size

$(eval $(call SAMPLE_MANAGED,$(FIBERS)/O2,samples/fibers,$(FIBERS_MODULES),O2,$(FIBERS_LEAVES),))
$(eval $(call SAMPLE_NATIVE,$(FIBERS),samples/fibers))

$(FIBERS)/plain/%.o: samples/fibers/%.c
	@mkdir -p $(@D)
	$(COMPILE) -DPLAIN_HEAP -Isamples/common -c $< -o $@

-include $(wildcard $(FIBERS)/plain/*.d)

# The objects of both builds, of the build with a collector, and of the plain one.
FIBERS_ALL := $(addprefix $(FIBERS)/,main.o scheduler.o context.o) $(addprefix $(SAMPLE_COMMON)/,numbers.o options.o die.o)
FIBERS_COLLECTOR := $(addprefix $(FIBERS)/,collector.o roots.o) \
  $(addprefix $(SAMPLE_COMMON)/,copier.o heap_allocate.o) $(BUILD)/libstackpack.a
FIBERS_PLAIN := $(addprefix $(FIBERS)/plain/,$(addsuffix .o,$(FIBERS_MODULES))) $(FIBERS)/plain.o \
  $(BUILD)/samples/semispace.d/plain/plain.o

$(BUILD)/samples/fibers-raw: $(FIBERS_MODULES:%=$(FIBERS)/O2/%.o) $(FIBERS_ALL) $(FIBERS_COLLECTOR)
	$(SAMPLE_LINK)

$(BUILD)/samples/fibers-plain: $(FIBERS_PLAIN) $(FIBERS_ALL)
	$(SAMPLE_LINK)

$(eval $(call SAMPLE_PACK,samples/fibers,$(BUILD)/samples/fibers))
