#include "pattern.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

// What stands in a frame, and how a frame ends.

namespace patterns {

namespace {

struct alignas(64) cache_line {
  unsigned char bytes[64] = {};
};

/// A coroutine whose frame stands 16 bytes behind a multiple of 64, as malloc may place it.
struct shifted {
  struct promise_type : promise<bool> {
    static void* operator new(std::size_t size) {
      auto* block = static_cast<char*>(std::aligned_alloc(64, (size + 16 + 63) / 64 * 64));
      return block + 16;
    }
    static void operator delete(void* frame) noexcept { std::free(static_cast<char*>(frame) - 16); }
    shifted get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
  };
  std::coroutine_handle<promise_type> frame;
};

shifted over_aligned_local() {
  auto line = cache_line{};
  auto wait = pause();
  co_await wait;
  // Through a volatile, so that the address is looked at and not assumed.
  volatile auto address = reinterpret_cast<std::uintptr_t>(&line);
  co_return address % alignof(cache_line) == 0;
}

verdict over_aligned() {
  auto body = over_aligned_local();
  body.frame.resume();
  run_loop();
  auto right = body.frame.done() && body.frame.promise().value_.value_or(false);
  body.frame.destroy();
  return right ? verdict::passes : verdict::misaligned;
}

task<std::unique_ptr<tracked>> moves_what_it_returns() {
  auto wait = pause();
  co_await wait;
  auto owned = std::make_unique<tracked>(3);
  co_return owned;
}

task<bool> implicit_move_in_return() {
  auto op = moves_what_it_returns();
  auto got = co_await std::move(op);
  co_return got->value() == 3;
}

task<bool> waits_with_locals(tracked given) {
  auto local = aggregate{tracked{1}, tracked{2}};
  auto op = sum_later(aggregate{tracked{3}, given});
  auto sum = co_await std::move(op);
  co_return sum + local.first.value() > 0;
}

verdict destroyed_while_suspended() {
  {
    auto body = waits_with_locals(tracked{4});
    body.frame().resume();
    forget_paused();
    if (tracked::living() == 0)
      return verdict::body_skipped;
  }
  if (tracked::destroyed_twice())
    return verdict::destroyed_twice;
  return tracked::living() == 0 ? verdict::passes : verdict::never_destroyed;
}

/// Runs where it is awaited and completes at once.
task<int> at_once(int value) {
  auto given = value;
  co_return given;
}

task<bool> synchronous_completions() {
  auto sum = 0;
  for (auto count = 0; count < 1'000'000; ++count) {
    auto op = at_once(1);
    auto got = co_await std::move(op);
    sum += got;
  }
  co_return sum == 1'000'000;
}

/// Its promise sees the constructor's arguments, and one of them is a reference to what only moves.
#if WEIR_COMPILES_MOVE_ONLY_PROMISE
struct sees_arguments {
  struct promise_type : promise<bool> {
    explicit promise_type(std::unique_ptr<int>&) {}
    sees_arguments get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
  };
  std::coroutine_handle<promise_type> frame;
};

sees_arguments with_move_only_parameter(std::unique_ptr<int>&& given) {
  auto kept = *given;
  co_return kept == 3;
}

verdict move_only_parameter() {
  auto owned = std::make_unique<int>(3);
  auto body = with_move_only_parameter(std::move(owned));
  body.frame.resume();
  auto right = body.frame.done() && body.frame.promise().value_.value_or(false);
  body.frame.destroy();
  return right ? verdict::passes : verdict::wrong_value;
}
#else
constexpr verdict (*move_only_parameter)() = nullptr;
#endif

} // namespace

std::vector<pattern> frame_patterns() {
  constexpr auto ok = verdict::passes;
  return {
    {"an over-aligned local", false, verdict::misaligned, over_aligned, true},
    {"implicit move in co_return", false, ok, run<implicit_move_in_return>},
    {"a frame destroyed while it waits", false, ok, destroyed_while_suspended},
    {"10⁶ synchronous completions by symmetric transfer", false, ok, run<synchronous_completions>, true},
    {"a promise that sees T&& of a type that only moves", false, verdict::does_not_compile, move_only_parameter},
  };
}

} // namespace patterns
