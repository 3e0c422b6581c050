#include "pattern.hpp"

#include <algorithm>
#include <deque>
#include <set>

namespace patterns {

namespace {

std::set<const void*>& living_objects() {
  static std::set<const void*> objects;
  return objects;
}

std::deque<std::coroutine_handle<>>& paused_frames() {
  static std::deque<std::coroutine_handle<>> frames;
  return frames;
}

bool second_destruction = false;

verdict verdict_of(bool arrived, bool right) {
  if (tracked::destroyed_twice())
    return verdict::destroyed_twice;
  if (!arrived)
    return verdict::body_skipped;
  if (!right)
    return verdict::wrong_value;
  return tracked::living() == 0 ? verdict::passes : verdict::never_destroyed;
}

} // namespace

const char* name_of(verdict ended) noexcept {
  switch (ended) {
  case verdict::passes: return "passes";
  case verdict::wrong_value: return "wrong value";
  case verdict::body_skipped: return "body skipped";
  case verdict::destroyed_twice: return "destroyed twice";
  case verdict::never_destroyed: return "never destroyed";
  case verdict::misaligned: return "misaligned";
  case verdict::does_not_compile: return "does not compile";
  case verdict::crashed: return "crashed";
  }
  return "?";
}

tracked::tracked(int given) : value_{given} {
  living_objects().insert(this);
}
tracked::tracked(const tracked& other) : tracked{other.value_} {}
tracked::tracked(tracked&& other) noexcept : tracked{std::exchange(other.value_, -1)} {}
tracked& tracked::operator=(const tracked& other) = default;
tracked& tracked::operator=(tracked&& other) noexcept {
  value_ = std::exchange(other.value_, -1);
  return *this;
}
tracked::~tracked() {
  if (living_objects().erase(this) == 0)
    second_destruction = true;
}
std::size_t tracked::living() noexcept {
  return living_objects().size();
}
bool tracked::destroyed_twice() noexcept {
  return second_destruction;
}

void pause::await_suspend(std::coroutine_handle<> frame) {
  paused_frames().push_back(frame);
}

void run_loop() {
  while (!paused_frames().empty()) {
    auto frame = paused_frames().front();
    paused_frames().pop_front();
    frame.resume();
  }
}

void forget_paused() noexcept {
  paused_frames().clear();
}

task<int> sum_later(aggregate message) {
  auto wait = pause();
  co_await wait;
  co_return message.first.value() + message.second.value();
}

task<int> sum_of_list(std::vector<tracked> values) {
  auto wait = pause();
  co_await wait;
  auto sum = 0;
  for (const auto& value : values)
    sum += value.value();
  co_return sum;
}

verdict run_to_end(task<bool> body) {
  bool done = false;
  bool right = false;
  {
    auto root = std::move(body);
    root.frame().resume();
    run_loop();
    done = root.frame().done() && (root.frame().promise().value_ || root.frame().promise().failure_);
    right = root.frame().promise().value_.value_or(false);
  }
  return verdict_of(done, right);
}

verdict run_to_end(task<void> body, const bool& arrived) {
  bool done = false;
  {
    auto root = std::move(body);
    root.frame().resume();
    run_loop();
    done = root.frame().done();
  }
  return verdict_of(done && arrived, true);
}

} // namespace patterns
