/* side_by_side.c - see side_by_side.h. */
#include "side_by_side.h"

#include <pthread.h>

struct other {
  packed_work *work;
  void *context;
};

static void *run(void *context) {
  const struct other *other = context;
  other->work(other->context);
  return NULL;
}

void side_by_side(packed_work *work, void *one, packed_work *other_work, void *context) {
  struct other other = {other_work, context};
  pthread_t thread;
  const bool has_thread = pthread_create(&thread, NULL, run, &other) == 0;
  work(one);
  if (has_thread)
    pthread_join(thread, NULL);
  else
    other_work(context);
}
