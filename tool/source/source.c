/* source.c - see source.h.
 *
 * The reader gets addresses, and answers each with a message: a struct message, the frames as struct
 * message_frame, and their texts, each ending in a zero. Its first message, which nobody asked for,
 * tells whether it could open the debug information.
 */
#include "tool/source/source.h"

#include "format/array.h"
#include "tool/source/debug_object.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FRAMES_MOST = 1 << 16, TEXT_MOST = 1 << 26, NO_TEXT = -1 };

struct message {
  uint32_t frames;
  uint32_t text_size;
  bool is_problem; /* the text tells of it */
};

struct message_frame {
  uint64_t line, column;
  int32_t function, file; /* where the text starts, or NO_TEXT */
};

/* ---- Sending and receiving ---- */

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

/* A message that is put together. */
struct reply {
  char *bytes; /* owned */
  size_t size, capacity;
};

static bool append(struct reply *reply, const void *bytes, size_t size) {
  if (!array_make_room((void **)&reply->bytes, &reply->capacity, reply->size + size, 1))
    return false;
  if (size > 0)
    memcpy(reply->bytes + reply->size, bytes, size);
  reply->size += size;
  return true;
}

/* Where the next text will start, from the place that all texts start at. */
static int32_t place_of(const char *text, size_t *texts) {
  if (text == NULL)
    return NO_TEXT;
  const size_t place = *texts;
  *texts += strlen(text) + 1;
  return (int32_t)place;
}

static bool append_text(struct reply *reply, const char *text) {
  return text == NULL || append(reply, text, strlen(text) + 1);
}

static size_t text_size(const struct source_frames *frames) {
  size_t size = 0;
  for (size_t i = 0; i < frames->count; i++) {
    size += frames->items[i].function == NULL ? 0 : strlen(frames->items[i].function) + 1;
    size += frames->items[i].file == NULL ? 0 : strlen(frames->items[i].file) + 1;
  }
  return size;
}

static bool append_frames(struct reply *reply, const struct source_frames *frames) {
  size_t texts = 0;
  bool ok = true;
  for (size_t i = 0; i < frames->count && ok; i++) {
    const struct source_frame *frame = &frames->items[i];
    struct message_frame said = {.line = frame->line, .column = frame->column};
    said.function = place_of(frame->function, &texts);
    said.file = place_of(frame->file, &texts);
    ok = append(reply, &said, sizeof said);
  }
  for (size_t i = 0; i < frames->count && ok; i++)
    ok = append_text(reply, frames->items[i].function) && append_text(reply, frames->items[i].file);
  return ok;
}

static bool answer(int socket, struct debug_info *info, uint64_t address, struct reply *reply) {
  struct source_frames frames;
  if (!debug_info_find(info, address, &frames))
    return false;
  const size_t size = text_size(&frames);
  if (frames.count > FRAMES_MOST || size > TEXT_MOST)
    frames.count = 0;
  const struct message message = {.frames = (uint32_t)frames.count,
                                  .text_size = frames.count == 0 ? 0 : (uint32_t)size};
  reply->size = 0;
  return append(reply, &message, sizeof message) && append_frames(reply, &frames) &&
         send_all(socket, reply->bytes, reply->size);
}

static bool tell_opened(int socket, const struct problem *problem, bool ok) {
  const struct message message = {.text_size = ok ? 0 : sizeof problem->text, .is_problem = !ok};
  return send_all(socket, &message, sizeof message) &&
         send_all(socket, problem->text, message.text_size);
}

static _Noreturn void read_for(int socket, const char *debug_path, const char *path) {
  struct problem problem = {0};
  struct reply reply = {0};
  uint64_t address;
  debug_object_be_quiet();
  struct debug_info *info = debug_info_open(debug_path, path, &problem);
  bool ok = tell_opened(socket, &problem, info != NULL) && info != NULL;
  while (ok && receive_all(socket, &address, sizeof address))
    ok = answer(socket, info, address, &reply);
  _exit(0);
}

/* ---- The command's side ---- */

struct source {
  pid_t reader;
  int socket;
  bool is_broken, is_told; /* the command knows it */
  unsigned expected;       /* how many answers are on their way */
  char *bytes;             /* the last message, behind the struct message; owned */
  size_t capacity;
  struct source_frame *frames; /* owned */
  size_t frame_capacity;
};

static bool start_reader(struct source *source, const char *debug_path, const char *path,
                         struct problem *problem) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0)
    return problem_set_errno(problem, "debug information can't be read");
  fflush(stdout);
  source->reader = fork();
  if (source->reader == 0) {
    close(sockets[0]);
    read_for(sockets[1], debug_path, path);
  }
  close(sockets[1]);
  source->socket = sockets[0];
  return source->reader > 0 || problem_set_errno(problem, "debug information can't be read");
}

/* Takes the rest of a message. Nothing in it is relied on: the reader may be broken. */
static bool receive_body(struct source *source, const struct message *message) {
  const size_t size = message->frames * sizeof(struct message_frame) + message->text_size;
  if (message->frames > FRAMES_MOST || message->text_size > TEXT_MOST ||
      !array_make_room((void **)&source->bytes, &source->capacity, size + 1, 1) ||
      !array_make_room((void **)&source->frames, &source->frame_capacity, message->frames,
                       sizeof *source->frames))
    return false;
  source->bytes[size] = 0;
  return receive_all(source->socket, source->bytes, size);
}

static const char *text_at(const struct source *source, const struct message *message,
                           int32_t place) {
  if (place < 0 || (uint32_t)place >= message->text_size)
    return NULL;
  return source->bytes + message->frames * sizeof(struct message_frame) + place;
}

static void take_frames(struct source *source, const struct message *message,
                        struct source_frames *frames) {
  for (uint32_t i = 0; i < message->frames; i++) {
    struct message_frame said;
    memcpy(&said, source->bytes + i * sizeof said, sizeof said);
    source->frames[i] =
        (struct source_frame){text_at(source, message, said.function),
                              text_at(source, message, said.file), said.line, said.column};
  }
  *frames = (struct source_frames){source->frames, message->frames};
}

/* Receives the first message. */
static bool await_opened(struct source *source, struct problem *problem) {
  struct message message;
  if (!receive_all(source->socket, &message, sizeof message) || !receive_body(source, &message))
    return problem_set(problem, "broken debug information");
  if (!message.is_problem)
    return true;
  return problem_set(problem, "%s", source->bytes);
}

struct source *source_open(const char *debug_path, const char *path, struct problem *problem) {
  struct source *source = calloc(1, sizeof *source);
  if (source == NULL) {
    problem_set(problem, "not enough memory");
    return NULL;
  }
  source->socket = -1;
  if (start_reader(source, debug_path, path, problem) && await_opened(source, problem))
    return source;
  source_close(source);
  return NULL;
}

/* What was announced must fit into the socket, or the reader and the command wait for each other. */
enum { EXPECTED_MOST = 64 };

bool source_expect(struct source *source, uint64_t address) {
  if (source->expected == EXPECTED_MOST)
    return false;
  if (!source->is_broken && !send_all(source->socket, &address, sizeof address))
    source->is_broken = true;
  source->expected++;
  return true;
}

bool source_find(struct source *source, uint64_t address, struct source_frames *frames,
                 struct problem *problem) {
  struct message message;
  *frames = (struct source_frames){0};
  if (source->expected == 0)
    source_expect(source, address);
  source->expected--;
  if (source->is_told)
    return true;
  if (source->is_broken || !receive_all(source->socket, &message, sizeof message) ||
      !receive_body(source, &message)) {
    source->is_broken = source->is_told = true;
    return problem_set(problem, "broken debug information");
  }
  take_frames(source, &message, frames);
  return true;
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
  free(source->bytes);
  free(source->frames);
  free(source);
}

/* ---- For commands ---- */

bool source_is_option(int option) {
  return option == SOURCE_OPTION_SOURCE || option == SOURCE_OPTION_DEBUG_DIR;
}

bool source_take_option(struct source_options *options, int option, const char *value) {
  if (option == SOURCE_OPTION_SOURCE)
    options->is_wanted = true;
  return option != SOURCE_OPTION_DEBUG_DIR || debug_folders_add(&options->folders, value);
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
