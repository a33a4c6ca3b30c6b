# samples/handles/rules.mk - builds the handles sample; included by samples/rules.mk. See samples/common/rules.mk.
#
# The C++ compiler is CC's counterpart (clang-22: clang++-22), unless the user sets CXX.

HANDLES := $(BUILD)/samples/handles.d
SAMPLES += $(addprefix $(BUILD)/samples/,handles handles-raw)

ifeq ($(origin CXX),default)
CXX := $(patsubst cc,c++,$(patsubst gcc%,g++%,$(patsubst clang%,clang++%,$(CC))))
endif

$(eval $(call SAMPLE_MANAGED,$(HANDLES),samples/handles,managed,O2,checksum_add,))
$(eval $(call SAMPLE_NATIVE,$(HANDLES),samples/handles))

$(HANDLES)/%.o: samples/handles/%.cpp
	@mkdir -p $(@D)
	$(CXX) -std=c++17 $(filter-out -std=c17,$(FLAGS)) $(CFLAGS) $(CPPFLAGS) -Iruntime -Isamples/common -c $< -o $@

$(BUILD)/samples/handles-raw: $(addprefix $(HANDLES)/,managed.o embedder.o vm.o entries.o) \
		$(addprefix $(SAMPLE_COMMON)/,bounds.o copier.o heap_allocate.o managed_call.o numbers.o options.o die.o) $(BUILD)/libstackpack.a
	$(SAMPLE_LINK) -lstdc++

$(eval $(call SAMPLE_PACK,samples/handles,$(BUILD)/samples/handles))
