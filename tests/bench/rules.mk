# tests/bench/rules.mk - measures; included by the top Makefile.
#
#   make bench                             our samples, and the corpora that are there
#   make bench PROGRAMS="app other.so"     any unpacked programs
#   make bench INSTRUCTIONS=1              counts instructions, too, by callgrind: slow, but without noise
#   make bench-unwind                      a frame's cost by unwind tables: a part of make bench
#   make bench-scale                       from a thousand to ten million records: takes long
#
# Each prints a table; the first writes $(BUILD)/bench.json, too, and the last $(BUILD)/bench-scale.json.

BENCH_SHARED := $(patsubst %,$(BUILD)/tests/unit/%.o,numbers v3_writer bytes) \
  $(BUILD)/tool.a $(RUNTIME) $(FORMAT)
BENCH_GENERATE := $(patsubst %,$(BUILD)/tests/bench/%.o,generate sample)
BENCH_MEASURE := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tests/bench/rival_*.c) \
  $(patsubst %,tests/bench/%.c,measure subject region touched v3_sites))

$(BUILD)/tests/bench/generate: $(BENCH_GENERATE) $(BENCH_SHARED)
	$(LINK) -o $@ $^ $(TOOL_LIBS)

$(BUILD)/tests/bench/measure: $(BENCH_MEASURE) $(BENCH_SHARED)
	$(LINK) -o $@ $^ $(TOOL_LIBS)

$(BUILD)/tests/bench/recorded: $(patsubst %,$(BUILD)/tests/%.o,bench/recorded unit/bytes) $(RUNTIME) $(FORMAT)
	$(LINK) -o $@ $^ -ljansson -lzstd

$(BUILD)/tests/bench/open: $(BUILD)/tests/bench/open.o $(RUNTIME) $(FORMAT)
	$(LINK) -o $@ $^ -ljansson -lzstd

# Loaded into other programs, it is apart from ours, and built without sanitizers.
$(BUILD)/tests/bench/record_stacks.so: tests/bench/record_stacks.c
	@mkdir -p $(@D)
	$(CC) -std=c17 -Wall -Wextra -D_GNU_SOURCE -O2 -fPIC -shared -o $@ $<

# Deep stacks of managed frames, walked in each way: see walk.c.
$(BUILD)/tests/bench/walk.ll.o: LLCFLAGS := -frame-pointer=all
$(BUILD)/tests/bench/walk-registers.ll.o: LLCFLAGS := -fixup-allow-gcptr-in-csr -max-registers-for-gc-values=4
$(BUILD)/tests/bench/walk.ll.o $(BUILD)/tests/bench/walk-registers.ll.o: tests/bench/walk.ll
	@mkdir -p $(@D)
	$(LLVM)/bin/opt -passes=rewrite-statepoints-for-gc $< -o $@.bc
	$(LLVM)/bin/llc -O2 $(LLCFLAGS) -filetype=obj $@.bc -o $@

$(BUILD)/tests/bench/walk_stub.o: tests/bench/walk_stub.S
	@mkdir -p $(@D)
	$(CC) -c -o $@ $<

$(BUILD)/tests/bench/%-raw: $(BUILD)/tests/bench/%.ll.o $(patsubst %,$(BUILD)/tests/bench/%.o,walk walk_stub) $(BUILD)/libstackpack.a
	$(LINK) -no-pie -o $@ $^ -ljansson

$(BUILD)/tests/bench/walk $(BUILD)/tests/bench/walk-registers: %: %-raw $(BUILD)/stackpack
	$(BUILD)/stackpack pack -q --always -o $@ $<

include tests/bench/shadow-stack/rules.mk

BENCH_PROGRAMS := $(patsubst %,$(BUILD)/tests/bench/%,generate measure open recorded record_stacks.so walk walk-registers) $(SHADOW_STACKS)

# Unwinding beside libunwind, where that is.
ifeq ($(shell pkg-config --exists libunwind && echo yes),yes)
$(BUILD)/tests/bench/unwind.o: CPPFLAGS += -Iruntime
$(BUILD)/tests/bench/unwind: $(BUILD)/tests/bench/unwind.o $(UNWINDER) $(RUNTIME) $(FORMAT)
	$(LINK) -o $@ $^ -lunwind

.PHONY: bench-unwind
bench: bench-unwind
bench-unwind: $(BUILD)/tests/bench/unwind
	$(BUILD)/tests/bench/unwind
endif

.PHONY: bench bench-scale
bench: all samples $(BENCH_PROGRAMS)
	tests/bench/run --build "$(BUILD)" $(if $(INSTRUCTIONS),--instructions) $(PROGRAMS)

bench-scale: all samples $(BENCH_PROGRAMS)
	tests/bench/run --build "$(BUILD)" --scale $(PROGRAMS)

-include $(BENCH_GENERATE:.o=.d) $(BENCH_MEASURE:.o=.d) $(BUILD)/tests/bench/walk.d $(BUILD)/tests/bench/unwind.d
