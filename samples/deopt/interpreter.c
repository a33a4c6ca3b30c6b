/* interpreter.c - see interpreter.h. The functions are the same as in program.ll. */
#include "interpreter.h"

enum operation { SET, COPY, ADD, MULTIPLY, XOR, INCREASE, GO_UNLESS_LESS, GO, CALL, RETURN };

/* a, b and c are variables; `number` is a constant, a function, or an instruction to go to. */
struct instruction {
  enum operation operation;
  unsigned a, b, c;
  uint64_t number;
};

static const struct instruction mix[] = {
    /* variables: seed, count, i, factor */
    [0] = {SET, .a = 2, .number = 0},
    [1] = {GO_UNLESS_LESS, .a = 2, .b = 1, .number = 7},
    [2] = {SET, .a = 3, .number = 6364136223846793005},
    [3] = {MULTIPLY, .a = 0, .b = 0, .c = 3},
    [4] = {ADD, .a = 0, .b = 0, .c = 2},
    [5] = {INCREASE, .a = 2, .number = 1},
    [6] = {GO, .number = 1},
    [7] = {RETURN, .a = 0},
};

static const struct instruction sum[] = {
    /* variables: count, i, total, the two arguments of the call, its result */
    [0] = {SET, .a = 1, .number = 0},
    [1] = {SET, .a = 2, .number = 7},
    [2] = {GO_UNLESS_LESS, .a = 1, .b = 0, .number = 9},
    [3] = {COPY, .a = 3, .b = 2},
    [4] = {COPY, .a = 4, .b = 1},
    [5] = {CALL, .a = 5, .b = 3, .number = MIX},
    [6] = {XOR, .a = 2, .b = 2, .c = 5},
    [7] = {INCREASE, .a = 1, .number = 1},
    [8] = {GO, .number = 2},
    [9] = {RETURN, .a = 2},
};

static const struct instruction *const functions[] = {[MIX] = mix, [SUM] = sum};

static uint64_t call(uint64_t function, const uint64_t *arguments) {
  struct activation activation = {.function = function, .variables = {arguments[0], arguments[1]}};
  return interpret(&activation);
}

uint64_t interpret(struct activation *activation) {
  uint64_t *v = activation->variables;
  for (;;) {
    const struct instruction *at = &functions[activation->function][activation->next++];
    switch (at->operation) {
    case SET:
      v[at->a] = at->number;
      break;
    case COPY:
      v[at->a] = v[at->b];
      break;
    case ADD:
      v[at->a] = v[at->b] + v[at->c];
      break;
    case MULTIPLY:
      v[at->a] = v[at->b] * v[at->c];
      break;
    case XOR:
      v[at->a] = v[at->b] ^ v[at->c];
      break;
    case INCREASE:
      v[at->a] += at->number;
      break;
    case GO_UNLESS_LESS:
      if (v[at->a] >= v[at->b])
        activation->next = at->number;
      break;
    case GO:
      activation->next = at->number;
      break;
    case CALL:
      v[at->a] = call(at->number, &v[at->b]);
      break;
    case RETURN:
      return v[at->a];
    }
  }
}

uint64_t interpret_after_call(struct activation *activation, uint64_t value) {
  const struct instruction *at = &functions[activation->function][activation->next++];
  activation->variables[at->a] = value;
  return interpret(activation);
}
