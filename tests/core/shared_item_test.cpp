#include <weir/shared_item.hpp>

#include "lane_items.hpp"

#include <doctest/doctest.h>

#include <barrier>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

using core_tests::live_with;
using core_tests::marker;
using core_tests::position_at;
using weir::shared_item;

namespace {

std::weak_ptr<const weir::block> block_of(const shared_item& one) {
  return std::get<weir::batch>(*one).envelopes;
}

} // namespace

TEST_SUITE("shared item") {
  TEST_CASE("all references see one item, its size and its position") {
    auto item = live_with(position_at(1, 7), 100);
    const auto bytes = size_in_bytes(item);
    const shared_item first{std::move(item)};
    const shared_item second = first;
    CHECK(&*first == &*second);
    CHECK(second.bytes() == bytes);
    REQUIRE(second.at() != nullptr);
    CHECK(*second.at() == position_at(1, 7));
    CHECK(second.at() == position_of(*first));
    CHECK(shared_item{marker()}.at() == nullptr);
  }

  TEST_CASE("the item goes with its last reference") {
    shared_item first{live_with(position_at(1, 1), 100)};
    const auto block = block_of(first);
    shared_item second = first;
    shared_item third = std::move(first);
    CHECK_FALSE(first); // NOLINT(bugprone-use-after-move): promised
    second.reset();
    second.reset();
    CHECK_FALSE(block.expired());
    third = shared_item{marker()};
    CHECK(block.expired());
    const auto& itself = third;
    third = itself;
    CHECK(third);
  }

  TEST_CASE("taken back it is the same one if nobody else holds it, and a copy otherwise") {
    shared_item only{live_with(position_at(1, 1), 100)};
    const auto* envelopes = std::get<weir::batch>(*only).envelopes.get();
    const auto back = only.take();
    CHECK_FALSE(only);
    CHECK(std::get<weir::batch>(back).envelopes.get() == envelopes);

    shared_item first{back};
    const shared_item second = first;
    const auto copy = first.take();
    CHECK_FALSE(first);
    CHECK(*position_of(copy) == position_at(1, 1));
    CHECK(std::get<weir::batch>(*second).envelopes.get() == envelopes);
  }

  TEST_CASE("references come and go on many threads, and the item goes once") {
    constexpr int threads = 4;
    for (int round = 0; round < 100; ++round) {
      shared_item item{live_with(position_at(1, 1), 100)};
      const auto block = block_of(item);
      std::barrier start{threads};
      std::vector<std::thread> running;
      for (int number = 0; number < threads; ++number)
        running.emplace_back([&start, mine = item]() mutable {
          start.arrive_and_wait();
          for (int step = 0; step < 20; ++step) {
            auto more = mine;
            const auto moved = std::move(more);
            if (moved.bytes() == 0)
              return;
          }
          mine.reset();
        });
      item.reset();
      for (auto& one : running)
        one.join();
      CHECK(block.expired());
    }
  }
}
