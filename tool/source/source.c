/* source.c - see source.h.
 *
 * The reader gets questions, and answers each with a message: a struct message, as many frames as it
 * says, and a text. A frame is a struct place and two texts, the function's name and the file's path;
 * each text ends in a zero, and one that isn't told is empty. The text at the end is empty, or says
 * what went wrong: in the first message, which nobody asked for, that the debug information can't be
 * opened; later on, the path of split debug information that is missing.
 */
#include "tool/source/source.h"

#include "format/array.h"

#include <errno.h>
#include <fcntl.h>
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

struct message {
  uint32_t frames, size; /* size: of all that follows */
};

struct place {
  uint64_t line, column;
};

struct bytes {
  char *items; /* owned */
  size_t count, capacity;
};

static bool send_all(int socket, const void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t sent = send(socket, (const char *)bytes + done, size - done, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    done += (size_t)sent;
  }
  return true;
}

static bool receive_all(int socket, void *bytes, size_t size) {
  for (size_t done = 0; done < size;) {
    const ssize_t received = recv(socket, (char *)bytes + done, size - done, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    done += (size_t)received;
  }
  return true;
}

/* ---- The reader ---- */

static bool append(struct bytes *reply, const void *bytes, size_t size) {
  if (reply->count + size > SIZE_MOST ||
      !array_make_room((void **)&reply->items, &reply->capacity, reply->count + size, 1))
    return false;
  memcpy(reply->items + reply->count, bytes, size);
  reply->count += size;
  return true;
}

static bool append_text(struct bytes *reply, const char *text) {
  return text == NULL ? append(reply, "", 1) : append(reply, text, strlen(text) + 1);
}

static bool answer(int socket, struct bytes *reply, const struct source_frames *frames,
                   const char *text) {
  bool ok = true;
  reply->count = 0;
  for (size_t i = 0; i < frames->count && ok; i++) {
    const struct source_frame *frame = &frames->items[i];
    const struct place place = {frame->line, frame->column};
    ok = append(reply, &place, sizeof place) && append_text(reply, frame->function) &&
         append_text(reply, frame->file);
  }
  ok = ok && append_text(reply, text);
  const struct message message = {(uint32_t)frames->count, (uint32_t)reply->count};
  return ok && send_all(socket, &message, sizeof message) &&
         send_all(socket, reply->items, reply->count);
}

/* What a library prints when it breaks down is for nobody, nor is a dump of its memory. Some versions loop
 * forever over broken bytes (libdwarf 0.7): so the reader's time is bounded by the file's size, and it ends
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

static _Noreturn void read_for(int socket, const char *debug_path, const char *path) {
  struct problem problem = {0};
  struct bytes reply = {0};
  struct source_frames frames = {0};
  struct question question;
  be_bounded(debug_path);
  struct debug_info *info = debug_info_open(debug_path, path, &problem);
  bool ok = answer(socket, &reply, &frames, problem.text) && info != NULL;
  while (ok && receive_all(socket, &question, sizeof question))
    ok = (question.kind == SOURCE_UNIT ? debug_info_find_unit(info, question.address, &frames)
                                       : debug_info_find(info, question.address, &frames)) &&
         answer(socket, &reply, &frames, debug_info_missing(info));
  _exit(0);
}

/* ---- The command's side ---- */

struct source {
  const char *path; /* the program's */
  pid_t reader;
  int socket;
  bool is_broken;
  bool missing_told;
  struct bytes message;        /* the last one */
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
  return source->reader > 0 || problem_set_errno(problem, "debug information can't be read");
}

/* Takes the next text of a message; NULL if there's none, or it is empty. */
static const char *take_text(const struct bytes *message, size_t *place) {
  const char *text = message->items + *place;
  const size_t length = strnlen(text, message->count - *place);
  *place += length < message->count - *place ? length + 1 : length;
  return length == 0 ? NULL : text;
}

/* Receives a message. Nothing in it is relied on: the reader may be broken. *text is as above. */
static bool receive(struct source *source, struct source_frames *frames, const char **text) {
  struct message message;
  struct place where;
  size_t place = 0;
  if (!receive_all(source->socket, &message, sizeof message) || message.size > SIZE_MOST ||
      message.frames > message.size / sizeof where ||
      !array_make_room((void **)&source->message.items, &source->message.capacity, message.size + 1,
                       1) ||
      !array_make_room((void **)&source->frames, &source->frame_capacity, message.frames,
                       sizeof *source->frames) ||
      !receive_all(source->socket, source->message.items, message.size))
    return false;
  source->message.count = message.size;
  source->message.items[message.size] = 0;
  for (uint32_t i = 0; i < message.frames; i++) {
    if (message.size - place < sizeof where)
      return false;
    memcpy(&where, source->message.items + place, sizeof where);
    place += sizeof where;
    const char *function = take_text(&source->message, &place);
    const char *file = take_text(&source->message, &place);
    source->frames[i] = (struct source_frame){function, file, where.line, where.column};
  }
  *text = take_text(&source->message, &place);
  *frames = (struct source_frames){source->frames, message.frames};
  return true;
}

static bool await_opened(struct source *source, struct problem *problem) {
  struct source_frames none;
  const char *text;
  if (!receive(source, &none, &text))
    return problem_set(problem, "broken debug information");
  return text == NULL || problem_set(problem, "%s", text);
}

struct source *source_open(const char *debug_path, const char *path, struct problem *problem) {
  struct source *source = calloc(1, sizeof *source);
  if (source == NULL) {
    problem_set(problem, "not enough memory");
    return NULL;
  }
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
  fflush(stdout);
  fprintf(stderr,
          "stackpack: %s: warning: split debug information can't be read, so inlined functions are "
          "missing: %s\n",
          source->path, file);
}

bool source_find(struct source *source, enum source_question question, uint64_t address,
                 struct source_frames *frames, struct problem *problem) {
  const struct question asked = {address, question};
  const char *missing;
  *frames = (struct source_frames){0};
  if (source->is_broken)
    return true;
  if (send_all(source->socket, &asked, sizeof asked) && receive(source, frames, &missing)) {
    tell_missing(source, missing);
    return true;
  }
  *frames = (struct source_frames){0};
  source->is_broken = true;
  return problem_set(problem, "broken debug information");
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
  free(source->message.items);
  free(source->frames);
  free(source);
}
/* ---- For commands ---- */

bool source_add_folder(void *options, const char *path, struct problem *problem) {
  struct source_options *source = options;
  return debug_folders_add(&source->folders, path) || problem_set(problem, "not enough memory");
}

void source_options_close(struct source_options *options) {
  debug_folders_close(&options->folders);
}

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
