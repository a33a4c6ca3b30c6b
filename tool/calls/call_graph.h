/* call_graph.h - who calls whom in a linked file, as far as its bytes tell; and where they don't,
 * who may.
 *
 * The graph's nodes, in the order of their numbers:
 *
 *   functions   The code is divided at each address where a function may start, so each byte of it
 *               is one function's. A function in the middle of another one makes two of it: what
 *               goes on from the first part into the second is a call like any other.
 *   symbols     Of the dynamic symbol table: functions elsewhere. One that is also defined here, but
 *               may be replaced by another file's, is a symbol that leads to the definition.
 *   anything    Whatever a pointer may lead to: every function whose address is taken.
 *   everything  Every function: what code leads to that isn't understood.
 *   types       Of the frontend: whatever a pointer of one type may lead to.
 *
 * A call leads from a function to a node. Calls are all ways by which control goes from one
 * function to another: calls, jumps, and running on into what follows. (What they lead to runs
 * while the frames below wait, and that is all that matters here.) So a jump within a function is
 * none, nor is one by the compiler's jump tables.
 *
 * The rule: every call is possible that isn't shown to be impossible. Each reader of code, data,
 * relocations and tables adds calls, and functions whose addresses are taken; none takes any away.
 * For a call to be missing, all of this must hold:
 *
 *   - The caller's bytes are instructions, from its start to its end, and so is the code that its jumps
 *     lead to (sweep.c), and the program can't write to them (areas.c); otherwise the caller leads to
 *     everything. It also does if a place in it is to be patched when the program runs (hidden.c).
 *   - No instruction of the caller names the callee (sweep.c, indirect_calls.c), nor does the unwinder
 *     (hidden.c); and the caller doesn't run on into the callee.
 *   - The caller doesn't call the operating system by an instruction.
 *   - Each return of the caller takes its own return address, which it hasn't touched, nor those above
 *     it: its stack is as deep as at its start, by constants and the frame pointer alone, and the frame
 *     pointer has the value that it had at the start (stack.c); also where others enter it in its middle
 *     (sweep.c). Helpers that save and restore its registers are followed as a part of it (helpers.c).
 *   - The caller has no call or jump by a pointer; or the callee's address isn't taken. It isn't if
 *       - no code computes it (sweep.c, flow.c);
 *       - no word of the program's, at any place, is the address, with or without a tag, or the distance
 *         to it from the word itself, from the word's end (data may be run as code), from the global
 *         offset table, or from a place that something refers to (escapes.c);
 *       - no other file can find it by name (escapes.c);
 *       - no function adds something to the address of a function for others to use (indirect_calls.c), or
 *         names an address beyond the program's memory, from which others may take off a constant
 *         (sweep.c);
 *       - the pointer isn't a sum (sweep.c, indirect_calls.c), nor made by a caller that names the address
 *         of any function (sweep.c).
 *     Or the pointer has a type that the frontend says the callee doesn't have, nor any that it includes
 *     (call_types.c).
 *   - The caller calls no function elsewhere, but for functions of the C library that are known not to
 *     call back, or only what they are given, where that is a constant (leaf_functions.c), and that
 *     don't call the program's own malloc (analysis.c); or only what was registered, where all of that
 *     is known (registered.c).
 */
#ifndef STACKPACK_CALL_GRAPH_H
#define STACKPACK_CALL_GRAPH_H

#include "format/safepoints.h"
#include "tool/calls/areas.h"
#include "tool/calls/leaf_functions.h"
#include "tool/calls/linkage.h"
#include "tool/code/parts.h"
#include "tool/image/image.h"
#include "tool/image/names.h"

enum call_kind {
  CALL_NONE, /* while the graph is built */
  CALL_DIRECT,
  CALL_TAIL,   /* a jump to another function */
  CALL_BRANCH, /* a jump on a condition, by a jump table, or none at all: what follows is another */
  CALL_INDIRECT, /* by a pointer */
  CALL_OUTSIDE,  /* to a symbol */
  CALL_PASSED,   /* by a function elsewhere that is given the target's address, and calls it */
};

struct call {
  uint64_t at;
  uint32_t target;  /* a node */
  uint8_t length;   /* of the instruction */
  uint8_t kind;     /* enum call_kind */
  bool is_jump;     /* no return address is left */
  bool is_inside;   /* it leads to the middle of its target */
  bool is_settled;  /* another call at the same place says all that its target leads to */
  bool is_followed; /* what its target leads to is said by the caller's other calls (helpers.h) */
  bool is_system;   /* of the operating system */
  bool is_noted;    /* what it registers, to run later, is known */
  bool is_loaded;   /* its pointer is a word of memory, as it is there */
  bool is_through;  /* by a register, which has the target's address if control comes straight on */
};

/* Why a function's address counts as taken. */
enum taken {
  TAKEN_NOT,
  TAKEN_BY_CODE,       /* the instruction at taken_at computes it */
  TAKEN_BY_SUM,        /* the function at taken_at makes a sum that may be it */
  TAKEN_BY_DATA,       /* the word at taken_at is, or leads to it */
  TAKEN_BY_RELOCATION, /* the dynamic linker puts it into the word at taken_at */
  TAKEN_BY_EXPORT,     /* other files can find it by name */
  TAKEN_BY_UNWINDER,   /* an exception's way leads through it */
  TAKEN_BY_START,      /* it runs when the file is loaded or unloaded */
};

struct graph_function {
  uint64_t address, size;
  uint64_t taken_at;
  uint32_t first_call; /* its calls go up to the next function's first one */
  uint8_t taken;       /* enum taken */
  bool is_undecodable;
  bool is_data;           /* it isn't decoded, and is undecodable only if something leads there */
  bool has_computed_jump; /* by a register or memory, of any kind */
  bool names_code;        /* it names another function's address, or its own, */
  bool uses_code;         /* and does more with an address of code than to call or pass it */
  bool is_whole;          /* it is known to be one function: a symbol or an unwind table says so */
  uint8_t entered;   /* enum taken: how something at taken_at refers to a place in its middle */
  bool is_typed;     /* the frontend tells its type */
  bool is_patched;   /* a place in it is to be filled in when the program runs */
  uint8_t occasions; /* enum leaf_occasion, a set: when it runs, having been registered */
};

/* A type of the frontend's, and the functions that have it. */
struct graph_type {
  uint64_t id;
  uint32_t first_member; /* in type_members */
};

struct call_graph {
  struct areas areas;
  struct linkage linkage;
  struct names names;
  struct graph_function *functions; /* by address; one more at the end, for first_call */
  struct call *calls;
  struct graph_type *types; /* by id; one more at the end */
  uint32_t *type_members;
  uint32_t function_count, call_count, type_count;
  uint8_t unknown_occasions;      /* enum leaf_occasion: when functions may run that aren't known */
  bool has_system_call;           /* some function may ask the operating system for anything */
  uint64_t code_size;             /* bytes that were decoded */
  uint64_t code_start, code_span; /* from the first function's start to the last one's end */
};

/* `loaded` is the file's stack maps, which tell of functions, or NULL. The image must outlive the
 * graph. */
bool call_graph_open(struct call_graph *graph, const struct image *image,
                     const struct image_section *raw, const struct safepoints *table,
                     struct problem *problem);
void call_graph_close(struct call_graph *graph);

enum { GRAPH_NO_NODE = UINT32_MAX };

/* The function that has an address; GRAPH_NO_NODE if none does. */
uint32_t call_graph_function(const struct call_graph *graph, uint64_t address);
/* The function that starts at an address; GRAPH_NO_NODE if none does. */
uint32_t call_graph_start(const struct call_graph *graph, uint64_t address);

/* The first call that may end at an address: those that do are among the next, up to the
 * address. */
uint32_t call_graph_calls_near(const struct call_graph *graph, uint64_t end);

/* ---- Numbers of nodes ---- */

static inline uint32_t graph_symbol(const struct call_graph *graph, uint32_t symbol) {
  return graph->function_count + symbol;
}
static inline uint32_t graph_anything(const struct call_graph *graph) {
  return graph->function_count + graph->linkage.symbol_count;
}
static inline uint32_t graph_everything(const struct call_graph *graph) {
  return graph_anything(graph) + 1;
}
static inline uint32_t graph_type_node(const struct call_graph *graph, uint32_t type) {
  return graph_everything(graph) + 1 + type;
}
static inline uint32_t graph_nodes(const struct call_graph *graph) {
  return graph_everything(graph) + 1 + graph->type_count;
}
static inline bool graph_is_function(const struct call_graph *graph, uint32_t node) {
  return node < graph->function_count;
}
static inline const struct linkage_symbol *graph_symbol_of(const struct call_graph *graph,
                                                           uint32_t node) {
  return node >= graph->function_count && node < graph_anything(graph)
             ? &graph->linkage.symbols[node - graph->function_count]
             : NULL;
}

/* A name to print for a node: of a function without one, NULL. */
const char *call_graph_name(const struct call_graph *graph, uint32_t node);

/* Prints a node for people: its name, its address, or what it stands for. */
void call_graph_print_node(const struct call_graph *graph, uint32_t node);

/* ---- Steps of call_graph_open ---- */

/* A function that registers what it is given, by another one. */
struct registrar {
  uint32_t function;
  struct leaf_callback what;
};
enum { REGISTRARS = 16 };

struct graph_builder {
  struct call_graph *graph;
  const struct code_architecture *architecture;
  size_t call_capacity;
  struct call *later; /* calls that were found when their functions' were complete */
  size_t later_count, later_capacity;
  uint64_t *
      landings; /* where jumps and calls lead to in the middle of other functions, and exceptions */
  size_t landing_count, landing_capacity;
  struct code_ranges tables; /* jump tables: words that are known to be no function's address */
  struct code_ranges open;   /* any address in these may be made (parts.h) */
  uint64_t global;           /* what the global pointer holds; 0: it isn't known */
  uint32_t lost;             /* registers that some function changes though calls preserve them */
  /* A function, or a word, that makes addresses of code that may be any, for others to call; 0:
   * there is none. */
  uint64_t hands_over;
  struct leaf_callback *callbacks; /* by symbol */
  struct registrar registrars[REGISTRARS];
  size_t registrar_count;
};

/* To follow the parts of addresses through a function. */
struct parts graph_parts(const struct graph_builder *builder);

/* Divides the code into functions. */
void functions_find(struct graph_builder *builder, const struct image *image,
                    const struct safepoints *table);
/* Decodes all functions for their calls, and marks what they refer to. */
void sweep(struct graph_builder *builder, const struct image *image);
/* Finds the indirect jumps that go through a table of the compiler's. */
void indirect_calls_resolve(struct graph_builder *builder);
/* Notes what functions of the C library call that call what they are given, at once or later. */
void registered_note(struct graph_builder *builder);
/* Finds the ways of exceptions; and, when all calls are known, the places that are to be
 * patched. */
bool landings_find(struct graph_builder *builder, const struct image *image,
                   struct problem *problem);
void patches_find(struct graph_builder *builder, const struct safepoints *table);
/* Finds the functions whose addresses are in data, or known to other files. */
void escapes_find(struct graph_builder *builder, const struct image *image);
/* Finds on which occasions functions may run of which it isn't known that they are registered. */
void registered_check(struct graph_builder *builder);
/* Narrows indirect calls by their types. */
void call_types_read(struct graph_builder *builder, const struct image *image,
                     const struct safepoints *table);

#define ADDRESS_BITS (((uint64_t)1 << 48) - 1) /* of a pointer; programs use the others for tags */

enum {
  GRAPH_TAG_SIZE = 16
}; /* a pointer to the first bytes of a function may be its address with a tag */

/* Whether a function is a part of the procedure linkage table, which the linker makes. */
bool graph_is_linkage(const struct call_graph *graph, uint32_t function);

/* A stub of the procedure linkage table: the symbol's node that it jumps to; GRAPH_NO_NODE if the
 * function is none, or does anything else. (A function of the program's that ends in such a jump is
 * none: it may be a GC entry.) */
uint32_t graph_stub_target(const struct call_graph *graph, uint32_t function);

/* Whether some code or data has the address of a function that is elsewhere; a word that is only
 * called by doesn't count. */
bool graph_word_is_taken(const struct graph_builder *builder, const struct linkage_word *word);
/* For the steps: something refers to an address; false if it is none of the program's. */
bool graph_take(struct call_graph *graph, uint64_t address, enum taken how, uint64_t at);
/* Appends to an array that grows. */
void graph_add_call(struct graph_builder *builder, struct call call);
void graph_add_later(struct graph_builder *builder, struct call call);
void graph_add_landing(struct graph_builder *builder, uint64_t address);

#endif
