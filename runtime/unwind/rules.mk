# runtime/unwind/rules.mk - builds the unwinding walker, build/libstackpack-unwind.{a,so}; included by the top Makefile.
#
# It is there where libunwind is (or with UNWIND=yes; UNWIND= leaves it out). Only -lunwind-generic is linked:
# -lunwind has a _Unwind_RaiseException of its own, which would take the place of the C++ compiler's.

UNWIND ?= $(shell pkg-config --exists 'libunwind-generic >= 1.6' && echo yes)
UNWIND_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard runtime/unwind/*.c))
UNWIND_LIBS := -lunwind-generic
SOURCES += $(wildcard runtime/unwind/*.[ch])

$(UNWIND_OBJECTS): CPPFLAGS += -Iruntime $(shell pkg-config --cflags libunwind-generic 2>/dev/null)

$(BUILD)/libstackpack-unwind.a: $(UNWIND_OBJECTS)
	rm -f $@
	$(LD) -r -o $(BUILD)/libstackpack-unwind.o $^
	$(OBJCOPY) --localize-hidden $(BUILD)/libstackpack-unwind.o
	$(AR) rcs $@ $(BUILD)/libstackpack-unwind.o

$(BUILD)/libstackpack-unwind.so: $(UNWIND_OBJECTS) $(BUILD)/libstackpack.so
	$(LINK) -shared -Wl,-soname,libstackpack-unwind.so.0 -Wl,-z,defs -o $@ $^ $(UNWIND_LIBS)

ifeq ($(UNWIND),yes)
all: $(BUILD)/libstackpack-unwind.a $(BUILD)/libstackpack-unwind.so

.PHONY: install-unwind
install: install-unwind
install-unwind: all
	install -d $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/include
	install -m 644 runtime/unwind/stackpack_unwind.h $(DESTDIR)$(PREFIX)/include
	install -m 644 $(BUILD)/libstackpack-unwind.a $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(BUILD)/libstackpack-unwind.so $(DESTDIR)$(PREFIX)/lib/libstackpack-unwind.so.0
	ln -sf libstackpack-unwind.so.0 $(DESTDIR)$(PREFIX)/lib/libstackpack-unwind.so
	sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' runtime/unwind/stackpack-unwind.pc.in \
	  > $(DESTDIR)$(PREFIX)/lib/pkgconfig/stackpack-unwind.pc
endif

-include $(UNWIND_OBJECTS:.o=.d)
