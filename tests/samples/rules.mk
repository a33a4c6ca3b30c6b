# tests/samples/rules.mk - samples with a mistake in them, which their tests must notice; included by tests/rules.mk.

MUTANTS := $(BUILD)/tests/samples
SAMPLE_MUTANTS := $(MUTANTS)/shadow-stack-forgetful

# ---- shadow-stack: list_copy doesn't put the reference that waits for its first call into a root ----

$(MUTANTS)/%.forgetful.ll: $(BUILD)/samples/shadow-stack.d/%.shadow.ll
	@mkdir -p $(@D)
	awk '/^define .*@list_copy\(/ { in_copy = 1 } in_copy && /store .*%gc\.root\.0/ { in_copy = 0; next } { print }' $< >$@
	! cmp -s $< $@

$(MUTANTS)/%.ll.o: $(MUTANTS)/%.ll
	$(LLVM)/bin/llc -O2 -relocation-model=static -filetype=obj $< -o $@

.SECONDARY: $(MUTANTS)/lists.forgetful.ll

$(MUTANTS)/shadow-stack-forgetful: $(MUTANTS)/lists.forgetful.ll.o \
		$(patsubst %,$(SHADOW_STACK)/%.shadow.ll.o,$(filter-out lists,$(SHADOW_STACK_MODULES))) $(SHADOW_STACK)/roots.o \
		$(SHADOW_STACK_ALL)
	$(SAMPLE_LINK)
