#include <weir/shared_item.hpp>

#include "lane_items.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

using core_tests::live_with;
using core_tests::marker;
using core_tests::position_at;
using weir::lane_item;
using weir::shared_item;
using weir::shared_item_copies;
using weir::shared_item_maker;
using weir::shared_item_releaser;

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

  TEST_CASE("many references are counted at once, and those that nobody takes are let go") {
    shared_item item{live_with(position_at(1, 1), 100)};
    const auto block = block_of(item);
    std::vector<shared_item> taken;
    {
      shared_item_copies copies{item, 5};
      taken.push_back(copies.take());
      const shared_item_copies more{item, 2};
      taken.push_back(copies.take());
    }
    const auto* where = &*item;
    item.reset();
    CHECK(&*taken.back() == where);
    taken.pop_back();
    CHECK_FALSE(block.expired());
    taken.clear();
    CHECK(block.expired());
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

  TEST_CASE("a maker's items are each what was given, and end when they are let go, also after the maker") {
    std::vector<std::weak_ptr<const weir::block>> blocks;
    std::vector<shared_item> kept;
    {
      shared_item_maker maker;
      for (std::uint64_t seq = 1; seq <= 100; ++seq) {
        auto made = seq % 10 == 0 ? maker.make(marker()) : maker.make(live_with(position_at(1, seq), seq));
        if (seq % 10 == 0) {
          CHECK(made.at() == nullptr);
          CHECK(std::holds_alternative<weir::snapshot_complete>(*made));
          continue;
        }
        CHECK(*made.at() == position_at(1, seq));
        CHECK(made.bytes() == size_in_bytes(*made));
        blocks.push_back(block_of(made));
        if (seq % 7 == 0)
          kept.push_back(made);
      }
      for (const auto& one : kept)
        CHECK(one->index() == 0);
      auto moved = std::move(maker);
      CHECK(*moved.make(live_with(position_at(1, 101), 1)).at() == position_at(1, 101));
    }
    for (std::size_t index = 0; index < kept.size(); ++index)
      CHECK(*kept[index].at() == position_at(1, std::get<weir::batch>(*kept[index]).at->seq));
    CHECK(std::ranges::count_if(blocks, [](const auto& one) { return !one.expired(); }) == static_cast<long>(kept.size()));
    kept.clear();
    CHECK(std::ranges::all_of(blocks, [](const auto& one) { return one.expired(); }));
  }

  TEST_CASE("a maker uses the memory of items that were let go again") {
    shared_item_maker maker;
    std::set<const lane_item*> places;
    for (int round = 0; round < 100; ++round) {
      std::vector<shared_item> items;
      for (int count = 0; count < 64; ++count)
        places.insert(&*items.emplace_back(maker.make(live_with(position_at(1, 1), 1))));
    }
    CHECK(places.size() <= 4 * 32); // two blocks are full of items, one is being filled, one waits
  }

  TEST_CASE("a releaser lets go of items of several makers and of none, and keeps what others hold") {
    shared_item_maker first;
    shared_item_maker second;
    std::vector<std::weak_ptr<const weir::block>> blocks;
    std::vector<shared_item> items;
    for (std::uint64_t seq = 1; seq <= 200; ++seq) {
      auto item = live_with(position_at(1, seq), 10);
      auto made = seq % 3 == 0 ? shared_item{std::move(item)} : (seq % 5 < 3 ? first : second).make(std::move(item));
      blocks.push_back(block_of(made));
      items.push_back(std::move(made));
    }
    const auto held = items[10];
    {
      shared_item_releaser releaser;
      for (auto& one : items)
        releaser.release(std::move(one));
      releaser.release(shared_item{});
    }
    CHECK(std::ranges::count_if(blocks, [](const auto& one) { return !one.expired(); }) == 1);
    CHECK(*held.at() == position_at(1, 11));
  }

  TEST_CASE("items are made on one thread and let go on others, while the maker goes on, and when it is gone") {
    for (int round = 0; round < 20; ++round) {
      std::vector<std::weak_ptr<const weir::block>> blocks;
      std::vector<std::thread> running;
      {
        shared_item_maker maker;
        for (int number = 0; number < 4; ++number) {
          std::vector<shared_item> share;
          for (std::uint64_t seq = 1; seq <= 100; ++seq)
            blocks.push_back(block_of(share.emplace_back(maker.make(live_with(position_at(1, seq), 1)))));
          running.emplace_back([share = std::move(share), one_by_one = number % 2 == 0]() mutable {
            shared_item_releaser releaser;
            for (auto& one : share) {
              const auto copy = one;
              if (one_by_one)
                one.reset();
              else
                releaser.release(std::move(one));
            }
          });
        }
      }
      for (auto& one : running)
        one.join();
      CHECK(std::ranges::all_of(blocks, [](const auto& one) { return one.expired(); }));
    }
  }
}
