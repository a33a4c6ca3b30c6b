/* stats.c - stackpack stats: what the stack maps hold, and where the bytes of a packed table go. */
#include "commands.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

static const char help[] =
    "Usage: stackpack stats [OPTION]... FILE...\n"
    "Counts what the stack maps of linked programs hold, and how large they are.\n"
    "\n" COMMON_HELP;

struct counts {
  uint64_t statepoints, pairs, derived, allocas, deopt, live_outs;
};

static struct counts count_records(const struct safepoints *table) {
  struct counts counts = {0};
  for (uint32_t i = 0; i < table->record_count; i++) {
    const struct safepoint *record = &table->records[i];
    const struct intern_sequence live = intern_get(&table->live, record->live);
    counts.deopt += intern_get(&table->lists, record->deopt).count;
    counts.live_outs += intern_get(&table->lists, record->live_outs).count;
    if (safepoints_kind(table, record) != SAFEPOINT_STATEPOINT)
      continue;
    counts.statepoints++;
    for (uint64_t k = 0; k < live.count; k++) {
      const uint64_t item = live.words[k];
      if (safepoint_item_is_list(item)) {
        counts.allocas += intern_get(&table->lists, safepoint_item_list(item)).count;
        continue;
      }
      counts.pairs++;
      counts.derived += safepoint_item_base(item) != safepoint_item_derived(item);
    }
  }
  return counts;
}

static void print_counts(const struct safepoints *table) {
  const struct counts counts = count_records(table);
  printf("  records      %10" PRIu32 "  of %" PRIu32 " functions; %" PRIu64 " statepoints\n",
         table->record_count, table->function_count, counts.statepoints);
  printf("  pairs        %10" PRIu64 "  %" PRIu64 " of them derived\n", counts.pairs,
         counts.derived);
  printf("  live sets    %10" PRIu32 "  distinct; %" PRIu32 " distinct locations\n",
         table->live.count, table->locations.count);
  printf("  allocas      %10" PRIu64 "\n", counts.allocas);
  printf("  deopt values %10" PRIu64 "\n", counts.deopt);
  printf("  live-outs    %10" PRIu64 "\n", counts.live_outs);
}

static void print_part(const char *name, uint64_t from, uint64_t to, uint32_t records) {
  printf("    %-24s %10" PRIu64 " bytes %8.3f bits a record\n", name, to - from,
         records == 0 ? 0 : (double)(to - from) * 8 / records);
}

static void print_packed(const struct packed_table *packed) {
  struct packed_header header;
  struct packed_parts parts;
  packed_header_read(packed->bytes, &header);
  packed_parts(&header, &parts);
  const uint32_t records = header.records;
  printf("  packed       %10" PRIu64 "  bytes, %.3f a record, version %u\n", header.size,
         records == 0 ? 0 : (double)header.size / records, header.version);
  print_part("header", 0, parts.records_at, records);
  print_part("record addresses", parts.records_at, parts.firsts_at, records);
  print_part("records of each function", parts.firsts_at, parts.extent_samples_at, records);
  print_part("extent of each function", parts.extent_samples_at, parts.marks_at, records);
  print_part("layout of each function", parts.marks_at, parts.layout_starts_at, records);
  print_part("layouts", parts.layout_starts_at, parts.frame_sizes_at, records);
  print_part("frame sizes, locations", parts.frame_sizes_at, parts.list_starts_at, records);
  print_part("lists", parts.list_starts_at, parts.exceptions_at, records);
  print_part("exceptions", parts.exceptions_at, parts.conventions_at, records);
  print_part("calling conventions", parts.conventions_at, parts.block_starts_at, records);
  print_part("details", parts.block_starts_at, parts.size, records);
}

static void print_raw(const struct loaded *loaded) {
  const struct safepoints *table = &loaded->table;
  const uint64_t size = loaded->raw_size;
  printf("  raw          %10" PRIu64 "  bytes, %.1f a record, in %" PRIu32 " maps\n", size,
         table->record_count == 0 ? 0 : (double)size / table->record_count, table->maps);
  printf("  left out     %10" PRIu32 "  records of %" PRIu32 " discarded functions, %" PRIu32
         " repeated records\n",
         table->records_discarded, table->functions_discarded, table->records_repeated);
}

static bool print_file(const char *path, const struct load_options *options) {
  struct problem problem = {0};
  struct image image;
  struct loaded loaded;
  bool ok = load_open(&image, path, options, &problem);
  if (ok) {
    ok = load(&image, options, &loaded, &problem);
    if (ok) {
      printf("%s: %zu bytes\n", path, image.size);
      print_counts(&loaded.table);
      if (loaded.kind == LOAD_PACKED)
        print_packed(&loaded.packed);
      else
        print_raw(&loaded);
      loaded_free(&loaded);
    }
    image_close(&image);
  }
  if (!ok)
    problem_print(&problem, path);
  return ok;
}

int command_stats(int argc, char **argv) {
  static const struct command command = {"stats", help};
  static const struct option long_options[] = {
      COMMON_OPTIONS,
      {0},
  };
  struct load_options options = {0};
  int status = EXIT_DONE;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;)
    if (!common_option(&command, option, argv[optind - 1], &options, &status))
      return status;
  if (optind == argc)
    return usage_error("stats", "no file given");
  for (int i = optind; i < argc; i++)
    if (!print_file(argv[i], &options))
      status = EXIT_UNUSABLE;
  return status;
}
