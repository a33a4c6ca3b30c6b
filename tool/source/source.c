/* source.c - see source.h.
 *
 * Reader and command share memory at the same addresses. The command writes questions there, and
 * the reader the answers, as many as find room. A byte through a socket wakes the other one; before
 * the first question the reader sends one, when it has opened the debug information or failed.
 */
#include "tool/source/source.h"

#include "format/array.h"

#include <assert.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TEXTS_SIZE = 1 << 24, QUESTIONS_MOST = 512, ITEMS_MOST = 4 * SOURCE_FRAMES_MOST };

struct exchange {
  uint64_t addresses[QUESTIONS_MOST]; /* the questions */
  size_t count;
  bool wants_unit; /* of the first one, not the frames */
  /* The answers: their items and texts are below. */
  struct problem problem; /* if there is a text, the debug information is unusable */
  const char *missing;    /* see debug_info_missing */
  const char *unit;
  struct source_frames frames[QUESTIONS_MOST];
  size_t answered; /* of these */
  struct source_frame items[ITEMS_MOST];
  size_t items_used;
  size_t used; /* bytes of texts */
  char texts[TEXTS_SIZE];
};

/* ---- The reader ---- */

/* The reader stays silent, and leaves no dump of its memory, if the library breaks down. Broken
 * bytes might keep it busy forever: so the reader's time is bounded by the file's size, and it ends
 * with the command. */
static void be_bounded(const char *path) {
  enum { SECONDS = 20, BYTES_A_SECOND = 1 << 20 };
  struct stat status = {0};
  stat(path, &status);
  const rlim_t seconds = SECONDS + (rlim_t)status.st_size / BYTES_A_SECOND;
  const struct rlimit none = {0, 0}, time = {seconds, seconds};
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  setrlimit(RLIMIT_CPU, &time);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (nowhere >= 0) {
    dup2(nowhere, STDOUT_FILENO);
    dup2(nowhere, STDERR_FILENO);
  }
  setrlimit(RLIMIT_CORE, &none);
}

/* Copies a text into the answer; NULL if text or room is missing. */
static const char *put_text(struct exchange *exchange, const char *text) {
  const size_t size = text == NULL ? 0 : strlen(text) + 1;
  if (size == 0 || size > sizeof exchange->texts - exchange->used)
    return NULL;
  exchange->used += size;
  return memcpy(exchange->texts + exchange->used - size, text, size);
}

static size_t size_of(const char *text) { return text == NULL ? 0 : strlen(text) + 1; }

/* Whether there is room for an answer. The first one gets in, perhaps without some texts. */
static bool has_room(const struct exchange *exchange, const struct source_frames *frames) {
  size_t size = size_of(frames->folder);
  for (size_t i = 0; i < frames->count; i++)
    size += size_of(frames->items[i].function) + size_of(frames->items[i].file);
  return exchange->answered == 0 || (frames->count <= ITEMS_MOST - exchange->items_used &&
                                     size <= TEXTS_SIZE - exchange->used);
}

static void put_frames(struct exchange *exchange, const struct source_frames *frames) {
  struct source_frame *items = exchange->items + exchange->items_used;
  assert(frames->count <= ITEMS_MOST - exchange->items_used &&
         exchange->answered < exchange->count);
  exchange->items_used += frames->count;
  exchange->frames[exchange->answered++] =
      (struct source_frames){items, frames->count, put_text(exchange, frames->folder)};
  for (size_t i = 0; i < frames->count; i++) {
    items[i] = frames->items[i];
    items[i].function = put_text(exchange, frames->items[i].function);
    items[i].file = put_text(exchange, frames->items[i].file);
  }
}

static void answer(struct exchange *exchange, struct debug_info *info) {
  exchange->used = exchange->items_used = exchange->answered = 0;
  exchange->unit = NULL;
  if (exchange->wants_unit) {
    exchange->unit = put_text(exchange, debug_info_find_unit(info, exchange->addresses[0]));
  } else {
    struct source_frames frames;
    if (exchange->count > 1)
      debug_info_read(info, exchange->addresses, exchange->count);
    while (exchange->answered < exchange->count) {
      debug_info_find(info, exchange->addresses[exchange->answered], &frames);
      if (!has_room(exchange, &frames))
        break;
      put_frames(exchange, &frames);
    }
  }
  exchange->missing = put_text(exchange, debug_info_missing(info));
}

static bool tell(int socket) { return send(socket, "", 1, MSG_NOSIGNAL) == 1; }

static bool await(int socket) {
  char byte;
  return recv(socket, &byte, 1, 0) == 1;
}

static _Noreturn void read_for(int socket, struct exchange *exchange, const char *path) {
  be_bounded(path);
  struct debug_info *info = debug_info_open(path, &exchange->problem);
  while (tell(socket) && info != NULL && await(socket))
    answer(exchange, info);
  _exit(0);
}

/* ---- The command's side ---- */

struct source {
  const char *path; /* the program's */
  pid_t reader;
  int socket;
  struct exchange *exchange; /* mapped */
  bool is_broken;
  bool missing_told;
};

static bool start_reader(struct source *source, const char *debug_path, struct problem *problem) {
  int sockets[2];
  source->exchange = mmap(NULL, sizeof *source->exchange, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (source->exchange == MAP_FAILED ||
      socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return problem_set_errno(problem, "debug information can't be read");
  fflush(stdout);
  source->reader = fork();
  if (source->reader == 0) {
    close(sockets[0]);
    read_for(sockets[1], source->exchange, debug_path);
  }
  close(sockets[1]);
  source->socket = sockets[0];
  return source->reader > 0 || problem_set_errno(problem, "debug information can't be read");
}

static bool is_text(const struct exchange *exchange, const char *text) {
  return text == NULL || (uintptr_t)text - (uintptr_t)exchange->texts < sizeof exchange->texts;
}

static bool are_frames(const struct exchange *exchange, const struct source_frames *frames) {
  const uintptr_t offset = (uintptr_t)frames->items - (uintptr_t)exchange->items;
  const size_t first = offset / sizeof *exchange->items;
  if (offset % sizeof *exchange->items != 0 || first > ITEMS_MOST ||
      frames->count > ITEMS_MOST - first || !is_text(exchange, frames->folder))
    return false;
  for (size_t i = 0; i < frames->count; i++)
    if (!is_text(exchange, frames->items[i].function) || !is_text(exchange, frames->items[i].file))
      return false;
  return true;
}

/* Waits for an answer. It is untrusted: the reader may be broken. */
static bool await_answer(const struct source *source) {
  struct exchange *exchange = source->exchange;
  bool ok = await(source->socket) && exchange->answered <= exchange->count &&
            is_text(exchange, exchange->missing) && is_text(exchange, exchange->unit);
  exchange->problem.text[sizeof exchange->problem.text - 1] = 0;
  exchange->texts[sizeof exchange->texts - 1] = 0;
  for (size_t i = 0; ok && i < exchange->answered; i++)
    ok = are_frames(exchange, &exchange->frames[i]);
  return ok;
}

/* NULL, and a problem, if the debug information is unusable. */
static struct source *open_file(const char *debug_path, const char *path, struct problem *problem) {
  struct source *source = calloc(1, sizeof *source);
  source->path = path;
  source->socket = -1;
  if (start_reader(source, debug_path, problem)) {
    const char *text = source->exchange->problem.text;
    if (!await_answer(source))
      problem_set(problem, "broken debug information");
    else if (*text == 0)
      return source;
    else
      problem_set(problem, "%s", text);
  }
  source_close(source);
  return NULL;
}

struct source *source_open(const struct image *image, const char *path,
                           const struct debug_folders *folders, struct problem *absent,
                           struct problem *problem) {
  char *debug_path = debug_file_find(image, path, folders, absent);
  if (debug_path == NULL)
    return NULL;
  *absent = (struct problem){0}; /* of other candidates */
  struct source *source = open_file(debug_path, path, problem);
  free(debug_path);
  return source;
}

/* One line for a program, however many files are missing. */
static void tell_missing(struct source *source, const char *file) {
  if (file == NULL || source->missing_told)
    return;
  source->missing_told = true;
  problem_warn(source->path,
               "split debug information can't be read, so inlined functions are missing: %s", file);
}

/* Whether there is an answer to the first `count` of these addresses, or to some of them. */
static bool ask(struct source *source, const uint64_t *addresses, size_t count, bool wants_unit) {
  if (source == NULL || source->is_broken)
    return false;
  struct exchange *exchange = source->exchange;
  exchange->count = count < QUESTIONS_MOST ? count : QUESTIONS_MOST;
  memcpy(exchange->addresses, addresses, exchange->count * sizeof *addresses);
  exchange->wants_unit = wants_unit;
  source->is_broken = !tell(source->socket) || !await_answer(source) ||
                      *exchange->problem.text != 0 || (!wants_unit && exchange->answered == 0);
  if (!source->is_broken)
    tell_missing(source, exchange->missing);
  return !source->is_broken;
}

size_t source_find_some(struct source *source, const uint64_t *addresses, size_t count,
                        const struct source_frames **frames) {
  if (count == 0 || !ask(source, addresses, count, false))
    return 0;
  *frames = source->exchange->frames;
  return source->exchange->answered;
}

void source_find(struct source *source, uint64_t address, struct source_frames *frames) {
  *frames =
      ask(source, &address, 1, false) ? source->exchange->frames[0] : (struct source_frames){0};
}

const char *source_find_unit(struct source *source, uint64_t address) {
  return ask(source, &address, 1, true) ? source->exchange->unit : NULL;
}

bool source_check(const struct source *source, struct problem *problem) {
  if (source == NULL || !source->is_broken)
    return true;
  const char *text = source->exchange->problem.text;
  return problem_set(problem, "%s", *text == 0 ? "broken debug information" : text);
}

void source_close(struct source *source) {
  if (source == NULL)
    return;
  if (source->socket >= 0)
    close(source->socket);
  if (source->reader > 0) {
    kill(source->reader, SIGKILL);
    waitpid(source->reader, NULL, 0);
  }
  if (source->exchange != MAP_FAILED)
    munmap(source->exchange, sizeof *source->exchange);
  free(source);
}

/* ---- For commands ---- */

bool source_add_folder(void *options, const char *path, struct problem *problem) {
  struct source_options *source = options;
  (void)problem;
  return ARRAY_ADD(source->folders.paths, source->folders.count, source->folders.capacity, path);
}
