#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;

namespace {

/// A topic of two shards with ten entries each.
struct with_entries {
  with_entries() : topic{log, "orders", {.shards = 2}} {
    topic.append_payloads(numbered("a", 10), 0);
    topic.append_payloads(numbered("b", 10), 1);
  }

  weir::result<weir::checkpoint> commit(
    offsets at, std::optional<std::uint64_t> expected, std::string metadata = {}, bool may_go_back = false) {
    return topic.commit({"reader", std::move(at), std::move(metadata), expected, may_go_back});
  }

  weir::checkpoint stored() { return must(topic.checkpoint("reader")).value(); }

  log_caller log;
  topic_caller topic;
};

texts consumers_of(const std::vector<weir::checkpoint>& all) {
  texts names;
  for (const auto& one : all)
    names.push_back(one.consumer);
  std::ranges::sort(names);
  return names;
}

} // namespace

TEST_CASE("log: a checkpoint comes back as it was committed, and each commit has the next revision") {
  with_entries one;
  CHECK(must(one.topic.checkpoint("reader")) == std::nullopt);
  CHECK(one.topic.checkpoints().empty());
  const auto first = must(one.commit({3, -1}, std::nullopt, "begun"));
  CHECK(first.consumer == "reader");
  CHECK(first.offsets == offsets{3, -1});
  CHECK(first.metadata == "begun");
  CHECK(first.revision == 1);
  CHECK(first.time == one.log.clock().now());
  CHECK_FALSE(first.expired);
  CHECK(one.stored() == first);
  CHECK(one.topic.checkpoints() == std::vector<weir::checkpoint>{first});

  one.log.clock().advance(1s);
  const auto second = must(one.commit({3, 9}, 1));
  CHECK(second.revision == 2);
  CHECK(second.metadata.empty()); // it is of the commit, and not kept from the one before
  CHECK(second.time == first.time + 1'000'000'000);
  CHECK(one.stored() == second);
}

TEST_CASE("log: a commit that does not know the last revision is a conflict that names both, and changes nothing") {
  with_entries one;
  const auto none = one.commit({3, 3}, 1);
  CHECK(fault(none) == errc::checkpoint_conflict);
  CHECK(fact(none, "consumer") == "reader");
  CHECK(fact(none, "expected") == "1");
  CHECK(fact(none, "actual") == "none");
  CHECK(must(one.topic.checkpoint("reader")) == std::nullopt);

  must(one.commit({3, 3}, std::nullopt));
  const auto stored = must(one.commit({4, 4}, 1));
  for (const std::optional<std::uint64_t> wrong : {std::optional<std::uint64_t>{}, {0}, {1}, {3}}) {
    const auto conflict = one.commit({5, 5}, wrong, "never", true);
    CHECK(fault(conflict) == errc::checkpoint_conflict);
    CHECK(fact(conflict, "expected") == (wrong ? std::to_string(*wrong) : "none"));
    CHECK(fact(conflict, "actual") == "2");
  }
  CHECK(one.stored() == stored);
}

TEST_CASE("log: a checkpoint does not go back, unless somebody says that it may") {
  with_entries one;
  const auto stored = must(one.commit({5, 5}, std::nullopt));
  for (const auto& [back, shard] : std::vector<std::pair<offsets, std::string>>{
         {{4, 5}, "0"}, {{9, 4}, "1"}, {{-1, -1}, "0"}, {{5, -1}, "1"}}) { // also where another shard goes on
    const auto regress = one.commit(back, 1);
    CHECK(fault(regress) == errc::checkpoint_regress);
    CHECK(fact(regress, "consumer") == "reader");
    CHECK(fact(regress, "shard") == shard);
    CHECK(fact(regress, "stored") == "5");
    CHECK(fact(regress, "requested") == std::to_string(back[shard == "0" ? 0 : 1]));
  }
  CHECK(one.stored() == stored);
  CHECK(must(one.commit({5, 5}, 1, "same place")).revision == 2);
  CHECK(must(one.commit({-1, 3}, 2, "", true)).offsets == offsets{-1, 3});
  CHECK(must(one.commit({0, 3}, 3)).revision == 4);
}

TEST_CASE("log: a checkpoint is at an entry that there is, or before the first") {
  with_entries one;
  const auto ahead = one.commit({-1, 10}, std::nullopt);
  CHECK(fault(ahead) == errc::ahead_of_head);
  CHECK(fact(ahead, "shard") == "1");
  CHECK(fact(ahead, "requested") == "10");
  CHECK(fact(ahead, "head") == "10");
  CHECK(fault(one.commit({INT64_MAX, -1}, std::nullopt)) == errc::ahead_of_head);
  CHECK(fault(one.commit({-2, -1}, std::nullopt)) == errc::invalid_argument);
  CHECK(fault(one.commit({-1}, std::nullopt)) == errc::invalid_argument);
  CHECK(fault(one.commit({}, std::nullopt)) == errc::invalid_argument);
  CHECK(fault(one.commit({-1, -1, -1}, std::nullopt)) == errc::invalid_argument);
  CHECK(must(one.topic.checkpoint("reader")) == std::nullopt);
  must(one.commit({-1, -1}, std::nullopt));
  must(one.commit({9, 9}, 1));
}

TEST_CASE("log: a checkpoint whose next entry is trimmed is refused, one right before the earliest is not") {
  with_entries one;
  must(one.topic.force_trim(4, 1));
  const auto expired = one.commit({-1, 3}, std::nullopt);
  CHECK(fault(expired) == errc::cursor_expired);
  CHECK(fact(expired, "shard") == "1");
  CHECK(fact(expired, "requested") == "3");
  CHECK(fact(expired, "earliest") == "5");
  CHECK(fault(one.commit({-1, 3}, std::nullopt, "", true)) == errc::cursor_expired);
  must(one.commit({-1, 4}, std::nullopt));
}

TEST_CASE("log: a checkpoint keeps up to 4096 bytes of its consumer's own") {
  with_entries one;
  std::string bytes;
  for (std::size_t byte = 0; byte < weir::max_checkpoint_metadata; ++byte)
    bytes += static_cast<char>(byte % 256);
  must(one.commit({-1, -1}, std::nullopt, bytes));
  CHECK(one.stored().metadata == bytes);
  const auto refused = one.commit({-1, -1}, 1, bytes + "x");
  CHECK(fault(refused) == errc::invalid_argument);
  CHECK(fact(refused, "given") == "4097");
  CHECK(one.stored().metadata == bytes);
}

TEST_CASE("log: consumers are named as topics are, and each has a checkpoint of its own") {
  with_entries one;
  const texts names{"reader", "Reader", "READER", "reader ", "'", "\"", "a/b", "%", "_", "\xc3\xbc", "u\xcc\x88", "\n", "0",
    std::string(249, 'x'), std::string(249, 'y')};
  for (std::size_t number = 0; number < names.size(); ++number)
    must(one.topic.commit({.consumer = names[number], .offsets = {-1, -1}, .metadata = std::to_string(number)}));
  for (std::size_t number = 0; number < names.size(); ++number)
    CHECK(must(one.topic.checkpoint(names[number])).value().metadata == std::to_string(number));
  auto sorted = names;
  std::ranges::sort(sorted);
  CHECK(consumers_of(one.topic.checkpoints()) == sorted);
  for (const auto& wrong : texts{"", std::string(250, 'x'), std::string{"a\0b", 3}, "\xff", "\xed\xa0\x80"}) {
    CHECK(fault(one.topic.commit({.consumer = wrong, .offsets = {-1, -1}})) == errc::invalid_argument);
    CHECK(must(one.topic.checkpoint(wrong)) == std::nullopt);
  }
}

TEST_CASE("log: a checkpoint that is dropped is gone, if its revision is known") {
  with_entries one;
  const auto none = one.topic.drop("reader", 1);
  CHECK(fault(none) == errc::checkpoint_conflict);
  CHECK(fact(none, "expected") == "1");
  CHECK(fact(none, "actual") == "none");
  must(one.commit({3, 3}, std::nullopt));
  must(one.commit({4, 4}, 1));
  must(one.topic.commit({.consumer = "other", .offsets = {0, 0}}));
  const auto conflict = one.topic.drop("reader", 1);
  CHECK(fault(conflict) == errc::checkpoint_conflict);
  CHECK(fact(conflict, "actual") == "2");
  CHECK(one.stored().revision == 2);
  must(one.topic.drop("reader", 2));
  CHECK(must(one.topic.checkpoint("reader")) == std::nullopt);
  CHECK(consumers_of(one.topic.checkpoints()) == texts{"other"});
  CHECK(fault(one.topic.drop("reader", 2)) == errc::checkpoint_conflict);
  CHECK(fault(one.commit({5, 5}, 2)) == errc::checkpoint_conflict);
  CHECK(must(one.commit({0, 0}, std::nullopt)).revision == 1); // it begins again, anywhere
}

TEST_CASE("log: ten thousand checkpoints are all listed") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  must(log.run(
    [](weir::self me, std::shared_ptr<weir::log_topic> of) -> weir::task<weir::result<void>> {
      for (int number = 0; number < 10'000; ++number) {
        auto committing =
          of->commit_checkpoint(me, {.consumer = "consumer " + std::to_string(number), .offsets = {number % 2 - 1}});
        auto committed = co_await std::move(committing);
        if (!committed) {
          weir::result<void> failed = std::move(committed).error();
          co_return failed;
        }
      }
      co_return weir::success();
    },
    topic.topic()));
  const auto all = topic.checkpoints();
  REQUIRE(all.size() == 10'000);
  auto expected = numbered("consumer ", 10'000);
  std::ranges::sort(expected);
  CHECK(consumers_of(all) == expected);
  std::size_t wrong = 0;
  for (const auto& one : all)
    wrong += one.revision != 1 || one.offsets != offsets{(one.consumer.back() - '0') % 2 - 1} ? 1 : 0;
  CHECK(wrong == 0);
  CHECK(must(topic.trim({.through = {0}, .force = true})).held_by.size() == 5'000);
}

TEST_CASE("log: checkpoints are there after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  weir::checkpoint kept;
  {
    topic_caller topic{log, "orders", {.shards = 2}};
    topic.append_payloads({"a", "b"}, 1);
    must(topic.commit({.consumer = "reader", .offsets = {-1, 0}}));
    kept = must(topic.commit({.consumer = "reader", .offsets = {-1, 1}, .metadata = std::string{"m\0", 2}, .expected = 1}));
    must(topic.commit({.consumer = "gone", .offsets = {-1, 0}}));
    must(topic.drop("gone", 1));
  }
  log.reopen();
  topic_caller topic{log, "orders", {.shards = 2}};
  CHECK(topic.checkpoints() == std::vector<weir::checkpoint>{kept});
  CHECK(fault(topic.commit({.consumer = "reader", .offsets = {-1, 1}, .expected = 1})) == errc::checkpoint_conflict);
  CHECK(must(topic.commit({.consumer = "reader", .offsets = {-1, 1}, .expected = 2})).revision == 3);
}

TEST_CASE("log: a checkpoint is seen at once through another connection, and compared there") {
  log_caller log;
  if (lacks(log.place().is_shared(), "no second connection to the same store"))
    return;
  topic_caller here{log, "orders"};
  topic_caller there{log, must(log.open_topic(log.place().open(), "orders"))};
  here.append_payloads(numbered("a", 20));
  std::optional<std::uint64_t> revision;
  for (std::int64_t offset = 0; offset < 20; ++offset) {
    auto& commits = offset % 2 == 0 ? here : there;
    auto& reads = offset % 2 == 0 ? there : here;
    const auto made = must(commits.commit({.consumer = "reader", .offsets = {offset}, .expected = revision}));
    CHECK(must(reads.checkpoint("reader")) == made);
    CHECK(fault(reads.commit({.consumer = "reader", .offsets = {19}, .expected = revision})) == errc::checkpoint_conflict);
    revision = made.revision;
  }
  must(there.drop("reader", *revision));
  CHECK(here.checkpoints().empty());
}
