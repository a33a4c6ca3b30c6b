/* source.c - see source.h.
 *
 * The reader gets questions, and answers each with a message: its size, and texts that end in a
 * zero. Before the first question it sends a message of its own, with one text: why the debug
 * information can't be opened, or nothing. In an answer the first text is the path of split debug
 * information that is missing, or nothing; each frame follows as four texts: function, file, line
 * and column. A text that isn't told is empty, and a number is 0.
 */
#include "tool/source/source.h"

#include "format/array.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE_MOST = 1 << 26 };

struct question {
  uint64_t address;
  enum source_question kind;
};

/* ---- The reader ---- */

/* A stream to memory has no error flag where memory runs out: each call's result is the only
 * sign. */
static bool put_text(FILE *to, const char *text) {
  return fputs(text == NULL ? "" : text, to) >= 0 && putc(0, to) != EOF;
}

/* A message is made in memory, as its size goes first. */
static bool answer(FILE *to, const struct source_frames *frames, const char *text) {
  char *bytes = NULL;
  size_t size = 0;
  FILE *message = open_memstream(&bytes, &size);
  if (message == NULL)
    return false;
  bool ok = put_text(message, text);
  for (size_t i = 0; i < frames->count && ok; i++) {
    const struct source_frame *frame = &frames->items[i];
    ok = put_text(message, frame->function) && put_text(message, frame->file) &&
         fprintf(message, "%" PRIu64 "%c%" PRIu64 "%c", frame->line, 0, frame->column, 0) > 0;
  }
  ok = fclose(message) == 0 && ok && fwrite(&size, sizeof size, 1, to) == 1 &&
       fwrite(bytes, 1, size, to) == size && fflush(to) == 0;
  free(bytes);
  return ok;
}

/* The reader prints nothing, and leaves no dump of its memory, where the library breaks down.
 * Some versions loop forever over broken bytes (libdwarf 0.7): so the reader's time is bounded
 * by the file's size, and it ends with the command. */
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

static _Noreturn void read_for(int socket, const char *debug_path, const char *path) {
  struct problem problem = {0};
  struct source_frames frames = {0};
  struct question question;
  be_bounded(debug_path);
  FILE *to = fdopen(socket, "w");
  struct debug_info *info = debug_info_open(debug_path, path, &problem);
  bool ok = to != NULL && answer(to, &frames, problem.text) && info != NULL;
  while (ok && recv(socket, &question, sizeof question, MSG_WAITALL) == sizeof question) {
    if (question.kind == SOURCE_UNIT)
      debug_info_find_unit(info, question.address, &frames);
    else
      debug_info_find(info, question.address, &frames);
    ok = answer(to, &frames, debug_info_missing(info));
  }
  _exit(0);
}

/* ---- The command's side ---- */

struct source {
  const char *path; /* the program's */
  pid_t reader;
  int socket;
  FILE *answers; /* of the socket, which it owns */
  bool is_broken;
  bool missing_told;
  char *message; /* the last one, and a zero; owned */
  size_t message_capacity;
  struct source_frame *frames; /* owned */
  size_t frame_capacity;
};

static bool start_reader(struct source *source, const char *debug_path, struct problem *problem) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return problem_set_errno(problem, "debug information can't be read");
  fflush(stdout);
  source->reader = fork();
  if (source->reader == 0) {
    close(sockets[0]);
    read_for(sockets[1], debug_path, source->path);
  }
  close(sockets[1]);
  source->socket = sockets[0];
  source->answers = fdopen(source->socket, "r");
  return (source->reader > 0 && source->answers != NULL) ||
         problem_set_errno(problem, "debug information can't be read");
}

/* Takes the next text of a message; NULL if there's none, or it is empty. */
static const char *take_text(const char **at, const char *end) {
  const char *text = *at;
  if (text >= end)
    return NULL;
  *at += strlen(text) + 1;
  return *text == 0 ? NULL : text;
}

static uint64_t take_number(const char **at, const char *end) {
  const char *text = take_text(at, end);
  return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* Receives a message. Nothing in it is relied on: the reader may be broken. *text is as above. */
static bool receive_answer(struct source *source, struct source_frames *frames, const char **text) {
  size_t size;
  frames->count = 0;
  if (fread(&size, sizeof size, 1, source->answers) != 1 || size > SIZE_MOST ||
      !array_make_room((void **)&source->message, &source->message_capacity, size + 1, 1) ||
      fread(source->message, 1, size, source->answers) != size)
    return false;
  source->message[size] = 0;
  const char *at = source->message, *const end = at + size;
  *text = take_text(&at, end);
  while (at < end) {
    struct source_frame frame = {.function = take_text(&at, end), .file = take_text(&at, end)};
    frame.line = take_number(&at, end);
    frame.column = take_number(&at, end);
    (void)ARRAY_ADD(source->frames, frames->count, source->frame_capacity, frame);
  }
  frames->items = source->frames;
  return true;
}

static bool await_opened(struct source *source, struct problem *problem) {
  struct source_frames none;
  const char *text;
  if (!receive_answer(source, &none, &text))
    return problem_set(problem, "broken debug information");
  return text == NULL || problem_set(problem, "%s", text);
}

struct source *source_open(const char *debug_path, const char *path, struct problem *problem) {
  struct source *source = calloc(1, sizeof *source);
  source->path = path;
  source->socket = -1;
  if (start_reader(source, debug_path, problem) && await_opened(source, problem))
    return source;
  source_close(source);
  return NULL;
}

/* One line for a program, however many files are missing. */
static void tell_missing(struct source *source, const char *file) {
  if (file == NULL || source->missing_told)
    return;
  source->missing_told = true;
  problem_warn(source->path,
               "split debug information can't be read, so inlined functions are missing: %s", file);
}

void source_find(struct source *source, enum source_question question, uint64_t address,
                 struct source_frames *frames) {
  const struct question asked = {address, question};
  const char *missing;
  *frames = (struct source_frames){0};
  if (source == NULL || source->is_broken)
    return;
  if (send(source->socket, &asked, sizeof asked, MSG_NOSIGNAL) == sizeof asked &&
      receive_answer(source, frames, &missing)) {
    tell_missing(source, missing);
    return;
  }
  *frames = (struct source_frames){0};
  source->is_broken = true;
}

bool source_is_broken(const struct source *source) { return source != NULL && source->is_broken; }

void source_close(struct source *source) {
  if (source == NULL)
    return;
  if (source->answers != NULL)
    fclose(source->answers);
  else if (source->socket >= 0)
    close(source->socket);
  if (source->reader > 0) {
    kill(source->reader, SIGKILL);
    waitpid(source->reader, NULL, 0);
  }
  free(source->message);
  free(source->frames);
  free(source);
}

/* ---- For commands ---- */

bool source_add_folder(void *options, const char *path, struct problem *problem) {
  struct source_options *source = options;
  (void)problem;
  return ARRAY_ADD(source->folders.paths, source->folders.count, source->folders.capacity, path);
}

void source_options_close(struct source_options *options) { free(options->folders.paths); }

bool source_open_wanted(const struct source_options *options, const struct image *image,
                        const char *path, struct source **source, struct problem *problem) {
  struct problem absent = {0};
  *source = NULL;
  if (!options->is_wanted)
    return true;
  char *debug_path = debug_file_find(image, path, &options->folders, &absent);
  if (debug_path == NULL) {
    problem_print(&absent, path);
    return true;
  }
  *source = source_open(debug_path, path, problem);
  free(debug_path);
  return *source != NULL;
}

bool source_check(const struct source *source, struct problem *problem) {
  return !source_is_broken(source) || problem_set(problem, "broken debug information");
}
