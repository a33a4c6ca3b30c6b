#!/usr/bin/env python3
"""steps.py SEED - prints a random C program, `void program(void)`, whose functions have frames of many forms.

Arguments in registers and on the stack, arrays, memory of variable size, aligned memory, calls by pointers,
calls back from the C library, variable arguments, jumps instead of last calls. A function calls only later ones, and `fuel` bounds
the number of calls.
"""
import random
import sys

COUNT = 24


class Function:
    def __init__(self, choice, number):
        self.choice = choice
        self.number = number
        self.parameters = [choice.choice(["long", "long", "long", "double", "struct three"]) for _ in range(choice.randint(1, 9))]
        self.parameters[0] = "long"

    def head(self):
        return f"long f{self.number}({', '.join(f'{kind} p{i}' for i, kind in enumerate(self.parameters))})"

    def argument(self, kind):
        values = {"long": ["x", "y", "x ^ y", "7"], "double": ["(double)x", "0.5"], "struct three": ["(struct three){x, y, 3}"]}
        return self.choice.choice(values[kind])

    def call(self, other):
        return f"f{other.number}({', '.join(self.argument(kind) for kind in other.parameters)})"

    def statement(self, later):
        choice = self.choice
        simple = ["x += y * 3;", "y ^= x >> 3;", "for (long i = 0; i < 3; i++) x += i ^ y;", "sink = x;"]
        library = ["x += bsearch_back(y);", "x += sort_back(x);", "x += sum(3, x, y, 5L);", "x += (long)strlen(text) + atol(text);"]
        memory = [
            "{ char *more = __builtin_alloca((size_t)(x & 63) + 16); fill(more, 16); y += more[3]; }",
            "{ long many[(x & 7) + 2]; fill((char *)many, sizeof many); y += many[1]; }",
            "{ _Alignas(64) char block[64]; fill(block, sizeof block); y += block[9]; }",
            "{ char block[600]; fill(block, sizeof block); y += block[99]; }",
        ]
        if later and choice.random() < 0.5:
            other = choice.choice(later)
            called = self.call(other)
            forms = [f"x += {called};", f"y -= {called} + x;", f"if (x & 1) x ^= {called};", f"x += by_pointer({choice.randrange(4)}, x, y);"]
            return choice.choice(forms)
        return choice.choice(choice.choice([simple, simple, library, memory]))

    def body(self, later):
        choice = self.choice
        marks = choice.choice(["static __attribute__((noinline)) ", "static __attribute__((noinline)) ", "static ", ""])
        lines = [f"{marks}{self.head()} {{", "  long x = p0, y = p0 ^ 5;", "  if (fuel-- <= 0)", "    return x;"]
        for i, kind in enumerate(self.parameters[1:], 1):
            lines.append(f"  y += {'p%d.c' % i if kind == 'struct three' else '(long)p%d' % i};")
        lines += ["  " + self.statement(later) for _ in range(choice.randint(1, 6))]
        last = choice.choice(["x + y", "x"])
        if later and choice.random() < 0.4:
            last = self.call(choice.choice(later))
        return "\n".join(lines + [f"  return {last};", "}"])


HEAD = """#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
struct three { long a, b, c; };
static volatile long sink, fuel = %d;
static const char text[] = "12 words";
typedef long function(long, long);
static function *const pointers[4];
static __attribute__((noinline)) void fill(char *bytes, size_t size) { memset(bytes, (int)sink & 127, size); }
static __attribute__((noinline)) long by_pointer(int i, long x, long y) { return pointers[i](x, y); }
static __attribute__((noinline)) long sum(int count, ...) {
  va_list list;
  long total = 0;
  va_start(list, count);
  while (count-- > 0)
    total += va_arg(list, long);
  va_end(list);
  return total;
}
static int compare(const void *a, const void *b) {
  fuel--;
  return (*(const long *)a > *(const long *)b) - (*(const long *)a < *(const long *)b);
}
static __attribute__((noinline)) long sort_back(long x) {
  long numbers[] = {x, 3, 1};
  qsort(numbers, 3, sizeof *numbers, compare);
  return numbers[1];
}
static __attribute__((noinline)) long bsearch_back(long x) {
  static const long numbers[] = {1, 4, 9};
  return bsearch(&x, numbers, 3, sizeof *numbers, compare) != NULL;
}
"""


def main():
    choice = random.Random(int(sys.argv[1]))
    functions = [Function(choice, number) for number in range(COUNT)]
    print(HEAD % choice.randint(60, 200))
    bodies = [function.body(functions[function.number + 1:]) for function in functions]
    for function, body in zip(functions, bodies):
        marks = "static " if body.startswith("static") else ""
        print(f"{marks}{function.head()};")
    print("\n".join(bodies))
    for i in range(4):
        other = functions[-1 - choice.randrange(8)]
        print(f"static long pointed{i}(long x, long y) {{ return {other.call(other)} + {i}; }}")
    print(f"static function *const pointers[4] = {{{', '.join(f'pointed{i}' for i in range(4))}}};")
    print("void program(void) {\n  long x = 1, y = 2;\n  while (fuel > 0) {")
    for other in functions[:6]:
        print(f"    x += {other.call(other)};")
    print("  }\n  sink = x;\n}")


main()
