#include <weir/cli/arrival_order.hpp>

#include "../core/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace {

using core_tests::random_source;
using weir::entry;
using weir::cli::arrival_order;

entry at(std::int64_t offset, std::int64_t time) {
  entry one;
  one.offset = offset;
  one.time = time;
  return one;
}

TEST_CASE("nothing is taken while an earlier entry may still come") {
  arrival_order order{3};
  CHECK(order.wanted().empty());
  CHECK_FALSE(order.take());
  order.expect(0);
  order.expect(2);
  CHECK(order.wanted() == std::vector<std::uint32_t>{0, 2});
  order.add(0, {at(0, 20)});
  CHECK_FALSE(order.take());
  order.add(2, {at(0, 10), at(1, 30)});
  auto first = order.take();
  REQUIRE(first);
  CHECK(first->first == 2);
  auto second = order.take();
  REQUIRE(second);
  CHECK(second->first == 0);
  CHECK(order.wanted() == std::vector<std::uint32_t>{0}); // it may have another before 30
  CHECK_FALSE(order.take());
  order.add(0, {});
  auto third = order.take();
  REQUIRE(third);
  CHECK(third->second.offset == 1);
  CHECK(order.wanted() == std::vector<std::uint32_t>{2});
  order.add(2, {});
  CHECK(order.wanted().empty());
  CHECK_FALSE(order.take());
}

TEST_CASE("shards that are read in pieces come out as if all had been sorted at once") {
  for (const auto seed : core_tests::seeds(200)) {
    random_source random{seed};
    const auto shards = static_cast<std::size_t>(random.between(1, 5));
    std::vector<std::vector<entry>> there(shards);
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::int64_t>> expected;
    for (std::uint32_t shard = 0; shard < shards; ++shard) {
      std::int64_t time = 0;
      for (std::int64_t offset = 0, end = static_cast<std::int64_t>(random.below(20)); offset < end; ++offset) {
        time += static_cast<std::int64_t>(random.below(3)); // often the same
        there[shard].push_back(at(offset, time));
        expected.emplace_back(time, shard, offset);
      }
    }
    std::ranges::sort(expected);
    arrival_order order{shards};
    std::vector<std::size_t> next(shards, 0);
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      order.expect(shard);
    std::vector<std::tuple<std::int64_t, std::uint32_t, std::int64_t>> taken;
    for (auto wanted = order.wanted(); !wanted.empty(); wanted = order.wanted()) {
      for (const auto shard : wanted) {
        const auto left = there[shard].size() - next[shard];
        const auto count = left == 0 ? 0 : static_cast<std::size_t>(random.between(1, left));
        std::vector<entry> piece(there[shard].begin() + static_cast<std::ptrdiff_t>(next[shard]),
          there[shard].begin() + static_cast<std::ptrdiff_t>(next[shard] + count));
        next[shard] += count;
        order.add(shard, std::move(piece));
      }
      while (auto one = order.take())
        taken.emplace_back(one->second.time, one->first, one->second.offset);
    }
    CHECK_MESSAGE(taken == expected, core_tests::replay(seed));
  }
}

} // namespace
