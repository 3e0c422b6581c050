#include "conformance/log/appender_caller.hpp"
#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

#include <map>
#include <thread>

using namespace log_suite;
using weir::entry_place;
using weir::errc;

namespace {

constexpr std::uint32_t actors = 64;
constexpr std::uint32_t appends = 12;
constexpr std::uint32_t shards = 3;

/// Where an actor was told that its payloads are.
struct told {
  std::string payload;
  entry_place at;
};

std::string payload_of(std::uint32_t actor, std::uint32_t append, std::uint32_t entry) {
  return std::to_string(actor) + ":" + std::to_string(append) + ":" + std::to_string(entry);
}

std::vector<weir::append_call> call_of(std::uint32_t actor, std::uint32_t append, bool has_keys) {
  std::vector<weir::append_call> calls(1);
  for (std::uint32_t entry = 0; entry <= append % 3; ++entry) {
    auto payload = payload_of(actor, append, entry);
    calls.front().entries.push_back(
      {.dedupe = has_keys ? payload : "", .payload = payload, .shard = (actor + append + entry) % shards});
  }
  return calls;
}

/// Appends straight to the store, one after the other.
weir::task<weir::result<std::vector<told>>> append_all(
  weir::self me, std::shared_ptr<weir::log_topic> to, std::uint32_t actor, bool has_keys) {
  std::vector<told> all;
  for (std::uint32_t append = 0; append < appends; ++append) {
    auto appending = to->append(me, call_of(actor, append, has_keys));
    auto outcome = co_await std::move(appending);
    if (outcome.failure || !outcome.decided.front()) {
      weir::result<std::vector<told>> failed =
        outcome.failure ? std::move(*outcome.failure) : std::move(outcome.decided.front()).error();
      co_return failed;
    }
    const auto& places = outcome.decided.front().value();
    for (std::uint32_t entry = 0; entry < places.size(); ++entry)
      all.push_back({payload_of(actor, append, entry), places[entry]});
  }
  weir::result<std::vector<told>> told_all = std::move(all);
  co_return told_all;
}

/// What they were told is what is there, and all of what is there; each actor's entries of a shard are in its order.
void check_told(topic_caller& topic, const std::vector<std::vector<told>>& by_actor) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::string> there;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    std::int64_t next = 0;
    for (const auto& one : topic.read_all(shard)) {
      REQUIRE(one.offset == next++);
      there.emplace(std::pair{shard, one.offset}, one.payload);
    }
  }
  std::size_t total = 0;
  std::size_t wrong = 0;
  for (const auto& one : by_actor) {
    std::vector<std::int64_t> last(shards, -1);
    for (const auto& [payload, at] : one) {
      const auto found = there.find({at.shard, at.offset});
      wrong += found == there.end() || found->second != payload || at.offset <= last[at.shard] ? 1 : 0;
      last[at.shard] = at.offset;
    }
    total += one.size();
  }
  CHECK(wrong == 0);
  CHECK(there.size() == total);
}

} // namespace

TEST_CASE("log: 64 actors append at the same time, and each is told where its entries are") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = shards}};
  std::vector<std::unique_ptr<performer>> all;
  std::vector<pending<weir::result<std::vector<told>>>> begun;
  for (std::uint32_t actor = 0; actor < actors; ++actor) {
    all.push_back(std::make_unique<performer>(log.system()));
    begun.push_back(all.back()->begin(&append_all, topic.topic(), actor, actor % 2 == 0));
  }
  std::vector<std::vector<told>> by_actor;
  for (auto& one : begun)
    by_actor.push_back(must(one.wait()));
  for (const auto& one : by_actor)
    CHECK(std::ranges::none_of(one, [](const told& each) { return each.at.was_there; }));
  check_told(topic, by_actor);
}

TEST_CASE("log: 64 actors append the same entries at the same time, and each is stored once") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = shards}};
  std::vector<std::unique_ptr<performer>> all;
  std::vector<pending<weir::result<std::vector<told>>>> begun;
  for (std::uint32_t actor = 0; actor < actors; ++actor) {
    all.push_back(std::make_unique<performer>(log.system()));
    begun.push_back(all.back()->begin(&append_all, topic.topic(), 0U, true));
  }
  std::size_t first = 0;
  std::vector<told> expected;
  for (auto& one : begun) {
    const auto places = must(one.wait());
    if (expected.empty())
      expected = places;
    REQUIRE(places.size() == expected.size());
    for (std::size_t each = 0; each < places.size(); ++each) {
      CHECK(places[each].at.shard == expected[each].at.shard);
      CHECK(places[each].at.offset == expected[each].at.offset);
      first += places[each].at.was_there ? 0 : 1;
    }
  }
  CHECK(first == expected.size());
  check_told(topic, {expected});
}

TEST_CASE("log: of 64 actors that expect the same head, one appends") {
  log_caller log;
  topic_caller topic{log, "orders"};
  std::vector<std::unique_ptr<appender_caller>> all;
  for (std::uint32_t actor = 0; actor < actors; ++actor)
    all.push_back(std::make_unique<appender_caller>(log, topic.topic()));
  for (std::int64_t round = 0; round < 3; ++round) {
    std::vector<pending<weir::result<std::size_t>>> begun;
    for (std::uint32_t actor = 0; actor < actors; ++actor)
      begun.push_back(all[actor]->begin_append(one_of(payload_of(actor, 0, 0)), round));
    std::size_t stored = 0;
    for (std::uint32_t actor = 0; actor < actors; ++actor) {
      const auto places = all[actor]->stored(must(begun[actor].wait()));
      stored += places ? 1 : 0;
      if (places)
        CHECK(places.value().front().offset == round);
      else
        CHECK(fault(places) == errc::head_moved);
    }
    CHECK(stored == 1);
  }
  CHECK(topic.bounds().front().head == 3);
}

TEST_CASE("log: whoever reads while others append sees each entry once, in order, and none before it is whole") {
  log_caller log;
  topic_caller topic{log, "orders"};
  constexpr std::int64_t total = 600;
  std::thread writer{[&] {
    for (std::int64_t one = 0; one < total; one += 3) {
      std::vector<weir::append_call> calls(1);
      for (std::int64_t entry = one; entry < one + 3; ++entry)
        calls.front().entries.push_back({.payload = std::to_string(entry), .shard = 0});
      (void)topic.append_calls(std::move(calls));
    }
  }};
  std::int64_t next = 0;
  bool is_whole = true;
  while (next < total) {
    const auto brought = topic.read(0, next - 1, {.entries = 1000, .bytes = 1 << 20});
    if (!brought || brought.value().bounds.head % 3 != 0)
      is_whole = false;
    if (!is_whole)
      break;
    for (const auto& one : brought.value().entries) {
      is_whole = is_whole && one.offset == next && one.payload == std::to_string(next);
      ++next;
    }
  }
  writer.join();
  CHECK(is_whole); // an append of three shows as three
}
