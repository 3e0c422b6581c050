#include "conformance/log/checkpointer_caller.hpp"
#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;

namespace {

struct with_entries {
  with_entries() : topic{log, "orders"} { topic.append_payloads(numbered("a", 10)); }

  checkpointer_caller reader(std::string name = "reader") { return {log, topic.topic(), std::move(name)}; }

  log_caller log;
  topic_caller topic;
};

/// Counts up what the checkpoint's metadata says, as often as it is wanted, whatever others do.
std::size_t count_up(topic_caller& topic, std::size_t times) {
  std::size_t conflicts = 0;
  for (std::size_t done = 0; done < times;) {
    const auto known = must(topic.checkpoint("counter"));
    const auto counted = known ? std::stoul(known->metadata) : 0;
    const auto revision = known ? std::optional{known->revision} : std::nullopt;
    const auto committed =
      topic.commit({.consumer = "counter", .offsets = {-1}, .metadata = std::to_string(counted + 1), .expected = revision});
    if (committed)
      ++done;
    else if (committed.error() == errc::checkpoint_conflict)
      ++conflicts;
    else
      return SIZE_MAX;
  }
  return conflicts;
}

} // namespace

TEST_CASE("log: a checkpointer commits one checkpoint after the other") {
  with_entries one;
  auto reader = one.reader();
  CHECK(must(reader.claim()) == std::nullopt);
  CHECK(reader.stored() == std::nullopt);
  must(reader.commit({2}, "two"));
  CHECK(reader.stored()->revision == 1);
  must(reader.commit({5}));
  CHECK(must(one.topic.checkpoint("reader")) == reader.stored());
  CHECK(reader.stored()->offsets == offsets{5});
  CHECK(reader.stored()->metadata.empty());
}

TEST_CASE("log: whoever claims a checkpoint fences those who held it before") {
  with_entries one;
  auto zombie = one.reader();
  CHECK(must(zombie.claim()) == std::nullopt);
  must(zombie.commit({2}, "mine"));

  auto heir = one.reader();
  const auto claimed = must(heir.claim());
  CHECK(claimed->offsets == offsets{2}); // where the other one was
  CHECK(claimed->metadata == "mine");
  CHECK(claimed->revision == 2);
  for (int again = 0; again < 3; ++again)
    CHECK(fault(zombie.commit({9})) == errc::checkpoint_conflict);
  must(heir.commit({3}));
  CHECK(fault(zombie.commit({9})) == errc::checkpoint_conflict);
  CHECK(must(one.topic.checkpoint("reader"))->offsets == offsets{3});

  CHECK(must(zombie.claim())->offsets == offsets{3}); // which takes it over in its turn
  must(zombie.commit({4}));
  CHECK(fault(heir.commit({5})) == errc::checkpoint_conflict);
}

TEST_CASE("log: of two who claim a new consumer, the one that commits first has it") {
  with_entries one;
  auto left = one.reader();
  auto right = one.reader();
  CHECK(must(left.claim()) == std::nullopt);
  CHECK(must(right.claim()) == std::nullopt);
  must(right.commit({1}));
  CHECK(fault(left.commit({2})) == errc::checkpoint_conflict);
  must(right.commit({2}));
}

TEST_CASE("log: a commit that was refused leaves the claim as it is") {
  with_entries one;
  auto reader = one.reader();
  must(reader.claim());
  must(reader.commit({5}));
  CHECK(fault(reader.commit({4})) == errc::checkpoint_regress);
  CHECK(fault(reader.commit({10})) == errc::ahead_of_head);
  CHECK(fault(reader.commit({6}, std::string(4097, 'x'))) == errc::invalid_argument);
  CHECK(reader.stored()->offsets == offsets{5});
  must(reader.commit({6}));
}

TEST_CASE("log: a cursor of another store, topic, epoch or layout is no checkpoint here") {
  with_entries one;
  auto reader = one.reader();
  must(reader.claim());
  const auto right = one.topic.topic()->description().cursor_at({1});
  auto wrong = right;
  wrong.store ^= 1;
  CHECK(fault(reader.commit_cursor(wrong)) == errc::wrong_source);
  wrong = right;
  wrong.topic = "bills";
  CHECK(fault(reader.commit_cursor(wrong)) == errc::wrong_source);
  wrong = right;
  wrong.epoch = 2;
  CHECK(fault(reader.commit_cursor(wrong)) == errc::stale_epoch);
  wrong = right;
  wrong.offsets.push_back(1);
  CHECK(fault(reader.commit_cursor(wrong)) == errc::layout_mismatch);
  CHECK(must(one.topic.checkpoint("reader")) == std::nullopt);
  must(reader.commit_cursor(right));
}

TEST_CASE("log: a checkpoint that has expired is shown to who claims it, and goes on where he commits") {
  with_entries one;
  auto reader = one.reader();
  must(reader.claim());
  must(reader.commit({2}));
  CHECK(must(one.topic.trim({.through = {5}, .force = true, .budget = {.entries = 3}})).expired == texts{"reader"});

  auto heir = one.reader();
  const auto found = must(heir.claim());
  REQUIRE(found);
  CHECK(found->expired);
  CHECK(found->offsets == offsets{2});
  CHECK(found->revision == 1); // not taken over
  CHECK(fault(heir.commit({3})) == errc::cursor_expired);
  must(heir.commit({5}));
  CHECK_FALSE(must(one.topic.checkpoint("reader"))->expired);
  CHECK(fault(reader.commit({6})) == errc::checkpoint_conflict);
}

TEST_CASE("log: of two writers of a checkpoint, neither loses an update of the other") {
  log_caller log;
  topic_caller topic{log, "orders"};
  constexpr std::size_t times = 150;
  std::size_t of_other = 0;
  std::thread other{[&] {
    topic_caller also = topic;
    of_other = count_up(also, times);
  }};
  const auto of_this = count_up(topic, times);
  other.join();
  CHECK(of_this != SIZE_MAX);
  CHECK(of_other != SIZE_MAX);
  const auto last = must(topic.checkpoint("counter"));
  CHECK(last->metadata == std::to_string(2 * times));
  CHECK(last->revision == 2 * times);
}

TEST_CASE("log: of two writers through two connections, neither loses an update of the other") {
  log_caller log;
  if (lacks(log.place().is_shared(), "no second connection to the same store"))
    return;
  topic_caller here{log, "orders"};
  topic_caller there{log, must(log.open_topic(log.place().open(), "orders"))};
  constexpr std::size_t times = 100;
  std::size_t of_other = 0;
  std::thread other{[&] { of_other = count_up(there, times); }};
  const auto of_this = count_up(here, times);
  other.join();
  CHECK(of_this != SIZE_MAX);
  CHECK(of_other != SIZE_MAX);
  CHECK(must(here.checkpoint("counter"))->metadata == std::to_string(2 * times));
  CHECK(must(there.checkpoint("counter"))->revision == 2 * times);
}
