/* summary.c - see summary.h. */
#include "tool/print/summary.h"

#include "tool/image/clean.h"
#include "tool/print/json.h"

#include <inttypes.h>
#include <stdarg.h>

/* Records other than statepoints. */
static uint32_t count_others(const struct safepoints *table) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < table->record_count; i++)
    count += safepoints_kind(table, &table->records[i]) != SAFEPOINT_STATEPOINT;
  return count;
}

/* Records of frames that only LLVM describes, as unwind table and code lack them. */
static uint32_t count_unchecked(const struct safepoints *table) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < table->record_count; i++)
    count += table->records[i].frame == 0;
  return count;
}

/* Prints a line about the file. */
__attribute__((format(printf, 3, 4))) static void say(FILE *out, const struct summary *summary,
                                                      const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  clean_print_path(out, summary->path);
  vfprintf(out, format, arguments);
  putc('\n', out);
  va_end(arguments);
}

static void say_sizes(FILE *out, const struct summary *summary) {
  const uint32_t records = summary->loaded->table.record_count;
  const uint32_t functions = summary->loaded->table.function_count;
  say(out, summary,
      "%" PRIu32 " record%s of %" PRIu32 " function%s: %" PRIu64 " -> %" PRIu64
      " bytes (%.2f each); file %" PRIu64 " -> %" PRIu64 " bytes%s",
      records, plural(records), functions, plural(functions), summary->loaded->raw_size,
      summary->packed_size, records == 0 ? 0 : (double)summary->packed_size / records,
      summary->file_before, summary->file_after, summary->is_dry_run ? "; nothing is written" : "");
}

void summary_print(FILE *out, const struct summary *summary) {
  if (summary->why != NULL) {
    say(out, summary, "%s", summary->why);
    return;
  }
  const struct safepoints *table = &summary->loaded->table;
  const uint32_t others = count_others(table), unchecked = count_unchecked(table);
  say_sizes(out, summary);
  if (table->global_root_count > 0)
    say(out, summary, "%" PRIu32 " global root%s", table->global_root_count,
        plural(table->global_root_count));
  if (table->functions_discarded > 0)
    say(out, summary,
        "left out %" PRIu32 " function%s with %" PRIu32 " record%s, which the linker had discarded",
        table->functions_discarded, plural(table->functions_discarded), table->records_discarded,
        plural(table->records_discarded));
  if (table->records_repeated > 0)
    say(out, summary, "left out %" PRIu32 " record%s, as another says the same",
        table->records_repeated, plural(table->records_repeated));
  if (others > 0)
    say(out, summary,
        "of the records, %" PRIu32 " are statepoints', %" PRIu32 " stack maps' or patch points'",
        table->record_count - others, others);
  if (unchecked > 0)
    say(out, summary,
        "%" PRIu32 " record%s of frames that neither unwind tables nor the code tell of: as large "
        "as LLVM says, which isn't checked (compile with the attribute uwtable)",
        unchecked, plural(unchecked));
  if (summary->raw_reader != NULL)
    say(out, summary,
        "warning: reads its raw stack maps itself (__LLVM_StackMaps), it seems: %s; it now finds "
        "packed ones there",
        summary->raw_reader);
}

static json_t *object_of(const struct summary *summary) {
  if (summary->why != NULL)
    return json_pack("{si so sb so}", "json_version", 1, "file", json_text(summary->path), "packed",
                     0, "why", json_text(summary->why));
  const struct safepoints *table = &summary->loaded->table;
  const json_int_t sizes[] = {(json_int_t)summary->loaded->raw_size,
                              (json_int_t)summary->packed_size, (json_int_t)summary->file_before,
                              (json_int_t)summary->file_after};
  return json_pack(
      "{si so sb sb sI sI sI sI sI sI sI sI sI sI sI sI sI sI so}", "json_version", 1, "file",
      json_text(summary->path), "packed", 1, "written", !summary->is_dry_run, "records",
      (json_int_t)table->record_count, "functions", (json_int_t)table->function_count, "raw_bytes",
      sizes[0], "packed_bytes", sizes[1], "file_before", sizes[2], "file_after", sizes[3],
      "dropped", (json_int_t)summary->dropped, "global_roots", (json_int_t)table->global_root_count,
      "discarded_functions", (json_int_t)table->functions_discarded, "repeated_records",
      (json_int_t)table->records_repeated, "other_records", (json_int_t)count_others(table),
      "unchecked_frames", (json_int_t)count_unchecked(table), "other_code",
      (json_int_t)summary->loaded->entries.left_out_count, "conflicts",
      (json_int_t)summary->loaded->entries.conflict_count, "reads_raw",
      json_text(summary->raw_reader));
}

bool summary_print_json(FILE *out, const struct summary *summary) {
  json_t *object = object_of(summary);
  const bool ok =
      json_dumpf(object, out, JSON_COMPACT | JSON_ENSURE_ASCII) == 0 && putc('\n', out) != EOF;
  json_decref(object);
  return ok;
}
