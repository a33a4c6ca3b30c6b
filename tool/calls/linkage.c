/* linkage.c - see linkage.h. */
#include "tool/calls/linkage.h"

#include "format/array.h"
#include "format/search.h"
#include "tool/image/budget.h"
#include "tool/image/relocations.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- The dynamic section ---- */

struct dynamic {
  bool symbolic, is_pie;
};

static bool starts(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

static bool starts_with_any(const char *name, const char *const *starting, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (starts(name, starting[i]))
      return true;
  return false;
}

static const char *text_of(const struct image *image, uint32_t strings, size_t at) {
  const char *text = elf_strptr(image->elf, strings, at);
  return text == NULL ? "" : text;
}

/* The C library's own files, and its compiler's: they never supply function pointers of other
 * programs, and keep one of this program's only as leaf_functions.c lists. So does zlib. */
static bool is_c_librarys(const char *file) {
  static const char *const files[] = {"libc.so.",  "libm.so.",  "libpthread.so.", "libdl.so.",
                                      "librt.so.", "ld-linux-", "libgcc_s.so.",   "libc.musl-"};
  return starts_with_any(file, files, sizeof files / sizeof *files);
}

static void read_needed(struct linkage *linkage, const char *name) {
  /* These define no malloc, or a sanitizer's: it starts no collection, as the C library's. */
  static const char *const no_allocator[] = {
      "libstdc++.so.", "libc++.so.",  "libc++abi.so.", "libunwind.so.", "libatomic.so.",
      "libasan.so.",   "liblsan.so.", "libtsan.so.",   "libubsan.so.",  "libtinfo.so."};
  linkage->needs_zlib |= starts(name, "libz.so.");
  if (is_c_librarys(name) || starts(name, "libz.so."))
    return;
  linkage->needs_more = true;
  linkage->needs_allocator |=
      !starts_with_any(name, no_allocator, sizeof no_allocator / sizeof *no_allocator);
}

static void read_entry(struct linkage *linkage, struct dynamic *dynamic, const struct image *image,
                       const GElf_Dyn *entry, uint32_t strings) {
  switch (entry->d_tag) {
  case DT_SYMBOLIC:
    dynamic->symbolic = true;
    break;
  case DT_FLAGS:
    dynamic->symbolic |= (entry->d_un.d_val & DF_SYMBOLIC) != 0;
    break;
  case DT_FLAGS_1:
    dynamic->is_pie = (entry->d_un.d_val & DF_1_PIE) != 0;
    break;
  case DT_PLTGOT:
    linkage->offset_tables[0] = entry->d_un.d_ptr;
    break;
  case DT_INIT:
    linkage->init = entry->d_un.d_ptr;
    break;
  case DT_FINI:
    linkage->fini = entry->d_un.d_ptr;
    break;
  case DT_FINI_ARRAY:
    linkage->fini_array = entry->d_un.d_ptr;
    break;
  case DT_NEEDED: {
    read_needed(linkage, text_of(image, strings, entry->d_un.d_val));
    break;
  }
  default:
    break;
  }
}

static struct dynamic read_dynamic(struct linkage *linkage, const struct image *image) {
  struct dynamic dynamic = {0};
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if (header->sh_type != SHT_DYNAMIC)
      continue;
    Elf_Data *data = elf_getdata(elf_getscn(image->elf, i), NULL);
    GElf_Dyn entry;
    for (int n = 0; data != NULL && gelf_getdyn(data, n, &entry) != NULL && entry.d_tag != DT_NULL;
         n++)
      read_entry(linkage, &dynamic, image, &entry, header->sh_link);
  }
  return dynamic;
}

/* Linkers put _GLOBAL_OFFSET_TABLE_ at the start of either section, and DT_PLTGOT may be
 * missing. */
static void find_offset_tables(struct linkage *linkage, const struct image *image) {
  static const char *const names[OFFSET_TABLES - 1] = {".got", ".got.plt"};
  for (size_t i = 0; i < OFFSET_TABLES - 1; i++) {
    const struct image_section *section = image_section(image, names[i]);
    if (section != NULL && section->header.sh_addr != linkage->offset_tables[0])
      linkage->offset_tables[i + 1] = section->header.sh_addr;
  }
}

/* ---- Symbols ---- */

static struct linkage_symbol read_symbol(const struct image *image, const GElf_Sym *symbol,
                                         uint32_t strings, bool may_preempt) {
  const unsigned type = GELF_ST_TYPE(symbol->st_info);
  const bool is_defined = symbol->st_shndx != SHN_UNDEF;
  return (struct linkage_symbol){
      .name = text_of(image, strings, symbol->st_name),
      .address = symbol->st_value,
      .is_defined = is_defined,
      .is_preemptible = is_defined && may_preempt && GELF_ST_BIND(symbol->st_info) != STB_LOCAL &&
                        GELF_ST_VISIBILITY(symbol->st_other) == STV_DEFAULT,
      .is_code = type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE,
      .is_resolver = type == STT_GNU_IFUNC,
  };
}

/* The data of the first section of a type, or NULL. */
static Elf_Data *data_of_type(const struct image *image, uint32_t type, uint32_t *strings) {
  for (size_t i = 1; i < image->section_count; i++)
    if (image->sections[i].header.sh_type == type) {
      *strings = image->sections[i].header.sh_link;
      return elf_getdata(elf_getscn(image->elf, i), NULL);
    }
  return NULL;
}

enum { VERSIONS = 1 << 15 }; /* the numbers that there may be */

/* A version that the file needs: of a library's file. */
struct version {
  const char *name, *file; /* in the file; NULL: there is none of the number */
};

/* Finds the library of a symbol by its version: GNU's C and C++ libraries, and GCC's own, have
 * GLIBC_, GLIBCXX_, CXXABI_ and GCC_. Others may use these names, too. */
static void note_version(struct linkage_symbol *symbol, struct version version) {
  symbol->is_c_library = (is_c_librarys(version.file) || starts(version.file, "libstdc++.so.")) &&
                         (starts(version.name, "GLIBC") || starts(version.name, "CXXABI_") ||
                          starts(version.name, "GCC_"));
  symbol->is_zlib = starts(version.file, "libz.so.") && starts(version.name, "ZLIB_");
  symbol->is_terminals = (starts(version.file, "libtinfo") || starts(version.file, "libncurses")) &&
                         starts(version.name, "NCURSES");
  symbol->is_stackpack =
      starts(version.file, "libstackpack.so.") && starts(version.name, "STACKPACK_");
}

/* Finds the versions that the file needs, by their numbers. They are in the order of the needed
 * libraries; of two with the same number, the first counts. */
static bool find_versions(const struct image *image, struct version *versions,
                          struct problem *problem) {
  struct budget budget = budget_open("version needs", image->size);
  uint32_t strings = 0;
  Elf_Data *needed = data_of_type(image, SHT_GNU_verneed, &strings);
  GElf_Verneed file;
  GElf_Vernaux one;
  bool ok = true;
  for (uint64_t at = 0;
       ok && needed != NULL && at <= INT32_MAX && gelf_getverneed(needed, (int)at, &file) != NULL;
       at += file.vn_next) {
    uint64_t aux = at + file.vn_aux;
    ok = budget_take(&budget, sizeof(Elf64_Verneed), problem);
    for (unsigned n = 0; ok && n < file.vn_cnt && aux <= INT32_MAX &&
                         gelf_getvernaux(needed, (int)aux, &one) != NULL;
         n++, aux += one.vna_next) {
      ok = budget_take(&budget, sizeof(Elf64_Vernaux), problem);
      if (one.vna_other < VERSIONS && versions[one.vna_other].name == NULL)
        versions[one.vna_other] = (struct version){text_of(image, strings, one.vna_name),
                                                   text_of(image, strings, file.vn_file)};
    }
    if (file.vn_next == 0)
      break;
  }
  return ok;
}

/* If any symbol of the file has a version, so have the C library's; zlib's oldest have none. A
 * library's may be defined by any program that loads it. */
static void note_unversioned(const struct linkage *linkage, struct linkage_symbol *symbol,
                             bool has_versions) {
  const bool is_alone = linkage_is_alone(linkage);
  symbol->is_c_library = is_alone && !has_versions;
  symbol->is_zlib = is_alone && (!has_versions || linkage->needs_zlib);
}

/* Finds the library of each symbol by its version: different libraries may have functions of the
 * same name. */
static bool find_libraries(struct linkage *linkage, const struct image *image,
                           struct problem *problem) {
  uint32_t unused = 0;
  Elf_Data *versions = data_of_type(image, SHT_GNU_versym, &unused);
  const bool has_versions =
      versions != NULL && data_of_type(image, SHT_GNU_verneed, &unused) != NULL;
  struct version *needed = calloc(VERSIONS, sizeof *needed); /* by number */
  const bool ok = find_versions(image, needed, problem);
  for (uint32_t i = 0; ok && i < linkage->symbol_count; i++) {
    struct linkage_symbol *symbol = &linkage->symbols[i];
    GElf_Versym version = VER_NDX_GLOBAL;
    if (symbol->is_defined)
      continue;
    if (has_versions && gelf_getversym(versions, (int)i, &version) != NULL)
      version &= VERSIONS - 1;
    if (version <= VER_NDX_GLOBAL)
      note_unversioned(linkage, symbol, has_versions);
    else if (needed[version].name != NULL)
      note_version(symbol, needed[version]);
  }
  free(needed);
  return ok;
}

static bool read_symbols(struct linkage *linkage, const struct image *image, bool may_preempt,
                         struct problem *problem) {
  uint32_t strings = 0;
  Elf_Data *data = data_of_type(image, SHT_DYNSYM, &strings);
  const uint64_t count = data == NULL ? 0 : data->d_size / sizeof(Elf64_Sym);
  GElf_Sym symbol;
  linkage->symbols = calloc(count + 1, sizeof *linkage->symbols);
  for (uint32_t n = 0; n < count && gelf_getsym(data, (int)n, &symbol) != NULL; n++)
    linkage->symbols[linkage->symbol_count++] = read_symbol(image, &symbol, strings, may_preempt);
  return data == NULL || find_libraries(linkage, image, problem);
}

/* ---- Words ---- */

static void add_word(struct linkage *linkage, struct linkage_word word) {
  (void)ARRAY_ADD(linkage->words, linkage->word_count, linkage->word_capacity, word);
}

static bool add_relocation(struct linkage *linkage, const struct code_architecture *architecture,
                           const Elf64_Rela *relocation, struct problem *problem) {
  enum code_relocation kind = code_relocation(architecture, ELF64_R_TYPE(relocation->r_info));
  struct linkage_word word = {
      .address = relocation->r_offset,
      .value = kind == CODE_RELOCATION_SLOT ? 0 : (uint64_t)relocation->r_addend,
      .symbol = ELF64_R_SYM(relocation->r_info),
      .is_constant = kind != CODE_RELOCATION_ADDRESS && kind != CODE_RELOCATION_SYMBOL};
  if (kind == CODE_RELOCATION_NONE) /* of thread-local storage, copied variables and sizes */
    return true;
  if (word.symbol != 0 && word.symbol >= linkage->symbol_count)
    return problem_set(problem, "a relocation for 0x%" PRIx64 " names a symbol that isn't there",
                       relocation->r_offset);
  /* With symbol 0 it is the address itself: of a local definition that kept its kind. */
  if (kind == CODE_RELOCATION_SLOT || kind == CODE_RELOCATION_SYMBOL)
    kind = word.symbol == 0 ? CODE_RELOCATION_ADDRESS : CODE_RELOCATION_SYMBOL;
  word.kind = (uint8_t)kind;
  add_word(linkage, word);
  return true;
}

static bool read_rela(struct linkage *linkage, const struct image *image, const Elf64_Shdr *table,
                      struct problem *problem) {
  const struct code_architecture *architecture = code_architecture(image->header.e_machine);
  Elf64_Rela relocation;
  for (uint64_t at = 0; rela_next(image, table, &at, &relocation);)
    if (!add_relocation(linkage, architecture, &relocation, problem))
      return false;
  return true;
}

/* In a table of kind RELR the addends are in place, and each has a bit. */
static void read_relr(struct linkage *linkage, const struct image *image, const Elf64_Shdr *table) {
  struct relr_reader reader = relr_open(image, table);
  for (uint64_t address, size; relr_next(&reader, &address);) {
    const uint8_t *word = elf_image_at(&image->elf_image, address, &size);
    add_word(linkage, (struct linkage_word){.address = address,
                                            .value = size < sizeof size ? 0 : bits_load64(word),
                                            .kind = CODE_RELOCATION_ADDRESS});
  }
}

static int compare_words(const void *a, const void *b) {
  const struct linkage_word *x = a, *y = b;
  return x->address < y->address ? -1 : x->address > y->address;
}

/* Processors and systems have tables of relocations of their own: of signed pointers, say
 * (SHT_AARCH64_AUTH_RELR). */
static bool may_relocate(const Elf64_Shdr *header) {
  switch (header->sh_type) {
  case SHT_GNU_HASH:
  case SHT_GNU_versym:
  case SHT_GNU_verneed:
  case SHT_GNU_verdef:
  case SHT_X86_64_UNWIND:
    return false;
  default:
    return header->sh_type == SHT_REL || header->sh_type >= SHT_LOOS;
  }
}

static bool read_words(struct linkage *linkage, const struct image *image,
                       struct problem *problem) {
  for (size_t i = 1; i < image->section_count; i++) {
    const Elf64_Shdr *header = &image->sections[i].header;
    if ((header->sh_flags & SHF_ALLOC) == 0)
      continue;
    if (relocations_lack_addends(header))
      return problem_set(problem, "dynamic relocations without addends, in section %s",
                         image->sections[i].name);
    if (header->sh_type == SHT_RELA && !read_rela(linkage, image, header, problem))
      return false;
    if (header->sh_type == SHT_RELR)
      read_relr(linkage, image, header);
    if (may_relocate(header))
      linkage->unknown = header->sh_addr;
  }
  array_sort(linkage->words, linkage->word_count, sizeof *linkage->words, compare_words);
  return true;
}

bool linkage_open(struct linkage *linkage, const struct image *image, struct problem *problem) {
  *linkage = (struct linkage){
      .entry = image->header.e_entry,
      .is_fixed = image->header.e_type == ET_EXEC,
  };
  const struct dynamic dynamic = read_dynamic(linkage, image);
  find_offset_tables(linkage, image);
  linkage->is_library = !linkage->is_fixed && !dynamic.is_pie;
  if (read_symbols(linkage, image, linkage->is_library && !dynamic.symbolic, problem) &&
      read_words(linkage, image, problem))
    return true;
  linkage_close(linkage);
  return false;
}

void linkage_close(struct linkage *linkage) {
  free(linkage->words);
  free(linkage->symbols);
  *linkage = (struct linkage){0};
}

const struct linkage_word *linkage_find(const struct linkage *linkage, uint64_t address) {
  const size_t from = SEARCH_BELOW(linkage->words, linkage->word_count, address, address);
  return from < linkage->word_count && linkage->words[from].address == address
             ? &linkage->words[from]
             : NULL;
}
