/* calculator.c - managed code: a formula in prefix notation is calculated by recursion.
 *
 * The optimiser inlines most of these functions; the trace has all of them.
 */
#include "calculator.h"

static uint64_t take_term(const char **next);

static uint64_t take_number(const char **next) {
  uint64_t number = 0;
  if (**next < '0' || **next > '9')
    exception_throw("a number is missing");
  while (**next >= '0' && **next <= '9')
    number = 10 * number + (uint64_t)(*(*next)++ - '0');
  return number;
}

static uint64_t divide(uint64_t a, uint64_t b) {
  if (b == 0)
    exception_throw("a division by zero");
  return a / b;
}

static uint64_t apply(char operation, uint64_t a, uint64_t b) {
  switch (operation) {
  case '+':
    return a + b;
  case '-':
    return a - b;
  case '*':
    return a * b;
  default:
    return divide(a, b);
  }
}

static uint64_t take_operation(const char **next) {
  const char operation = *(*next)++;
  const uint64_t a = take_term(next);
  const uint64_t b = take_term(next);
  return apply(operation, a, b);
}

__attribute__((noinline)) static uint64_t take_term(const char **next) {
  while (**next == ' ')
    ++*next;
  if (**next == '+' || **next == '-' || **next == '*' || **next == '/')
    return take_operation(next);
  return take_number(next);
}

uint64_t calculate(const char *formula) {
  const uint64_t result = take_term(&formula);
  if (*formula != 0)
    exception_throw("a formula that goes on after its end");
  return result;
}
