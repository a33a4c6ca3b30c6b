# tests/samples/rules.mk - samples with a mistake in them; their tests must notice it; included by tests/rules.mk.

MUTANTS := $(BUILD)/tests/samples
SAMPLE_MUTANTS := $(addprefix $(MUTANTS)/,shadow-stack-forgetful \
  fibers-without-one fibers-without-running fibers-without-values)

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

# ---- fibers: a collection leaves out the stack of one suspended fiber, that of the running one, or the values on their
# way to fibers ----

$(MUTANTS)/fibers-without-one.c: MUTATION := s/state == FIBER_SUSPENDED/& \&\& fiber->number != 2/
$(MUTANTS)/fibers-without-running.c: MUTATION := s/state == FIBER_RUNNING/& \&\& !running/
$(MUTANTS)/fibers-without-values.c: MUTATION := s/fiber->value != 0/& \&\& !heap/

$(MUTANTS)/fibers-without-%.c: samples/fibers/roots.c
	@mkdir -p $(@D)
	sed '$(MUTATION)' $< >$@
	! cmp -s $< $@

$(MUTANTS)/fibers-without-%.o: $(MUTANTS)/fibers-without-%.c
	$(COMPILE) -Iruntime -Isamples/common -Isamples/fibers -c $< -o $@

$(MUTANTS)/fibers-without-%: $(MUTANTS)/fibers-without-%.o $(FIBERS_MODULES:%=$(FIBERS)/O2/%.o) $(FIBERS_ALL) \
		$(filter-out $(FIBERS)/roots.o,$(FIBERS_COLLECTOR))
	$(SAMPLE_LINK)
