/* Functions of a header: see source-kinds.sh. */
extern "C" void collect(long);

namespace shapes {

template <class Number> inline Number area(Number a, Number b) {
  collect(a);
  return a * b;
}

struct Square {
  long side;
  __attribute__((noinline)) long measure() const {
    collect(side);
    return area(side, side);
  }
};

} // namespace shapes
