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

/* The suffixes that count: of copies, which share their function's name; of functions, too, that
 * only differ in a suffix; and plain numbers: compilers number functions of one name, and languages
 * the definitions in a function. */
enum suffixes { COPIES, IDENTITIES, NUMBERS };

/* The length of a compiler's suffix at the start of a text, or 0. */
static size_t suffix_length(const char *text, enum suffixes which) {
  static const char *const copies[] = {".constprop.", ".isra.", ".part.", ".specialized.",
                                       ".localalias."};
  static const char *const others[] = {".llvm.", ".lto_priv.", ".__uniq."};
  const char *word = NULL;
  for (size_t i = 0; i < sizeof copies / sizeof *copies; i++)
    if (strncmp(text, copies[i], strlen(copies[i])) == 0)
      word = copies[i];
  for (size_t i = 0; which >= IDENTITIES && i < sizeof others / sizeof *others; i++)
    if (strncmp(text, others[i], strlen(others[i])) == 0)
      word = others[i];
  if (which >= IDENTITIES && *text == '@')
    return strlen(text);
  const size_t number = *text == '.' ? strspn(text + 1, "0123456789") : 0;
  if (which == NUMBERS && number > 0)
    return 1 + number;
  if (word == NULL)
    return strcmp(text, ".localalias") == 0 ? strlen(text) : 0;
  const size_t digits = strspn(text + strlen(word), "0123456789");
  return digits == 0 ? 0 : strlen(word) + digits;
}

/* Whether a text consists of compilers' suffixes. */
static bool is_suffixes(const char *text, enum suffixes which) {
  size_t length = 1;
  while (*text != 0 && (length = suffix_length(text, which)) > 0)
    text += length;
  return length > 0;
}

/* The start of a name's suffixes: its end if it has none. A name has few of them. */
static size_t own_length(const char *name, enum suffixes which) {
  enum { SUFFIXES = 8 };
  const size_t whole = strlen(name);
  size_t own = whole;
  unsigned marks = 0;
  for (size_t at = whole; at-- > 1 && marks < 2 * SUFFIXES;)
    if (name[at] == '.' || name[at] == '@') {
      marks++;
      if (is_suffixes(name + at, which))
        own = at;
    }
  return own;
}

size_t pattern_function_length(const char *name) { return own_length(name, COPIES); }

/* ---- Forms ---- */

static void add_form(struct pattern_name *name, char *form) {
  if (form != NULL && name->form_count < PATTERN_FORMS)
    name->forms[name->form_count++] = form;
  else
    free(form);
}

/* The length of an operator of angle brackets at the start of a text. */
static size_t operator_length(const char *text) {
  static const char *const operators[] = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                          "<=",  ">=",  "->",  "<",   ">"};
  for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
    if (strncmp(text, operators[i], strlen(operators[i])) == 0)
      return strlen(operators[i]);
  return 0;
}

/* The length of the name of a C++ module at the start of a text, with its partition: `@rt:heap`. */
static size_t module_length(const char *text) {
  size_t length = *text == '@';
  while (length > 0 && (isalnum((unsigned char)text[length]) || text[length] == '_' ||
                        text[length] == '.' || (text[length] == ':' && text[length + 1] != ':')))
    length++;
  return length;
}

/* A name without its language's angle brackets and tags, the text in them, and names of modules;
 * NULL if it has none. An operator's are no brackets. */
static char *without_arguments(const char *form) {
  char *text = strdup(form);
  size_t to = 0;
  unsigned depth = 0;
  for (const char *at = form; *at != 0; at++) {
    const bool is_operator = depth == 0 && to >= 8 && strncmp(text + to - 8, "operator", 8) == 0;
    const size_t length = is_operator ? operator_length(at) : 0;
    const bool tag = strncmp(at, "[abi:", 5) == 0;
    if (length > 0) {
      memcpy(text + to, at, length);
      to += length;
      at += length - 1 + (at[length] == ' '); /* before arguments of `<` there is a blank */
    } else if (*at == '<' || tag) {
      if (depth++ == 0 && to >= 2 && text[to - 1] == ':' && text[to - 2] == ':')
        to -= 2;
    } else if ((*at == '>' && at > form && at[-1] != '-') || *at == ']') {
      depth -= depth > 0;
    } else if (depth == 0 && module_length(at) > 0) {
      at += module_length(at) - 1;
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

/* Of `<Type as Trait>::method`, or `module::<impl Trait for Type>::method`, `Type::method` or
 * `Trait::method`; NULL for other names. */
static char *of_method(const char *form, bool is_trait) {
  const char *impl = strstr(form, "<impl ");
  const char *start = impl != NULL ? impl + strlen("<impl ") : form + 1;
  const char *word = impl != NULL ? " for " : " as ", *between = NULL, *end = NULL;
  unsigned depth = 1;
  for (const char *at = start; (impl != NULL || *form == '<') && *at != 0 && end == NULL; at++) {
    depth += *at == '<';
    if (*at == '>' && at[-1] != '-' && --depth == 0)
      end = at;
    if (depth == 1 && between == NULL && strncmp(at, word, strlen(word)) == 0)
      between = at;
  }
  if (end == NULL || (between == NULL && is_trait))
    return NULL;
  const bool is_first = between == NULL || is_trait == (impl != NULL);
  const char *from = is_first ? start : between + strlen(word);
  const char *to = is_first && between != NULL ? between : end;
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

/* ---- Copies with another start ---- */

/* The end of a call offset (`h`, a number, `_`; or `v`, two of them), or NULL. */
static const char *after_call_offset(const char *text) {
  const unsigned numbers = *text == 'h' ? 1 : *text == 'v' ? 2 : 0;
  if (numbers == 0)
    return NULL;
  text++;
  for (unsigned i = 0; i < numbers; i++) {
    text += *text == 'n';
    text += strspn(text, "0123456789");
    if (*text++ != '_')
      return NULL;
  }
  return text;
}

/* For a thunk, a transaction clone (Itanium C++ ABI, 5.1.4) or a vector variant (`_ZGV`,
 * instruction set, mask, lanes, parameters, `_`, name: x86's and AArch64's vector function ABIs),
 * the linker's name of its function, which the compiler may have inlined into it; NULL for other
 * names. */
static char *target_of(const char *name) {
  const char *encoding = NULL;
  if (strncmp(name, "_ZTh", 4) == 0 || strncmp(name, "_ZTv", 4) == 0) {
    encoding = after_call_offset(name + 3);
  } else if (strncmp(name, "_ZTc", 4) == 0) {
    const char *second = after_call_offset(name + 4);
    encoding = second == NULL ? NULL : after_call_offset(second);
  } else if (strncmp(name, "_ZGTt", 5) == 0 || strncmp(name, "_ZGTn", 5) == 0) {
    encoding = name + 5;
  } else if (strncmp(name, "_ZGV", 4) == 0 && islower((unsigned char)name[4]) &&
             (name[5] == 'M' || name[5] == 'N')) {
    const char *whole = strchr(name + 6, '_');
    return whole == NULL ? NULL : strdup(whole + 1);
  }
  char *target = encoding == NULL ? NULL : malloc(strlen(encoding) + sizeof "_Z");
  if (target != NULL)
    sprintf(target, "_Z%s", encoding);
  return target;
}

/* Whether a name starts as those of C++ and Rust. */
static bool is_mangled(const char *name) {
  return strncmp(name, "_Z", 2) == 0 ||
         (strncmp(name, "_R", 2) == 0 && isupper((unsigned char)name[2]));
}

void pattern_name_open(struct pattern_name *name, const char *text) {
  const size_t own = own_length(text, NUMBERS);
  *name = (struct pattern_name){
      .text = text, .own = strndup(text, own), .is_numbered = own != own_length(text, IDENTITIES)};
  name->target = target_of(name->own);
  const char *function = name->target != NULL ? name->target : name->own;
  name->has_strange_suffix = !is_whole_mangled(function) || name->target != NULL;
  char *plain = demangle(function, false);
  name->is_unreadable = plain == NULL && is_mangled(function);
  if (plain == NULL)
    return;
  char *whole = demangle(function, true), *clone = strstr(whole == NULL ? "" : whole, " [clone ");
  if (clone != NULL)
    *clone = 0;
  add_form(name, whole);
  if (name->target != NULL)
    add_form(name, demangle(name->own, true)); /* "virtual thunk to ..." */
  add_form(name, without_arguments(plain));
  add_form(name, of_method(plain, false));
  add_form(name, of_method(plain, true));
  add_form(name, plain);
}

void pattern_name_close(struct pattern_name *name) {
  for (size_t i = 0; i < name->form_count; i++)
    free(name->forms[i]);
  free(name->own);
  free(name->target);
  *name = (struct pattern_name){0};
}

/* ---- Matching ---- */

static bool is_name(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool fits(const char *pattern, const char *text) {
  return strcmp(pattern, text) == 0 ||
         (!pattern_is_plain(pattern) && fnmatch(pattern, text, 0) == 0);
}

/* Whether a pattern's own text is the start of a name, before a character outside the names of C,
 * before the number of one of Zig's generic functions, or, in Swift, before the arguments of a
 * specialisation. */
static bool starts(const char *pattern, const char *text) {
  const size_t length = strlen(pattern);
  if (length == 0 || strncmp(pattern, text, length) != 0)
    return false;
  const char *rest = text + length;
  const bool is_swift = *text == '$' && (text[1] == 's' || text[1] == 'S') && length > 2;
  return (!isalnum((unsigned char)*rest) && *rest != '_') || is_swift ||
         strncmp(rest, "__anon_", 7) == 0;
}

/* The same of a pattern with wildcards, or with characters that only look like some. */
static bool fits_start(const char *pattern, const char *text) {
  if (pattern_is_plain(pattern) || starts(pattern, text))
    return starts(pattern, text);
  char *longer = malloc(strlen(pattern) + sizeof "[!A-Za-z0-9_]*");
  sprintf(longer, "%s[!A-Za-z0-9_]*", pattern);
  bool result = fnmatch(longer, text, 0) == 0;
  sprintf(longer, "%s__anon_*", pattern);
  result |= fnmatch(longer, text, 0) == 0;
  free(longer);
  return result;
}

static bool fits_part(const char *pattern, const char *text) {
  return fits(pattern, text) || fits_start(pattern, text);
}

/* Whether a pattern fits a name with or without some of its suffixes. */
static bool fits_copy(const char *pattern, const struct pattern_name *name, enum suffixes which) {
  const size_t length = strlen(pattern), own = strlen(name->own);
  if (pattern_is_plain(pattern))
    return strncmp(pattern, name->text, length) == 0 &&
           (name->text[length] == 0 || (length >= own && is_suffixes(name->text + length, which)));
  bool result = fits(pattern, name->text);
  char *text = strdup(name->text);
  for (size_t at = strlen(text); !result && at-- > own;)
    if (text[at] == '.' || text[at] == '@') {
      text[at] = 0;
      result = is_suffixes(name->text + at, which) && fits(pattern, text);
    }
  free(text);
  return result;
}

/* The last word of a pattern, apart from arguments: mostly a function's own name, which is literal
 * in a mangled name. Of a glob it may be a part of the name. */
static size_t last_word(const char *pattern, const char **word) {
  size_t length = 0;
  unsigned depth = 0;
  for (const char *at = pattern; *at != 0; at++) {
    const bool is_first = at == pattern || !is_name(at[-1]);
    depth += *at == '<' || *at == '(';
    depth -= depth > 0 && (*at == '>' || *at == ')');
    if (depth > 0 || !is_first || !is_name(*at) || (at > pattern && at[-1] == ' '))
      continue;
    *word = at;
    for (length = 0; is_name(at[length]);)
      length++;
  }
  return length;
}

bool pattern_means(const char *pattern, const struct pattern_name *name,
                   enum pattern_reading reading) {
  const bool is_wide = reading == PATTERN_WIDE, is_numbered = reading == PATTERN_NUMBERED;
  bool result = is_wide ? fits_part(pattern, name->text) ||
                              (name->target != NULL && fits_part(pattern, name->target))
                        : fits_copy(pattern, name, is_numbered ? NUMBERS : IDENTITIES);
  const bool has_forms =
      is_wide || (!name->has_strange_suffix && (is_numbered || !name->is_numbered));
  for (size_t i = 0; i < name->form_count && has_forms && !result; i++)
    result = fits(pattern, name->forms[i]);
  return result;
}

/* Compilers' manglings are newer than the demangler (C++20's constraints), and it leaves out long
 * names. Operators' names are mangled to other words. */
bool pattern_may_mean(const char *pattern, const struct pattern_name *name) {
  const char *word = NULL;
  const size_t length = last_word(pattern, &word);
  return name->is_unreadable && (length == 0 || strstr(pattern, "operator") != NULL ||
                                 memmem(name->text, strlen(name->text), word, length) != NULL);
}
