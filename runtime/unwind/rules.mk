# runtime/unwind/rules.mk - builds the unwinding walker, build/libstackpack-unwind.{a,so}; included by the top Makefile.
#
# It is there where libunwind is (or with UNWIND=yes; UNWIND=no leaves it out). Only -lunwind-generic is linked: -lunwind
# has a _Unwind_RaiseException of its own, which would take the place of the C++ compiler's. The unwinder can be a frame
# itself, so it has unwind tables, which GCC leaves out on RISC-V.

ifndef UNWIND
UNWIND := $(shell $(CC) -dumpmachine | grep -qE '^(x86_64|aarch64|riscv64)' && pkg-config --exists 'libunwind-generic >= 1.6' 2>/dev/null && echo yes)
endif
UNWIND_OBJECTS := $(patsubst %.c,$(BUILD)/%.o,$(wildcard runtime/unwind/*.c))
UNWIND_LIBS := -lunwind-generic
SOURCES += $(wildcard runtime/unwind/*.[ch])

$(UNWIND_OBJECTS): CPPFLAGS += -Iruntime $(shell pkg-config --cflags libunwind-generic 2>/dev/null)
$(UNWIND_OBJECTS): FLAGS += -fasynchronous-unwind-tables

$(BUILD)/libstackpack-unwind.a: $(UNWIND_OBJECTS)
	rm -f $@
	$(LD) -r -o $(BUILD)/libstackpack-unwind.o $^
	$(OBJCOPY) --localize-hidden $(BUILD)/libstackpack-unwind.o
	$(AR) rcs $@ $(BUILD)/libstackpack-unwind.o

$(BUILD)/libstackpack-unwind.so: $(UNWIND_OBJECTS) $(BUILD)/libstackpack.so runtime/unwind/libstackpack-unwind.map
	$(LINK) -shared -Wl,-soname,libstackpack-unwind.so.0 -Wl,-z,defs \
	  -Wl,--version-script=runtime/unwind/libstackpack-unwind.map -o $@ $(filter %.o %.so,$^) $(UNWIND_LIBS)

# What is installed, and where: see tool/install.mk.
ifeq ($(UNWIND),yes)
all: $(BUILD)/libstackpack-unwind.a $(BUILD)/libstackpack-unwind.so

INSTALLED_PROGRAMS += $(BUILD)/libstackpack-unwind.so:$(LIBDIR)/libstackpack-unwind.so.$(VERSION)
INSTALLED_ARCHIVES += $(BUILD)/libstackpack-unwind.a:$(LIBDIR)/libstackpack-unwind.a
INSTALLED_DATA += runtime/unwind/stackpack_unwind.h:$(INCLUDEDIR)/stackpack_unwind.h
INSTALLED_LINKS += \
  libstackpack-unwind.so.$(VERSION):$(LIBDIR)/libstackpack-unwind.so.0 \
  libstackpack-unwind.so.0:$(LIBDIR)/libstackpack-unwind.so
INSTALLED_PKGCONFIG += runtime/unwind/stackpack-unwind.pc.in:$(PKGCONFIGDIR)/stackpack-unwind.pc
endif

-include $(UNWIND_OBJECTS:.o=.d)
