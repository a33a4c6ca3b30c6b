/* side_by_side.c - see side_by_side.h. */
#include "tool/check/side_by_side.h"

#include <pthread.h>
#include <stdbool.h>

struct other {
  work_piece *piece;
  void *context;
};

static void *run(void *context) {
  const struct other *other = context;
  other->piece(other->context);
  return NULL;
}

void side_by_side(work_piece *piece, void *one, work_piece *other_piece, void *context) {
  struct other other = {other_piece, context};
  pthread_t thread;
  const bool has_thread = pthread_create(&thread, NULL, run, &other) == 0;
  piece(one);
  if (has_thread)
    pthread_join(thread, NULL);
  else
    other_piece(context);
}
