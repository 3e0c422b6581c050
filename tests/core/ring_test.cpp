#include <weir/ring.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <memory>
#include <string>
#include <type_traits>

using weir::ring;

static_assert(std::is_nothrow_move_constructible_v<ring<std::string>>);
static_assert(std::is_nothrow_move_assignable_v<ring<std::string>>);
static_assert(!std::is_copy_constructible_v<ring<int>>);
static_assert(noexcept(std::declval<ring<std::unique_ptr<int>>&>().pop_front()));

namespace {

template <class T>
T take_front(ring<T>& queue) {
  T taken = std::move(queue.front());
  queue.pop_front();
  return taken;
}

} // namespace

TEST_SUITE("ring") {
  TEST_CASE("what goes in first comes out first, through growth and around the end") {
    ring<std::unique_ptr<int>> queue; // move-only elements
    int in = 0;
    int out = 0;
    for (int round = 0; round < 40; ++round) {
      for (int step = 0; step < 7; ++step)
        queue.emplace_back(std::make_unique<int>(in++));
      for (int step = 0; step < 5; ++step)
        CHECK(*take_front(queue) == out++);
    }
    CHECK(queue.size() == static_cast<std::size_t>(in - out));
    for (std::size_t index = 0; index < queue.size(); ++index)
      CHECK(*queue[index] == out + static_cast<int>(index));
    CHECK(*queue.front() == out);
    CHECK(*queue.back() == in - 1);
  }

  TEST_CASE("elements stay where they are until it grows") {
    ring<int> queue;
    queue.emplace_back(1);
    const int* where = &queue.front();
    for (int number = 2; number <= 8; ++number)
      queue.emplace_back(number);
    CHECK(&queue.front() == where);
    queue.emplace_back(9);
    CHECK(queue.front() == 1);
    CHECK(queue.back() == 9);
  }

  TEST_CASE("every element is destroyed exactly once") {
    auto shared = std::make_shared<int>(1);
    {
      ring<std::shared_ptr<int>> queue;
      for (int number = 0; number < 20; ++number)
        queue.emplace_back(shared);
      CHECK(shared.use_count() == 21);
      queue.pop_front();
      CHECK(shared.use_count() == 20);
      {
        const auto taken = take_front(queue);
        CHECK(shared.use_count() == 20);
      }
      CHECK(shared.use_count() == 19);
      queue.clear();
      CHECK(shared.use_count() == 1);
      CHECK(queue.empty());
      queue.emplace_back(shared);
    }
    CHECK(shared.use_count() == 1);
  }

  TEST_CASE("a moved ring takes its elements along and leaves an empty one that works") {
    ring<std::string> from;
    for (int number = 0; number < 10; ++number)
      from.emplace_back(std::to_string(number));
    const auto* where = &from.front();
    ring<std::string> to{std::move(from)};
    CHECK(&to.front() == where);
    CHECK(to.size() == 10);
    CHECK(from.empty()); // NOLINT(bugprone-use-after-move): promised
    from.emplace_back("again");
    to = std::move(from);
    CHECK(to.size() == 1);
    CHECK(to.front() == "again");
    auto& itself = to;
    to = std::move(itself);
    CHECK(to.front() == "again");
  }

  TEST_CASE("an element of the ring itself may be put in again, even when that makes it grow") {
    ring<std::string> queue;
    const std::string text = "long enough to live on the heap, so that a stale reference shows";
    queue.emplace_back(text);
    while (queue.size() < 100)
      queue.emplace_back(queue.front());
    for (std::size_t index = 0; index < queue.size(); ++index)
      REQUIRE(queue[index] == text);
  }

  TEST_CASE("it does what a deque does") {
    for (const auto seed : core_tests::seeds(20)) {
      CAPTURE(core_tests::replay(seed));
      core_tests::random_source random{seed};
      ring<std::string> queue;
      std::deque<std::string> expected;
      for (int step = 0; step < 500; ++step) {
        if (random.chance(5)) {
          queue.reserve(static_cast<std::size_t>(random.below(40)));
        } else if (random.chance(5)) {
          const auto count = static_cast<std::size_t>(random.below(expected.size() + 1));
          std::size_t seen = 0;
          queue.pop_front(count, [&](const std::string& one) { REQUIRE(one == expected[seen++]); });
          REQUIRE(seen == count);
          expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(count));
        } else if (expected.empty() || random.chance(55)) {
          auto text = std::to_string(random.next());
          expected.push_back(text);
          REQUIRE(queue.emplace_back(std::move(text)) == expected.back());
        } else {
          REQUIRE(take_front(queue) == expected.front());
          expected.pop_front();
        }
        REQUIRE(queue.size() == expected.size());
        if (!expected.empty()) {
          const auto index = static_cast<std::size_t>(random.below(expected.size()));
          REQUIRE(queue[index] == expected[index]);
          const auto side_by_side = queue.contiguous(index);
          REQUIRE_FALSE(side_by_side.empty());
          for (std::size_t next = 0; next < side_by_side.size(); ++next)
            REQUIRE(side_by_side[next] == expected[index + next]);
        }
        REQUIRE(queue.contiguous(expected.size()).empty());
      }
    }
  }
}
