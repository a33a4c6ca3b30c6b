/* call_graph.h - the calls in a linked file: all that its bytes show, and all others that are
 * possible.
 *
 * The graph's nodes, in the order of their numbers:
 *
 *   functions   The code is divided at each address where a function may start, so each byte of it
 *               is one function's. A function in the middle of another one makes two of it: running
 *               on from the first part into the second is a call like any other.
 *   symbols     Of the dynamic symbol table: functions elsewhere. One that is also defined here,
 *               but may be replaced by another file's, is a symbol with the definition as a
 *               successor.
 *   anything    Every address-taken function: the possible targets of a pointer.
 *   everything  Every function: the possible targets of code that can't be analysed.
 *   types       Of the frontend: the possible targets of a pointer of one type.
 *
 * A call is an edge from a function to a node. Calls are all ways by which control goes from one
 * function to another: calls, jumps, and falling through into the next. (The callee runs while the
 * frames below wait, and that is all that matters here.) So a jump within a function is excluded,
 * and so is one by the compiler's jump tables.
 *
 * The rule: every call is possible unless it is shown to be impossible. Each reader of code, data,
 * relocations and tables only adds calls, and address-taken functions. For a call to be missing,
 * all of this must hold:
 *
 *   - The caller's bytes are instructions, from its start to its end, and so are the targets of its
 *     jumps (sweep.c), and the program can't write to them (areas.c); otherwise it calls
 *     everything. It also does if a place in it is to be patched when the program runs (hidden.c).
 *   - The callee is named by no instruction of the caller (sweep.c, indirect_calls.c), and by none
 *     of the unwinder's tables (hidden.c); and the caller never falls through into it.
 *   - The caller calls the operating system only through functions.
 *   - Each return of the caller takes its own return address, untouched, as are those above it: its
 *     stack is as deep as at its start, by constants and the frame pointer alone, and the frame
 *     pointer has the value that it had at the start (returns.c); also where others enter it in its
 *     middle. Helpers that save and restore its registers are followed as a part of it
 *     (tool/flow/helper.h).
 *   - The caller has no call or jump by a pointer; or the callee isn't address-taken. That needs
 *       - that no code computes its address (sweep.c, value_flow.c);
 *       - that no word of the program's, at any place, is the address, with or without a tag, or
 *         the distance to it from the word itself, from the word's end (data may be run as code),
 *         from the global offset table, from a referenced place (escapes.c), or from another place
 *         that the word's reader names (distances.c);
 *       - that no other file can find it by name (escapes.c);
 *       - that no function adds something to the address of a function for others to use
 *         (indirect_calls.c), or names an address beyond the program's memory, from which others
 *         may subtract a constant (sweep.c);
 *       - that the pointer is neither a sum (indirect_calls.c), nor made by a caller that names the
 *         address of any function (noted by sweep.c, applied by indirect_calls.c).
 *     Or the frontend gives the callee other types than the pointer's and those that this
 *     includes (call_types.c).
 *   - The caller calls no function elsewhere, except for functions of the C library that never call
 *     back, or call only a constant argument (leaf_functions.c), and stay clear of the program's
 *     own malloc (analysis.c); or call only registered functions, if all of these were found
 *     (registered.c).
 */
#ifndef STACKPACK_CALL_GRAPH_H
#define STACKPACK_CALL_GRAPH_H

#include "format/safepoints.h"
#include "tool/calls/areas.h"
#include "tool/calls/leaf_functions.h"
#include "tool/calls/linkage.h"
#include "tool/flow/unit.h"
#include "tool/image/image.h"
#include "tool/image/integers.h"
#include "tool/image/names.h"

/* Words of the files of the graph:
 *
 *   to take      to find that something refers to a function's address (enum taken)
 *   to name      of an instruction: to have an address in it, or to compute it from constants
 *   landing      a place in the middle of a function: the target of another's jump or of an
 *                exception
 *   part         of a function: code with a start of its own that is entered with the function's
 *                frame on the stack, such as `f.cold`. (parts.h has the parts of addresses.)
 *   group        functions that share a frame: a function and its parts (frame_groups.c).
 *                (leaf_functions.h has groups of names with one reason.)
 *   label        a place in a function that an unresolved jump of its group may go to
 *   sum          an address of code plus something else: it may be any address (code_value_kind)
 *   made         of a value: an instruction may have computed it from any others (code_value)
 *   open         of a jump by a pointer: its targets are unresolved (indirect_calls.h); of an upper
 *                part of an address: any address that has it may be made (parts.h)
 *   resolved     of a jump, call or value: its target, or the constant that it is, was found
 *   helper       shared code that works on its caller's frame (tool/flow/helper.h)
 *   odd          of a return, or a jump: it may go elsewhere than the function's caller (returns.h)
 *   stub         code of the procedure linkage table that jumps to a symbol
 *   registered   of a function: given to one such as atexit, to be called later (registered.c)
 *   occasion     when registered functions are called (enum leaf_occasion)
 */

enum call_kind {
  CALL_NONE, /* while the graph is built */
  CALL_DIRECT,
  CALL_TAIL,     /* a jump to another function */
  CALL_BRANCH,   /* conditional, by a jump table, or falling through into the next function */
  CALL_INDIRECT, /* by a pointer */
  CALL_OUTSIDE,  /* to a symbol */
  CALL_PASSED,   /* by a function elsewhere that is given the target's address, and calls it */
};

struct call {
  uint64_t at;
  uint32_t target;  /* a node */
  uint8_t length;   /* of the instruction */
  uint8_t kind;     /* enum call_kind */
  bool is_jump;     /* it leaves no return address */
  bool is_inside;   /* it enters its target in the middle */
  bool is_settled;  /* another call at the same place has all functions that its target calls */
  bool is_followed; /* the caller's other calls include its target's calls (helper.h) */
  bool is_system;   /* of the operating system */
  bool is_noted;    /* its callee's callback, at once or later, was resolved (registered.c) */
  bool is_loaded;   /* its pointer is loaded from memory unchanged */
  bool is_through;  /* by a register, which has the target's address after straight-line code */
};

/* Why a function's address counts as taken. */
enum taken {
  TAKEN_NOT,
  TAKEN_BY_CODE,       /* the instruction at taken_at computes it */
  TAKEN_BY_SUM,        /* the function at taken_at makes a sum that may be it */
  TAKEN_BY_DATA,       /* the word at taken_at is its address, or a distance to it */
  TAKEN_BY_RELOCATION, /* the dynamic linker puts it into the word at taken_at */
  TAKEN_BY_EXPORT,     /* other files can find it by name */
  TAKEN_BY_UNWINDER,   /* an exception's path passes it */
  TAKEN_BY_START,      /* it runs when the file is loaded or unloaded */
};

struct graph_function {
  uint64_t address, size;
  uint64_t taken_at;
  uint32_t first_call; /* its calls go up to the next function's first one */
  uint8_t taken;       /* enum taken */
  bool is_undecodable;
  bool is_data;           /* it is skipped, and undecodable only if it is entered */
  bool has_computed_jump; /* by a register or memory, of any kind */
  bool names_code;        /* it names the address of a function, also its own, */
  bool uses_code;         /* and does more with an address of code than to call or pass it, */
  bool stores_code;       /* or stores it by another register than the stack pointer */
  bool has_stack_address; /* it puts an address on the stack into a register, or into memory */
  bool is_whole;          /* a symbol or an unwind table has its start and end */
  bool is_part;           /* unwind tables say that it starts with another stack than at a call */
  bool is_called;         /* by an instruction that names it */
  bool is_mixed;          /* it shares registers or the stack with functions outside its group */
  bool sets_global;       /* it gives the global pointer its value: start-up code */
  uint8_t entered;    /* enum taken: how something at taken_at refers to a place in its middle */
  bool has_label;     /* something refers to such a place (MARK_LABEL) */
  bool returns_oddly; /* a return of it may go anywhere */
  bool is_typed;      /* the frontend gives its type */
  bool is_patched;    /* a place in it is to be filled in when the program runs */
  uint8_t occasions;  /* enum leaf_occasion, a set: when it runs, having been registered */
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
  uint8_t unknown_occasions;      /* enum leaf_occasion: when unidentified functions may run */
  bool has_system_call;           /* some function may ask the operating system for anything */
  uint64_t code_size;             /* bytes that were decoded */
  uint64_t code_start, code_span; /* from the first function's start to the last one's end */
};

/* `table` has the file's stack maps, or is NULL: their functions are starts. The image must outlive
 * the graph. */
bool call_graph_open(struct call_graph *graph, const struct image *image,
                     const struct image_section *raw, const struct safepoints *table,
                     struct problem *problem);
void call_graph_close(struct call_graph *graph);

#define GRAPH_NO_NODE UINT32_MAX

/* The function that has an address, or GRAPH_NO_NODE. */
uint32_t call_graph_function(const struct call_graph *graph, uint64_t address);
/* The function that starts at an address, or GRAPH_NO_NODE. */
uint32_t call_graph_start(const struct call_graph *graph, uint64_t address);

/* The first call that may end at an address: calls that end there are among the next, up to the
 * address. */
uint32_t call_graph_calls_near(const struct call_graph *graph, uint64_t end);

/* Loops over the calls of a function, which is one of the graph's. */
#define EACH_CALL(graph, function, call)                                                           \
  for (struct call *call = (graph)->calls + (function)[0].first_call;                              \
       call < (graph)->calls + (function)[1].first_call; call++)

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

/* The function that defines a symbol here, or GRAPH_NO_NODE. */
static inline uint32_t graph_definition(const struct call_graph *graph,
                                        const struct linkage_symbol *symbol) {
  return symbol->is_defined ? call_graph_function(graph, symbol->address) : GRAPH_NO_NODE;
}

/* Whether the program uses one of the functions, or asks the operating system itself as `syscall`
 * does. */
bool graph_uses(const struct call_graph *graph, const char *words);

/* A name to print for a node; NULL for a nameless function. */
const char *call_graph_name(const struct call_graph *graph, uint32_t node);

/* Prints a node for people: its name, its address, or a description of its set of functions. */
void call_graph_print_node(const struct call_graph *graph, uint32_t node);

/* ---- Steps of call_graph_open ---- */

/* A function that passes one of its arguments to a registering function. */
struct registrar {
  uint32_t function;
  struct leaf_callback what;
};
enum { REGISTRARS = 16 };

/* A function names a place of the program's memory outside code. */
struct naming {
  uint32_t function;
  uint64_t place;
};

/* Calls with a landing pad, where an exception lets a function go on. */
struct landing_pad {
  struct code_range function, calls;
  uint64_t landing;
};

/* A target in the middle of a function. */
struct landing {
  uint64_t address;
  uint32_t from; /* the function that jumps there; GRAPH_NO_NODE: others may, too */
};

/* The stack pointer and the frame pointer there, by unwind tables. */
struct pad_pointers {
  struct code_place stack, frame;
};

struct graph_builder {
  struct call_graph *graph;
  const struct code_architecture *architecture;
  size_t call_capacity;
  struct call *later; /* to be merged into `calls` by merge_calls */
  size_t later_count, later_capacity;
  /* Targets of jumps, calls and exceptions. indirect_calls_resolve sorts them. */
  struct landing *landings;
  size_t landing_count, landing_capacity;
  struct landing_pad *pads;          /* by calls.start */
  struct integers pad_landings;      /* the same, sorted, each once */
  struct pad_pointers *pad_pointers; /* by pad_landings */
  size_t pad_count, pad_capacity;
  /* By function: the first one of its group (frame_groups.c), and the next one. */
  uint32_t *group, *next_in_group;
  struct code_ranges tables; /* words of jump tables: exempt from being functions' addresses */
  struct code_ranges open;   /* any address in these may be made (parts.h); merged by escapes.c */
  /* By function: all from it up to this one are taken, so that ranges skip them; NULL: unused. */
  uint32_t *untaken;
  struct unit unit; /* the code of the function that a step follows */
  uint64_t global;  /* the global pointer's value; 0: unknown */
  uint32_t lost;    /* registers that some function changes though calls preserve them */
  bool makes_frame; /* some function makes the frame pointer for its caller */
  /* A function, an instruction, or a word, from which others may make the address of any code, and
   * call it; or 0. */
  uint64_t hands_over;
  struct naming *namings; /* by function */
  size_t naming_count, naming_capacity;
  struct leaf_callback *callbacks; /* by symbol */
  struct registrar registrars[REGISTRARS];
  size_t registrar_count;
};

/* To follow the parts of addresses through a function. */
struct parts graph_parts(const struct graph_builder *builder);

/* Divides the code into functions. */
void functions_find(struct graph_builder *builder, const struct image *image,
                    const struct safepoints *table);
/* hidden.c: reads the unwinder's tables: landing pads, and the functions that are parts. */
bool landings_read(struct graph_builder *builder, const struct image *image,
                   struct problem *problem);
/* The pointers where an exception may lead to; NULL of all other addresses. */
const struct pad_pointers *landings_pad(const struct graph_builder *builder, uint64_t address);
/* Decodes all functions for their calls, and marks the memory that they refer to. */
void sweep(struct graph_builder *builder);
/* Finds the functions that share a frame. */
void frame_groups_find(struct graph_builder *builder);
/* Finds the indirect jumps that go through a table of the compiler's. */
void indirect_calls_resolve(struct graph_builder *builder);
/* The same again, where unresolved jumps may go to labels, which escapes_find has found. */
void indirect_calls_enter_labels(struct graph_builder *builder);
/* Resolves calls of C library functions that call their arguments, at once or later. */
void registered_note(struct graph_builder *builder);
/* hidden.c: adds the paths of exceptions; and, after all calls were found, the places that are
 * patched at run time. */
void landings_add(struct graph_builder *builder);
void patches_find(struct graph_builder *builder, const struct safepoints *table);
/* Finds the functions whose addresses are in data, or exported to other files. */
void escapes_find(struct graph_builder *builder, const struct image *image);
/* A step of escapes_find: those at distances from places that the distances' readers name. */
void distances_find(struct graph_builder *builder);
/* Finds the occasions on which unidentified functions may run. */
void registered_check(struct graph_builder *builder);
/* Narrows indirect calls by their types. */
void call_types_read(struct graph_builder *builder, const struct image *image,
                     const struct safepoints *table);

#define ADDRESS_BITS (((uint64_t)1 << 48) - 1) /* of a pointer; programs use the others for tags */

/* A pointer to the first bytes of a function may be its address with a tag. */
enum { GRAPH_TAG_SIZE = 16 };

/* Whether a function is a part of the linker's procedure linkage table. */
bool graph_is_linkage(const struct call_graph *graph, uint32_t function);

/* A stub of the procedure linkage table: the node of the symbol that it jumps to; GRAPH_NO_NODE for
 * any other function. (A function of the program's that ends in such a jump is another one: it may
 * be a GC entry.) */
uint32_t graph_stub_target(const struct call_graph *graph, uint32_t function);

/* Calls and jumps of a function by pointers may go to any function. */
void graph_lose_pointers(const struct call_graph *graph, uint32_t function);
/* Notes that an unresolved jump may go to a place in a function. */
void graph_label(struct call_graph *graph, uint32_t function, uint64_t address);
/* Whether some code or data has the address of a function elsewhere; a word for calls alone is
 * excluded. */
bool graph_word_is_taken(const struct graph_builder *builder, const struct linkage_word *word);
/* For the steps: something refers to an address; false if it is outside the program. */
bool graph_take(struct call_graph *graph, uint64_t address, enum taken how, uint64_t at);
/* The same for each function that starts in [start, end); false if there is none. */
bool graph_take_range(struct graph_builder *builder, uint64_t start, uint64_t end, enum taken how,
                      uint64_t at);
/* The first function from a number on that no range has taken; or the number of functions. */
uint32_t graph_untaken(struct graph_builder *builder, uint32_t number);
/* Appends to an array that grows. */
void graph_add_call(struct graph_builder *builder, struct call call);
void graph_add_later(struct graph_builder *builder, struct call call);
/* The same, for a jump at an address that may go to any function. */
void graph_add_anywhere(struct graph_builder *builder, uint64_t at);
void graph_add_landing(struct graph_builder *builder, uint64_t address, uint32_t from);

#endif
