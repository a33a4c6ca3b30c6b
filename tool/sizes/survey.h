/* survey.h - all numbers of `stats` and `report` about a program's stack maps.
 *
 * A raw table is measured twice: raw, and as `pack` with the same policy would leave it, by packing
 * in memory. Of a packed file only the packed table is measured.
 */
#ifndef STACKPACK_SURVEY_H
#define STACKPACK_SURVEY_H

#include "tool/calls/drop.h"
#include "tool/image/integers.h"
#include "tool/image/names.h"
#include "tool/objects/opened.h"
#include "tool/sizes/sizes.h"
#include "tool/sizes/units.h"

/* The columns after the sizes, the same for functions and units: counts that explain a size. Pairs
 * are those of the statepoints; slots and live sets are distinct ones. measures.c counts them and
 * has their names for JSON and CSV; stats_text.c has titles and widths, report_page.js its own. */
enum survey_column { COLUMN_PAIRS, COLUMN_DERIVED, COLUMN_LIVE_SETS, COLUMN_SLOTS, COLUMNS };
extern const char *const survey_columns[COLUMNS]; /* the names */

/* A function, or a compilation unit. Sizes are in bits. */
struct survey_row {
  const char *name; /* NULL: a nameless function, or the functions outside all units */
  bool is_unit;
  const char *unit;          /* of a function: its unit's name; NULL: unknown */
  uint64_t address;          /* of a function */
  const struct piece *piece; /* of an object: the one that it is in; else NULL */
  uint64_t frame_size;
  uint32_t functions, records;
  uint64_t raw, packed;
  uint64_t columns[COLUMNS]; /* of a unit: the sums of its functions' */
};

struct survey_distribution {
  const char *name, *of;  /* static storage: "pairs", of a "record" */
  struct integers values; /* of each record, or of each function; sorted */
};

enum survey_order { SURVEY_BY_PACKED, SURVEY_BY_RAW, SURVEY_BY_RECORDS, SURVEY_BY_NAME };

enum survey_measure {
  SURVEY_SLOTS,
  SURVEY_PAIRS,
  SURVEY_DERIVED,
  SURVEY_FRAME_SIZES,
  SURVEY_RECORDS,
  SURVEY_LIVE_SETS,
  SURVEY_MEASURES,
};

struct survey_options {
  struct load_options load;
  struct policy policy;
  const char *filter; /* a POSIX regular expression for the listed functions' names, or for their
                         units'; NULL: lists all */
  enum survey_order order;
  char *const *arguments; /* the options in the user's words, for the output */
  int argument_count;
};

struct survey {
  const struct survey_options *options;
  uint64_t packed_file_size; /* as `pack` would leave it; 0 if it's packed, or `pack` refuses it */
  uint64_t text_size;        /* of the section .text; 0: there is none */
  char build_id[BUILD_ID_SIZE];
  bool has_raw;     /* the file has raw stack maps; else it has packed ones */
  uint32_t records; /* that are packed; raw are these, and the dropped ones */
  uint64_t allocas, deopt, live_outs;
  uint32_t live_sets, locations; /* distinct ones that the records have */
  uint64_t (*columns)[COLUMNS];  /* by function in the table of safepoints; owned */
  uint32_t repeats;              /* records with the live set of the one before */
  struct drop drop;              /* records is 0 without a policy */

  struct sizes raw, packed;             /* raw: empty unless has_raw */
  struct survey_row *functions, *units; /* in their order; owned */
  uint32_t function_count, unit_count;
  struct survey_row left_out; /* the sum of the unlisted functions */
  struct survey_distribution distributions[SURVEY_MEASURES];

  struct opened opened;
  struct names names;
  struct units unit_names;
  struct packed_table table;
  uint8_t *table_bytes; /* NULL: in the image */
};

/* Reads and measures a file. The options must outlive the survey. On failure it prints the reason,
 * and leaves nothing to be closed. */
bool survey_open(struct survey *survey, const char *path, const struct survey_options *options);
void survey_close(struct survey *survey);

/* measures.c: fills in the counts and the distributions of a table. */
void survey_measure(struct survey *survey);

/* The largest value among the lowest `part` of them: for 0.5, the median. 0 if there are none. */
uint64_t survey_quantile(const struct integers *values, double part);
uint64_t survey_sum(const struct integers *values);
/* The number of different values. */
size_t survey_distinct(const struct integers *values);
/* The end of the run of equal values that begins at `first`. */
size_t survey_run(const struct integers *values, size_t first);

/* The bits outside all functions, present or discarded; and as a row, with the discarded ones'
 * bits. */
uint64_t survey_rest(const struct sizes *sizes);
struct survey_row survey_rest_row(const struct survey *survey);

/* Orders names: NULL comes first. */
int survey_compare_text(const char *a, const char *b);

/* Adds the sizes and counts of a row to a sum. */
void survey_add(struct survey_row *sum, const struct survey_row *row);
/* The sum of the unlisted rows: [top, count), and those outside the filter. */
struct survey_row survey_others(const struct survey *survey, const struct survey_row *rows,
                                uint32_t count, uint32_t top);

/* A row's name; of a nameless function, its address in `text`. */
enum { SURVEY_NAME_SIZE = 128 };
const char *survey_name(const struct survey_row *row, char text[SURVEY_NAME_SIZE]);

#endif
