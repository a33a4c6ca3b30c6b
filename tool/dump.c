/* dump.c - stackpack dump: prints every record, for people or as JSON. */
#include "commands.h"

#include "json.h"
#include "lines.h"
#include "names.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "Usage: stackpack dump [OPTION]... FILE\n"
    "Prints the stack maps of a linked program, packed or not, ordered by address.\n\n"
    "      --format=text|json    json: one object per line and record; default: text\n"
    "      --lines               the source line of each call, too\n" COMMON_HELP;

struct dump {
  const struct safepoints *table;
  const struct names *names;
  const struct lines *lines; /* NULL: not asked for */
};

/* The source line of a record. A return address is behind the call: its line is that of the byte
 * before, but for a stack map's, which is that of its own address. */
static const struct line *line_of(const struct dump *dump, const struct safepoint *record) {
  const bool statepoint = safepoints_kind(dump->table, record) == SAFEPOINT_STATEPOINT;
  return lines_find(dump->lines, record->address - statepoint);
}

/* ---- JSON ---- */

static void json_location(struct location location) {
  switch (location.kind) {
  case LOCATION_CONSTANT:
    printf("{\"kind\":\"constant\",\"value\":%" PRId64 ",\"size\":%u}", location.value,
           location.size);
    return;
  case LOCATION_LARGE_CONSTANT:
    printf("{\"kind\":\"constant\",\"value\":%" PRIu64 ",\"size\":%u}", (uint64_t)location.value,
           location.size);
    return;
  default:
    printf("{\"kind\":\"%s\",\"register\":%u,\"offset\":%" PRId64 ",\"size\":%u}",
           location.kind == LOCATION_REGISTER ? "register"
           : location.kind == LOCATION_DIRECT ? "direct"
                                              : "indirect",
           location.reg, location.value, location.size);
  }
}

static void json_list(const struct dump *dump, const char *name, struct intern_sequence list) {
  printf(",\"%s\":[", name);
  for (uint64_t i = 0; i < list.count; i++) {
    if (i > 0)
      putchar(',');
    json_location(safepoints_location(dump->table, (uint32_t)list.words[i]));
  }
  putchar(']');
}

/* The list that ends a live set, or an empty one. */
static struct intern_sequence list_of(const struct safepoints *table, struct intern_sequence live) {
  if (live.count > 0 && safepoint_item_is_list(live.words[live.count - 1]))
    return intern_get(&table->lists, safepoint_item_list(live.words[live.count - 1]));
  return (struct intern_sequence){0};
}

static void json_statepoint(const struct dump *dump, const struct safepoint *record) {
  const struct intern_sequence live = intern_get(&dump->table->live, record->live);
  printf(",\"calling_convention\":%" PRId32 ",\"flags\":%" PRId32, record->calling_convention,
         record->flags);
  json_list(dump, "deopt", intern_get(&dump->table->lists, record->deopt));
  printf(",\"gc\":[");
  for (uint64_t i = 0; i < live.count && !safepoint_item_is_list(live.words[i]); i++) {
    printf("%s{\"base\":", i > 0 ? "," : "");
    json_location(safepoints_location(dump->table, safepoint_item_base(live.words[i])));
    printf(",\"derived\":");
    json_location(safepoints_location(dump->table, safepoint_item_derived(live.words[i])));
    putchar('}');
  }
  putchar(']');
  json_list(dump, "allocas", list_of(dump->table, live));
}

static void json_line(const struct line *line) {
  char text[4096];
  if (line != NULL)
    snprintf(text, sizeof text, "%s:%" PRIu64, line->file, line->number);
  printf(",\"line\":");
  json_print_text(line == NULL ? NULL : text);
}

static void json_record(const struct dump *dump, const struct safepoint *record) {
  const struct safepoint_function *function = &dump->table->functions[record->function];
  const struct intern_sequence live_outs = intern_get(&dump->table->lists, record->live_outs);
  printf("{\"address\":%" PRIu64 ",\"function\":", record->address);
  json_print_text(names_find(dump->names, function->address));
  printf(",\"function_address\":%" PRIu64 ",\"offset\":%" PRIu64 ",\"frame_size\":",
         function->address, record->address - function->address);
  if (function->frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN)
    printf("null");
  else
    printf("%" PRIu64, function->frame_size);
  printf(",\"id\":%" PRIu64, record->id);
  if (safepoints_kind(dump->table, record) == SAFEPOINT_STATEPOINT) {
    printf(",\"kind\":\"statepoint\"");
    json_statepoint(dump, record);
  } else {
    printf(",\"kind\":\"stackmap\"");
    json_list(dump, "locations",
              list_of(dump->table, intern_get(&dump->table->live, record->live)));
  }
  printf(",\"live_outs\":[");
  for (uint64_t i = 0; i < live_outs.count; i++)
    printf("%s{\"register\":%" PRIu64 ",\"size\":%" PRIu64 "}", i > 0 ? "," : "",
           live_outs.words[i] >> 8, live_outs.words[i] & 0xff);
  putchar(']');
  if (dump->lines != NULL)
    json_line(line_of(dump, record));
  puts("}");
}

static void dump_json(const struct dump *dump) {
  for (uint32_t i = 0; i < dump->table->record_count; i++)
    json_record(dump, &dump->table->records[i]);
}

/* ---- Text ---- */

/* LLVM's document writes a spill slot as [Reg + Offset]; registers are DWARF numbers. */
static void text_location(struct location location) {
  const char sign = location.value < 0 ? '-' : '+';
  const uint64_t distance =
      location.value < 0 ? -(uint64_t)location.value : (uint64_t)location.value;
  switch (location.kind) {
  case LOCATION_REGISTER:
    printf("r%u", location.reg);
    break;
  case LOCATION_DIRECT:
    printf("r%u%c%" PRIu64, location.reg, sign, distance);
    break;
  case LOCATION_INDIRECT:
    printf("[r%u%c%" PRIu64 "]", location.reg, sign, distance);
    break;
  case LOCATION_LARGE_CONSTANT:
    printf("%" PRIu64, (uint64_t)location.value);
    break;
  default:
    printf("%" PRId64, location.value);
  }
  if (location.size != 8)
    printf(":%u", location.size);
}

static void text_list(const struct dump *dump, const char *title, struct intern_sequence list) {
  if (list.count == 0)
    return;
  printf("  %s", title);
  for (uint64_t i = 0; i < list.count; i++) {
    putchar(' ');
    text_location(safepoints_location(dump->table, (uint32_t)list.words[i]));
  }
}

static void text_pairs(const struct dump *dump, struct intern_sequence live) {
  if (live.count > 0 && !safepoint_item_is_list(live.words[0]))
    printf("  gc");
  for (uint64_t i = 0; i < live.count && !safepoint_item_is_list(live.words[i]); i++) {
    const uint32_t base = safepoint_item_base(live.words[i]);
    const uint32_t derived = safepoint_item_derived(live.words[i]);
    putchar(' ');
    text_location(safepoints_location(dump->table, derived));
    if (base != derived) {
      putchar('<');
      text_location(safepoints_location(dump->table, base));
    }
  }
}

static void text_record(const struct dump *dump, const struct safepoint *record) {
  const struct safepoint_function *function = &dump->table->functions[record->function];
  const struct intern_sequence live = intern_get(&dump->table->live, record->live);
  const struct intern_sequence live_outs = intern_get(&dump->table->lists, record->live_outs);
  printf("  %" PRIx64 " +0x%" PRIx64, record->address, record->address - function->address);
  printf("  id 0x%" PRIx64, record->id);
  if (safepoints_kind(dump->table, record) == SAFEPOINT_STACKMAP) {
    printf("  stackmap");
    text_list(dump, "locations", list_of(dump->table, live));
  } else {
    if (record->calling_convention != 0)
      printf("  convention %" PRId32, record->calling_convention);
    if (record->flags != 0)
      printf("  flags %" PRId32, record->flags);
    text_pairs(dump, live);
    text_list(dump, "allocas", list_of(dump->table, live));
    text_list(dump, "deopt", intern_get(&dump->table->lists, record->deopt));
  }
  if (live_outs.count > 0)
    printf("  live-outs");
  for (uint64_t i = 0; i < live_outs.count; i++)
    printf(" r%" PRIu64 ":%" PRIu64, live_outs.words[i] >> 8, live_outs.words[i] & 0xff);
  const struct line *line = dump->lines == NULL ? NULL : line_of(dump, record);
  if (line != NULL)
    printf("  %s:%" PRIu64, line->file, line->number);
  putchar('\n');
}

static void text_function(const struct dump *dump, const struct safepoint_function *function) {
  const char *name = names_find(dump->names, function->address);
  printf("%" PRIx64 " %s:", function->address, name == NULL ? "(no name)" : name);
  if (function->frame_size == SAFEPOINT_FRAME_SIZE_UNKNOWN)
    printf(" frame of unknown size");
  else
    printf(" frame of %" PRIu64 " bytes", function->frame_size);
  printf(", %" PRIu32 " record%s\n", function->records, function->records == 1 ? "" : "s");
}

static void dump_text(const struct dump *dump) {
  uint32_t function = UINT32_MAX;
  for (uint32_t i = 0; i < dump->table->record_count; i++) {
    const struct safepoint *record = &dump->table->records[i];
    if (record->function != function)
      text_function(dump, &dump->table->functions[record->function]);
    function = record->function;
    text_record(dump, record);
  }
}

/* ---- The command ---- */

struct dump_options {
  struct load_options load;
  bool json, lines;
};

static bool dump_loaded(const char *path, const struct dump_options *options,
                        const struct image *image, const struct safepoints *table,
                        struct problem *problem) {
  struct names names = {0};
  struct lines lines = {0};
  if (!names_open(&names, image, problem))
    return false;
  const bool ok = !options->lines || lines_open(&lines, path, problem);
  const struct dump dump = {table, &names, options->lines ? &lines : NULL};
  if (ok && options->json)
    dump_json(&dump);
  else if (ok)
    dump_text(&dump);
  lines_close(&lines);
  names_close(&names);
  return ok;
}

static bool dump_file(const char *path, const struct dump_options *options,
                      struct problem *problem) {
  struct image image;
  struct loaded loaded;
  if (!load_open(&image, path, &options->load, problem))
    return false;
  bool ok = load(&image, &options->load, &loaded, problem);
  if (ok) {
    ok = dump_loaded(path, options, &image, &loaded.table, problem);
    loaded_free(&loaded);
  }
  image_close(&image);
  return ok;
}

int command_dump(int argc, char **argv) {
  static const struct command command = {"dump", help};
  enum { OPTION_FORMAT = OPTION_OWN, OPTION_LINES };
  static const struct option long_options[] = {
      {"format", required_argument, NULL, OPTION_FORMAT},
      {"lines", no_argument, NULL, OPTION_LINES},
      COMMON_OPTIONS,
      {0},
  };
  struct dump_options options = {0};
  struct problem problem = {0};
  int status = EXIT_DONE;
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
    switch (option) {
    case OPTION_FORMAT:
      options.json = strcmp(optarg, "json") == 0;
      if (!options.json && strcmp(optarg, "text") != 0)
        return usage_error("dump", "--format is text or json, not '%s'", optarg);
      break;
    case OPTION_LINES:
      options.lines = true;
      break;
    default:
      if (!common_option(&command, option, argv[optind - 1], &options.load, &status))
        return status;
    }
  }
  if (argc - optind != 1)
    return usage_error("dump", "there must be one file");
  if (dump_file(argv[optind], &options, &problem))
    return EXIT_DONE;
  problem_print(&problem, argv[optind]);
  return EXIT_UNUSABLE;
}
