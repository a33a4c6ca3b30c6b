/* sources_unpack.c - reads all entries and tails once, and then each record's places. */
#include "format/sources_unpack.h"

#include <assert.h>

struct unpacked_entry {
  struct sources_entry entry;
  uint32_t name; /* in the sources */
};

void sources_unpack_close(struct sources_unpacker *unpacker) { owned_free(&unpacker->owned); }

static enum sources_unpacked read_entries(struct sources_unpacker *unpacker, char *name) {
  const struct sources_part *part = unpacker->part;
  struct sources_entries entries;
  struct sources_entry entry;
  size_t length;
  for (uint32_t i = 0; i < part->entry_count; i++) {
    struct unpacked_entry *own = &unpacker->entries[i];
    if ((i % SOURCES_GROUP == 0 && !sources_entries_at(&entries, part, i / SOURCES_GROUP)) ||
        !sources_entries_next(&entries, &entry))
      return SOURCES_BROKEN;
    own->entry = entry;
    if (entry.is_empty)
      continue;
    if (!sources_entry_name(part, &entry, name, part->names_size, &length) ||
        length >= part->names_size)
      return SOURCES_BROKEN;
    name[length] = 0;
    if (!sources_add_name(unpacker->sources, name, &own->name))
      return SOURCES_NO_MEMORY;
  }
  return SOURCES_UNPACKED;
}

static bool read_tails(struct sources_unpacker *unpacker) {
  const struct sources_part *part = unpacker->part;
  struct sources_tails tails;
  struct sources_tail tail;
  for (uint32_t i = 0; i < part->tail_count; i++) {
    if ((i % SOURCES_GROUP == 0 && !sources_tails_at(&tails, part, i / SOURCES_GROUP)) ||
        !sources_tails_next(&tails, &tail))
      return false;
    unpacker->tails[i] = tail;
  }
  return true;
}

enum sources_unpacked sources_unpack_open(struct sources_unpacker *unpacker,
                                          const struct sources_part *part,
                                          struct sources *sources) {
  *unpacker = (struct sources_unpacker){.part = part, .sources = sources, .stretch = UINT32_MAX};
  /* An entry takes a byte at least, and a tail a bit. */
  if (part->entry_count > part->entries_size || part->tail_count > part->tails_size * 8)
    return SOURCES_BROKEN;
  unpacker->entries = owned_array(&unpacker->owned, part->entry_count, sizeof *unpacker->entries);
  unpacker->tails = owned_array(&unpacker->owned, part->tail_count, sizeof *unpacker->tails);
  char *name = owned_array(&unpacker->owned, part->names_size, 1);
  if (unpacker->owned.failed)
    return SOURCES_NO_MEMORY;
  const enum sources_unpacked answer = read_entries(unpacker, name);
  return answer == SOURCES_UNPACKED && !read_tails(unpacker) ? SOURCES_BROKEN : answer;
}

/* Adds a place in a frame, and moves *place to it. */
static enum sources_unpacked add_step(struct sources_unpacker *unpacker, struct sources_step step,
                                      uint32_t *place) {
  assert(step.function < unpacker->part->function_count);
  const struct unpacked_entry *own = &unpacker->entries[step.function];
  unpacker->steps++;
  const struct unpacked_entry *file = &unpacker->entries[own->entry.file];
  if (own->entry.is_empty || (own->entry.file != 0 && file->entry.is_empty))
    return SOURCES_BROKEN;
  const struct source_place added = {own->name, own->entry.file == 0 ? 0 : file->name,
                                     own->entry.line + step.line, *place};
  return sources_add_place(unpacker->sources, added, place) ? SOURCES_UNPACKED : SOURCES_NO_MEMORY;
}

/* Adds the places of the record that was read last. */
static enum sources_unpacked add_places(struct sources_unpacker *unpacker, uint32_t *place) {
  const struct sources_records *records = &unpacker->records;
  const struct sources_tail *tails = unpacker->tails;
  enum sources_unpacked answer = SOURCES_UNPACKED;
  unsigned depth = records->kind == SOURCES_USUAL;
  if (records->kind == SOURCES_NOWHERE)
    return SOURCES_UNPACKED;
  if (records->kind == SOURCES_USUAL)
    answer = add_step(unpacker, (struct sources_step){unpacker->stretch, records->line}, place);
  for (uint32_t i = records->tail; i < unpacker->part->tail_count && answer == SOURCES_UNPACKED;
       i = tails[i].inner) {
    if (depth++ >= unpacker->part->depth)
      return SOURCES_BROKEN;
    answer = add_step(unpacker, tails[i].step, place);
  }
  return answer == SOURCES_UNPACKED && *place == 0 ? SOURCES_BROKEN : answer;
}

/* A reader of a hostile part might read a stretch's records again for each of them. */
static bool is_within_limit(const struct sources_unpacker *unpacker) {
  enum { STEPS = 1 << 24, STEPS_PER_BYTE = 256 };
  const struct sources_part *part = unpacker->part;
  return unpacker->steps <= STEPS + STEPS_PER_BYTE * (part->entries_size + part->tails_size);
}

enum sources_unpacked sources_unpack(struct sources_unpacker *unpacker, uint32_t stretch,
                                     uint32_t position, uint32_t *place) {
  const struct sources_entry *entry = &unpacker->entries[stretch].entry;
  *place = 0;
  if (entry->is_empty)
    return SOURCES_UNPACKED;
  if (unpacker->stretch != stretch || position < unpacker->position) {
    sources_records(&unpacker->records, unpacker->part, entry);
    unpacker->stretch = stretch;
    unpacker->position = 0;
  }
  for (; unpacker->position <= position; unpacker->position++, unpacker->steps++)
    if (!sources_records_next(&unpacker->records) || !is_within_limit(unpacker))
      return SOURCES_BROKEN;
  return add_places(unpacker, place);
}
