#include <weir/announcements.hpp>
#include <weir/hint.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

using weir::announce_per;
using weir::announcements;

weir::position at(std::uint64_t seq) {
  weir::position made;
  made.epoch = 1;
  made.seq = seq;
  return made;
}

weir::lane_item changes(std::uint64_t seq, const std::vector<std::pair<std::string, std::string>>& keys) {
  std::vector<weir::envelope> all;
  for (const auto& [collection, key] : keys)
    all.push_back({collection, key, weir::operation::upsert, "new"});
  weir::batch made;
  made.at = at(seq);
  made.changes = keys.size();
  made.envelopes = weir::make_block(std::move(all));
  return made;
}

/// "topic:key …", each with its payload's number behind @ where that is told; empties what waits.
std::string taken(announcements& from, std::size_t most = SIZE_MAX) {
  std::string text;
  for (auto next = from.front(); next && most > 0; next = from.front(), --most) {
    text += (text.empty() ? "" : " ") + next->topic + ':' + next->key;
    if (!next->payload.empty())
      text += '@' + next->payload.substr(next->payload.find(':') + 1);
    from.pop();
  }
  return text;
}

TEST_CASE("announced: the first hint of a topic says that anything may have changed, then each key is told once") {
  announcements all{"changed/{collection}", announce_per::key};
  CHECK_FALSE(all.front());
  all.add(changes(1, {{"orders", "a"}, {"users", "x"}, {"orders", "b"}}));
  all.add(changes(2, {{"orders", "a"}}));
  CHECK(taken(all) == "changed/orders: changed/orders:a@2 changed/orders:b@1 changed/users: changed/users:x@1");
  CHECK_FALSE(all.front());
  all.add(changes(3, {{"orders", "a"}, {"orders", "a"}}));
  CHECK(taken(all) == "changed/orders:a@3");
}

TEST_CASE("announced: a key that changes again while its hint waits is told with the newest position") {
  announcements all{"t", announce_per::key};
  all.add(changes(1, {{"c", "a"}, {"d", "b"}}));
  CHECK(taken(all, 1) == "t:");
  all.add(changes(2, {{"c", "b"}}));
  CHECK(taken(all, 1) == "t:a@1");
  all.add(changes(3, {{"c", "a"}})); // it was told: it is told again
  CHECK(taken(all) == "t:b@2 t:a@3");
}

TEST_CASE("announced: by batches, and backfills by their collections") {
  announcements all{"changed/{collection}", announce_per::batch};
  all.add(changes(1, {{"orders", "a"}, {"orders", "b"}, {"users", "x"}}));
  CHECK(taken(all) == "changed/orders:@1 changed/users:@1");
  announcements keys{"changed/{collection}", announce_per::key};
  auto chunk = std::get<weir::batch>(changes(1, {{"orders", "a"}, {"orders", "b"}}));
  chunk.request = weir::request_id{1, 2};
  chunk.at.reset();
  keys.add(chunk);
  CHECK(taken(keys) == "changed/orders:");
  keys.add(weir::snapshot_complete{{1, 2}, {"orders", "users"}});
  CHECK(taken(keys) == "changed/orders: changed/users:");
  keys.add(weir::batch{}); // brings nothing
  CHECK_FALSE(keys.front());
}

TEST_CASE("announced: what is too much for keys is told without them") {
  announcements all{"{collection}", announce_per::key, {.keys = 3, .bytes = 100, .topics = 2, .names = 1}};
  all.add_all("c");
  all.add_all("d");
  CHECK(taken(all) == "c: d:");
  all.add(changes(1, {{"c", "1"}, {"c", "2"}, {"d", "3"}}));
  all.add(changes(2, {{"c", "4"}})); // a fourth
  CHECK(taken(all) == "c:@2 d:3@1");
  all.add(changes(3, {{"c", std::string(101, 'k')}}));
  CHECK(taken(all) == "c:@3");
  all.add(changes(4, {{"c", ""}})); // an empty key is no key
  CHECK(taken(all) == "c:@4");
  all.add(changes(5, {{"c", "1"}, {"d", "1"}, {"e", "1"}, {"e", "2"}})); // a third topic waits as a name
  CHECK(all.dropped() == 0);
  CHECK(taken(all) == "c:1@5 d:1@5 e:");
  all.add(changes(5, {{"c", "1"}, {"d", "1"}, {"e", "1"}, {"f", "1"}})); // and a fourth not at all
  CHECK(all.dropped() == 1);
  CHECK(taken(all).ends_with(" e:"));
  CHECK_FALSE(all.front());
  all.add(changes(6, {{std::string(257, 'x'), "1"}})); // no topic
  CHECK(all.dropped() == 2);
  all.add(changes(7, {{std::string(257, 'x'), "1"}}));
  const auto faults = all.take_faults(); // each told once
  REQUIRE(faults.size() == 2);
  CHECK(faults[0] == weir::errc::bus_full);
  CHECK(faults[0].fact_of("collection") == "f");
  CHECK(faults[1] == weir::errc::bad_topic);
  CHECK(faults[1].fact_of("collection") == std::string(257, 'x'));
  CHECK(all.take_faults().empty());
  announcements wide{"t", announce_per::key};
  wide.add_all("");
  wide.add(changes(1, {{"", std::string(weir::max_hint_bytes, 'k')}}));
  CHECK(taken(wide, 1) == "t:");
  CHECK(wide.front()->payload.empty()); // there is no room for a position
  wide.pop();
  wide.add(changes(2, {{"", std::string(weir::max_hint_bytes + 1, 'k')}}));
  CHECK(taken(wide) == "t:@2");
}

TEST_CASE(
  "announced: what was committed before is told once for each collection that is known, and where the topic is one always") {
  announcements all{"changed/{collection}", announce_per::key};
  all.begin({});
  CHECK_FALSE(all.front());
  all.begin({"users", "orders", "users"});
  CHECK(taken(all) == "changed/orders: changed/users:");
  all.add(changes(1, {{"orders", "a"}, {"more", "b"}})); // a topic that is begun is not new any more
  CHECK(taken(all) == "changed/orders:a@1 changed/more: changed/more:b@1");
  for (const auto& known : {std::vector<std::string>{}, std::vector<std::string>{"orders", "users"}}) {
    announcements one{"changed", announce_per::batch};
    one.begin(known);
    CHECK(taken(one) == "changed:");
  }
  announcements behind{"{collection}", announce_per::key};
  behind.add(changes(1, {{"c", "a"}}));
  CHECK(taken(behind, 1) == "c:");
  behind.begin({"c"}); // anything before may have gone untold
  CHECK(taken(behind) == "c: c:a@1");
  announcements wrong{"{collection}", announce_per::key};
  wrong.begin({std::string(257, 'x'), "c"});
  CHECK(taken(wrong) == "c:");
  CHECK(wrong.dropped() == 1);
  const auto faults = wrong.take_faults();
  REQUIRE(faults.size() == 1);
  CHECK(faults.front() == weir::errc::bad_topic);
}

TEST_CASE("announced: collections that find no room when it begins are told when there is some") {
  announcements all{"{collection}", announce_per::key, {.keys = 3, .bytes = 100, .topics = 2, .names = 5}};
  all.begin({"e", "d", "c", "b", "a"});
  CHECK(taken(all, 1) == "a:");
  all.add(changes(1, {{"b", "1"}, {"d", "1"}, {"e", "1"}})); // "d" and "e" are still to be told
  CHECK(all.dropped() == 0);
  all.add(changes(2, {{"f", "1"}}));
  CHECK(all.dropped() == 0);
  CHECK(taken(all) == "b: b:1@1 c: d: e: f:");
  CHECK_FALSE(all.front());
  all.add(changes(3, {{"e", "2"}}));
  CHECK(taken(all) == "e:2@3");
}

TEST_CASE("announced: topics are checked, with whatever collection") {
  CHECK(weir::check_announced_topic("changed"));
  CHECK(weir::check_announced_topic("changed/{collection}"));
  CHECK(weir::check_announced_topic("{collection}"));
  for (const auto* wrong : {"", "changed/{key}", "changed/{", "{collection", "{{collection}}", "\xff"}) {
    const auto checked = weir::check_announced_topic(wrong);
    REQUIRE_FALSE(checked);
    CHECK(checked.error() == weir::errc::bad_topic);
  }
  CHECK_FALSE(weir::check_announced_topic(std::string(256, 'x') + "{collection}"));
}

TEST_CASE("announced: whatever comes and goes, each change is told behind it, and what waits is bounded") {
  for (const auto seed : core_tests::seeds(200)) {
    INFO(core_tests::replay(seed));
    core_tests::random_source random{seed};
    const announcements::bounds most{.keys = random.between(1, 6), .bytes = 64, .topics = 8};
    announcements all{"{collection}", random.chance(25) ? announce_per::batch : announce_per::key, most};
    std::map<std::pair<std::string, std::string>, std::uint64_t> untold; // and when it changed
    for (std::uint64_t step = 1; step <= 200; ++step) {
      if (random.chance(50)) {
        std::vector<std::pair<std::string, std::string>> keys;
        for (auto count = random.below(4); count > 0; --count)
          keys.emplace_back(std::string(1, static_cast<char>('a' + random.below(5))), std::to_string(random.below(6)));
        all.add(changes(step, keys));
        for (const auto& one : keys)
          untold[one] = step;
      }
      for (auto count = random.below(4); count > 0; --count)
        if (const auto next = all.front()) {
          std::erase_if(untold, [&](const auto& one) {
            return one.first.first == next->topic && (next->key.empty() || next->key == one.first.second);
          });
          all.pop();
        }
    }
    std::size_t left = 0;
    std::set<std::pair<std::string, std::string>> told;
    for (auto next = all.front(); next; next = all.front(), ++left) {
      CHECK(told.emplace(next->topic, next->key).second); // once
      std::erase_if(untold, [&](const auto& one) {
        return one.first.first == next->topic && (next->key.empty() || next->key == one.first.second);
      });
      all.pop();
    }
    CHECK(untold.empty());
    CHECK(left <= most.keys + most.topics);
    CHECK(all.dropped() == 0);
  }
}

} // namespace
