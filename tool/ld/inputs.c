/* inputs.c - see inputs.h.
 *
 * An input is a word that is a file's name, or -lNAME. Linkers also look for NAME in folders of
 * their own, and linker scripts can name inputs, too; such inputs stay whole, and are refused where
 * that would lose their stack maps.
 *
 * Two words, -l and NAME, become one. An archive with -l becomes one with a path, to the same
 * effect. So does another folder: if a file's name counts, as for --exclude-libs, it is the name
 * without folders.
 */
#include "tool/ld/inputs.h"

#include "tool/image/input.h"
#include "tool/ld/arguments.h"
#include "tool/ld/libraries.h"
#include "tool/ld/scripts.h"
#include "tool/split/split.h"

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The state that earlier words leave for the next one. */
struct place {
  bool is_static; /* -l finds archives only */
  bool is_binary; /* files of any kind are data */
  bool is_value;  /* it belongs to the option before it */
  bool saved[64]; /* is_static, by --push-state */
  unsigned depth;
};

/* Whether a file may have stack maps to split. */
static bool is_input(const char *path) {
  uint8_t bytes[SPLIT_MAGIC_SIZE];
  struct stat status;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const bool is_read = file >= 0 && read(file, bytes, sizeof bytes) == sizeof bytes;
  if (file >= 0)
    close(file);
  return is_read && split_is_input(bytes);
}

/* Where files are looked for. */
struct search {
  const struct words *words; /* the linker's */
  struct words folders, own; /* of -L; and those that follow: the linker's own, and scripts' */
  uint32_t machine;          /* of the first object; 0: unknown */
  bool is_static;            /* see is_static_link */
};

/* Joins -l, or --library, and the next word. */
static void join_libraries(struct words *words) {
  size_t count = 0;
  bool is_value = false;
  for (size_t i = 0; i < words->count; i++) {
    char *word = words->items[i], *joined;
    const bool is_library = strcmp(word, "-l") == 0 || arguments_is(word, "library");
    if (!is_value && is_library && i + 1 < words->count &&
        asprintf(&joined, "-l%s", words->items[i + 1]) >= 0) {
      free(word);
      free(words->items[++i]);
      words->items[count++] = joined;
      continue;
    }
    is_value = !is_value && arguments_takes_next(word);
    words->items[count++] = word;
  }
  words->count = count;
  if (words->items != NULL)
    words->items[count] = NULL;
}

/* Changes the state by a word. */
static void step(struct place *place, const char *word, const char *next) {
  static const char *const statics[] = {"Bst*atic", "dn", "non_*shared", "stati*c", NULL};
  static const char *const dynamics[] = {"Bd*ynamic", "dy", "call_*shared", NULL};
  static const char *const formats[] = {"b", "form*at", NULL};
  const char *format = arguments_value(word, "form*at");
  const bool was_value = place->is_value;
  place->is_value = !was_value && arguments_takes_next(word);
  if (was_value)
    return;
  if (arguments_is_any(word, formats))
    format = next;
  else if (arguments_after(word, "-bbinary") != NULL || arguments_after(word, "-belf") != NULL)
    format = word + strlen("-b");
  if (format != NULL)
    place->is_binary = strcmp(format, "binary") == 0;
  if (arguments_is_any(word, statics))
    place->is_static = true;
  if (arguments_is_any(word, dynamics))
    place->is_static = false;
  if (arguments_is(word, "pu*sh-state") && place->depth < sizeof place->saved)
    place->saved[place->depth++] = place->is_static;
  if (arguments_is(word, "po*p-state") && place->depth > 0)
    place->is_static = place->saved[--place->depth];
}

/* The machine of the first object among words; 0: unknown. */
static uint32_t first_machine(const struct words *words) {
  struct place place = {0};
  uint32_t machine = 0;
  for (size_t i = 0; machine == 0 && i < words->count; i++) {
    if (!place.is_value && !place.is_binary && is_input(words->items[i]))
      machine = libraries_machine(words->items[i]);
    step(&place, words->items[i], i + 1 < words->count ? words->items[i + 1] : "");
  }
  return machine;
}

/* The NAME of -lNAME; NULL: it is another word. */
static const char *library_of(const char *word) {
  const char *library = arguments_value(word, "library");
  return library != NULL ? library : arguments_after(word, "-l");
}

/* The file that a word names as an input; NULL: none. To be freed. GNU ld takes one in the system's
 * root, too. */
static char *input_of(const struct search *search, const struct words *folders, const char *word,
                      const struct place *place) {
  const char *library = library_of(word), *in_root = libraries_in_root(word);
  if (place->is_value || place->is_binary || (library != NULL && *library == 0))
    return NULL;
  if (in_root != NULL)
    return libraries_in(libraries_root(search->words), "%s", in_root);
  return library != NULL ? libraries_find(folders, library, place->is_static, search->machine)
                         : strdup(word);
}

/* Whether an option is in force, and not the one that takes it back; the last word counts. */
static bool has_option(const struct words *words, const char *on, const char *off) {
  bool has = false;
  for (size_t i = 0; i < words->count; i++)
    has = (has || arguments_is(words->items[i], on)) && !arguments_is(words->items[i], off);
  return has;
}

/* Whether the linker leaves out unreferenced sections. */
static bool collects_garbage(const struct words *words) {
  return has_option(words, "gc-s*ections", "no-gc-s*ections");
}

/* Whether the linker compiles bitcode of the input, and leaves out all unreferenced sections. */
static bool loses_maps(const struct split *split, const struct words *words) {
  return (split->is_uncompiled ||
          (split->is_fat && has_option(words, "fat-lto-objects", "no-fat-lto-objects"))) &&
         collects_garbage(words);
}

static void put_word(struct words *words, size_t i, const char *word) {
  free(words->items[i]);
  words->items[i] = strdup(word);
}

/* Puts an input's copy into a word, as it may be named again and again. False for an input that
 * isn't known yet: it gets the next number. */
static bool take_known(struct inputs *inputs, const char *path, struct words *words, size_t i) {
  uint32_t number;
  (void)sources_add_name(&inputs->names, path, &number);
  assert(number > 0 && number <= inputs->copies.count + 1); /* it is a file's name */
  if (number > inputs->copies.count)
    return false;
  if (*inputs->copies.items[number - 1] != 0)
    put_word(words, i, inputs->copies.items[number - 1]);
  return true;
}

/* Writes the split copy of a word's file, the next one, and puts its path into the word. */
static bool write_input(struct inputs *inputs, const char *path, const struct split *split,
                        struct words *words, size_t i, struct problem *problem) {
  char copy[2 * PATH_MAX];
  const int folder = snprintf(copy, sizeof copy, "%s/%zu", inputs->folder, inputs->copies.count);
  assert(0 < folder && (size_t)folder < sizeof copy); /* mkdtemp takes paths up to PATH_MAX */
  bool ok = mkdir(copy, 0700) == 0;
  snprintf(copy + folder, sizeof copy - (size_t)folder, "/%s", basename(path));
  FILE *file = ok ? fopen(copy, "wxe") : NULL;
  ok = file != NULL && fwrite(split->file.bytes, 1, split->file.size, file) == split->file.size;
  ok = (file == NULL || fclose(file) == 0) && ok;
  put_word(words, i, copy);
  return ok || problem_set_errno(problem, "its split copy can't be written");
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  remove(path);
  return 0;
}

/* The folder of the split files; exit removes it, too, as running out of memory ends the program
 * (tool/memory.c). NULL: there is none. */
static char *folder_to_remove;

static void remove_folder(void) {
  enum { DESCRIPTORS = 1 }; /* there may be no more */
  if (folder_to_remove != NULL)
    nftw(folder_to_remove, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
  free(folder_to_remove);
  folder_to_remove = NULL;
}

static bool make_folder(struct inputs *inputs, struct problem *problem) {
  const char *parent = getenv("TMPDIR");
  char *folder, real[PATH_MAX]; /* lists of dependencies have it so */
  assert(inputs->folder == NULL && folder_to_remove == NULL);
  parent = parent == NULL || *parent == 0 ? "/tmp" : parent;
  if (asprintf(&folder, "%s/stackpack-ld-XXXXXX", realpath(parent, real) != NULL ? real : parent) <
      0)
    return problem_set(problem, "not enough memory");
  if (atexit(remove_folder) == 0 && mkdtemp(folder) != NULL) {
    inputs->folder = folder_to_remove = folder;
    return true;
  }
  problem_set_errno(problem, folder);
  free(folder);
  return false;
}

static bool split_input(struct inputs *inputs, const char *path, struct words *words, size_t i,
                        struct problem *problem) {
  struct problem why = {0};
  struct input input;
  struct split split = {0};
  bool ok = input_open(&input, path, &why);
  if (ok) {
    ok = split_file(&split, path, input.bytes, input.size, &why);
    if (ok && loses_maps(&split, words))
      ok = problem_set(&why, "bitcode, whose stack maps --gc-sections would leave out; "
                             "see LINK-TIME OPTIMISATION in stackpack-ld(1)");
    if (ok && split.file.bytes != NULL)
      ok = (inputs->folder != NULL || make_folder(inputs, &why)) &&
           write_input(inputs, path, &split, words, i, &why);
    words_add(&inputs->copies, split.file.bytes != NULL ? words->items[i] : "");
    input_close(&input);
  }
  free(split.file.bytes);
  return ok || problem_set(problem, "%s: %s", path, why.text);
}

/* The file of -lNAME, in any folder; NULL: none. To be freed. */
static char *find_library(const struct search *search, const char *name, bool is_static) {
  char *path = libraries_find(&search->folders, name, is_static, search->machine);
  return path != NULL ? path : libraries_find(&search->own, name, is_static, search->machine);
}

/* The file that a linker script names; NULL: it isn't found. To be freed. An absolute path in a
 * script of the system's root is one there. */
static char *find_named(const struct search *search, const char *script, const char *name,
                        bool is_static) {
  const char *slash = strrchr(script, '/'), *root = libraries_root(search->words);
  const char *library = arguments_after(name, "-l"), *in_root = libraries_in_root(name);
  char exact[PATH_MAX];
  if (library != NULL)
    return find_library(search, library, is_static);
  if (in_root == NULL && name[0] == '/' && root[0] != 0 && arguments_after(script, root) != NULL)
    in_root = name;
  char *path_in_root = in_root == NULL ? NULL : libraries_in(root, "%s", in_root);
  if (path_in_root != NULL)
    return path_in_root;
  char *folder = strndup(script, slash == NULL ? 0 : (size_t)(slash - script));
  char *path = slash == NULL ? NULL : libraries_in(folder, "%s", name);
  free(folder);
  if (path == NULL && access(name, F_OK) == 0)
    path = strdup(name);
  snprintf(exact, sizeof exact, ":%s", name);
  return path != NULL ? path : find_library(search, exact, is_static);
}

/* Whether an input keeps its stack maps, though it stays whole and --gc-sections is in force. */
static bool keeps_maps(const struct words *words, const char *path) {
  struct problem ignored = {0};
  struct split split = {0};
  struct input input;
  if (!is_input(path) || !input_open(&input, path, &ignored))
    return true;
  const bool ok = split_file(&split, path, input.bytes, input.size, &ignored) &&
                  split.file.bytes == NULL && !loses_maps(&split, words);
  free(split.file.bytes);
  input_close(&input);
  return ok;
}

enum { SCRIPTS_DEEPEST = 8 }; /* in one another: more are a script that names itself */

static bool check_script(struct search *search, const char *path, bool is_static, unsigned depth,
                         struct problem *problem);

/* Refuses the file that a script names, as check_script does. */
static bool check_named(struct search *search, const char *script, const char *path, bool is_static,
                        unsigned depth, struct problem *problem) {
  return (keeps_maps(search->words, path) ||
          problem_set(problem,
                      "%s: it names %s, whose stack maps --gc-sections would leave out; split it "
                      "by `stackpack split`, or name it on the command line",
                      script, path)) &&
         check_script(search, path, is_static, depth + 1, problem);
}

/* Refuses a linker script that names an input whose stack maps would be left out, or such a script;
 * and a pipe, which only the linker can read. mold and patterns of GNU ld pass over the script's
 * folder. */
static bool check_script(struct search *search, const char *path, bool is_static, unsigned depth,
                         struct problem *problem) {
  struct stat status;
  if (stat(path, &status) == 0 && S_ISFIFO(status.st_mode))
    return problem_set(problem, "%s: a pipe, whose stack maps --gc-sections may leave out", path);
  struct script script = script_read(path);
  for (size_t i = 0; i < script.folders.count; i++)
    libraries_add(&search->own, libraries_root(search->words), script.folders.items[i]);
  bool ok =
      depth <= SCRIPTS_DEEPEST || problem_set(problem, "%s: linker scripts name each other", path);
  for (size_t i = 0; ok && i < script.inputs.count; i++) {
    char *input = find_named(search, path, script.inputs.items[i], is_static);
    char *other = find_named(search, "", script.inputs.items[i], is_static);
    ok = input == NULL || check_named(search, path, input, is_static, depth, problem);
    if (ok && other != NULL && strcmp(input, other) != 0)
      ok = check_named(search, path, other, is_static, depth, problem);
    free(input);
    free(other);
  }
  script_close(&script);
  return ok;
}

/* Refuses an archive outside the folders of -L whose stack maps would be left out, or a script
 * there that names one. */
static bool check_own(struct search *search, const char *word, const struct place *place,
                      struct problem *problem) {
  char *path = library_of(word) == NULL ? NULL : input_of(search, &search->own, word, place);
  const bool ok =
      path == NULL ||
      ((keeps_maps(search->words, path) ||
        problem_set(problem,
                    "%s: --gc-sections would leave out its stack maps; name its folder by -L",
                    path)) &&
       check_script(search, path, place->is_static, 0, problem));
  free(path);
  return ok;
}

/* Whether some linkers take archives alone: for these, -static and -r count wherever they are on the
 * line (gold, lld, mold); and -n and -N mean -static, too. (GNU ld, gold, lld) */
static bool is_static_link(const struct words *words) {
  static const char *const names[] = {"stati*c", "non_*shared",  "n", "nm*agic",
                                      "N",       "om*agic",      "r", "i",
                                      "Ur",      "relo*catable", NULL};
  bool is_static = false;
  for (size_t i = 0; i < words->count && !is_static; i++)
    is_static = arguments_is_any(words->items[i], names);
  return is_static;
}

/* Refuses -lNAME for a shared library, where such linkers take an archive whose stack maps would be
 * left out. */
static bool check_static(const struct search *search, const struct words *folders, const char *word,
                         const struct place *place, struct problem *problem) {
  struct place archives = *place;
  archives.is_static = true;
  char *path = search->is_static && library_of(word) != NULL
                   ? input_of(search, folders, word, &archives)
                   : NULL;
  const bool ok = path == NULL || keeps_maps(search->words, path) ||
                  problem_set(problem, "%s: %s may mean it, as the link is static: say -l:%s", path,
                              word, basename(path));
  free(path);
  return ok;
}

/* The script of an option that a word names, after such a word `before` or itself; NULL: none. */
static const char *script_of(const char *word, const char *before, bool is_value) {
  static const char *const names[] = {"T", "dT", "sc*ript", "default-sc*ript", NULL};
  const char *joined = arguments_after(word, "-T");
  if (is_value)
    return arguments_is_any(before, names) ? word : NULL;
  for (size_t i = 0; joined == NULL && names[i] != NULL; i++)
    joined = arguments_value(word, names[i]);
  return joined;
}

/* Checks the scripts of -T and --default-script: linkers read them first, also from folders of
 * -L. */
static bool check_first_scripts(struct search *search, struct problem *problem) {
  const struct words *words = search->words;
  struct place place = {0};
  bool ok = true;
  for (size_t i = 0; ok && i < words->count; i++) {
    const char *word = words->items[i];
    const char *script = script_of(word, i > 0 ? words->items[i - 1] : "", place.is_value);
    char *path = script == NULL ? NULL : find_named(search, "", script, false);
    if (path != NULL)
      ok = check_script(search, path, place.is_static, 0, problem);
    free(path);
    step(&place, word, i + 1 < words->count ? words->items[i + 1] : "");
  }
  return ok;
}

/* Refuses options by which linkers read other files than the words name. */
static bool check_options(const struct words *words, struct problem *problem) {
  static const char *const names[] = {"c",           "chroot",        "directory",
                                      "mr*i-script", "rem*ap-inputs", "remap-inputs-*file"};
  for (size_t i = 0; i < words->count; i++) {
    const char *word = words->items[i];
    bool changes = arguments_after(word, "-C") != NULL; /* mold's, perhaps with its folder */
    for (size_t n = 0; n < sizeof names / sizeof *names; n++)
      changes = changes || arguments_is(word, names[n]) || arguments_value(word, names[n]) != NULL;
    if (changes)
      return problem_set(problem, "the linker's option %s changes the inputs: leave it out", word);
  }
  return true;
}

bool inputs_split(struct inputs *inputs, struct words *words, struct problem *problem) {
  static const char *const objects[] = {"r", "relo*catable", "i", "Ur", NULL};
  const bool collects = collects_garbage(words);
  struct place place = {0};
  for (size_t i = 0; !collects && i < words->count; i++)
    if (arguments_is_any(words->items[i], objects))
      return true;
  join_libraries(words);
  struct search search = {words, libraries_folders(words), libraries_own(words),
                          first_machine(words), is_static_link(words)};
  bool ok = check_options(words, problem) && (!collects || check_first_scripts(&search, problem));
  for (size_t i = 0; ok && i < words->count; i++) {
    char *path = input_of(&search, &search.folders, words->items[i], &place);
    if (path == NULL && collects)
      ok = check_own(&search, words->items[i], &place, problem) &&
           check_static(&search, &search.own, words->items[i], &place, problem);
    step(&place, words->items[i], i + 1 < words->count ? words->items[i + 1] : "");
    if (path != NULL && is_input(path))
      ok = take_known(inputs, path, words, i) || split_input(inputs, path, words, i, problem);
    else if (path != NULL && collects)
      ok = check_script(&search, path, place.is_static, 0, problem) &&
           check_static(&search, &search.folders, words->items[i], &place, problem);
    free(path);
  }
  words_close(&search.folders);
  words_close(&search.own);
  return ok;
}

void inputs_remove(struct inputs *inputs) {
  remove_folder();
  inputs->folder = NULL;
  sources_free(&inputs->names);
  words_close(&inputs->copies);
}
