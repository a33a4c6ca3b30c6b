/* inputs.c - see inputs.h.
 *
 * An input is a word that is a file's name, or -lNAME. Linkers look for NAME in the folders that -L
 * names, in their order, wherever -L stands; in each for libNAME.so first, unless -Bstatic or one of
 * its synonyms is in force. (ld(1), "Options".) Behind these they have folders of their own, and
 * inputs can also be named by linker scripts; such inputs aren't split.
 *
 * An archive with -l becomes one with a path, which means the same. So does another folder: where a
 * file's name counts, as for --exclude-libs, it is the name without folders.
 */
#include "tool/ld/inputs.h"

#include "tool/ld/arguments.h"
#include "tool/split/at_once.h"

#include <ar.h>
#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the words before one say about it. */
struct place {
  bool is_static; /* -l finds archives only */
  bool is_binary; /* files are data, whatever they look like */
  bool is_value;  /* it belongs to the option before it */
  bool saved[64]; /* is_static, by --push-state */
  unsigned depth;
};

struct scan {
  const struct words *words;
  struct split_job *jobs; /* owned; those of one word are at most one */
  size_t *of_job;         /* owned: the number of its word */
  size_t count;
};

static bool is_any(const char *word, const char *const *list) {
  while (*list != NULL && strcmp(word, *list) != 0)
    list++;
  return *list != NULL;
}

/* Whether a file is one that may have stack maps to split. */
static bool is_input(const char *path) {
  uint8_t bytes[EI_NIDENT + sizeof(Elf64_Half)];
  struct stat status;
  uint16_t type;
  if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
    return false;
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const bool is_read = file >= 0 && read(file, bytes, sizeof bytes) == sizeof bytes;
  if (file >= 0)
    close(file);
  if (!is_read)
    return false;
  memcpy(&type, bytes + EI_NIDENT, sizeof type);
  return (memcmp(bytes, ELFMAG, SELFMAG) == 0 && type == ET_REL) ||
         memcmp(bytes, ARMAG, SARMAG) == 0 || memcmp(bytes, "!<thin>\n", SARMAG) == 0 ||
         split_is_bitcode(bytes, sizeof bytes);
}

/* The folder that a word, or the next one, names for -l; NULL: none. */
static const char *search_folder(const struct words *words, size_t i) {
  const char *folder = arguments_behind(words->items[i], "--library-path=");
  if (folder == NULL)
    folder = arguments_behind(words->items[i], "-L");
  const bool follows =
      strcmp(words->items[i], "--library-path") == 0 || (folder != NULL && folder[0] == 0);
  return follows ? words->items[i + 1] : folder;
}

/* The path of a file in a folder, where "=" at its front is the system's root; NULL: it isn't there.
 * To be freed. */
static char *file_in(const struct words *words, const char *folder, const char *form,
                     const char *name) {
  const char *root = "", *in_root = arguments_behind(folder, "=");
  char file[PATH_MAX], *path = NULL;
  for (size_t i = 0; in_root != NULL && i < words->count; i++) {
    const char *value = arguments_behind(words->items[i], "--sysroot=");
    root = value != NULL ? value : root;
  }
  snprintf(file, sizeof file, form, name);
  if (asprintf(&path, "%s%s/%s", root, in_root != NULL ? in_root : folder, file) < 0)
    return NULL;
  if (access(path, F_OK) == 0)
    return path;
  free(path);
  return NULL;
}

/* The archive that -lNAME finds; NULL: none, or a shared library comes first. To be freed. */
static char *find_archive(const struct words *words, const char *name, bool is_static) {
  const char *exact = arguments_behind(name, ":");
  for (size_t i = 0; i < words->count; i++) {
    const char *folder = search_folder(words, i);
    if (folder == NULL)
      continue;
    char *shared = is_static || exact != NULL ? NULL : file_in(words, folder, "lib%s.so", name);
    if (shared != NULL) {
      free(shared);
      return NULL;
    }
    char *path = exact != NULL ? file_in(words, folder, "%s", exact)
                               : file_in(words, folder, "lib%s.a", name);
    if (path != NULL)
      return path;
  }
  return NULL;
}

/* Takes what a word says about those behind it. */
static void step(struct place *place, const char *word, const char *next) {
  static const char *const with_value[] = {"-o", "--output",  "-L", "--library-path",
                                           "-l", "--library", NULL};
  static const char *const statics[] = {"-Bstatic", "-dn",      "-non_shared",
                                        "-static",  "--static", NULL};
  static const char *const dynamics[] = {"-Bdynamic", "-dy", "-call_shared", NULL};
  static const char *const formats[] = {"-b", "--format", NULL};
  const char *format = arguments_behind(word, "--format=");
  if (is_any(word, formats))
    format = next;
  if (format != NULL)
    place->is_binary = strcmp(format, "binary") == 0;
  if (is_any(word, statics))
    place->is_static = true;
  if (is_any(word, dynamics))
    place->is_static = false;
  if (strcmp(word, "--push-state") == 0 && place->depth < sizeof place->saved)
    place->saved[place->depth++] = place->is_static;
  if (strcmp(word, "--pop-state") == 0 && place->depth > 0)
    place->is_static = place->saved[--place->depth];
  place->is_value = is_any(word, with_value);
}

/* The file that a word, or -l and the next one, names as an input; NULL: none. To be freed. */
static char *input_of(const struct words *words, size_t i, const struct place *place) {
  const char *word = words->items[i];
  const char *library = arguments_behind(word, "--library=");
  if (library == NULL)
    library = arguments_behind(word, "-l");
  if (place->is_value || place->is_binary || (library != NULL && *library == 0))
    return NULL;
  return library != NULL ? find_archive(words, library, place->is_static) : strdup(word);
}

/* Collects the inputs. False without memory. */
static bool scan_words(struct scan *scan) {
  struct place place = {0};
  scan->jobs = calloc(scan->words->count + 1, sizeof *scan->jobs);
  scan->of_job = calloc(scan->words->count + 1, sizeof *scan->of_job);
  for (size_t i = 0; scan->jobs != NULL && scan->of_job != NULL && i < scan->words->count; i++) {
    char *path = input_of(scan->words, i, &place);
    if (path != NULL && is_input(path)) {
      scan->of_job[scan->count] = i;
      scan->jobs[scan->count++].path = path;
    } else
      free(path);
    const char *next = i + 1 < scan->words->count ? scan->words->items[i + 1] : "";
    step(&place, scan->words->items[i], next);
  }
  return scan->jobs != NULL && scan->of_job != NULL;
}

/* Writes what was split; job->context is the new file's path, in a folder of its own. */
static bool write_input(struct split_job *job) {
  if (job->split.bytes == NULL)
    return true;
  char *path = job->context, *slash = strrchr(path, '/');
  *slash = 0;
  const bool made = mkdir(path, 0700) == 0;
  *slash = '/';
  FILE *file = made ? fopen(path, "wxe") : NULL;
  bool ok = file != NULL && fwrite(job->split.bytes, 1, job->split.size, file) == job->split.size;
  ok = (file == NULL || fclose(file) == 0) && ok;
  return ok || problem_set_errno(&job->problem, "its split copy can't be written");
}

/* Whether the linker leaves out what nothing refers to; the last word about it counts. */
static bool collects_garbage(const struct words *words) {
  bool collects = false;
  for (size_t i = 0; i < words->count; i++)
    collects = (collects || strcmp(words->items[i], "--gc-sections") == 0) &&
               strcmp(words->items[i], "--no-gc-sections") != 0;
  return collects;
}

static bool split_inputs(const struct inputs *inputs, struct scan *scan, struct words *words,
                         struct problem *problem) {
  for (size_t i = 0; i < scan->count; i++) {
    const char *slash = strrchr(scan->jobs[i].path, '/');
    char *path = NULL;
    if (asprintf(&path, "%s/%zu/%s", inputs->folder, i,
                 slash == NULL ? scan->jobs[i].path : slash + 1) < 0)
      return problem_set(problem, "not enough memory");
    scan->jobs[i].context = path;
  }
  split_at_once(scan->jobs, scan->count, write_input);
  for (size_t i = 0; i < scan->count; i++) {
    const struct split_job *job = &scan->jobs[i];
    if (!job->ok)
      return problem_set(problem, "%s: %s", job->path, job->problem.text);
    if (job->split.is_uncompiled && collects_garbage(words))
      return problem_set(problem,
                         "%s: bitcode, whose stack maps --gc-sections would leave out; "
                         "see LINK-TIME OPTIMISATION in stackpack-ld(1)",
                         job->path);
    if (job->split.functions > 0 && !words_replace(words, scan->of_job[i], job->context))
      return problem_set(problem, "not enough memory");
  }
  return true;
}

static void close_scan(struct scan *scan) {
  for (size_t i = 0; i < scan->count; i++) {
    free((char *)scan->jobs[i].path);
    free(scan->jobs[i].context);
  }
  free(scan->jobs);
  free(scan->of_job);
}

bool inputs_split(struct inputs *inputs, struct words *words, struct problem *problem) {
  static const char *const objects[] = {"-r", "--relocatable", "-i", "-Ur", NULL};
  struct scan scan = {.words = words};
  const char *parent = getenv("TMPDIR");
  inputs->folder[0] = 0;
  for (size_t i = 0; i < words->count; i++)
    if (is_any(words->items[i], objects))
      return true;
  bool ok = scan_words(&scan) || problem_set(problem, "not enough memory");
  if (ok && scan.count > 0) {
    snprintf(inputs->folder, sizeof inputs->folder, "%s/stackpack-ld-XXXXXX",
             parent == NULL || *parent == 0 ? "/tmp" : parent);
    if (mkdtemp(inputs->folder) == NULL) {
      ok = problem_set_errno(problem, inputs->folder);
      inputs->folder[0] = 0;
    }
    ok = ok && split_inputs(inputs, &scan, words, problem);
  }
  close_scan(&scan);
  return ok;
}

static int remove_entry(const char *path, const struct stat *status, int kind, struct FTW *place) {
  (void)status, (void)kind, (void)place;
  remove(path);
  return 0;
}

void inputs_remove(struct inputs *inputs) {
  enum { DESCRIPTORS = 8 };
  if (inputs->folder[0] != 0)
    nftw(inputs->folder, remove_entry, DESCRIPTORS, FTW_DEPTH | FTW_PHYS);
  inputs->folder[0] = 0;
}
