/* words.c - workload: a text is cut into words, and a hash table counts them.
 *
 * The scanner's cursor is a derived reference to a character. It is live while the word before it
 * is copied, looked up and perhaps entered, and while the table grows. The objects have every
 * shape: only data (texts), a length and references (the table's chains), and a mixture (entries).
 */
#include "heap.h"
#include "workload.h"

typedef struct text REF *text_ref;
struct text {
  uint64_t length;
  char bytes[];
};

typedef struct entry REF *entry_ref;
struct entry {
  uint64_t hash;
  uint64_t count;
  text_ref word;
  entry_ref next;
};

typedef struct chains REF *chains_ref;
struct chains {
  uint64_t length; /* a power of two */
  entry_ref heads[];
};

typedef struct table REF *table_ref;
struct table {
  uint64_t used;
  chains_ref chains;
};

static text_ref text_new(uint64_t length) {
  text_ref text = (text_ref)heap_allocate(sizeof(uint64_t) + length, 0);
  text->length = length;
  return text;
}

/* Words of one to three letters, each followed by a space. */
static text_ref text_random(uint64_t length, uint64_t number) {
  text_ref text = text_new(length);
  uint64_t letters = 0;
  for (uint64_t i = 0; i < length; i++) {
    number = random_next(number);
    letters = letters == 3 || (letters > 0 && number >> 40 & 1) ? 0 : letters + 1;
    text->bytes[i] = letters == 0 ? ' ' : (char)('a' + number % 7);
  }
  return text;
}

static uint64_t text_hash(text_ref text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (uint64_t i = 0; i < text->length; i++)
    hash = checksum_add(hash, (unsigned char)text->bytes[i]);
  return hash;
}

static int text_equal(text_ref left, text_ref right) {
  if (left->length != right->length)
    return 0;
  for (uint64_t i = 0; i < left->length; i++)
    if (left->bytes[i] != right->bytes[i])
      return 0;
  return 1;
}

static chains_ref chains_new(uint64_t length) {
  chains_ref chains = (chains_ref)heap_allocate(sizeof(uint64_t), length);
  chains->length = length;
  return chains;
}

static table_ref table_new(void) {
  chains_ref chains = chains_new(8);
  table_ref table = (table_ref)heap_allocate(sizeof(uint64_t), 1);
  table->chains = chains;
  return table;
}

static void table_grow(table_ref table) {
  chains_ref new_chains = chains_new(table->chains->length * 2);
  for (uint64_t i = 0; i < table->chains->length; i++) {
    entry_ref next;
    for (entry_ref entry = table->chains->heads[i]; entry; entry = next) {
      next = entry->next;
      entry_ref REF *head = &new_chains->heads[entry->hash % new_chains->length];
      entry->next = *head;
      *head = entry;
    }
  }
  table->chains = new_chains;
}

/* `link` is an element of the chains first, and then a field of one entry after the other. */
static void table_count(table_ref table, text_ref word) {
  uint64_t hash = text_hash(word);
  entry_ref REF *link = &table->chains->heads[hash % table->chains->length];
  while (*link && !((*link)->hash == hash && text_equal((*link)->word, word)))
    link = &(*link)->next;
  if (!*link) {
    entry_ref entry = (entry_ref)heap_allocate(2 * sizeof(uint64_t), 2);
    entry->hash = hash;
    entry->word = word;
    *link = entry;
    table->used++;
  }
  (*link)->count++;
  if (table->used > table->chains->length)
    table_grow(table);
}

static void table_count_words(table_ref table, text_ref text) {
  const char REF *end = text->bytes + text->length;
  const char REF *cursor = text->bytes;
  while (cursor != end) {
    uint64_t length = 0;
    while (cursor + length != end && cursor[length] != ' ')
      length++;
    text_ref word = text_new(length);
    for (uint64_t i = 0; i < length; i++)
      word->bytes[i] = *cursor++;
    while (cursor != end && *cursor == ' ')
      cursor++;
    table_count(table, word);
  }
}

static uint64_t table_checksum(table_ref table) {
  uint64_t checksum = table->used;
  for (uint64_t i = 0; i < table->chains->length; i++)
    for (entry_ref entry = table->chains->heads[i]; entry; entry = entry->next)
      checksum = checksum_add(checksum_add(checksum, entry->hash), entry->count);
  return checksum;
}

uint64_t words_run(uint64_t size) {
  table_ref table = table_new();
  for (uint64_t i = 0; i < size; i++)
    table_count_words(table, text_random(2000, 1234567 + i));
  return table_checksum(table);
}
