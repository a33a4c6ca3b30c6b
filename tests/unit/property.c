/* property.c - random stack maps, packed and asked: every answer must be the model's.
 *
 * What is compared: each record's contents through the public API, and the answer for each byte
 * around every record and both ends of every function. Environment variables: SEED, the first
 * case's seed, and CASES, how many small tables there are. A failure names the seed of its case;
 * with that as SEED and CASES=1 it comes again.
 */
#include "generator.h"
#include "model_check.h"
#include "numbers.h"
#include "suite.h"

enum { SMALL_TABLES = 400, MIDDLE_TABLES = 40, LARGE_TABLES = 2, LARGE_RECORDS = 100000 };

static uint64_t first_seed(void) { return numbers_setting("SEED", 20260101); }

/* How many tables of a kind: as many as CASES asks for, in proportion. */
static uint64_t cases(uint64_t usual) {
  const uint64_t small =
      numbers_setting("CASES", numbers_few_samples() ? SMALL_TABLES / 4 : SMALL_TABLES);
  const uint64_t count = small * usual / SMALL_TABLES;
  return count > 0 ? count : 1;
}

static void check_case(uint64_t seed, uint32_t records, unsigned around, unsigned details_every) {
  struct numbers numbers = {~seed};
  const struct model_options options = {
      .section_address = numbers_chance(&numbers, 50) ? 0x200000 : numbers_next(&numbers),
      .open_address = numbers_chance(&numbers, 50) ? 0x200000 : numbers_next(&numbers),
      .compressed = numbers_chance(&numbers, 50),
      .around = around,
      .details_every = details_every,
  };
  struct model model = {0};
  generate(&model, seed, records);
  model_check(&model, &options);
  model_free(&model);
}

TEST(small_tables) {
  for (uint64_t i = 0; i < cases(SMALL_TABLES); i++) {
    struct numbers numbers = {first_seed() + i};
    check_case(first_seed() + i, (uint32_t)numbers_between(&numbers, 1, 60), 16, 1);
  }
}

TEST(middle_tables) {
  for (uint64_t i = 0; i < cases(MIDDLE_TABLES); i++) {
    struct numbers numbers = {first_seed() + i};
    check_case(first_seed() + i, (uint32_t)numbers_between(&numbers, 300, 3000), 16, 5);
  }
}

TEST(large_tables) {
  for (uint64_t i = 0; i < cases(LARGE_TABLES); i++)
    check_case(first_seed() + i, LARGE_RECORDS, 2, 97);
}
