/* analysis.h - which calls can reach a collection: the call graph under a policy.
 *
 * A record at a return address is needed only if a thread can be inside a GC entry while the
 * function waits for the call before that address: only if what is called can reach a GC entry. Of
 * every node of the call graph the analysis knows whether it can, and the next node on a shortest
 * way there.
 *
 * To tell the user what would help, it knows that several times over, each time with more of the
 * graph: with the calls that are certain; with indirect calls; with what code elsewhere may call
 * back; with functions that can't be decoded; and, where local symbols are missing, with functions
 * without a name, as each may be a part of a GC entry.
 */
#ifndef STACKPACK_ANALYSIS_H
#define STACKPACK_ANALYSIS_H

#include "tool/calls/call_graph.h"
#include "tool/calls/policy.h"
#include "tool/calls/reach.h"

enum certainty { BY_CALLS, BY_POINTERS, BY_OUTSIDE, BY_ANYTHING, BY_NAMELESS, CERTAINTIES };

enum { GROUP_NONE = 255, GROUP_POLICY = 254 };

/* After the graph's nodes come those by which many symbols lead to many functions: whatever the C
 * library allocates by; and by occasions (enum leaf_occasion, a set), what is registered. */
enum { ANALYSIS_NODES = 1 + 2 * LEAF_AT_ONCE };
static inline uint32_t analysis_nodes(const struct call_graph *graph) {
  return graph_nodes(graph) + ANALYSIS_NODES;
}

struct analysis {
  const struct call_graph *graph;
  bool *is_entry;     /* by node */
  bool *is_goal;      /* by node: the same, or a function without name that may be a part of one */
  const char **named; /* by node: the pattern that means it; NULL: none */
  bool *is_leaf;      /* by node: what it calls doesn't matter */
  uint8_t *group;     /* by symbol: the group of leaf functions it is of; GROUP_POLICY */
  uint8_t *occasions; /* by symbol: it leads to what is registered for these, and to nothing else */
  uint32_t *replaced; /* symbols: functions of this file that the C library allocates by */
  uint32_t replaced_count;
  bool may_replace_malloc;     /* another file may, unseen: then what allocates may call back */
  uint32_t *next[CERTAINTIES]; /* by node: see reach_goals, analysis_next */
  bool *is_reachable;          /* by function: something may call it, directly or indirectly */
  bool has_entries;
  uint32_t undecodable;                 /* functions that are */
  uint32_t unused_patterns;             /* no-gc patterns that match nothing */
  const char *unused;                   /* the first of them */
  const struct policy_pattern *several; /* one that means several functions; NULL: none does */
  uint32_t nameless;                    /* functions that may be parts of GC entries */
  bool lacks_symbols;                   /* local symbols were taken out of the file */
  uint32_t jump_from,
      jump_to;           /* a GC entry that is only a jump to another function; GRAPH_NO_NODE */
  const char *unknown;   /* a GC entry that the file doesn't have: every call might reach it */
  const char *unreached; /* a GC entry that no record's call leads to */
};

/* Says of every node what the policy makes of it, for the records of a table. A GC entry that the
 * file doesn't have, or that no record leads to, is a problem if the policy is strict. The graph
 * and the policy must outlive the analysis. */
bool analysis_open(struct analysis *analysis, const struct call_graph *graph,
                   const struct image *image, const struct safepoints *table,
                   const struct policy *policy, struct problem *problem);
void analysis_close(struct analysis *analysis);

/* The node of the graph that comes next on a shortest way to a GC entry from one that leads there. */
uint32_t analysis_next(const struct analysis *analysis, enum certainty certainty, uint32_t node);

/* Calls `visit` for each node that a node leads to by the graph's edges of a certainty. */
void analysis_visit(const struct analysis *analysis, uint32_t node, enum certainty certainty,
                    reach_visitor *visit, void *context);

/* All that some nodes can reach, these included. */
struct flood {
  bool *is_reached; /* by node */
  uint32_t *found;  /* the nodes */
  uint32_t count;
};
void flood_open(struct flood *flood, const struct call_graph *graph);
void flood_close(struct flood *flood);
/* Adds a node; as a visitor, too. */
void flood_reach(void *flood, uint32_t node);
/* Adds what the nodes lead to; what leaf functions do, if `past_leaves`. */
void flood_on(struct flood *flood, const struct analysis *analysis, bool past_leaves);

/* Whether a signal handler of the program might collect, as far as the graph tells. */
bool analysis_has_handlers(const struct analysis *analysis);

/* ---- Records ---- */

enum verdict {
  KEEP_BY_CALLS, /* these five: it reaches a GC entry, see enum certainty */
  KEEP_BY_POINTERS,
  KEEP_BY_OUTSIDE,
  KEEP_BY_ANYTHING,
  KEEP_BY_NAMELESS,
  KEEP_NO_CALL,     /* no call instruction ends at its address */
  KEEP_STACKMAP,    /* it is no statepoint */
  KEEP_DEOPT,       /* it has deopt state, which isn't for collections alone */
  KEEP_NO_ENTRIES,  /* the policy has none */
  KEEP_UNKNOWN,     /* it has one that the file doesn't have, under this name */
  DROP_UNREACHED,   /* the call can't reach a GC entry */
  DROP_UNREACHABLE, /* nothing can reach the function */
  VERDICTS,
};
static inline bool verdict_is_drop(enum verdict verdict) { return verdict >= DROP_UNREACHED; }

/* What becomes of a record; *call is the call that decides, or NULL. */
enum verdict analysis_verdict(const struct analysis *analysis, const struct policy *policy,
                              const struct safepoints *table, const struct safepoint *record,
                              const struct call **call);
/* What the rule says of a call. */
enum verdict analysis_of_call(const struct analysis *analysis, const struct call *call);

#endif
