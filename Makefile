# stackpack: packs the stack maps of linked programs. See README.md.
#
#   make            the commands build/stackpack and build/stackpack-ld, and the libraries build/libstackpack.{a,so}
#   make quick      unit tests and a smoke test: a minute
#   make check      tests of each kind; TEST=NAME: one of them; check-all: all tests (and others: see tests/rules.mk)
#   make demo       packs a real program and shows what it did
#   make fuzz       the fuzzers        make bench  measures            make corpus  real programs to try
#   make install    and uninstall: PREFIX, DESTDIR, and others: see tool/install.mk
#   make dist deb   the sources as an archive, Debian's packages: see tool/package.mk
#   make bindings   the header for Rust, by bindgen
#   make lint format clean
#
# Options: CC, CFLAGS, BUILD (the output folder), LLVM (the prefix of an LLVM of 18 or newer, for samples
# and tests), SANITIZE=1 (address and undefined-behaviour sanitizers, and assertions), ASSERTIONS=1, WERROR=1.

BUILD ?= build
CC ?= cc
CFLAGS ?= -O2 -g
LLVM ?= $(shell tests/find-llvm.sh 2>/dev/null)
PYTHON ?= python3
# The compiler's own: of another machine, where the compiler is for that.
OBJCOPY ?= $(or $(shell $(CC) -print-prog-name=objcopy 2>/dev/null),objcopy)

# Folders are words for make and the shell: of one with a blank, `make clean` would remove two others.
TAKEN_APART := ' " ` \ & ; | < > ( ) * ? : %
is_word = $(if $(filter-out 1,$(words [$(1)]))$(strip $(foreach mark,$(TAKEN_APART),$(findstring $(mark),$(1)))),,yes)
need_words = $(foreach name,$(1),$(if $(call is_word,$($(name))),,$(error $(name)=$($(name)): a folder here has no blanks, and none of $(TAKEN_APART))))
$(call need_words,BUILD)

VERSION := $(shell sed -n 's/^\#define STACKPACK_VERSION "\(.*\)"/\1/p' runtime/stackpack.h)

# The public structures lie over the library's own ones: see runtime/internal.h.
FLAGS := -std=c17 -Wall -Wextra -fno-strict-aliasing -D_GNU_SOURCE -fPIC -fvisibility=hidden -I. -MMD -MP
ifdef WERROR
FLAGS += -Werror
endif
# Assertions say facts about this code, never about input: tests and fuzzers have them, releases don't.
ifndef ASSERTIONS
ifndef SANITIZE
FLAGS += -DNDEBUG
endif
endif
ifdef SANITIZE
FLAGS += -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
endif
COMPILE = $(CC) $(FLAGS) $(CFLAGS) $(CPPFLAGS) $(LAST_FLAGS)
LINK = $(CC) $(FLAGS) $(CFLAGS) $(LDFLAGS)
# Debian 12 has no libdwarf.pc, and that of Debian 13 names another folder than the one in which the headers are.
DWARF_FLAGS := $(shell pkg-config --cflags libdwarf 2>/dev/null) -I/usr/include/libdwarf
# libdw has functions of the same names, with versions: libdwarf must come first.
TOOL_LIBS := -ldwarf -ldw -lelf -liberty -lzstd -ljansson -lZydis -lm

# The command's rooms (tool/*/) are in an archive, from which tests and measurements take what they need, too.
FORMAT := $(patsubst %.c,$(BUILD)/%.o,$(wildcard format/*.c elf/*.c))
RUNTIME := $(patsubst %.c,$(BUILD)/%.o,$(wildcard runtime/*.c))
UNWINDER := $(patsubst %.c,$(BUILD)/%.o,$(wildcard runtime/unwind/*.c))
TOOL := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tool/*.c))
ROOMS := $(patsubst %.c,$(BUILD)/%.o,$(filter-out tool/ld/%,$(wildcard tool/*/*.c))) $(BUILD)/tool/sizes/report_page.o
LINKER := $(patsubst %.c,$(BUILD)/%.o,$(wildcard tool/ld/*.c tool/split/*.c elf/machine*.c elf/elf_*.c) \
  tool/memory.c format/checksum.c format/intern.c format/sources.c format/stackmap_v3.c tool/image/problem.c tool/image/budget.c tool/image/clean.c tool/image/input.c tool/image/crel.c tool/image/start.c)
SOURCES = $(wildcard format/*.[ch] elf/*.[ch] runtime/*.[ch] runtime/*/*.[ch] tool/*.[ch] tool/*/*.[ch] samples/*/*.[ch] tests/*/*.[ch]) \
  $(wildcard tests/corpus/*.cpp samples/*/*.cpp)

.PHONY: all
all: $(BUILD)/stackpack $(BUILD)/stackpack-ld $(BUILD)/libstackpack.a $(BUILD)/libstackpack.so

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(COMPILE) -c -o $@ $<

$(BUILD)/tool/source/%.o: FLAGS += $(DWARF_FLAGS)
# The unwinder may be on the stack that it walks. GCC leaves out unwind tables on RISC-V.
$(UNWINDER): FLAGS += -fasynchronous-unwind-tables
# The archive's names are changed in machine code, and a program's linker searches it member by member: whatever CFLAGS
# say, the library has no link-time optimization.
$(FORMAT) $(RUNTIME) $(UNWINDER): LAST_FLAGS := -fno-lto

# The page of `stackpack report` is HTML, CSS and JavaScript in files of their own, of which one is made here; the command
# puts the numbers into it. The page itself says which style and script may run: by the SHA-256 of what stands between
# their tags.
REPORT := tool/sizes/report_page
REPORT_HASHES := $(BUILD)/$(REPORT).css.hash $(BUILD)/$(REPORT).js.hash
$(BUILD)/tool/%.hash: tool/% Makefile
	@mkdir -p $(@D)
	env printf "$$({ echo; cat $<; } | sha256sum | cut -c 1-64 | sed 's/../\\x&/g')" | base64 | tr -d '\n' >$@
$(BUILD)/$(REPORT).html: $(REPORT).html $(REPORT).css $(REPORT).js $(REPORT_HASHES)
	sed -e "s|{{style_hash}}|$$(cat $(@:.html=.css.hash))|; s|{{script_hash}}|$$(cat $(@:.html=.js.hash))|" \
	  -e '/^{{style}}$$/{r $(REPORT).css' -e 'd}' -e '/^{{script}}$$/{r $(REPORT).js' -e 'd}' $< >$@
$(BUILD)/$(REPORT).o: $(REPORT).S $(BUILD)/$(REPORT).html
	$(CC) -c -Wa,-I$(@D) -o $@ $<

# Each file is a member, so that a program takes only the parts that it uses. Names that members share among themselves
# are hidden, and get a prefix: a user's own names can't collide.
$(BUILD)/libstackpack.a: $(FORMAT) $(RUNTIME) $(UNWINDER)
	rm -rf $@ $(BUILD)/members
	mkdir -p $(BUILD)/members
	nm --extern-only --defined-only $^ | awk 'NF == 3 && $$3 !~ /^(stackpack_|__)/ { print $$3, "stackpack_private_" $$3 }' | \
	  sort -u >$(BUILD)/members/names
	for object in $^; do \
	  $(OBJCOPY) --redefine-syms=$(BUILD)/members/names $$object $(BUILD)/members/$${object##*/} || exit; \
	done
	$(AR) rcs $@ $(addprefix $(BUILD)/members/,$(notdir $^))

$(BUILD)/libstackpack.so: $(FORMAT) $(RUNTIME) $(UNWINDER) runtime/libstackpack.map
	$(LINK) -shared -Wl,-soname,libstackpack.so.0 -Wl,-z,defs -Wl,--version-script=runtime/libstackpack.map \
	  -o $@ $(filter %.o,$^)

$(BUILD)/tool.a: $(ROOMS)
	rm -f $@
	$(AR) rcs $@ $^

# See tool/memory.c.
MEMORY_ENDS := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=strndup
$(BUILD)/stackpack: $(TOOL) $(BUILD)/tool.a $(RUNTIME) $(FORMAT)
	$(LINK) $(MEMORY_ENDS) -o $@ $^ $(TOOL_LIBS)

$(BUILD)/stackpack-ld: $(LINKER)
	$(LINK) $(MEMORY_ENDS) -o $@ $^ -liberty

include samples/rules.mk
include tests/unit/rules.mk
include tests/fuzz/rules.mk
include tests/bench/rules.mk
include tests/corpus/rules.mk
include tests/rules.mk
include tool/install.mk
include tool/package.mk

.PHONY: demo
demo: all samples
	samples/demo.sh $(BUILD)

.PHONY: bindings
bindings:
	bindings/generate runtime/stackpack_check.h >$(BUILD)/sys.rs
	mv $(BUILD)/sys.rs bindings/rust/src/sys.rs

.PHONY: format lint clean
format:
	clang-format -i $(SOURCES)

# clang-format decides how code looks; cppcheck's warnings are errors. A file that hasn't changed since the last time isn't checked again.
lint:
	@clang-format --dry-run --Werror $(SOURCES)
	@mkdir -p $(BUILD)/cppcheck
	cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --cppcheck-build-dir=$(BUILD)/cppcheck \
	  --enable=warning,portability --suppress=normalCheckLevelMaxBranches -I. format elf runtime tool

clean:
	rm -rf $(BUILD)

-include $(FORMAT:.o=.d) $(RUNTIME:.o=.d) $(UNWINDER:.o=.d) $(TOOL:.o=.d) $(ROOMS:.o=.d) $(LINKER:.o=.d)
