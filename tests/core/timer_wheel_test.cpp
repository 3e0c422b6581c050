#include <weir/timer_wheel.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

using weir::timer_entry;
using weir::timer_wheel;

namespace {

/// How many entries expire up to `to`.
std::size_t advance(timer_wheel& wheel, std::uint64_t to) {
  std::size_t expired = 0;
  wheel.advance(to, [&](timer_entry&) { ++expired; });
  return expired;
}

/// A deadline that may lie in any level of the wheel, on a slot's border, or beyond it.
std::uint64_t far_from(core_tests::random_source& random, std::uint64_t now) {
  const auto width = random.between(0, 47);
  const auto distance = random.chance(30) ? std::uint64_t{1} << width : random.below(std::uint64_t{1} << width) + 1;
  const auto due = now + distance;
  if (random.chance(20))
    return due & ~((std::uint64_t{1} << (random.below(8) * 6)) - 1); // a border; may lie behind
  return due;
}

/// The wheel next to a multimap, which knows the right answer.
class checked_wheel {
public:
  explicit checked_wheel(std::uint64_t seed)
    : random_{seed},
      now_{random_.chance(50) ? 0 : random_.below(1u << 20)},
      wheel_{now_} {}

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      auto& one = random_.pick(timers_);
      switch (random_.below(6)) {
      case 0:
      case 1:
      case 2: schedule(one, far_from(random_, now_)); break;
      case 3:
        one.unlink();
        forget(one);
        break;
      case 4: advance_by(random_.below(200)); break;
      case 5: advance_by(random_.below(std::uint64_t{1} << random_.between(1, 42))); break;
      }
      REQUIRE(one.is_scheduled() == dues_.contains(&one));
      check_next_event();
    }
    while (!expected_.empty())
      advance_to(expected_.begin()->first);
    REQUIRE_FALSE(wheel_.next_event().has_value());
  }

private:
  void schedule(timer_entry& one, std::uint64_t due) {
    wheel_.schedule(one, due);
    forget(one);
    dues_[&one] = expected_.emplace(std::max(due, now_ + 1), &one);
  }

  void forget(timer_entry& one) {
    if (const auto found = dues_.find(&one); found != dues_.end()) {
      expected_.erase(found->second);
      dues_.erase(found);
    }
  }

  void advance_by(std::uint64_t ticks) { advance_to(now_ + ticks); }

  void advance_to(std::uint64_t to) {
    wheel_.advance(to, [&](timer_entry& one) {
      REQUIRE_FALSE(one.is_scheduled());
      REQUIRE_FALSE(expected_.empty());
      // Exactly at its tick, and nothing that is due earlier was passed over.
      const auto due = dues_.at(&one)->first;
      now_ = wheel_.now();
      REQUIRE(due == now_);
      REQUIRE(expected_.begin()->first == due);
      forget(one);
      if (random_.chance(20))
        schedule(one, far_from(random_, now_));
      if (random_.chance(20))
        schedule(random_.pick(timers_), now_ + random_.below(70));
      if (random_.chance(20)) {
        auto& other = random_.pick(timers_);
        other.unlink();
        forget(other);
      }
    });
    now_ = to;
    REQUIRE(wheel_.now() == to);
    const bool nothing_late = expected_.empty() || expected_.begin()->first > to;
    REQUIRE(nothing_late);
  }

  void check_next_event() {
    const auto next = wheel_.next_event();
    REQUIRE(next.has_value() == !expected_.empty());
    if (next) {
      REQUIRE(*next > now_);
      REQUIRE(*next <= expected_.begin()->first);
    }
  }

  core_tests::random_source random_;
  std::uint64_t now_;
  timer_wheel wheel_;
  std::array<timer_entry, 24> timers_;
  std::multimap<std::uint64_t, timer_entry*> expected_;
  std::map<timer_entry*, std::multimap<std::uint64_t, timer_entry*>::iterator> dues_;
};

} // namespace

TEST_SUITE("timer wheel") {
  TEST_CASE("an entry expires when its tick is reached, not before, and only once") {
    timer_wheel wheel{1000};
    timer_entry entry;
    wheel.schedule(entry, 1010);
    CHECK(entry.is_scheduled());
    CHECK(wheel.next_event() == 1010);
    CHECK(advance(wheel, 1009) == 0);
    CHECK(advance(wheel, 1010) == 1);
    CHECK_FALSE(entry.is_scheduled());
    CHECK_FALSE(wheel.next_event().has_value());
    CHECK(advance(wheel, 5000) == 0);
  }

  TEST_CASE("one that lies behind expires at the next tick") {
    timer_wheel wheel{1000};
    timer_entry behind;
    timer_entry at_once;
    wheel.schedule(behind, 3);
    wheel.schedule(at_once, 1000);
    CHECK(wheel.next_event() == 1001);
    CHECK(advance(wheel, 1000) == 0);
    CHECK(advance(wheel, 1001) == 2);
  }

  TEST_CASE("scheduling again moves it; unlinking and destroying take it out") {
    timer_wheel wheel;
    timer_entry entry;
    wheel.schedule(entry, 10);
    wheel.schedule(entry, 20);
    {
      timer_entry short_lived;
      wheel.schedule(short_lived, 15);
    }
    CHECK(advance(wheel, 19) == 0);
    entry.unlink();
    entry.unlink();
    CHECK_FALSE(entry.is_scheduled());
    CHECK(advance(wheel, 100) == 0);
  }

  TEST_CASE("an entry outlives its wheel") {
    timer_entry entry;
    {
      timer_wheel wheel;
      wheel.schedule(entry, 1'000'000);
    }
    CHECK_FALSE(entry.is_scheduled());
  }

  TEST_CASE("earlier ones expire first, however far apart they were scheduled") {
    timer_wheel wheel;
    std::vector<std::uint64_t> dues;
    for (int width = 47; width >= 0; --width)
      dues.push_back(std::uint64_t{1} << width);
    std::vector<std::unique_ptr<timer_entry>> entries;
    std::map<timer_entry*, std::uint64_t> due_of;
    for (const auto due : dues) {
      entries.push_back(std::make_unique<timer_entry>());
      due_of[entries.back().get()] = due;
      wheel.schedule(*entries.back(), due);
    }
    std::vector<std::uint64_t> expired;
    wheel.advance(std::uint64_t{1} << 48, [&](timer_entry& entry) {
      CHECK(wheel.now() == due_of.at(&entry));
      expired.push_back(wheel.now());
    });
    std::ranges::reverse(dues);
    CHECK(expired == dues);
  }

  TEST_CASE("a deadline beyond the wheel's reach comes around until it is due") {
    timer_wheel wheel;
    timer_entry entry;
    const auto due = (std::uint64_t{1} << 50) + 12345;
    wheel.schedule(entry, due);
    CHECK(advance(wheel, due - 1) == 0);
    CHECK(advance(wheel, due) == 1);
  }

  TEST_CASE("the callback may schedule what expired and unlink what is due in the same tick") {
    timer_wheel wheel;
    std::array<timer_entry, 3> entries;
    for (auto& entry : entries)
      wheel.schedule(entry, 5);
    int expired = 0;
    wheel.advance(7, [&](timer_entry& entry) {
      if (++expired == 1) {
        for (auto& other : entries)
          other.unlink();
        wheel.schedule(entry, 5); // it is now: one tick later
      }
    });
    CHECK(expired == 2);
    CHECK(wheel.now() == 7);
  }

  TEST_CASE("it does what a sorted multimap does") {
    for (const auto seed : core_tests::seeds(60)) {
      CAPTURE(core_tests::replay(seed));
      checked_wheel{seed}.run(400);
    }
  }
}
