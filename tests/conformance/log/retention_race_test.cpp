#include "conformance/log/feed_caller.hpp"
#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace log_suite;
using weir::errc;

namespace {

constexpr std::int64_t total = 900;
constexpr std::int64_t retained = 40;

/// Appends all there will be, and trims behind it, as fast as it can. Entry n says n.
class trimmer {
public:
  explicit trimmer(const topic_caller& topic)
    : works_{[topic] {
        auto mine = topic;
        for (std::int64_t next = 0; next < total; next += 5) {
          (void)mine.append_payloads(numbered("", 5, static_cast<std::size_t>(next)));
          if (next >= retained)
            (void)mine.force_trim(next - retained);
        }
      }} {}
  ~trimmer() { works_.join(); }
  trimmer(const trimmer&) = delete;
  trimmer& operator=(const trimmer&) = delete;

private:
  std::thread works_;
};

/// What one reader saw: whether each entry was the one after its predecessor, or after what it was told had expired.
struct sight {
  std::int64_t seen = 0;
  std::int64_t expired = 0;
  std::string fault = {};
};

std::string misplaced(std::int64_t expected, const weir::entry& found) {
  return "expected " + std::to_string(expected) + " and found " + std::to_string(found.offset) + " with " + found.payload;
}

/// Reads with a store's calls alone.
sight read_all(topic_caller topic, std::size_t at_once) {
  sight all;
  for (std::int64_t next = 0; next < total;) {
    const auto brought = topic.read(0, next - 1, {.entries = at_once, .bytes = 1 << 20});
    if (!brought && brought.error() == errc::cursor_expired) {
      const auto earliest = topic.bounds().front().earliest;
      if (earliest <= next)
        return {all.seen, all.expired, "expired at what is retained"};
      all.expired += earliest - next;
      next = earliest;
      continue;
    }
    if (!brought)
      return {all.seen, all.expired, brought.error().to_string()};
    for (const auto& one : brought.value().entries) {
      if (one.offset != next || one.payload != std::to_string(next))
        return {all.seen, all.expired, misplaced(next, one)};
      ++next;
      ++all.seen;
    }
  }
  return all;
}

/// Reads with a feed that goes on behind what was trimmed, and tells.
sight follow_all(log_caller& log, const topic_caller& topic) {
  feed_caller feed{log, topic, {.skip_expired = true, .read = {.entries = 7}}};
  sight all;
  for (std::int64_t next = 0; next < total;) {
    feed.grant(11);
    const auto pulled = feed.pull();
    if (!pulled)
      return {all.seen, all.expired, pulled.error().to_string()};
    auto gaps = feed.take_gaps();
    for (const auto& one : pulled.value()) {
      while (one.entry.offset != next && !gaps.empty() && gaps.front().first == next) {
        all.expired += gaps.front().last + 1 - next;
        next = gaps.front().last + 1;
        gaps.erase(gaps.begin());
      }
      if (one.entry.offset != next || one.entry.payload != std::to_string(next))
        return {all.seen, all.expired, misplaced(next, one.entry)};
      ++next;
      ++all.seen;
    }
    for (const auto& gap : gaps) { // in front of what comes next
      if (gap.first != next)
        return {all.seen, all.expired, "a gap elsewhere"};
      all.expired += gap.last + 1 - next;
      next = gap.last + 1;
    }
    if (!pulled.value().empty())
      must(feed.acknowledge_through(pulled.value().back().entry.offset));
  }
  return all;
}

} // namespace

TEST_CASE("log: a reader that races with a trim sees a run without holes, or learns that its cursor has expired") {
  log_caller log;
  topic_caller topic{log, "orders"};
  std::vector<sight> sights(4);
  {
    const trimmer behind{topic};
    std::vector<std::thread> readers;
    for (std::size_t one = 0; one < sights.size(); ++one)
      readers.emplace_back([&, one] { sights[one] = read_all(topic, 1 + one * 5); });
    for (auto& one : readers)
      one.join();
  }
  for (const auto& one : sights) {
    CHECK(one.fault.empty());
    CHECK(one.seen + one.expired == total);
    CHECK(one.seen > 0);
  }
}

TEST_CASE("log: feeds that race with a trim deliver each entry or report it as a gap") {
  log_caller log;
  topic_caller topic{log, "orders"};
  std::vector<sight> sights(3);
  {
    const trimmer behind{topic};
    std::vector<std::thread> readers;
    for (auto& one : sights)
      readers.emplace_back([&] { one = follow_all(log, topic); });
    for (auto& one : readers)
      one.join();
  }
  for (const auto& one : sights) {
    CHECK(one.fault.empty());
    CHECK(one.seen + one.expired == total);
    CHECK(one.seen > 0);
  }
}

TEST_CASE("log: a consumer whose checkpoint is honoured misses nothing, however much is trimmed meanwhile") {
  log_caller log;
  topic_caller topic{log, "orders"};
  must(topic.commit({.consumer = "reader", .offsets = {-1}}));
  std::int64_t next = 0;
  std::string fault;
  {
    const trimmer behind{topic};
    feed_caller feed{log, topic};
    std::uint64_t revision = 1;
    while (next < total && fault.empty()) {
      feed.grant(13);
      const auto pulled = feed.pull();
      if (!pulled) {
        fault = pulled.error().to_string();
        break;
      }
      for (const auto& one : pulled.value()) {
        if (one.entry.offset != next)
          fault = misplaced(next, one.entry);
        ++next;
      }
      if (pulled.value().empty())
        continue;
      must(feed.acknowledge_through(next - 1));
      revision = must(topic.commit({.consumer = "reader", .offsets = must(feed.at()).offsets, .expected = revision})).revision;
    }
  }
  CHECK(fault.empty());
  CHECK(next == total);
}

TEST_CASE("log: a bootstrap that races with trims and snapshots gets a whole snapshot, and all that follows it") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads(numbered("", 5));
  must(topic.snapshot({4}, {"state at 4", "second chunk"}));
  std::size_t done = 0;
  std::string fault;
  std::thread rival{[topic] {
    auto mine = topic;
    for (std::int64_t next = 5; next < 300; next += 5) {
      (void)mine.append_payloads(numbered("", 5, static_cast<std::size_t>(next)));
      const auto last = next + 4;
      (void)mine.snapshot({last}, {"state at " + std::to_string(last), "second chunk"});
      (void)mine.trim({.through = {last}});
    }
  }};
  while (topic.bounds().front().head < 300 && fault.empty()) {
    bootstrap_caller filling{log, topic.topic()};
    const auto chosen = filling.open();
    if (!chosen) {
      fault = chosen.error().to_string();
      break;
    }
    const auto edge = chosen.value().offsets.front();
    if (filling.chunks() != texts{"state at " + std::to_string(edge), "second chunk"})
      fault = "another snapshot's chunks";
    feed_caller feed{log, must(filling.take_feed())};
    feed.grant(10'000);
    const auto head = topic.bounds().front().head;
    const auto pulled = feed.pull();
    if (!pulled) {
      fault = pulled.error().to_string();
      break;
    }
    auto next = edge + 1;
    for (const auto& one : pulled.value())
      if (one.entry.offset != next++)
        fault = misplaced(next - 1, one.entry);
    if (next < head)
      fault = "entries that were there are missing";
    must(feed.close());
    ++done;
  }
  rival.join();
  CHECK(fault.empty());
  CHECK(done > 0);
  CHECK(must(topic.trim({.through = {299}})).held_by.empty()); // no pin is left
}
