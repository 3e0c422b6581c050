#include "conformance/log/log_caller.hpp"
#include "core/seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

using namespace log_suite;
using weir::errc;

namespace {

/// Ten entries in three blocks: 0 to 3, 4 alone, and 5 to 9; and another shard.
struct ten_entries {
  explicit ten_entries(std::uint32_t shards = 2) : topic{log, "orders", {.shards = shards}} {
    topic.append_payloads(numbered("entry ", 4));
    topic.append_payloads(numbered("entry ", 1, 4));
    topic.append_payloads(numbered("entry ", 5, 5));
    topic.append_payloads({"other a", "other b"}, 1);
  }

  bool damage(std::int64_t offset, damaged what) { return log.place().damage("orders", 0, offset, what); }

  /// What a reader behind the offset gets, to the end or to the first that is corrupt.
  offsets readable_behind(std::int64_t after, std::size_t at_once = 4) {
    offsets found;
    for (;;) {
      const auto brought = topic.read(0, after, {.entries = at_once, .bytes = 1 << 20});
      if (!brought) {
        CHECK(fault(brought) == errc::corrupt_entry);
        CHECK(fact(brought, "topic") == "orders");
        CHECK(fact(brought, "shard") == "0");
        CHECK(fact(brought, "offset") == std::to_string(after + 1));
        return found;
      }
      if (brought.value().entries.empty())
        return found;
      for (const auto& one : brought.value().entries) {
        CHECK(one.payload == "entry " + std::to_string(one.offset));
        found.push_back(after = one.offset);
      }
    }
  }

  /// The offsets that can't be read, each asked for by itself.
  std::set<std::int64_t> corrupt() {
    std::set<std::int64_t> found;
    for (std::int64_t offset = 0; offset < 10; ++offset) {
      const auto brought = topic.read(0, offset - 1, {.entries = 1, .bytes = 1});
      if (!brought && brought.error() == errc::corrupt_entry)
        found.insert(offset);
      else
        CHECK((brought && brought.value().entries.size() == 1
               && brought.value().entries.front().payload == "entry " + std::to_string(offset)));
    }
    return found;
  }

  log_caller log;
  topic_caller topic;
};

offsets up_to(std::int64_t first, std::int64_t last) {
  offsets all;
  for (auto one = first; one <= last; ++one)
    all.push_back(one);
  return all;
}

bool verifies() {
  return log_caller{}.store().capabilities().verifies;
}

} // namespace

TEST_CASE("log: a damaged entry stops a read at its offset, and disturbs nobody who reads elsewhere") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const auto what : {damaged::payload, damaged::digest, damaged::time, damaged::place}) {
    for (std::int64_t bad = 0; bad < 10; ++bad) { // also the first and the last of a block, and of the shard
      INFO("damage ", static_cast<int>(what), " at ", bad);
      ten_entries all;
      REQUIRE(all.damage(bad, what));
      for (std::int64_t after = -1; after < 9; ++after)
        for (const std::size_t at_once : {1U, 3U, 100U})
          CHECK(all.readable_behind(after, at_once) == up_to(after + 1, after < bad ? bad - 1 : 9));
      CHECK(all.topic.payloads(1) == texts{"other a", "other b"});
    }
  }
}

TEST_CASE("log: a read returns what comes before a damaged entry, and the next one fails") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  ten_entries all;
  REQUIRE(all.damage(7, damaged::payload));
  const auto before = must(all.topic.read(0, -1, {.entries = 100, .bytes = 1 << 20}));
  CHECK(before.entries.size() == 7);
  CHECK(before.bounds == weir::shard_bounds{0, 10});
  for (int again = 0; again < 3; ++again) { // it never passes by itself
    const auto at = all.topic.read(0, 6);
    CHECK(fault(at) == errc::corrupt_entry);
    CHECK(fact(at, "offset") == "7");
  }
  CHECK(must(all.topic.read(0, 7)).entries.front().offset == 8);
}

TEST_CASE("log: several damaged entries stop reads each at its own offset") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const auto& bad : std::vector<std::set<std::int64_t>>{{0, 9}, {3, 4}, {4, 5}, {5, 6, 7}, {2, 8}, {3, 5}}) {
    for (const auto what : {damaged::payload, damaged::digest}) {
      ten_entries all;
      for (const auto offset : bad)
        REQUIRE(all.damage(offset, what));
      CHECK(all.corrupt() == bad);
    }
  }
}

TEST_CASE("log: entries that changed places are not taken for what was appended") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const std::int64_t first : {0, 2, 5, 8}) {
    ten_entries all;
    REQUIRE(all.damage(first, damaged::exchanged));
    const auto bad = all.corrupt();
    CHECK(bad.contains(first));
    CHECK(bad.contains(first + 1));
    CHECK(std::ranges::none_of(bad, [&](std::int64_t one) { return one < first || one > first + 2; }));
  }
}

TEST_CASE("log: entries that are gone are corrupt, each at its offset, and disturb nobody who reads elsewhere") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  const std::vector<std::pair<std::int64_t, std::set<std::int64_t>>> lost{
    {0, {0, 1, 2, 3}}, {2, {0, 1, 2, 3}}, {4, {4}}, {5, {5, 6, 7, 8, 9}}, {9, {5, 6, 7, 8, 9}}};
  for (const auto& [offset, bad] : lost) {
    INFO("the block of ", offset);
    ten_entries all;
    REQUIRE(all.log.place().lose("orders", 0, offset));
    CHECK(all.corrupt() == bad);
    CHECK(all.readable_behind(-1) == up_to(0, *bad.begin() - 1));
    CHECK(all.readable_behind(*bad.rbegin()) == up_to(*bad.rbegin() + 1, 9));
    CHECK(all.topic.payloads(1) == texts{"other a", "other b"});
  }
}

TEST_CASE("log: a block that was cut short loses what was cut, and no more") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const auto& [offset, bad] :
    std::vector<std::pair<std::int64_t, std::set<std::int64_t>>>{{0, {0, 1, 2, 3}}, {2, {2, 3}}, {4, {4}}, {8, {8, 9}}}) {
    INFO("cut at ", offset);
    ten_entries all;
    REQUIRE(all.damage(offset, damaged::cut));
    CHECK(all.corrupt() == bad);
    CHECK(all.readable_behind(*bad.rbegin()) == up_to(*bad.rbegin() + 1, 9));
  }
}

TEST_CASE("log: however much is damaged, nothing is returned that was not appended") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const auto seed : core_tests::seeds(40)) {
    INFO(core_tests::replay(seed));
    core_tests::random_source random{seed};
    ten_entries all;
    std::set<std::int64_t> touched;
    for (auto count = random.between(1, 6); count > 0; --count) {
      const auto offset = static_cast<std::int64_t>(random.below(10));
      const auto what = random.chance(30) && offset != 3 && offset != 4 && offset != 9 ? damaged::exchanged
                                                                                       : static_cast<damaged>(random.below(4));
      REQUIRE(all.damage(offset, what));
      touched.insert(offset);
      if (what == damaged::exchanged)
        touched.insert(offset + 1);
    }
    for (std::int64_t after = -1; after < 9; ++after)
      all.readable_behind(after, random.between(1, 10)); // checks each
    for (const auto one : all.corrupt()) // an entry of which nothing is left that is sound may take the next one along
      CHECK((touched.contains(one) || touched.contains(one - 1)));
    CHECK(all.topic.payloads(1) == texts{"other a", "other b"});
  }
}

TEST_CASE("log: damage is found again after the store was opened anew") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  log_caller log;
  topic_caller{log, "orders"}.append_payloads(numbered("entry ", 5));
  log.close();
  REQUIRE(log.place().damage("orders", 0, 3, damaged::payload));
  log.reopen();
  topic_caller topic{log, "orders"};
  CHECK(must(topic.read(0, -1)).entries.size() == 3);
  CHECK(fault(topic.read(0, 2)) == errc::corrupt_entry);
  CHECK(must(topic.read(0, 3)).entries.size() == 1);
}

TEST_CASE("log: a log with damaged entries takes new ones, and each behind the damage can be read") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const auto what : {damaged::payload, damaged::digest, damaged::place}) {
    ten_entries all;
    REQUIRE(all.damage(9, what)); // the last, which the next is chained to
    CHECK(all.topic.append_payloads({"entry 10", "entry 11"}) == offsets{10, 11});
    CHECK(all.readable_behind(9) == offsets{10, 11});
    CHECK(all.corrupt() == std::set<std::int64_t>{9});
  }
  ten_entries all;
  REQUIRE(all.log.place().lose("orders", 0, 9));
  CHECK(all.topic.append_payloads({"entry 10"}) == offsets{10});
  CHECK(all.readable_behind(9) == offsets{10});
}

TEST_CASE("log: damaged and lost entries can be trimmed, and what follows them can be read") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  for (const auto what : {damaged::payload, damaged::digest, damaged::place, damaged::time}) {
    for (const std::int64_t bad : {0, 3, 4, 5, 7}) {
      INFO("damage ", static_cast<int>(what), " at ", bad);
      ten_entries all;
      REQUIRE(all.damage(bad, what));
      if (bad > 0) {
        CHECK(must(all.topic.force_trim(bad - 1)).bounds.front() == weir::shard_bounds{bad, 10});
        CHECK(all.readable_behind(bad - 1).empty()); // now it is the earliest
        CHECK(all.readable_behind(bad) == up_to(bad + 1, 9));
      }
      CHECK(must(all.topic.force_trim(bad)).bounds.front() == weir::shard_bounds{bad + 1, 10});
      CHECK(all.readable_behind(bad) == up_to(bad + 1, 9));
    }
  }
  for (const std::int64_t through : {3, 4, 5}) {
    ten_entries all;
    REQUIRE(all.log.place().lose("orders", 0, 4));
    must(all.topic.force_trim(through));
    CHECK(all.readable_behind(through) == (through == 3 ? offsets{} : up_to(through + 1, 9)));
    CHECK(all.readable_behind(4 + (through == 5)) == up_to(5 + (through == 5), 9));
  }
}

TEST_CASE("log: a damaged entry among large ones stops a read at its offset") {
  if (lacks(verifies(), "nothing of it is verified"))
    return;
  log_caller log;
  topic_caller topic{log, "orders"};
  texts large;
  for (char letter = 'a'; letter < 'i'; ++letter)
    large.push_back(std::string(60'000, letter)); // several blocks in one append
  topic.append_payloads(large);
  for (std::int64_t bad = 7; bad >= 0; --bad) { // from the last to the first: what is before is still sound
    REQUIRE(log.place().damage("orders", 0, bad, damaged::payload));
    for (std::int64_t offset = 0; offset < 8; ++offset) {
      const auto brought = topic.read(0, offset - 1, {.entries = 1, .bytes = 1});
      CHECK(fault(brought) == (offset < bad ? std::nullopt : std::optional{errc::corrupt_entry}));
    }
  }
}
