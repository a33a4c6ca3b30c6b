# tests/bench/rules.mk - measures; included by the top Makefile.

$(BUILD)/tests/bench/look_up.o: CPPFLAGS += -Iruntime

$(BUILD)/tests/bench/look_up: $(BUILD)/tests/bench/look_up.o $(BUILD)/libstackpack.a
	$(LINK) -o $@ $^

.PHONY: bench
bench: all samples $(BUILD)/tests/bench/look_up
	tests/bench/run $(BUILD)
