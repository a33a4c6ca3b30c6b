/* patterns.c - see patterns.h.
 *
 * Suffixes start with a dot or an at sign, and names of Rust, Zig, Go and Odin have dots
 * themselves: so only the texts that compilers add to a copy's name count as its suffix (GCC:
 * clone_function_name; LLVM: FunctionSpecialization, ThinLTO's promotion). Parts that only their
 * function enters (`f.cold`) need no reading of their own where the function calls nothing that
 * matters.
 */
#include "tool/calls/patterns.h"

#include "tool/image/demangle.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pattern_is_plain(const char *pattern) { return strpbrk(pattern, "*?[\\") == NULL; }

/* ---- Suffixes ---- */

/* The length of a compiler's suffix at the start of a text, or 0. Copies share their function's
 * name; with `identities`, so do functions that only differ in a suffix. */
static size_t suffix_length(const char *text, bool identities) {
  static const char *const copies[] = {".constprop.", ".isra.", ".part.", ".specialized.",
                                       ".localalias."};
  static const char *const others[] = {".llvm.", ".lto_priv.", ".__uniq."};
  const char *word = NULL;
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (strncmp(text, copies[i], strlen(copies[i])) == 0)
      word = copies[i];
  for (size_t i = 0; identities && i < sizeof others / sizeof *others; i++)
    if (strncmp(text, others[i], strlen(others[i])) == 0)
      word = others[i];
  if (identities && *text == '@')
    return strlen(text);
  const size_t number = *text == '.' ? strspn(text + 1, "0123456789") : 0;
  if (identities && number > 0)
    return 1 + number;
  if (word == NULL)
    return strcmp(text, ".localalias") == 0 ? strlen(text) : 0;
  const size_t digits = strspn(text + strlen(word), "0123456789");
  return digits == 0 ? 0 : strlen(word) + digits;
}

/* Whether a text consists of compilers' suffixes. */
static bool is_suffixes(const char *text, bool identities) {
  size_t length = 1;
  while (*text != 0 && (length = suffix_length(text, identities)) > 0)
    text += length;
  return length > 0;
}

/* The start of a name's suffixes: its end if it has none. A name has few of them. */
static size_t own_length(const char *name, bool identities) {
  enum { SUFFIXES = 8 };
  const size_t whole = strlen(name);
  size_t own = whole;
  unsigned marks = 0;
  for (size_t at = whole; at-- > 1 && marks < 2 * SUFFIXES;)
    if (name[at] == '.' || name[at] == '@') {
      marks++;
      if (is_suffixes(name + at, identities))
        own = at;
    }
  return own;
}

size_t pattern_function_length(const char *name) { return own_length(name, false); }

/* ---- Forms ---- */

static void add_form(struct pattern_name *name, char *form) {
  if (form != NULL && name->form_count < PATTERN_FORMS)
    name->forms[name->form_count++] = form;
  else
    free(form);
}

/* A name without its language's angle brackets and tags, and the text in them; NULL if it has none.
 * An operator's are no brackets. */
static char *without_arguments(const char *form) {
  char *text = strdup(form);
  size_t to = 0;
  unsigned depth = 0;
  for (const char *at = form; *at != 0; at++) {
    const bool is_operator = to >= 8 && strncmp(text + to - 8, "operator", 8) == 0;
    const bool opens = *at == '<' && !is_operator, tag = strncmp(at, "[abi:", 5) == 0;
    if (opens || tag) {
      if (depth++ == 0 && to >= 2 && text[to - 1] == ':' && text[to - 2] == ':')
        to -= 2;
    } else if ((*at == '>' && at > form && at[-1] != '-') || *at == ']') {
      depth -= depth > 0;
    } else if (depth == 0) {
      text[to++] = *at;
    }
  }
  text[to] = 0;
  if (depth == 0 && to > 0 && strcmp(text, form) != 0)
    return text;
  free(text);
  return NULL;
}

/* Of `<Type as Trait>::method`, `Type::method` or `Trait::method`; NULL for other names. */
static char *of_method(const char *form, bool is_trait) {
  const char *as = NULL, *end = NULL;
  unsigned depth = 0;
  for (const char *at = form; *form == '<' && *at != 0 && end == NULL; at++) {
    depth += *at == '<';
    if (*at == '>' && at[-1] != '-' && --depth == 0)
      end = at;
    if (depth == 1 && as == NULL && strncmp(at, " as ", 4) == 0)
      as = at;
  }
  if (end == NULL || (as == NULL && is_trait))
    return NULL;
  const char *from = is_trait ? as + 4 : form + 1, *to = is_trait || as == NULL ? end : as;
  char *text = malloc(strlen(form) + 1);
  sprintf(text, "%.*s%s", (int)(to - from), from, end + 1);
  char *plain = without_arguments(text);
  if (plain == NULL)
    return text;
  free(text);
  return plain;
}

/* Rust's older names end with a hash of their own: `17h`, 16 digits, `E`. */
static bool is_whole_mangled(const char *name) {
  const char *hash = strstr(name, "17h");
  for (; hash != NULL; hash = strstr(hash + 1, "17h"))
    if (strspn(hash + 3, "0123456789abcdef") == 16 && hash[19] == 'E')
      return hash[20] == 0;
  return strpbrk(name, ".@") == NULL;
}

void pattern_name_open(struct pattern_name *name, const char *text) {
  *name = (struct pattern_name){.text = text, .own = strndup(text, own_length(text, true))};
  char *plain = demangle(name->own, false);
  if (plain == NULL)
    return;
  static const char *const thunks[] = {"non-virtual thunk to ", "virtual thunk to "};
  name->has_strange_suffix = !is_whole_mangled(name->own);
  for (size_t i = 0; i < sizeof thunks / sizeof *thunks; i++)
    if (strncmp(plain, thunks[i], strlen(thunks[i])) == 0) {
      name->has_strange_suffix = true;
      memmove(plain, plain + strlen(thunks[i]), strlen(plain + strlen(thunks[i])) + 1);
      plain[strcspn(plain, "(")] = 0; /* with parameters in any case */
    }
  add_form(name, demangle(name->own, true));
  add_form(name, without_arguments(plain));
  add_form(name, of_method(plain, false));
  add_form(name, of_method(plain, true));
  add_form(name, plain);
}

void pattern_name_close(struct pattern_name *name) {
  for (size_t i = 0; i < name->form_count; i++)
    free(name->forms[i]);
  free(name->own);
  *name = (struct pattern_name){0};
}

/* ---- Matching ---- */

static bool fits(const char *pattern, const char *text) {
  return strcmp(pattern, text) == 0 ||
         (!pattern_is_plain(pattern) && fnmatch(pattern, text, 0) == 0);
}

/* Whether a pattern fits the start of a name, before a character outside the names of C, or before
 * the number of one of Zig's generic functions. */
static bool fits_start(const char *pattern, const char *text) {
  const size_t length = strlen(pattern);
  if (pattern_is_plain(pattern)) {
    if (length == 0 || strncmp(pattern, text, length) != 0)
      return false;
    const char *rest = text + length;
    return (!isalnum((unsigned char)*rest) && *rest != '_') || strncmp(rest, "__anon_", 7) == 0;
  }
  char *longer = malloc(length + sizeof "[!A-Za-z0-9_]*");
  sprintf(longer, "%s[!A-Za-z0-9_]*", pattern);
  bool result = fnmatch(longer, text, 0) == 0;
  sprintf(longer, "%s__anon_*", pattern);
  result |= fnmatch(longer, text, 0) == 0;
  free(longer);
  return result;
}

/* Whether a pattern fits a name with or without some of its suffixes. */
static bool fits_copy(const char *pattern, const struct pattern_name *name) {
  bool result = fits(pattern, name->text);
  char *text = strdup(name->text);
  const size_t own = strlen(name->own);
  for (size_t at = strlen(text); !result && at-- > own;)
    if (text[at] == '.' || text[at] == '@') {
      text[at] = 0;
      result = is_suffixes(name->text + at, true) && fits(pattern, text);
    }
  free(text);
  return result;
}

bool pattern_means(const char *pattern, const struct pattern_name *name,
                   enum pattern_reading reading) {
  bool result = reading == PATTERN_NARROW
                    ? fits_copy(pattern, name)
                    : fits(pattern, name->text) || fits_start(pattern, name->text);
  const bool has_forms = reading == PATTERN_WIDE || !name->has_strange_suffix;
  for (size_t i = 0; i < name->form_count && has_forms && !result; i++)
    result = fits(pattern, name->forms[i]);
  return result;
}
