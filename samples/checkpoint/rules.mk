# samples/checkpoint/rules.mk - builds the checkpoint sample; included by samples/rules.mk. See samples/common/rules.mk.
#
#   checkpoint-raw     as linked, with .llvm_stackmaps
#   checkpoint         packed

CHECKPOINT := $(BUILD)/samples/checkpoint.d
SAMPLES += $(addprefix $(BUILD)/samples/,checkpoint checkpoint-raw)

$(eval $(call SAMPLE_NATIVE,$(CHECKPOINT),samples/checkpoint))

# LLVM compiles this code, for any CC.
$(CHECKPOINT)/program.o: samples/checkpoint/program.c samples/checkpoint/program.h
	@mkdir -p $(@D)
	$(SAMPLE_CLANG) -std=c17 -Wall -Wextra $(if $(WERROR),-Werror) -O2 -fno-pie -c $< -o $@

$(BUILD)/samples/checkpoint-raw: $(addprefix $(CHECKPOINT)/,program.o main.o) \
  $(addprefix $(SAMPLE_COMMON)/,bounds.o options.o die.o) $(BUILD)/libstackpack.a
	$(SAMPLE_LINK)

$(BUILD)/samples/checkpoint: $(BUILD)/samples/checkpoint-raw $(STACKPACK)
	$(STACKPACK) pack --always -o $@ $<
