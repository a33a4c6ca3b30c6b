/* drop.c - see drop.h.
 *
 * A record is kept by the first uncertain edge on the chain from its call to a GC entry: the
 * indirect call, or the function elsewhere that may call back. A name that keeps many records is
 * worth a look: if it never reaches a collection, one line of the policy drops them.
 */
#include "tool/calls/drop.h"

#include "tool/image/clean.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- The reasons for keeping a record ---- */

/* Whether a chain's node is to be blamed, or the one before it: a function with an indirect call,
 * or a symbol. */
static bool is_blamed(const struct analysis *analysis, enum certainty certainty, uint32_t node) {
  const struct call_graph *graph = analysis->graph;
  if (certainty == BY_POINTERS)
    return node >= graph_anything(graph);
  return graph_symbol_of(graph, node) != NULL &&
         (analysis_next(analysis, certainty, node) == graph_anything(graph) ||
          analysis->occasions[node - graph->function_count] != 0);
}

/* The node of the chain to be blamed; otherwise the number of nodes. Chains meet: `known` has the
 * answers for the nodes on the way so far, plus 1. */
static uint32_t blamed(const struct analysis *analysis, const struct call *call,
                       enum certainty certainty, uint32_t *known) {
  const struct call_graph *graph = analysis->graph;
  uint32_t from = call_graph_function(graph, call->at), node = call->target;
  uint32_t found = graph_nodes(graph);
  for (; !analysis->is_entry[node] && known[node] == 0;
       node = analysis_next(analysis, certainty, node)) {
    assert(node < graph_nodes(graph)); /* the record's call reaches an entry */
    if (is_blamed(analysis, certainty, node)) {
      found = certainty == BY_POINTERS ? from : node;
      break;
    }
    from = node;
  }
  if (known[node] != 0)
    found = known[node] - 1;
  for (uint32_t at = call->target; at != node; at = analysis_next(analysis, certainty, at))
    known[at] = found + 1;
  return found;
}

static int compare_counts(const void *a, const void *b) {
  const struct drop_count *x = a, *y = b;
  ORDER_BY(y, x, records)
  return x->node < y->node ? -1 : x->node > y->node;
}

/* Of the nodes from `node` up to `to`, those with records, those with most first: an array, to be
 * freed. */
static struct drop_count *sort_counts(const struct call_graph *graph, const uint32_t *records,
                                      uint32_t node, uint32_t to, uint32_t *count) {
  struct drop_count *counts = calloc((size_t)(to - node) + 1, sizeof *counts);
  *count = 0;
  for (; node < to; node++)
    if (records[node] > 0)
      counts[(*count)++] = (struct drop_count){
          .name = call_graph_name(graph, node),
          .address = graph_is_function(graph, node) ? graph->functions[node].address : 0,
          .node = node,
          .records = records[node]};
  qsort(counts, *count, sizeof *counts, compare_counts);
  return counts;
}

/* ---- Dropping ---- */

void drop_records(struct loaded *loaded, const struct analysis *analysis,
                  const struct policy *policy, struct drop *drop) {
  const struct call_graph *graph = analysis->graph;
  struct safepoints *table = &loaded->table;
  assert(loaded->kind != LOAD_PACKED && safepoints_are_finished(table));
  const size_t count = table->record_count;
  bool *is_dropped = calloc(count + 1, sizeof *is_dropped);
  uint32_t *kept_by = calloc((size_t)graph_nodes(graph) + 1, sizeof *kept_by);
  uint32_t *known[CERTAINTIES] = {
      [BY_POINTERS] = calloc((size_t)graph_nodes(graph) + 1, sizeof **known),
      [BY_OUTSIDE] = calloc((size_t)graph_nodes(graph) + 1, sizeof **known)};
  *drop = (struct drop){.records = table->record_count,
                        .addresses = calloc(count + 1, sizeof *drop->addresses),
                        .has_handlers = analysis_has_handlers(analysis)};
  for (size_t i = 0; i < count; i++) {
    const struct call *call;
    const enum verdict verdict =
        analysis_verdict(analysis, policy, table, &table->records[i], &call);
    drop->verdicts[verdict]++;
    is_dropped[i] = verdict_is_drop(verdict);
    if (is_dropped[i])
      drop->addresses[drop->dropped++] = table->records[i].address;
    if (verdict == KEEP_BY_POINTERS || verdict == KEEP_BY_OUTSIDE)
      kept_by[blamed(analysis, call, (enum certainty)verdict, known[verdict])]++;
  }
  drop->pointers = sort_counts(graph, kept_by, 0, graph->function_count, &drop->pointer_count);
  drop->outside = sort_counts(graph, kept_by, graph->function_count, graph_anything(graph),
                              &drop->outside_count);
  safepoints_remove(table, is_dropped);
  free(is_dropped);
  free(kept_by);
  free(known[BY_POINTERS]);
  free(known[BY_OUTSIDE]);
}

void drop_close(struct drop *drop) {
  free(drop->addresses);
  free(drop->pointers);
  free(drop->outside);
  *drop = (struct drop){0};
}

/* ---- Reporting ---- */

const char *drop_reason(enum verdict verdict) {
  static const char *const reasons[VERDICTS] = {
      [KEEP_BY_CALLS] = "calls lead to a GC entry",
      [KEEP_BY_POINTERS] = "an indirect call may lead to a GC entry",
      [KEEP_BY_OUTSIDE] = "a function elsewhere may call back, and lead to a GC entry",
      [KEEP_BY_ANYTHING] = "code that can't be decoded may lead to a GC entry",
      [KEEP_BY_NAMELESS] = "a function without a name may be a part of a GC entry",
      [KEEP_NO_CALL] = "no call instruction ends at its address",
      [KEEP_STACKMAP] = "it is no statepoint",
      [KEEP_DEOPT] = "it has deopt state, which isn't for collections alone",
      [KEEP_NO_ENTRIES] = "no GC entry is named",
      [KEEP_UNKNOWN] = "the file doesn't have one of the GC entries",
      [DROP_UNREACHED] = "the call can't reach a GC entry",
      [DROP_UNREACHABLE] = "nothing can reach the function",
  };
  return reasons[verdict];
}

static void print_counts(FILE *report, const struct drop_count *counts, uint32_t count) {
  enum { MOST = 8 };
  for (uint32_t i = 0; i < count && i < MOST; i++) {
    fprintf(report, "    %10" PRIu32 "  ", counts[i].records);
    if (counts[i].name != NULL)
      clean_print(report, counts[i].name);
    else
      fprintf(report, "0x%" PRIx64, counts[i].address);
    putc('\n', report);
  }
  if (count > MOST)
    fprintf(report, "                and %" PRIu32 " more\n", count - MOST);
}

static void print_verdict(FILE *report, const struct drop *drop, enum verdict verdict,
                          const char *more) {
  if (drop->verdicts[verdict] > 0)
    fprintf(report, "  %-7s %10" PRIu32 "  %s%s\n", verdict_is_drop(verdict) ? "dropped" : "kept",
            drop->verdicts[verdict], drop_reason(verdict), more);
}

static void print_report(FILE *report, const struct drop *drop, const char *path) {
  clean_print_path(report, path);
  fprintf(report, "dropped %" PRIu32 " of %" PRIu32 " record%s (%.1f %%)\n", drop->dropped,
          drop->records, plural(drop->records),
          drop->records == 0 ? 0 : 100.0 * drop->dropped / drop->records);
  print_verdict(report, drop, DROP_UNREACHED, "");
  print_verdict(report, drop, DROP_UNREACHABLE, "");
  print_verdict(report, drop, KEEP_BY_CALLS, "");
  print_verdict(report, drop, KEEP_BY_POINTERS, "; first in");
  print_counts(report, drop->pointers, drop->pointer_count);
  print_verdict(report, drop, KEEP_BY_OUTSIDE, "; first");
  print_counts(report, drop->outside, drop->outside_count);
  for (enum verdict verdict = KEEP_BY_ANYTHING; verdict <= KEEP_UNKNOWN; verdict++)
    print_verdict(report, drop, verdict, "");
  if (drop->has_handlers)
    fprintf(
        report,
        "  note: the program handles signals; a handler must not collect, nor wait for a "
        "collection,\n        before the thread is in a GC entry, nor let the thread go on in what "
        "collects\n");
}

static void print_jump(const struct analysis *analysis, const char *path) {
  const char *from = call_graph_name(analysis->graph, analysis->jump_from);
  const char *to = call_graph_name(analysis->graph, analysis->jump_to);
  problem_warn(path,
               "'%s', a GC entry, only goes on to %s, where its callers may be made to go at "
               "once: %s",
               from == NULL ? "" : from, to == NULL ? "a function without a name" : to,
               graph_is_function(analysis->graph, analysis->jump_to) ? "that counts as one, too"
                                                                     : "should that be one, too?");
}

/* A warning that is printed with or without a report. */
static void warn_nameless(const struct analysis *analysis, const struct drop *drop,
                          const char *path) {
  if (drop->verdicts[KEEP_BY_NAMELESS] > 0)
    problem_warn(path,
                 "%s, so a part of a GC entry may have no name: %" PRIu32
                 " records are kept for that; %s complete in a policy file",
                 analysis->lacks_symbols ? "local symbols are missing"
                                         : "some functions have no symbol",
                 drop->verdicts[KEEP_BY_NAMELESS],
                 analysis->lacks_symbols ? "pack before stripping, or say" : "if none is one, say");
}

void drop_warn(const struct analysis *analysis, const char *path) {
  if (analysis->several != NULL)
    problem_warn(path,
                 analysis->several->kind == POLICY_NO_GC
                     ? "several functions are called '%s', which is never to collect: this holds "
                       "for none of them, but for all if the pattern has a star"
                     : "several functions are called '%s': all are GC entries",
                 analysis->several->text);
  if (analysis->jump_from != GRAPH_NO_NODE)
    print_jump(analysis, path);
  if (analysis->unknown != NULL)
    problem_warn(path,
                 "no function is called '%s', which is to be a GC entry; as any call might reach "
                 "it, nothing is dropped",
                 analysis->unknown);
  else if (analysis->unreached != NULL)
    problem_warn(path,
                 "no record's call leads to '%s', which is to be a GC entry: was it inlined "
                 "wherever it is called?",
                 analysis->unreached);
  if (analysis->unused_patterns > 0)
    problem_warn(path, "no function is called '%s', which is never to collect", analysis->unused);
  if (analysis->undecodable > 0)
    problem_warn(path,
                 "%" PRIu32
                 " functions have code that can't be decoded; they count as reaching everything",
                 analysis->undecodable);
}

bool drop_check(const char *path, const struct loaded *loaded, const struct policy *policy,
                struct problem *problem) {
  if (!policy_check(policy, path, problem))
    return false;
  return loaded->kind != LOAD_PACKED || policy_is_empty(policy) ||
         problem_set(problem, "is packed already, so that no records can be dropped any more");
}

bool drop_by_policy(const char *path, const struct image *image, struct loaded *loaded,
                    const struct policy *policy, FILE *report, struct drop *drop,
                    struct problem *problem) {
  struct call_graph graph;
  struct analysis analysis;
  *drop = (struct drop){0};
  if (!drop_check(path, loaded, policy, problem))
    return false;
  if (policy_is_empty(policy))
    return true;
  if (!call_graph_open(&graph, image, loaded->raw, &loaded->table, problem))
    return false;
  const bool ok = analysis_open(&analysis, &graph, image, &loaded->table, policy, problem);
  if (ok) {
    drop_records(loaded, &analysis, policy, drop);
    warn_nameless(&analysis, drop, path);
    drop_warn(&analysis, path);
    if (report != NULL)
      print_report(report, drop, path);
    analysis_close(&analysis);
  }
  call_graph_close(&graph);
  return ok;
}
