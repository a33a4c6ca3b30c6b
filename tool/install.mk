# tool/install.mk - installs, and uninstalls; included by the top Makefile.
#
# PREFIX is where the files will be used, and DESTDIR, for who makes packages, a folder that stands for / until then. The
# other folders are those of the GNU coding standards, "Variables for Installation Directories", in capitals. INSTALLED
# lists each file and its place: so `make uninstall` with the same variables takes out the same
# files, and the empty folders with the name of the project. (Other folders stay: others may use them.) A component with rules.mk of its own adds there to these lists.

PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBDIR ?= $(PREFIX)/lib
LIBEXECDIR ?= $(PREFIX)/libexec
INCLUDEDIR ?= $(PREFIX)/include
DATADIR ?= $(PREFIX)/share
MANDIR ?= $(DATADIR)/man
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
CMAKEDIR ?= $(LIBDIR)/cmake/stackpack
BASHCOMPLETIONDIR ?= $(DATADIR)/bash-completion/completions
ZSHCOMPLETIONDIR ?= $(DATADIR)/zsh/site-functions
FISHCOMPLETIONDIR ?= $(DATADIR)/fish/vendor_completions.d
GDBAUTOLOADDIR ?= $(DATADIR)/gdb/auto-load

PLACES := PREFIX BINDIR LIBDIR LIBEXECDIR INCLUDEDIR DATADIR MANDIR PKGCONFIGDIR CMAKEDIR BASHCOMPLETIONDIR ZSHCOMPLETIONDIR \
  FISHCOMPLETIONDIR GDBAUTOLOADDIR
ifneq ($(filter install uninstall,$(MAKECMDGOALS)),)
$(call need_words,DESTDIR $(PLACES))
$(foreach name,$(PLACES),$(if $(filter-out /%,$($(name))),$(error $(name)=$($(name)): not an absolute path)))
endif

# SOURCE:PLACE, with the source that is copied: programs and shared libraries (mode 755), archives and data (644).
INSTALLED_PROGRAMS += \
  $(BUILD)/stackpack:$(BINDIR)/stackpack \
  $(BUILD)/stackpack-ld:$(BINDIR)/stackpack-ld \
  $(BUILD)/libstackpack.so:$(LIBDIR)/libstackpack.so.$(VERSION)
INSTALLED_ARCHIVES += $(BUILD)/libstackpack.a:$(LIBDIR)/libstackpack.a
INSTALLED_DATA += \
  runtime/stackpack.h:$(INCLUDEDIR)/stackpack.h \
  runtime/stackpack_check.h:$(INCLUDEDIR)/stackpack_check.h \
  runtime/stackpack_unwind.h:$(INCLUDEDIR)/stackpack_unwind.h \
  man/stackpack.1:$(MANDIR)/man1/stackpack.1 \
  man/stackpack-ld.1:$(MANDIR)/man1/stackpack-ld.1 \
  man/stackpack.3:$(MANDIR)/man3/stackpack.3 \
  bindings/gdb/stackpack-gdb.py:$(DATADIR)/stackpack/stackpack-gdb.py \
  tool/completions/stackpack.bash:$(BASHCOMPLETIONDIR)/stackpack \
  tool/completions/stackpack.zsh:$(ZSHCOMPLETIONDIR)/_stackpack \
  tool/completions/stackpack.fish:$(FISHCOMPLETIONDIR)/stackpack.fish

# TARGET:PLACE: symbolic links. A linker looks for libstackpack.so, the dynamic linker for the soname; and a compiler, in
# the folder that -B names, for `ld`, or for `ld.lld` with -fuse-ld=lld, and so on.
# gdb loads the file that is named like the shared library, in a folder named like the library's.
GDB_SCRIPT := $(GDBAUTOLOADDIR)$(LIBDIR)/libstackpack.so.$(VERSION)-gdb.py
LD_TARGET := $(shell realpath -m -s --relative-to=$(LIBEXECDIR)/stackpack $(BINDIR)/stackpack-ld)
INSTALLED_LINKS += \
  libstackpack.so.$(VERSION):$(LIBDIR)/libstackpack.so.0 \
  libstackpack.so.0:$(LIBDIR)/libstackpack.so \
  $(shell realpath -m -s --relative-to=$(dir $(GDB_SCRIPT)) $(DATADIR)/stackpack/stackpack-gdb.py):$(GDB_SCRIPT) \
  $(foreach name,ld ld.bfd ld.gold ld.lld ld.mold,$(LD_TARGET):$(LIBEXECDIR)/stackpack/$(name))

# SOURCE:PLACE: text with @VARIABLES@. The paths in a .pc file are absolute, those in CMake's relative to its folder.
INSTALLED_PKGCONFIG += runtime/stackpack.pc.in:$(PKGCONFIGDIR)/stackpack.pc
INSTALLED_CMAKE += \
  runtime/cmake/stackpackConfig.cmake.in:$(CMAKEDIR)/stackpackConfig.cmake \
  runtime/cmake/stackpackConfigVersion.cmake.in:$(CMAKEDIR)/stackpackConfigVersion.cmake

INSTALLED = $(INSTALLED_PROGRAMS) $(INSTALLED_ARCHIVES) $(INSTALLED_DATA) $(INSTALLED_LINKS) $(INSTALLED_PKGCONFIG) $(INSTALLED_CMAKE)

place = $(DESTDIR)$(lastword $(subst :, ,$(1)))
source = $(firstword $(subst :, ,$(1)))
from_cmake = $$(realpath -m -s --relative-to=$(CMAKEDIR) $(1))

# Each is a line of shell.
define install_file # MODE SOURCE:PLACE
install -D -m $(1) $(call source,$(2)) $(call place,$(2))

endef
define install_archive # SOURCE:PLACE: without debug information
$(call install_file,644,$(1))
$(OBJCOPY) --strip-debug $(call place,$(1))

endef
define install_link # TARGET:PLACE
install -d $(dir $(call place,$(1))) && ln -sf $(call source,$(1)) $(call place,$(1))

endef
define install_text # SED-SCRIPT SOURCE:PLACE
install -d $(dir $(call place,$(2))) && sed "$(1)" $(call source,$(2)) >$(call place,$(2)) && chmod 644 $(call place,$(2))

endef
pkgconfig_text := s|@PREFIX@|$(PREFIX)|; s|@BINDIR@|$(BINDIR)|; s|@LIBDIR@|$(LIBDIR)|; \
  s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|
cmake_text = s|@BINDIR@|$(call from_cmake,$(BINDIR))|; s|@LIBDIR@|$(call from_cmake,$(LIBDIR))|; \
  s|@INCLUDEDIR@|$(call from_cmake,$(INCLUDEDIR))|; s|@SONAME@|libstackpack.so.0|; s|@VERSION@|$(VERSION)|

.PHONY: install uninstall
install: all
	$(foreach file,$(INSTALLED_PROGRAMS),$(call install_file,755,$(file)))
	$(foreach file,$(INSTALLED_ARCHIVES),$(call install_archive,$(file)))
	$(foreach file,$(INSTALLED_DATA),$(call install_file,644,$(file)))
	$(foreach link,$(INSTALLED_LINKS),$(call install_link,$(link)))
	$(foreach file,$(INSTALLED_PKGCONFIG),$(call install_text,$(pkgconfig_text),$(file)))
	$(foreach file,$(INSTALLED_CMAKE),$(call install_text,$(cmake_text),$(file)))

uninstall:
	rm -f $(foreach file,$(INSTALLED),$(call place,$(file)))
	for folder in $(filter %/stackpack/,$(sort $(foreach file,$(INSTALLED),$(dir $(call place,$(file)))))); do \
	  [ ! -d $$folder ] || rmdir --ignore-fail-on-non-empty $$folder || exit; \
	done
