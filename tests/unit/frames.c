/* frames.c - tests the comparison of frames with libdw's, on all functions of this very program and of the
 * C library: that both readers agree, and that a fact that is wrong is noticed.
 */
#include "tool/check/compare_frames.h"

#include "elf/evidence.h"
#include "suite.h"

#include <dlfcn.h>
#include <stdlib.h>

enum { PER_FUNCTION = 5 };

/* Records at places in a function, whether or not something is called there. */
static bool add_records(struct safepoints *table, struct code_range range) {
  const struct safepoint_function function = {.address = range.start, .frame_size = 8};
  const uint64_t size = range.end - range.start;
  uint64_t none;
  if (!safepoints_add_function(table, function) || intern_add(&table->lists, NULL, 0) != 0)
    return false;
  const uint32_t live = safepoints_add_live(table, &none, 0, 0);
  for (uint64_t i = 1; i <= PER_FUNCTION; i++)
    if (!safepoints_add_record(table, (struct safepoint){.address = range.start + size * i / 5,
                                                         .function = table->function_count - 1,
                                                         .live = live}))
      return false;
  return live != INTERN_FAILED;
}

/* A file, with a table of records in each of its functions that unwind tables know. */
struct subject {
  struct image image;
  struct safepoints table;
};

static void open_subject(struct subject *subject, const char *path) {
  struct evidence evidence;
  struct problem problem = {0};
  *subject = (struct subject){0};
  if (!image_open(&subject->image, path, &problem))
    ck_abort_msg("%s", problem.text);
  ck_assert(evidence_find(&evidence, &subject->image.elf_image));
  for (size_t i = 0; i < evidence.code.unwound.count; i++)
    ck_assert(add_records(&subject->table, evidence.code.unwound.items[i]));
  ck_assert(safepoints_finish(&subject->table));
  ck_assert(eh_frame_tell_frames(&subject->table, &evidence.code, &evidence.unwind));
  evidence_free(&evidence);
}

static void close_subject(struct subject *subject) {
  safepoints_free(&subject->table);
  image_close(&subject->image);
}

static struct differences compare(const struct subject *subject) {
  struct differences differences = {0};
  struct problem problem = {0};
  ck_assert(compare_frames(&subject->image, &subject->table, &differences, &problem));
  return differences;
}

static void check_file(const char *path, uint32_t records_least) {
  struct subject subject;
  uint32_t known = 0;
  open_subject(&subject, path);
  for (uint32_t i = 0; i < subject.table.record_count; i++)
    known += subject.table.records[i].frame != 0;
  ck_assert_uint_ge(known, records_least);
  const struct differences differences = compare(&subject);
  if (differences.count > 0)
    ck_abort_msg("%s: %s", path, differences.first);
  close_subject(&subject);
}

TEST(this_program) { check_file("/proc/self/exe", 300); }

TEST(the_c_library) {
  Dl_info info;
  ck_assert(dladdr((void *)abort, &info) != 0);
  check_file(info.dli_fname, 5000);
}

/* Any number of the words that the facts are: except for unused ones. */
TEST(wrong_facts) {
  static const struct frame_facts none;
  struct subject subject;
  open_subject(&subject, "/proc/self/exe");
  uint32_t chosen = subject.table.record_count / 2;
  while (chosen + 1 < subject.table.record_count && subject.table.records[chosen].frame == 0)
    chosen++;
  struct safepoint *record = &subject.table.records[chosen];
  ck_assert_uint_ne(record->frame, 0);
  const struct frame_facts right = frame_facts_get(&subject.table.frames, record->frame);
  const uint32_t number = record->frame;
  struct frame_facts wrong[] = {right, right, right, right, right, none};
  wrong[0].cfa_offset += 8;
  wrong[1].cfa_register ^= 1;
  wrong[2].saved ^= 1;
  wrong[3].offsets[right.return_register] += 8;
  wrong[4].return_register ^= 1;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    record->frame = frame_facts_add(&subject.table.frames, &wrong[i]);
    ck_assert_uint_eq(compare(&subject).count, 1);
  }
  record->frame = 0;
  ck_assert_uint_eq(compare(&subject).count, 1);
  record->frame = number;
  ck_assert_uint_eq(compare(&subject).count, 0);
  close_subject(&subject);
}
