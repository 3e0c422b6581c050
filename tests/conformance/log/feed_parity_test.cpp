#include "conformance/log/feed_caller.hpp"
#include "core/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <set>

using namespace log_suite;
using core_tests::random_source;
using weir::errc;

namespace {

/// The simplest feed there can be: credit is a batch size, each pull begins at the cursor, and an acknowledgement sets it to
/// any committed offset above.
struct naive_parity_feed {
  std::int64_t cursor = -1;
  std::uint64_t credit = 0;

  std::optional<offsets> pull(std::int64_t earliest, std::int64_t head) {
    const auto batch = std::exchange(credit, 0);
    if (batch > 0 && cursor < earliest - 1)
      return std::nullopt; // expired
    offsets pulled;
    for (auto next = cursor + 1; next < head && pulled.size() < batch; ++next)
      pulled.push_back(next);
    return pulled;
  }

  void acknowledge(std::int64_t offset, std::int64_t head) {
    if (offset > cursor && offset < head)
      cursor = offset;
  }
};

/// Credit adds up, each pull goes on where the one before ended, and the cursor is the part that is acknowledged without a
/// hole.
struct naive_feed {
  std::int64_t delivered = -1;
  std::uint64_t credit = 0;
  std::int64_t floor = -1;
  std::set<std::int64_t> in_flight;

  offsets pull(std::int64_t head) {
    offsets pulled;
    for (; delivered + 1 < head && credit > 0; --credit) {
      pulled.push_back(++delivered);
      in_flight.insert(delivered);
    }
    return pulled;
  }

  bool acknowledge(std::int64_t offset) {
    if (offset > delivered)
      return false;
    in_flight.erase(offset);
    settle();
    return true;
  }

  bool acknowledge_through(std::int64_t offset) {
    if (offset > delivered)
      return false;
    in_flight.erase(in_flight.begin(), in_flight.upper_bound(offset));
    settle();
    return true;
  }

  void settle() { floor = in_flight.empty() ? delivered : *in_flight.begin() - 1; }

  void rewind() {
    in_flight.clear();
    delivered = floor;
  }
};

} // namespace

TEST_CASE("log: in parity mode a feed does what the simplest feed does") {
  for (const auto seed : core_tests::seeds(12)) {
    INFO(core_tests::replay(seed));
    random_source random{seed};
    log_caller log;
    topic_caller topic{log, "orders"};
    feed_caller feed{log, topic, {.mode = weir::feed_mode::parity, .read = {.entries = random.between(1, 9)}}};
    must(feed.ready());
    naive_parity_feed naive;
    std::int64_t earliest = 0;
    std::int64_t head = 0;
    for (int step = 0; step < 60; ++step) {
      if (random.chance(60)) {
        const auto count = random.between(1, 6);
        topic.append_payloads(texts(count, "p"));
        head += static_cast<std::int64_t>(count);
      }
      if (random.chance(15) && earliest < head) {
        const auto through = earliest + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(head - earliest)));
        earliest = must(topic.force_trim(std::min(through, naive.cursor + 2))).bounds.front().earliest;
      }
      for (auto grants = random.below(3); grants > 0; --grants) {
        const auto more = random.below(8);
        feed.grant(more);
        naive.credit += more;
      }
      const bool had_credit = naive.credit > 0;
      const auto expected = naive.pull(earliest, head);
      const auto pulled = feed.pull();
      if (!expected) {
        CHECK(fault(pulled) == errc::cursor_expired);
        CHECK(feed.acked() == naive.cursor);
        break;
      }
      REQUIRE(fault(pulled) == std::nullopt);
      REQUIRE(offsets_of(pulled.value()) == *expected);
      CHECK(must(feed.stats()).available.items == 0); // what was left is gone
      if (!had_credit)
        continue; // nothing was read, so it does not know the head
      for (auto acks = random.below(3); acks > 0; --acks) {
        const auto offset = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(head) + 3)) - 1;
        must(feed.acknowledge(offset));
        naive.acknowledge(offset, head);
        REQUIRE(feed.acked() == naive.cursor);
      }
    }
  }
}

TEST_CASE("log: a feed that is rewound before each pull and whose credit is revoked behind it does what parity mode does") {
  for (const auto seed : core_tests::seeds(8)) {
    INFO(core_tests::replay(seed));
    random_source random{seed};
    log_caller log;
    topic_caller topic{log, "orders"};
    feed_caller parity{log, topic, {.mode = weir::feed_mode::parity}};
    feed_caller continued{log, topic};
    for (int step = 0; step < 40; ++step) {
      topic.append_payloads(texts(random.between(1, 4), "p"));
      const auto batch = random.below(10);
      parity.grant(batch);
      continued.rewind();
      continued.grant(batch);
      const auto expected = parity.pull_offsets();
      REQUIRE(continued.pull_offsets() == expected);
      continued.revoke();
      if (expected.empty() || random.chance(30))
        continue;
      const auto done = random.pick(expected);
      must(parity.acknowledge(done));
      must(continued.acknowledge_through(done));
      REQUIRE(parity.acked() == done);
      REQUIRE(continued.acked() == done);
    }
  }
}

TEST_CASE("log: a feed does what a list does, through appends, credit, acknowledgements, rewinds and being opened again") {
  for (const auto seed : core_tests::seeds(12)) {
    INFO(core_tests::replay(seed));
    random_source random{seed};
    log_caller log;
    topic_caller topic{log, "orders"};
    auto feed = std::make_unique<feed_caller>(log, topic);
    naive_feed naive;
    std::int64_t head = 0;
    for (int step = 0; step < 120; ++step) {
      const auto offset = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(head) + 2)) - 1;
      switch (random.below(8)) {
      case 0:
      case 1: {
        const auto count = random.between(1, 5);
        topic.append_payloads(texts(count, "p"));
        head += static_cast<std::int64_t>(count);
        break;
      }
      case 2:
        naive.credit += 3;
        feed->grant(3);
        break;
      case 3:
      case 4: REQUIRE(feed->pull_offsets() == naive.pull(head)); break;
      case 5: REQUIRE(feed->acknowledge(offset).has_value() == naive.acknowledge(offset)); break;
      case 6: REQUIRE(feed->acknowledge_through(offset).has_value() == naive.acknowledge_through(offset)); break;
      default:
        naive.rewind();
        if (random.chance(50)) {
          feed->rewind();
        } else {
          const auto here = must(weir::parse_cursor(to_text(must(feed->at()))));
          feed = std::make_unique<feed_caller>(log, topic.topic(), here);
          naive.credit = 0;
        }
      }
      REQUIRE(feed->acked() == naive.floor);
      REQUIRE(must(feed->stats()).available.items == naive.credit);
    }
  }
}
