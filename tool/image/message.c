/* message.c - see message.h. */
#include "tool/image/message.h"

#include <stdio_ext.h>
#include <stdlib.h>

bool message_open(struct message *message, struct problem *problem) {
  *message = (struct message){0};
  message->stream = open_memstream(&message->text, &message->size);
  return message->stream != NULL || problem_set(problem, "not enough memory");
}

bool message_say(struct message *message, bool instead, struct problem *problem) {
  FILE *stream = instead ? stderr : stdout;
  if (message->stream == NULL)
    return true;
  const bool failed = ferror(message->stream) != 0;
  const bool ok = fclose(message->stream) == 0 && !failed && message->text != NULL;
  message->stream = NULL;
  if (!ok)
    return problem_set(problem, "not enough memory");
  if (fwrite(message->text, 1, message->size, stream) == message->size && fflush(stream) == 0)
    return true;
  problem_set_errno(problem, "standard output");
  clearerr(stream); /* it's said here: once is enough */
  __fpurge(stream);
  return false;
}

void message_close(struct message *message) {
  if (message->stream != NULL)
    fclose(message->stream);
  free(message->text);
}
