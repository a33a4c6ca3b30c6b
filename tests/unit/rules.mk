# tests/unit/rules.mk - builds the unit tests; included by the top Makefile before tests/rules.mk.
#
# It expects BUILD, COMPILE, LINK, FORMAT and RUNTIME, and the rule for $(BUILD)/%.o from %.c. UNIT_TESTS names the
# programs: each is one suite for Check (libcheck), of the file of its name, with the files that all of them share.

UNIT_HELPERS := suite bytes v3_writer model model_check numbers generator elf_writer
UNIT_HELPERS := $(filter $(basename $(notdir $(wildcard tests/unit/*.c))),$(UNIT_HELPERS))
UNIT_PROGRAMS := $(filter-out $(UNIT_HELPERS),$(basename $(notdir $(wildcard tests/unit/*.c))))

UNIT_TESTS := $(UNIT_PROGRAMS:%=$(BUILD)/tests/unit/%)
UNIT_HELPER_OBJECTS := $(UNIT_HELPERS:%=$(BUILD)/tests/unit/%.o)
UNIT_OBJECTS := $(UNIT_TESTS:=.o) $(UNIT_HELPER_OBJECTS)
UNIT_LIBS = $(shell pkg-config --libs check) $(TOOL_LIBS)

$(UNIT_OBJECTS): CPPFLAGS += $(shell pkg-config --cflags check)

$(UNIT_TESTS): %: %.o $(UNIT_HELPER_OBJECTS) $(FORMAT) $(RUNTIME) $(BUILD)/tool.a
	$(LINK) -o $@ $(filter %.o,$^) $(BUILD)/tool.a $(UNIT_LIBS)

# For scripts: random stack maps in a file.
RANDOM_PROGRAM := $(BUILD)/tests/oracle/random_program
$(RANDOM_PROGRAM): $(RANDOM_PROGRAM).o $(filter-out %/suite.o,$(UNIT_HELPER_OBJECTS)) $(FORMAT) $(RUNTIME)
	$(LINK) -o $@ $^ $(UNIT_LIBS)

$(BUILD)/tests/unit/unwinder: $(UNWINDER)

$(BUILD)/tests/unit/intern: LDFLAGS += -Wl,--wrap=realloc

# The programs that look at themselves have a stack map of their own, in assembly. The section is read-only, as LLVM's
# assembler wants it, and holds absolute addresses: so they are linked at a fixed address.
$(BUILD)/tests/unit/%.o: tests/unit/%.S
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

SELF_TESTS := $(addprefix $(BUILD)/tests/unit/,process file memory)
$(SELF_TESTS): $(BUILD)/tests/unit/process_stackmap.o
$(SELF_TESTS): LDFLAGS += -no-pie

-include $(UNIT_OBJECTS:.o=.d) $(RANDOM_PROGRAM).d

# For scripts that run them alone.
.PHONY: unit-tests list-unit-tests
unit-tests: $(UNIT_TESTS)
list-unit-tests:
	@echo $(UNIT_TESTS)
