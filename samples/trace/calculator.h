/* calculator.h - the managed code, and the runtime that it calls. */
#ifndef TRACE_CALCULATOR_H
#define TRACE_CALCULATOR_H

#include <stdint.h>

/* The value of a formula in prefix notation: "+ 1 / 6 2". */
uint64_t calculate(const char *formula);

/* Throws an exception: prints the stack, and never returns. */
void exception_throw(const char *message) __attribute__((noreturn));

#endif
