# tests/bench/rules.mk - measures; included by the top Makefile.
#
#   make bench      sizes and look-ups of our samples and the corpus
#

BENCH_TOOL := $(BUILD)/tool/image.o $(BUILD)/tool/load.o $(BUILD)/tool/report.o
BENCH_UNIT := $(BUILD)/tests/unit/numbers.o $(BUILD)/tests/unit/v3_writer.o $(BUILD)/tests/unit/bytes.o
BENCH_GENERATE := $(BUILD)/tests/bench/generate.o $(BUILD)/tests/bench/sample.o

$(BUILD)/tests/bench/generate: $(BENCH_GENERATE) $(BENCH_UNIT) $(BENCH_TOOL) $(RUNTIME) $(FORMAT)
	$(LINK) -o $@ $^ -lelf -lzstd

-include $(BENCH_GENERATE:.o=.d)

$(BUILD)/tests/bench/look_up.o: CPPFLAGS += -Iruntime

$(BUILD)/tests/bench/look_up: $(BUILD)/tests/bench/look_up.o $(BUILD)/libstackpack.a
	$(LINK) -o $@ $^

.PHONY: bench
bench: all samples $(BUILD)/tests/bench/look_up
	tests/bench/run $(BUILD)
