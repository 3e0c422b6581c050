#include "conformance/log/feed_caller.hpp"
#include "conformance/log/group_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <thread>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;

namespace {

using numbers = std::vector<std::uint32_t>;

weir::group_options group(std::chrono::milliseconds lease = 30s) {
  return {.group = "readers", .lease = lease};
}

/// A topic whose shards have `count` entries each.
struct shared_topic {
  shared_topic(std::uint32_t shards, std::size_t count) : topic{log, "orders", {.shards = shards}} {
    for (std::uint32_t shard = 0; shard < shards; ++shard)
      topic.append_payloads(numbered("s" + std::to_string(shard) + "-", count), shard);
  }

  log_caller log;
  topic_caller topic;
};

/// Blocks until it is so; it must come about.
template <class F>
void wait_until(F is_so) {
  for (const auto end = std::chrono::steady_clock::now() + patience; !is_so();) {
    REQUIRE(std::chrono::steady_clock::now() < end);
    std::this_thread::sleep_for(1ms);
  }
}

/// Takes and acknowledges what is there of its shards, up to so many.
std::map<std::uint32_t, texts> take(group_caller& by, std::size_t count) {
  by.grant(count);
  std::map<std::uint32_t, texts> taken;
  for (; count > 0; --count) {
    const auto one = must(by.next(patience));
    taken[one.shard].push_back(one.entry.payload);
    must(by.acknowledge(one.shard, one.entry.offset));
  }
  return taken;
}

} // namespace

TEST_CASE("log: one member of a group has all shards, and two share them") {
  shared_topic in{4, 3};
  group_caller a{in.log, in.topic.topic()};
  must(a.join(group()));
  CHECK(a.shards() == numbers{0, 1, 2, 3});
  group_caller b{in.log, in.topic.topic()};
  must(b.join(group()));
  CHECK(b.shards().empty());
  must(a.commit());
  CHECK(a.shards() == numbers{0, 1});
  must(b.commit());
  CHECK(b.shards() == numbers{2, 3});
  using taken = std::map<std::uint32_t, texts>;
  CHECK(take(a, 6) == taken{{0, numbered("s0-", 3)}, {1, numbered("s1-", 3)}});
  CHECK(take(b, 6) == taken{{2, numbered("s2-", 3)}, {3, numbered("s3-", 3)}});
  must(a.commit());
  must(b.commit());
  CHECK(in.topic.checkpoint("readers").value()->offsets == offsets{2, 2, 2, 2});
  CHECK(a.view().table.seats.size() == 2);
  CHECK(a.view().member != b.view().member);
  in.topic.append_payloads({"late"}, 3);
  CHECK(take(b, 1) == taken{{3, {"late"}}});
}

TEST_CASE("log: a group goes on behind what it has committed, with whoever is in it") {
  shared_topic in{2, 4};
  group_caller a{in.log, in.topic.topic()};
  must(a.join(group()));
  a.grant(3);
  const auto first = must(a.next());
  const auto second = must(a.next());
  REQUIRE(first.shard == second.shard);
  must(a.acknowledge(first.shard, first.entry.offset));
  must(a.leave()); // commits, and the second is not acknowledged
  CHECK(fault(a.next()) == errc::closed);
  CHECK(fault(a.commit()) == errc::closed);
  group_caller b{in.log, in.topic.topic()};
  must(b.join(group()));
  CHECK(b.shards() == numbers{0, 1}); // at once
  CHECK(b.view().table.seats.size() == 1);
  const auto rest = take(b, 7);
  CHECK(rest.at(first.shard) == numbered("s" + std::to_string(first.shard) + "-", 3, 1));
  CHECK(rest.at(1 - first.shard).size() == 4);
}

TEST_CASE("log: a shard goes to another member when what is in flight of it is done") {
  shared_topic in{2, 3};
  group_caller a{in.log, in.topic.topic()};
  must(a.join(group()));
  a.grant(2);
  std::optional<weir::feed_entry> held;
  while (!held || held->shard != 1) { // the one that will have to go
    held = must(a.next());
    a.grant(1);
  }
  group_caller b{in.log, in.topic.topic()};
  must(b.join(group()));
  for (int beat = 0; beat < 3; ++beat) {
    must(a.commit());
    must(b.commit());
    CHECK(a.shards() == numbers{0, 1});
    CHECK(b.shards().empty());
  }
  a.grant(100);
  for (auto more = a.next(20ms); more; more = a.next(20ms))
    CHECK(more.value().shard == 0); // of the other one nothing comes any more
  for (auto offset = held->entry.offset; offset >= 0; --offset)
    must(a.acknowledge(1, offset));
  must(a.commit());
  CHECK(a.shards() == numbers{0});
  CHECK(fault(a.acknowledge(1, held->entry.offset)) == errc::fenced);
  must(b.commit());
  CHECK(b.shards() == numbers{1});
  b.grant(1);
  CHECK(must(b.next()).entry.offset == held->entry.offset + 1);
}

TEST_CASE("log: what is not acknowledged when the patience is over is delivered again to whoever has the shard then") {
  shared_topic in{2, 1};
  group_caller a{in.log, in.topic.topic()};
  auto hasty = group();
  hasty.patience = 0ms;
  must(a.join(hasty));
  a.grant(2);
  must(a.next());
  must(a.next()); // one of each shard is in flight
  group_caller b{in.log, in.topic.topic()};
  must(b.join(group()));
  must(a.commit());
  must(b.commit());
  CHECK(b.shards() == numbers{1});
  CHECK(fault(a.acknowledge(1, 0)) == errc::fenced);
  b.grant(1);
  CHECK(must(b.next()).entry.payload == "s1-0");
}

TEST_CASE("log: a member that dies is missed, and the others go on with what it has not committed") {
  shared_topic in{4, 2};
  group_caller a{in.log, in.topic.topic()};
  must(a.join(group(300ms)));
  group_caller b{in.log, in.topic.topic()};
  must(b.join(group(300ms)));
  wait_until([&] { return b.shards() == numbers{2, 3}; }); // they beat by themselves
  CHECK(take(a, 4).size() == 2);
  must(a.commit());
  a.grant(1);
  CHECK(take(b, 2).size() == 1);
  b.kill(); // what it has acknowledged since its last beat is not committed
  wait_until([&] { return a.shards() == numbers{0, 1, 2, 3}; });
  CHECK(a.view().table.seats.size() == 1);
  const auto stored = in.topic.checkpoint("readers").value()->offsets;
  const auto again = take(a, static_cast<std::size_t>(1 - stored[2] + 1 - stored[3]));
  for (const auto& [shard, payloads] : again)
    CHECK(
      payloads == numbered("s" + std::to_string(shard) + "-", payloads.size(), static_cast<std::size_t>(stored[shard] + 1)));
}

TEST_CASE("log: a member that can't write delivers nothing before the others take its shards, and is fenced then") {
  shared_topic in{1, 5};
  const auto cut = std::make_shared<scripted_topic>(in.topic.topic());
  group_caller a{in.log, cut};
  must(a.join(group(1s)));
  a.grant(5);
  const auto held = must(a.next());
  group_caller b{in.log, in.topic.topic()};
  must(b.join(group(1s)));
  cut->fail(scripted_topic::call::commit, errc::disconnected, 1'000'000);
  wait_until([&] { return !b.shards().empty(); });
  CHECK(!a.next(10ms)); // there is credit, and there are entries
  (void)a.acknowledge(0, held.entry.offset);
  cut->mend(scripted_topic::call::commit);
  const auto ended = a.commit();
  CHECK(fault(ended) == errc::fenced);
  CHECK(fault(a.next()) == errc::fenced);
  CHECK(fault(a.acknowledge(0, held.entry.offset)) == errc::fenced);
  CHECK(in.topic.checkpoint("readers").value()->offsets == offsets{-1}); // and nothing of it was stored
  b.grant(1);
  CHECK(must(b.next()).entry.payload == "s0-0");
}

TEST_CASE("log: a member that can't write for a while goes on") {
  shared_topic in{1, 3};
  const auto cut = std::make_shared<scripted_topic>(in.topic.topic());
  group_caller a{in.log, cut};
  must(a.join(group(200ms)));
  cut->fail(scripted_topic::call::commit, errc::disconnected, 1'000'000);
  const auto before = cut->calls(scripted_topic::call::commit);
  a.grant(3);
  wait_until([&] { return cut->calls(scripted_topic::call::commit) > before + 20; }); // more than a lease
  auto waiting = a.begin_next();
  CHECK(!waiting.is_done());
  cut->mend(scripted_topic::call::commit);
  CHECK(must(waiting.wait()).entry.payload == "s0-0");
}

TEST_CASE("log: a new group begins with what is retained, or at the head") {
  shared_topic in{2, 5};
  must(in.topic.force_trim(2, 0));
  group_caller earliest{in.log, in.topic.topic()};
  must(earliest.join(group()));
  CHECK(in.topic.checkpoint("readers").value()->offsets == offsets{2, -1});
  CHECK(take(earliest, 7).at(0) == numbered("s0-", 2, 3));
  auto how = group();
  how.group = "others";
  how.start = weir::group_start::head;
  group_caller late{in.log, in.topic.topic()};
  must(late.join(how));
  CHECK(in.topic.checkpoint("others").value()->offsets == offsets{4, 4});
  in.topic.append_payloads({"new"}, 1);
  CHECK(take(late, 1) == std::map<std::uint32_t, texts>{{1, {"new"}}});
}

TEST_CASE("log: a group that lagged too far behind is told so, or of a gap where it wants to skip") {
  shared_topic in{1, 5};
  {
    group_caller a{in.log, in.topic.topic()};
    must(a.join(group()));
    CHECK(take(a, 1).at(0) == texts{"s0-0"});
    must(a.leave());
  }
  weir::trim_request wanted;
  wanted.through = {3};
  wanted.force = true;
  wanted.budget.entries = 1;
  CHECK(must(in.topic.trim(wanted)).expired == texts{"readers"});
  group_caller b{in.log, in.topic.topic()};
  CHECK(fault(b.join(group())) == errc::cursor_expired);
  auto how = group();
  how.read.skip_expired = true;
  group_caller c{in.log, in.topic.topic()};
  must(c.join(how));
  CHECK(take(c, 1).at(0) == texts{"s0-4"});
}

TEST_CASE("log: what is no group, or can't be one, is refused by name") {
  shared_topic in{1, 1};
  must(in.topic.commit({.consumer = "alone", .offsets = {0}, .metadata = "mine"}));
  const auto refused = [&](auto change) {
    group_caller a{in.log, in.topic.topic()};
    auto how = group();
    change(how);
    return fault(a.join(how));
  };
  CHECK(refused([](auto& how) { how.group = "alone"; }) == errc::wrong_owner);
  CHECK(in.topic.checkpoint("alone").value()->metadata == "mine");
  CHECK(refused([](auto& how) { how.group = ""; }) == errc::invalid_argument);
  CHECK(refused([](auto& how) { how.lease = 99ms; }) == errc::invalid_argument);
  CHECK(refused([](auto& how) { how.patience = -1ms; }) == errc::invalid_argument);
  CHECK(refused([](auto& how) { how.read.shards = {0}; }) == errc::invalid_argument);
  CHECK(refused([](auto& how) { how.read.mode = weir::feed_mode::parity; }) == errc::invalid_argument);
  topic_caller wide{in.log, "wide", {.shards = weir::max_group_shards + 1}};
  group_caller a{in.log, wide.topic()};
  CHECK(fault(a.join(group())) == errc::unsupported);
}

TEST_CASE("log: members that come, die and leave while entries are appended: in order in each shard, and none is missing") {
  log_caller log;
  constexpr std::uint32_t shards = 6;
  constexpr std::size_t each = 60;
  topic_caller topic{log, "orders", {.shards = shards}};
  std::map<std::uint32_t, std::int64_t> newest; // acknowledged of each shard by anybody
  std::set<std::pair<std::uint32_t, std::int64_t>> seen;
  std::vector<std::unique_ptr<group_caller>> members;
  const auto join = [&] {
    members.push_back(std::make_unique<group_caller>(log, topic.topic()));
    must(members.back()->join(group(200ms)));
    members.back()->grant(1'000'000);
  };
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    newest[shard] = -1;
  join();
  std::size_t appended = 0;
  for (std::uint32_t step = 0; seen.size() < shards * each; ++step) {
    REQUIRE(step < 20'000);
    if (appended < each && step % 5 == 0) {
      for (std::uint32_t shard = 0; shard < shards; ++shard)
        topic.append_payloads({std::to_string(appended)}, shard);
      ++appended;
    }
    if (step % 40 == 10 && members.size() < 4)
      join();
    if (step % 90 == 60 && members.size() > 1) {
      members.front()->kill();
      members.erase(members.begin());
    }
    if (step % 120 == 100 && members.size() > 1) {
      (void)members.back()->leave();
      members.pop_back();
    }
    for (auto& one : members) {
      const auto entry = one->next(1ms);
      if (!entry) {
        REQUIRE(entry.error() == errc::timed_out);
        continue;
      }
      const auto shard = entry.value().shard;
      const auto offset = entry.value().entry.offset;
      CHECK(offset <= newest[shard] + 1); // nothing is passed over; what was not committed may come again
      newest[shard] = std::max(newest[shard], offset);
      seen.emplace(shard, offset);
      if (one->acknowledge(shard, offset) && step % 3 == 0)
        (void)one->commit();
    }
  }
  CHECK(seen.size() == shards * each);
}
