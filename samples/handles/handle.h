/* handle.h - references that C++ code holds.
 *
 * The collector finds references in the frames of managed code by stack maps. C++ code has none: a
 * raw reference in a local variable of C++ would keep its value when the object moves. So C++ holds
 * handles. A handle is the address of a slot. The slot stays in place and holds the reference, and
 * the collector updates all slots.
 *
 *   Handle<T>      for local variables. The slot belongs to the innermost open scope, which frees
 *                  all of its slots at once: a handle costs next to nothing.
 *   HandleScope    opens a scope, to the end of a block. Each function that C++ exports to managed
 *                  code has one, and each loop that makes many handles.
 *   Persistent<T>  for members, and for all that outlives scopes. It has a slot of its own.
 *
 * A raw reference occurs in C++ only within an expression that never collects:
 *
 *   node->key                         good: the object is read at once
 *   call(tree_new, 1, left, right)    good: call unwraps all arguments last, and wraps the result
 *   tree_new(1, left.get(), f())      wrong, if f collects after left.get() was evaluated
 *
 * With clang a raw reference has a type of its own (see REF), distinct from a plain pointer's.
 */
#ifndef HANDLES_HANDLE_H
#define HANDLES_HANDLE_H

#include "die.h"
#include "heap.h"
#include "row.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <type_traits>

/* All slots. (With several threads, each needs its own.) */
class HandleSlots {
public:
  /* Calls visit(slot) for each slot: they are roots. */
  template <class Visit> void each(Visit visit) {
    for (uintptr_t &slot : scoped)
      visit(slot);
    for (uintptr_t &slot : persistent)
      visit(slot);
  }

private:
  template <class T> friend class Handle;
  template <class T> friend class Persistent;
  friend class HandleScope;

  /* In both, elements keep their addresses while others are added and removed. The deque changes
   * only at its end: a scope is the part beyond a certain size. A deque's memory is in blocks, so a
   * new element mostly costs one store. */
  std::deque<uintptr_t> scoped;
  std::list<uintptr_t> persistent;
  size_t open_scopes = 0;
};

inline HandleSlots handle_slots;

template <class T> class Handle {
public:
  Handle() = default; /* null */

  /* In the innermost scope. */
  explicit Handle(T REF *reference) {
    if (handle_slots.open_scopes == 0)
      die("a handle was made outside of all scopes");
    handle_slots.scoped.push_back((uintptr_t)reference);
    slot = &handle_slots.scoped.back();
  }

  T REF *get() const { return (T REF *)(slot ? *slot : 0); }
  T REF *operator->() const { return get(); }
  explicit operator bool() const { return get() != nullptr; }

private:
  const uintptr_t *slot = nullptr;
};

class HandleScope {
public:
  HandleScope() : start(handle_slots.scoped.size()) { handle_slots.open_scopes++; }
  ~HandleScope() { close(); }
  HandleScope(const HandleScope &) = delete;
  HandleScope &operator=(const HandleScope &) = delete;

  /* Closes the scope. Returns a handle of the same object in the enclosing scope:
   * `return scope.escape(result);` */
  template <class T> Handle<T> escape(Handle<T> handle) {
    T REF *reference = handle.get();
    close();
    return Handle<T>(reference);
  }

private:
  void close() {
    if (!is_open)
      return;
    handle_slots.scoped.resize(start);
    handle_slots.open_scopes--;
    is_open = false;
  }

  size_t start;
  bool is_open = true;
};

template <class T> class Persistent {
public:
  Persistent() : slot(handle_slots.persistent.insert(handle_slots.persistent.end(), 0)) {}
  ~Persistent() { handle_slots.persistent.erase(slot); }
  Persistent(const Persistent &) = delete;
  Persistent &operator=(const Persistent &) = delete;
  Persistent &operator=(Handle<T> handle) {
    *slot = (uintptr_t)handle.get();
    return *this;
  }

  T REF *get() const { return (T REF *)*slot; }
  T REF *operator->() const { return get(); }

private:
  std::list<uintptr_t>::iterator slot;
};

/* ---- Calling managed code ---- */

/* Converts an argument for managed code, and a result for C++. */
template <class T> T passed(T value) { return value; }
template <class T> T REF *passed(const Handle<T> &handle) { return handle.get(); }
template <class T> T REF *passed(const Persistent<T> &persistent) { return persistent.get(); }

template <class T> T kept(T value) { return value; }
template <class T> Handle<T> kept(T REF *reference) { return Handle<T>(reference); }

/* Calls a managed function, which starts a row of managed frames. Handles among the arguments become
 * references after all arguments are evaluated; a returned reference becomes a handle at once. */
template <class Result, class... Formal, class... Actual>
auto call(Result (*function)(Formal...), const Actual &...actual) {
  static_assert(sizeof...(Formal) <= Row::ARGUMENTS_MAX, "managed_call passes four arguments");
  const uint64_t arguments[Row::ARGUMENTS_MAX] = {(uint64_t)(Formal)passed(actual)...};
  const uint64_t result = Row().run((managed_function *)function, arguments);
  if constexpr (!std::is_void_v<Result>)
    return kept((Result)result);
}

#endif
