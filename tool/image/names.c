/* names.c - see names.h. */
#include "tool/image/names.h"

#include "format/array.h"
#include "format/search.h"

#include <stdlib.h>
#include <string.h>

/* Functions before labels, global names before weak and local ones. */
enum { LABELS = 3 };
static int symbol_rank(const GElf_Sym *symbol) {
  const unsigned binding = GELF_ST_BIND(symbol->st_info);
  const int visible = binding == STB_GLOBAL ? 0 : binding == STB_WEAK ? 1 : 2;
  return GELF_ST_TYPE(symbol->st_info) == STT_NOTYPE ? visible + LABELS : visible;
}

static int compare_names(const void *a, const void *b) {
  const struct name *x = a, *y = b;
  ORDER_BY(x, y, address)
  ORDER_BY(x, y, rank)
  return strcmp(x->text, y->text);
}

bool names_is_mapping(const char *text) {
  return (text[0] == '$' && (text[1] == 'x' || text[1] == 'd')) || strncmp(text, ".L", 2) == 0;
}

void names_open(struct names *names, const struct image *image) {
  *names = (struct names){0};
  for (struct elf_symbols at = elf_symbols(&image->elf_image); elf_symbols_next_defined(&at);) {
    const unsigned type = GELF_ST_TYPE(at.symbol.st_info);
    if ((type == STT_FUNC || type == STT_GNU_IFUNC ||
         (type == STT_NOTYPE && !names_is_mapping(at.name))) &&
        *at.name != 0 && at.symbol.st_shndx != SHN_ABS &&
        !ARRAY_ADD(names->items, names->count, names->capacity,
                   (struct name){.address = at.symbol.st_value,
                                 .end = at.symbol.st_value + at.symbol.st_size,
                                 .text = at.name,
                                 .rank = symbol_rank(&at.symbol)}))
      return;
  }
  array_sort(names->items, names->count, sizeof *names->items, compare_names);
  const struct name *first = NULL; /* at the address */
  size_t kept = 0;
  uint64_t end = 0; /* of the functions up to here */
  for (size_t i = 0; i < names->count; i++) {
    struct name name = names->items[i];
    if (first == NULL || first->address != name.address) {
      first = &names->items[kept];
      name.is_function = name.rank < LABELS || name.address < end;
      end = name.rank < LABELS && name.end > end ? name.end : end;
    } else if (strcmp(first->text, name.text) == 0) {
      continue;
    }
    names->items[kept++] = name;
  }
  names->count = kept;
}

void names_close(struct names *names) {
  free(names->items);
  *names = (struct names){0};
}

bool name_is_among(const char *name, char separator, const char *names) {
  const size_t length = strlen(name);
  for (const char *at = names; length > 0 && (at = strstr(at, name)) != NULL; at += length)
    if ((at == names || at[-1] == separator) && (at[length] == 0 || at[length] == separator))
      return true;
  return false;
}

static const struct name *find(const struct names *names, uint64_t address) {
  const size_t from = SEARCH_BELOW(names->items, names->count, address, address);
  return from < names->count && names->items[from].address == address ? &names->items[from] : NULL;
}

const char *names_find(const struct names *names, uint64_t address) {
  const struct name *name = find(names, address);
  return name == NULL ? NULL : name->text;
}

const char *names_next(const struct names *names, uint64_t address, size_t *at) {
  const size_t n = SEARCH_BELOW(names->items, names->count, address, address) + (*at)++;
  return n < names->count && names->items[n].address == address ? names->items[n].text : NULL;
}

bool names_has_function(const struct names *names, uint64_t address) {
  const struct name *name = find(names, address);
  return name != NULL && name->is_function;
}

bool names_is_only(const struct names *names, uint64_t address) {
  const struct name *name = find(names, address);
  return name != NULL && (name + 1 == names->items + names->count || name[1].address != address);
}
