/* style.c - see style.h. The sequences are from ECMA-48, 8.3.117. */
#include "tool/print/style.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool style_wanted(enum style_use use) {
  const char *none = getenv("NO_COLOR"), *terminal = getenv("TERM");
  if (use != STYLE_AUTO)
    return use == STYLE_ALWAYS;
  return isatty(STDOUT_FILENO) && (none == NULL || *none == 0) &&
         (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

unsigned style_columns(void) {
  struct winsize size;
  if (!isatty(STDOUT_FILENO))
    return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

void style_begin(bool is_wanted, enum style style) {
  static const char *const sequences[] = {[STYLE_NAME] = "\033[1m",
                                          [STYLE_PLACE] = "\033[2m",
                                          [STYLE_REFERENCE] = "\033[32m",
                                          [STYLE_DERIVED] = "\033[33m",
                                          [STYLE_SOURCE] = "\033[36m"};
  if (is_wanted)
    fputs(sequences[style], stdout);
}

void style_end(bool is_wanted) {
  if (is_wanted)
    fputs("\033[0m", stdout);
}
