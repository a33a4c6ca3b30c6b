/* generator.c - see generator.h.
 *
 * Each case draws a profile first: how often each oddity occurs, most of them never in most cases.
 * So there are plain tables, tables that are odd in one way, and tables that are odd in all.
 */
#include "generator.h"

#include "numbers.h"

#include <stdlib.h>

enum {
  POOL_MAX = 400, /* pairs that the records of one function choose from */
  PALETTE_MAX = 200,
  CONVENTION_MAX = 1023, /* of LLVM: parts of a statepoint */
  FLAGS_MAX = 3,
};

enum id_habit { ID_DEFAULT, ID_COUNTING, ID_RANDOM, ID_HABITS };

/* Percentages, unless they say otherwise. */
struct profile {
  unsigned extreme;       /* of locations: any kind, size, register and value */
  unsigned derived;       /* of pairs: of different locations */
  unsigned repeated_pair; /* of records: a pair is listed twice */
  unsigned plain;         /* of records: stack maps or patch points */
  unsigned allocas, deopt, conventions, flags, live_outs; /* of records */
  unsigned long_lists;                                    /* of lists: hundreds of entries */
  unsigned far; /* of records: their offset has up to 32 bits */
  unsigned meeting, overlapping, same_start, jumping; /* of functions: where the next starts */
  unsigned tiny, odd, discarded, repeated, unknown_frame, odd_frame, no_end, odd_end;
  unsigned new_map;      /* of functions */
  unsigned records_each; /* the most that a function has */
  unsigned pool;         /* the most pairs that a function chooses from */
  unsigned jump_bits;    /* the longest jump */
  enum id_habit id_habit;
};

/* A function's place, before it has records. */
struct place {
  uint64_t address;
  uint32_t span; /* the length of its code */
  uint32_t records;
};

struct generator {
  struct model *model;
  struct numbers numbers;
  struct profile profile;
  struct stackpack_location palette[PALETTE_MAX];
  unsigned palette_size;
  struct stackpack_location pool[2 * POOL_MAX]; /* of the current function */
  bool chosen[POOL_MAX];                        /* by its last record */
  unsigned pool_size;
  uint64_t next_id;
};

static bool chance(struct generator *generator, unsigned percent) {
  return numbers_chance(&generator->numbers, percent);
}

static uint64_t below(struct generator *generator, uint64_t count) {
  return numbers_below(&generator->numbers, count);
}

/* ---- The profile ---------------------------------------------------------------------------- */

/* How often an oddity occurs in a case: in half of them never. */
static unsigned oddity(struct generator *generator) {
  static const unsigned percents[] = {0, 0, 0, 0, 0, 1, 3, 10, 30, 80};
  return percents[below(generator, sizeof percents / sizeof *percents)];
}

static void draw_profile(struct generator *generator) {
  struct profile *profile = &generator->profile;
  unsigned *const oddities[] = {
      &profile->extreme,    &profile->derived,  &profile->repeated_pair, &profile->plain,
      &profile->allocas,    &profile->deopt,    &profile->conventions,   &profile->flags,
      &profile->live_outs,  &profile->far,      &profile->meeting,       &profile->overlapping,
      &profile->same_start, &profile->jumping,  &profile->tiny,          &profile->odd,
      &profile->discarded,  &profile->repeated, &profile->unknown_frame, &profile->odd_frame,
      &profile->no_end,     &profile->odd_end,  &profile->new_map,
  };
  for (unsigned i = 0; i < sizeof oddities / sizeof *oddities; i++)
    *oddities[i] = oddity(generator);
  static const unsigned most_records[] = {1, 3, 10, 10, 30, 100, 1000};
  static const unsigned most_pairs[] = {1, 4, 8, 8, 20, 70, POOL_MAX};
  static const unsigned jumps[] = {12, 20, 33, 33, 40, 62};
  profile->records_each = most_records[below(generator, 7)];
  profile->pool = most_pairs[below(generator, 7)];
  profile->jump_bits = jumps[below(generator, 6)];
  profile->long_lists = chance(generator, 20) ? 2 : 0;
  profile->id_habit = (enum id_habit)below(generator, ID_HABITS);
}

/* ---- Locations ------------------------------------------------------------------------------ */

/* 16 bits: an extreme or any. */
static uint16_t any_field(struct generator *generator) {
  static const uint16_t fields[] = {0, 1, 7, 8, 255, 256, INT16_MAX, UINT16_MAX};
  return chance(generator, 50) ? fields[below(generator, 8)]
                               : (uint16_t)numbers_next(&generator->numbers);
}

static int32_t any_offset(struct generator *generator) {
  static const int32_t offsets[] = {
      0, 1, -1, 8, INT32_MIN, INT32_MIN + 1, INT32_MAX, INT32_MAX - 1};
  return chance(generator, 50) ? offsets[below(generator, 8)]
                               : (int32_t)numbers_next(&generator->numbers);
}

static int64_t any_constant(struct generator *generator) {
  static const int64_t constants[] = {0, -1, INT64_MIN, INT64_MAX, INT32_MIN, UINT32_MAX};
  return chance(generator, 50) ? constants[below(generator, 6)]
                               : (int64_t)numbers_next(&generator->numbers);
}

static struct stackpack_location extreme_location(struct generator *generator) {
  const uint16_t size = any_field(generator);
  const uint8_t kind = (uint8_t)(STACKPACK_REGISTER + below(generator, 5));
  if (kind == STACKPACK_CONSTANT)
    return model_location(kind, size, 0, any_offset(generator));
  if (kind != STACKPACK_LARGE_CONSTANT)
    return model_location(kind, size, any_field(generator), any_offset(generator));
  struct stackpack_location location = model_constant((uint64_t)any_constant(generator));
  location.size = size;
  return location;
}

static struct stackpack_location new_location(struct generator *generator) {
  return chance(generator, generator->profile.extreme)
             ? extreme_location(generator)
             : model_slot((int32_t)(8 * below(generator, 100)));
}

static struct stackpack_location some_location(struct generator *generator) {
  return generator->palette[below(generator, generator->palette_size)];
}

/* An extreme one, of any kind but this. */
static struct stackpack_location location_but(struct generator *generator, uint8_t kind) {
  struct stackpack_location location = extreme_location(generator);
  return location.kind == kind ? model_slot(16) : location;
}

static unsigned list_length(struct generator *generator, unsigned usual) {
  return chance(generator, generator->profile.long_lists) ? (unsigned)below(generator, 700)
                                                          : (unsigned)below(generator, usual + 1);
}

/* ---- Records -------------------------------------------------------------------------------- */

/* Chooses the pairs that the records of a function will list. */
static void fill_pool(struct generator *generator) {
  generator->pool_size = (unsigned)numbers_between(&generator->numbers, 1, generator->profile.pool);
  const unsigned first_slot = (unsigned)below(generator, 50);
  const bool in_sequence = chance(generator, 50);
  for (unsigned i = 0; i < generator->pool_size; i++) {
    const struct stackpack_location base =
        in_sequence ? model_slot((int32_t)(8 * (first_slot + i))) : some_location(generator);
    generator->pool[2 * i] = base;
    generator->pool[2 * i + 1] =
        chance(generator, generator->profile.derived) ? some_location(generator) : base;
    generator->chosen[i] = chance(generator, 50);
  }
}

/* Changes the live pairs: a few, all anew, or keeps them. */
static void change_chosen(struct generator *generator) {
  const unsigned how = (unsigned)below(generator, 3);
  if (how == 1)
    for (unsigned flips = (unsigned)below(generator, 4); flips > 0; flips--)
      generator->chosen[below(generator, generator->pool_size)] ^= true;
  if (how == 2) {
    const unsigned percent = (unsigned)below(generator, 101);
    for (unsigned i = 0; i < generator->pool_size; i++)
      generator->chosen[i] = chance(generator, percent);
  }
}

/* LLVM lists allocas after the pairs, and a reader recognises them by their direct locations: so
 * the last pair must differ from two direct locations. */
static void close_pairs(struct model_record *record) {
  const size_t count = record->pairs.count;
  if (count > 0 && record->pairs.items[count - 2].kind == STACKPACK_DIRECT &&
      record->pairs.items[count - 1].kind == STACKPACK_DIRECT)
    model_add_self(record, 8);
}

static void add_pairs(struct generator *generator, struct model_record *record) {
  change_chosen(generator);
  const unsigned start = (unsigned)below(generator, generator->pool_size);
  for (unsigned i = 0; i < generator->pool_size; i++) {
    const unsigned n = (start + i) % generator->pool_size;
    if (!generator->chosen[n])
      continue;
    model_add_pair(record, generator->pool[2 * n], generator->pool[2 * n + 1]);
    if (chance(generator, generator->profile.repeated_pair))
      model_add_pair(record, generator->pool[2 * n], generator->pool[2 * n + 1]);
  }
  close_pairs(record);
}

static void make_statepoint(struct generator *generator, struct model_record *record) {
  const struct profile *profile = &generator->profile;
  if (chance(generator, profile->conventions))
    record->calling_convention = (int32_t)below(generator, CONVENTION_MAX + 1);
  if (chance(generator, profile->flags))
    record->flags = (int32_t)below(generator, FLAGS_MAX + 1);
  if (chance(generator, profile->deopt))
    for (unsigned i = list_length(generator, 20); i > 0; i--)
      model_list_add(&record->deopt, chance(generator, 20) ? extreme_location(generator)
                                                           : some_location(generator));
  add_pairs(generator, record);
  if (chance(generator, profile->allocas))
    for (unsigned i = list_length(generator, 4); i > 0; i--)
      model_list_add(&record->locations,
                     model_location(STACKPACK_DIRECT, any_field(generator),
                                    chance(generator, 80) ? 7 : any_field(generator),
                                    chance(generator, 80) ? (int32_t)(16 * below(generator, 50))
                                                          : any_offset(generator)));
}

static void add_constant(struct model_record *record, int32_t value) {
  model_list_add(&record->locations, model_location(STACKPACK_CONSTANT, 8, 0, value));
}

/* The head of a record that has the form of a statepoint but for one thing. */
static void add_near_miss(struct generator *generator, struct model_record *record) {
  const unsigned odd_one = (unsigned)below(generator, 6);
  for (unsigned i = 0; i < 3; i++) {
    if (i == odd_one)
      model_list_add(&record->locations, location_but(generator, STACKPACK_CONSTANT));
    else
      add_constant(record, 0);
  }
  if (odd_one < 3)
    return;
  record->locations.items[odd_one - 3].value =
      chance(generator, 50) ? -1 - (int32_t)below(generator, 1000)
                            : 70000 + (int32_t)below(generator, INT32_MAX - 70000);
}

static void make_plain(struct generator *generator, struct model_record *record) {
  record->statepoint = false;
  const bool few = chance(generator, 40);
  if (!few)
    add_near_miss(generator, record);
  for (unsigned i = few ? (unsigned)below(generator, 3) : list_length(generator, 6); i > 0; i--)
    model_list_add(&record->locations,
                   chance(generator, 50) ? extreme_location(generator) : some_location(generator));
}

static uint64_t draw_id(struct generator *generator) {
  if (generator->profile.id_habit == ID_COUNTING)
    return generator->next_id++;
  if (generator->profile.id_habit == ID_RANDOM)
    return numbers_of_bits(&generator->numbers, 64);
  return MODEL_DEFAULT_ID;
}

static void make_record(struct generator *generator, uint32_t offset) {
  struct model_record *record = model_add_record(generator->model, offset);
  record->id = draw_id(generator);
  if (chance(generator, generator->profile.plain))
    make_plain(generator, record);
  else
    make_statepoint(generator, record);
  if (chance(generator, generator->profile.live_outs))
    for (unsigned i = list_length(generator, 16); i > 0; i--)
      model_add_live_out(record, any_field(generator), (uint8_t)any_field(generator));
}

/* ---- Functions ------------------------------------------------------------------------------ */

static uint64_t draw_frame_size(struct generator *generator) {
  static const uint64_t odd_frames[] = {
      0, 1, UINT32_MAX, (uint64_t)1 << 57, UINT64_MAX - 1, UINT64_MAX - 2};
  if (chance(generator, generator->profile.unknown_frame))
    return STACKPACK_FRAME_SIZE_UNKNOWN;
  if (chance(generator, generator->profile.odd_frame))
    return chance(generator, 50) ? odd_frames[below(generator, 6)]
                                 : numbers_of_bits(&generator->numbers, 63);
  return 8 + 16 * below(generator, 20);
}

static uint64_t draw_end(struct generator *generator, const struct place *place) {
  if (chance(generator, generator->profile.no_end))
    return 0;
  const uint64_t end = place->address + place->span;
  if (chance(generator, generator->profile.odd_end))
    return place->address + 1 + numbers_of_bits(&generator->numbers, 14);
  return end;
}

static uint32_t draw_offset(struct generator *generator, const struct place *place) {
  if (chance(generator, generator->profile.far)) {
    const uint64_t offset = numbers_of_bits(&generator->numbers, 32);
    return offset <= UINT64_MAX - place->address ? (uint32_t)offset : 0;
  }
  if (chance(generator, 5))
    return chance(generator, 20) ? 0 : place->span;
  return (uint32_t)below(generator, (uint64_t)place->span + 1);
}

static void copy_list(struct model_list *to, const struct model_list *from) {
  for (size_t i = 0; i < from->count; i++)
    model_list_add(to, from->items[i]);
}

/* Adds the record of number `index` to the last function again. */
static void repeat_record(struct generator *generator, uint32_t index) {
  struct model_record *record =
      model_add_record(generator->model, generator->model->records[index].offset);
  const struct model_record *original = &generator->model->records[index];
  record->id = original->id;
  record->statepoint = original->statepoint;
  record->calling_convention = original->calling_convention;
  record->flags = original->flags;
  copy_list(&record->deopt, &original->deopt);
  copy_list(&record->pairs, &original->pairs);
  copy_list(&record->locations, &original->locations);
  for (size_t i = 0; i < original->live_out_count; i++)
    model_add_live_out(record, original->live_outs[i].reg, original->live_outs[i].size);
}

/* Identical code folding: another function's name for the same address. */
static void repeat_function(struct generator *generator) {
  const struct model *model = generator->model;
  const struct model_function last = model->functions[model->function_count - 1];
  model_add_function(generator->model, last.address,
                     chance(generator, 70) ? last.frame_size : draw_frame_size(generator),
                     last.end);
  for (uint32_t i = 0; i < last.records; i++) {
    if (chance(generator, 90))
      repeat_record(generator, last.first_record + i);
    else
      make_record(generator, model->records[last.first_record + i].offset);
  }
}

static void make_function(struct generator *generator, const struct place *place) {
  if (chance(generator, generator->profile.new_map))
    model_add_map(generator->model);
  const bool discarded = chance(generator, generator->profile.discarded);
  model_add_function(generator->model, discarded ? 0 : place->address, draw_frame_size(generator),
                     draw_end(generator, place));
  fill_pool(generator);
  for (uint32_t i = 0; i < place->records; i++)
    make_record(generator, draw_offset(generator, place));
  if (chance(generator, generator->profile.repeated))
    repeat_function(generator);
}

/* An address so much higher, if there is room for code after it. */
static uint64_t advance(uint64_t address, uint64_t by) {
  const uint64_t limit = UINT64_MAX - (1 << 16);
  return by < limit - address ? address + by : address;
}

static uint64_t next_address(struct generator *generator, const struct place *place) {
  const struct profile *profile = &generator->profile;
  if (chance(generator, profile->same_start))
    return place->address;
  if (chance(generator, profile->overlapping))
    return advance(place->address, below(generator, place->span));
  if (chance(generator, profile->meeting))
    return advance(place->address, place->span);
  uint64_t step = place->span + below(generator, 40);
  if (chance(generator, profile->jumping))
    step += numbers_of_bits(&generator->numbers, profile->jump_bits);
  const uint64_t address = advance(place->address, step);
  return chance(generator, profile->odd) ? address : advance(address, -address % 16);
}

static uint64_t draw_first_address(struct generator *generator) {
  static const uint64_t addresses[] = {
      1, 16, 0x400000, 0x400010, 0x555555554000, 0x7fffffffffff0000, UINT64_MAX - (1 << 20) + 1};
  return chance(generator, 70) ? addresses[below(generator, 7)]
                               : 1 + (numbers_of_bits(&generator->numbers, 63) & ~(uint64_t)15);
}

/* Lays out functions until they have so many records. */
static uint32_t place_functions(struct generator *generator, struct place **places,
                                uint32_t records) {
  uint32_t count = 0, capacity = 0;
  uint64_t address = draw_first_address(generator);
  for (uint32_t placed = 0; placed < records;) {
    if (count == capacity) {
      capacity = capacity * 2 + 16;
      *places = test_reallocate(*places, capacity * sizeof **places);
    }
    struct place *place = &(*places)[count++];
    const unsigned most = chance(generator, generator->profile.tiny) ? 16 : 4000;
    *place = (struct place){
        .address = address,
        .span = (uint32_t)numbers_between(&generator->numbers, 1, most),
        .records = (uint32_t)below(generator, generator->profile.records_each + 1),
    };
    placed += place->records;
    address = next_address(generator, place);
  }
  return count;
}

/* In the order of their addresses, or shuffled. */
static void shuffle(struct generator *generator, struct place *places, uint32_t count) {
  if (chance(generator, 50))
    return;
  for (uint32_t i = count; i > 1; i--) {
    const uint32_t k = (uint32_t)below(generator, i);
    const struct place place = places[k];
    places[k] = places[i - 1];
    places[i - 1] = place;
  }
}

void generate(struct model *model, uint64_t seed, uint32_t records) {
  struct generator generator = {.model = model, .numbers = {seed}};
  struct place *places = NULL;
  model->seed = seed;
  draw_profile(&generator);
  /* More records than a bucket holds (FORMAT.md): in terabytes of text, one could get them all. */
  if (records > 65550 && generator.profile.jump_bits > 36)
    generator.profile.jump_bits = 36;
  generator.next_id = numbers_of_bits(&generator.numbers, 64);
  generator.palette_size = (unsigned)numbers_between(&generator.numbers, 1, PALETTE_MAX);
  for (unsigned i = 0; i < generator.palette_size; i++)
    generator.palette[i] = new_location(&generator);
  const uint32_t count = place_functions(&generator, &places, records);
  shuffle(&generator, places, count);
  for (uint32_t i = 0; i < count; i++)
    make_function(&generator, &places[i]);
  free(places);
}
