/* message.h - a command's report of its work.
 *
 * It is held back until the work is done, so that standard output only reports written files.
 */
#ifndef STACKPACK_MESSAGE_H
#define STACKPACK_MESSAGE_H

#include "tool/image/problem.h"

#include <stdbool.h>
#include <stdio.h>

struct message {
  FILE *stream; /* NULL: there is no report */
  char *text;
  size_t size;
};

bool message_open(struct message *message, struct problem *problem);
/* Prints the message, and closes its stream. `instead`: on standard error. */
bool message_say(struct message *message, bool instead, struct problem *problem);
void message_close(struct message *message);

#endif
