# samples/threads/rules.mk - builds the threads sample; included by samples/rules.mk. See samples/common/rules.mk.
#
# The pass place-safepoints puts the polls into managed code. The references on the board are in the section gc_roots.

THREADS := $(BUILD)/samples/threads.d
SAMPLES += $(addprefix $(BUILD)/samples/,threads threads-raw)

$(eval $(call SAMPLE_MANAGED,$(THREADS),samples/threads,lists,O2,checksum_add random_next board_exchange,\
  place-safepoints$(COMMA)))
$(eval $(call SAMPLE_NATIVE,$(THREADS),samples/threads))

$(BUILD)/samples/threads-raw: $(addprefix $(THREADS)/,lists.o main.o world.o roots.o native.o entries.o) \
		$(addprefix $(SAMPLE_COMMON)/,bounds.o copier.o heap_allocate.o managed_call.o numbers.o options.o die.o) $(BUILD)/libstackpack.a
	$(SAMPLE_LINK) -pthread

$(eval $(call SAMPLE_PACK,samples/threads,$(BUILD)/samples/threads,--global-roots=gc_roots))
