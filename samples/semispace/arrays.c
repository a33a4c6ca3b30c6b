/* arrays.c - workload: arrays, walked by pointers to their elements while new objects are made.
 *
 * Compilers turn `array[i]` in a loop into a pointer that steps through the array, so optimised
 * code often has pointers into the middle of an object, or one element past its end. If such a
 * pointer is live across a call that collects, the stack map lists it with its base: the collector
 * moves the object that starts at the base, and moves the derived pointer by the same distance.
 *
 * Here one base has several live derived references, one frame has derived references with
 * different bases, and the base of some changes from one turn of a loop to the next.
 */
#include "heap.h"
#include "workload.h"

typedef struct number REF *number_ref;
struct number {
  uint64_t value;
};

typedef struct vector REF *vector_ref;
struct vector {
  uint64_t length;
  number_ref elements[];
};

typedef struct matrix REF *matrix_ref;
struct matrix {
  uint64_t length;
  vector_ref rows[];
};

static number_ref number_new(uint64_t value) {
  number_ref number = (number_ref)heap_allocate(sizeof(uint64_t), 0);
  number->value = value;
  return number;
}

/* A vector of consecutive numbers: two derived references, the element and the end, with one base.
 */
static vector_ref vector_new(uint64_t length, uint64_t first) {
  vector_ref vector = (vector_ref)heap_allocate(sizeof(uint64_t), length);
  vector->length = length;
  number_ref REF *end = vector->elements + length;
  for (number_ref REF *element = vector->elements; element != end; element++)
    *element = number_new(first++);
  return vector;
}

/* The sums of the elements: three derived references, each with a base of its own. */
static vector_ref vector_add(vector_ref left, vector_ref right) {
  vector_ref sum = (vector_ref)heap_allocate(sizeof(uint64_t), left->length);
  sum->length = left->length;
  number_ref REF *end = left->elements + left->length;
  number_ref REF *target = sum->elements;
  number_ref REF *right_element = right->elements;
  for (number_ref REF *element = left->elements; element != end; element++) {
    number_ref value = number_new((*element)->value + (*right_element++)->value);
    *target++ = value;
  }
  return sum;
}

/* Swaps from both ends towards the middle, in new objects. */
static void vector_reverse(vector_ref vector) {
  number_ref REF *low = vector->elements;
  number_ref REF *high = vector->elements + vector->length;
  while (low < high) {
    high--;
    number_ref new_low = number_new((*high)->value);
    number_ref new_high = number_new((*low)->value);
    *low++ = new_low;
    *high = new_high;
  }
}

static matrix_ref matrix_new(uint64_t rows, uint64_t columns) {
  matrix_ref matrix = (matrix_ref)heap_allocate(sizeof(uint64_t), rows);
  matrix->length = rows;
  vector_ref REF *row = matrix->rows;
  for (uint64_t i = 0; i < rows; i++) {
    vector_ref vector = vector_new(columns, i + 1);
    *row++ = vector;
  }
  return matrix;
}

/* The base of `element` is another row in each turn of the outer loop. */
static number_ref matrix_sum(matrix_ref matrix) {
  number_ref sum = number_new(0);
  vector_ref REF *row = matrix->rows;
  vector_ref REF *last_row = matrix->rows + matrix->length;
  number_ref REF *element = 0;
  number_ref REF *end = 0;
  for (;;) {
    while (element == end) {
      if (row == last_row)
        return sum;
      element = (*row)->elements;
      end = element + (*row)->length;
      row++;
    }
    sum = number_new(sum->value * 31 + (*element++)->value);
  }
}

static uint64_t vector_checksum(vector_ref vector, uint64_t checksum) {
  for (uint64_t i = 0; i < vector->length; i++)
    checksum = checksum_add(checksum, vector->elements[i]->value);
  return checksum;
}

uint64_t arrays_run(uint64_t size) {
  uint64_t checksum = 0;
  vector_ref sum = vector_new(100, 1);
  for (uint64_t i = 0; i < 4 * size; i++) {
    sum = vector_add(sum, vector_new(100, i));
    vector_reverse(sum);
    matrix_ref matrix = matrix_new(8, 2 + i % 8);
    checksum = checksum_add(checksum, matrix_sum(matrix)->value);
  }
  return vector_checksum(sum, checksum);
}
