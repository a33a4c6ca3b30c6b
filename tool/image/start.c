/* start.c - see start.h. */
#include "tool/image/start.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A stream that was closed still fails: what is opened in its place is for the other direction. */
static void fill_closed_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++)
    if (fcntl(stream, F_GETFD) < 0)
      (void)open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

void start_safely(void) {
  fill_closed_streams();
  signal(SIGXFSZ, SIG_IGN);
}
