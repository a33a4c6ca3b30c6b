/* analysis.h - the calls that can reach a collection: the call graph under a policy.
 *
 * A record at a return address is needed only if a thread can be inside a GC entry while the
 * function waits for the call before that address: only if the callee can reach a GC entry. For
 * every node of the call graph the analysis computes whether it can, and the next node on a
 * shortest path to one.
 *
 * For the report, it does so several times over, each time with more of the graph: with the calls
 * that are certain; with indirect calls; with callbacks from code elsewhere; with undecodable
 * functions; and, where local symbols are missing, with nameless functions, as each may be a part
 * of a GC entry.
 */
#ifndef STACKPACK_ANALYSIS_H
#define STACKPACK_ANALYSIS_H

#include "tool/calls/call_graph.h"
#include "tool/calls/policy.h"
#include "tool/calls/reach.h"

enum certainty { BY_CALLS, BY_POINTERS, BY_OUTSIDE, BY_ANYTHING, BY_NAMELESS, CERTAINTIES };

enum { GROUP_NONE = 255, GROUP_POLICY = 254 };

/* After the graph's nodes come those that join many symbols to many functions: one for the
 * functions by which the C library allocates; and one for each set of occasions (enum
 * leaf_occasion), for the functions registered for these. */
enum { ANALYSIS_NODES = 1 + 2 * LEAF_AT_ONCE };
static inline uint32_t analysis_nodes(const struct call_graph *graph) {
  return graph_nodes(graph) + ANALYSIS_NODES;
}

struct analysis {
  const struct call_graph *graph;
  bool *is_entry;     /* by node */
  bool *is_goal;      /* by node: an entry, or a nameless function that may be a part of one */
  const char **named; /* by node: the pattern that matches it, or NULL */
  bool *is_leaf;      /* by node: its calls are irrelevant */
  uint8_t *group;     /* by symbol: the group of leaf functions it is of; GROUP_POLICY */
  uint8_t *occasions; /* by symbol: it calls only functions registered for these */
  uint32_t *replaced; /* symbols: functions of this file that the C library allocates by */
  uint32_t replaced_count;
  bool may_replace_malloc;     /* another file may, unseen: allocating functions may call back */
  uint32_t *next[CERTAINTIES]; /* by node: see reach_goals, analysis_next */
  bool *is_reachable;          /* by function: something may call it, directly or indirectly */
  bool has_entries;
  uint32_t undecodable;                 /* functions that are */
  uint32_t unused_patterns;             /* no-gc patterns without a match */
  const char *unused;                   /* the first of them */
  const struct policy_pattern *several; /* the first ambiguous pattern, or NULL */
  uint32_t nameless;                    /* functions that may be parts of GC entries */
  bool lacks_symbols;                   /* local symbols were taken out of the file */
  uint32_t jump_from, jump_to; /* a GC entry that only goes on to another function; GRAPH_NO_NODE */
  const char *unknown;         /* a GC entry that the file lacks: every call might reach it */
  const char *unreached;       /* a GC entry that is unreachable from every record's call */
};

/* Applies the policy to every node, for the records of a table. If the policy is strict, a GC entry
 * that the file lacks, or that is unreachable from every record, is a problem. The graph and the
 * policy must outlive the analysis. */
bool analysis_open(struct analysis *analysis, const struct call_graph *graph,
                   const struct image *image, const struct safepoints *table,
                   const struct policy *policy, struct problem *problem);
void analysis_close(struct analysis *analysis);

/* The graph's next node on a shortest path from a node to a GC entry; the node must reach one. */
uint32_t analysis_next(const struct analysis *analysis, enum certainty certainty, uint32_t node);

/* Calls `visit` for each successor of a node, by the graph's edges of a certainty. */
void analysis_visit(const struct analysis *analysis, uint32_t node, enum certainty certainty,
                    reach_visitor *visit, void *context);

/* All that some nodes can reach, these included. */
struct flood {
  bool *is_reached; /* by node */
  uint32_t *found;  /* the nodes */
  uint32_t count;
  uint64_t steps; /* that it took */
};
void flood_open(struct flood *flood, const struct call_graph *graph);
void flood_close(struct flood *flood);
/* Starts again with none. */
void flood_clear(struct flood *flood);
/* Adds a node; as a visitor, too. */
void flood_reach(void *flood, uint32_t node);
/* Adds all nodes reachable from these; through leaf functions as well, if `past_leaves`. */
void flood_on(struct flood *flood, const struct analysis *analysis, bool past_leaves);

/* Whether a signal handler of the program might collect, by the graph's edges. */
bool analysis_has_handlers(const struct analysis *analysis);

/* ---- Records ---- */

enum verdict {
  KEEP_BY_CALLS, /* these five: it reaches a GC entry, see enum certainty */
  KEEP_BY_POINTERS,
  KEEP_BY_OUTSIDE,
  KEEP_BY_ANYTHING,
  KEEP_BY_NAMELESS,
  KEEP_NO_CALL,     /* its address follows some other instruction than a call */
  KEEP_STACKMAP,    /* it is another kind of record than a statepoint */
  KEEP_DEOPT,       /* it has deopt state, which has other uses than collections */
  KEEP_NO_ENTRIES,  /* the policy names no GC entry */
  KEEP_UNKNOWN,     /* the policy names one that the file lacks */
  DROP_UNREACHED,   /* the call can't reach a GC entry */
  DROP_UNREACHABLE, /* the function is unreachable */
  VERDICTS,
};
static inline bool verdict_is_drop(enum verdict verdict) { return verdict >= DROP_UNREACHED; }

/* The verdict for a record; *call is the call that decides, or NULL. */
enum verdict analysis_verdict(const struct analysis *analysis, const struct policy *policy,
                              const struct safepoints *table, const struct safepoint *record,
                              const struct call **call);
/* The verdict for a call. */
enum verdict analysis_of_call(const struct analysis *analysis, const struct call *call);

#endif
