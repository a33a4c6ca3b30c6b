/* interpreter.h - a small interpreter of functions with variables that are 64-bit numbers. */
#ifndef DEOPT_INTERPRETER_H
#define DEOPT_INTERPRETER_H

#include <stdint.h>

enum { VARIABLES = 8 };
enum function_number { MIX, SUM };

/* A call in progress: its variables and its next instruction. */
struct activation {
  uint64_t function, next;
  uint64_t variables[VARIABLES];
};

/* Runs an activation to its end, and returns its result. */
uint64_t interpret(struct activation *activation);

/* The same where `next` is a call that has returned `value`. */
uint64_t interpret_after_call(struct activation *activation, uint64_t value);

#endif
