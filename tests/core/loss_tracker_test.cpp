#include <weir/hint_numbers.hpp>
#include <weir/loss_tracker.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <variant>
#include <vector>

using namespace std::chrono_literals;
using weir::bus_id;
using weir::finding;
using weir::gone;
using weir::loss_cause;
using weir::loss_tracker;
using weir::lost;

namespace {

constexpr loss_tracker::time start{};

const bus_id p{7};

weir::hint_place at(std::uint64_t number, std::uint64_t on_topic, bus_id by = p) {
  return {by, number, on_topic, 0};
}

weir::bus_beacon beacon(std::uint64_t number, bus_id by = p) {
  return {by, number, 5s, 0};
}

/// "t -2", "t -1+", "t gone"; with the cause behind it.
std::string text(std::vector<finding> all) {
  std::ranges::sort(all, {}, [](const finding& one) { return std::pair{one.what.index(), one.topic}; });
  std::string out;
  for (const auto& one : all) {
    out += (out.empty() ? "" : ", ") + one.topic;
    if (const auto* missing = std::get_if<lost>(&one.what))
      out += " -" + std::to_string(missing->count) + (missing->is_exact ? " " : "+ ") + std::string{name_of(missing->cause)};
    else
      out += " gone";
  }
  return out;
}

/// The time passes, and somebody else was heard just before: so the link is up.
std::vector<finding> on_time(loss_tracker& in, loss_tracker::time now) {
  in.on_link_alive(now - 1ms);
  return in.on_time(now);
}

loss_tracker listening(std::initializer_list<std::string> topics) {
  loss_tracker made;
  for (const auto& one : topics)
    made.subscribe(one);
  return made;
}

} // namespace

TEST_CASE("loss tracker: what was heard of each bus is counted") {
  const bus_id q{8};
  auto in = listening({});
  CHECK(in.figures(start).empty());
  (void)in.on_hint("t", at(5, 1), start); // four were published before
  (void)in.on_hint("t", at(6, 2), start + 1s);
  (void)in.on_hint("t", at(6, 2), start + 1s); // again
  (void)in.on_hint("t", at(9, 3), start + 2s);
  (void)in.on_beacon(beacon(12, q), start + 2s);
  (void)in.on_beacon(beacon(13, q), start + 3s);
  const auto all = in.figures(start + 4s);
  REQUIRE(all.size() == 2);
  CHECK(all[0].publisher == p);
  CHECK(all[0].published == 9);
  CHECK(all[0].heard == 3);
  CHECK(all[0].missing == 2);
  CHECK(all[0].beacon == 0ms);
  CHECK(all[0].silent == 2s);
  CHECK(all[1].publisher == q);
  CHECK(all[1].published == 13);
  CHECK(all[1].heard == 0);
  CHECK(all[1].missing == 1);
  CHECK(all[1].beacon == 5s);
  CHECK_FALSE(all[1].is_gone);
  (void)on_time(in, start + 13s);
  CHECK(in.figures(start + 13s)[1].is_gone);
  (void)in.on_leave({q, 13, 0}, start + 13s);
  CHECK(in.figures(start + 13s)[1].has_left);
}

TEST_CASE("loss tracker: before it leaves, a bus says what has moved in its last eight beacons") {
  weir::hint_numbers numbers{p};
  CHECK(numbers.first_beacon(4s, 7) == weir::bus_beacon{p, 0, 4s, 7});
  (void)numbers.next("old", 0);
  for (std::uint64_t count = 1; count <= 7; ++count)
    CHECK(numbers.beacon(4s, 0).number == 1);
  CHECK(numbers.last_answer().since == 0);
  CHECK(numbers.last_answer().topics.size() == 1);
  (void)numbers.beacon(4s, 0);
  (void)numbers.next("new", 0);
  const auto last = numbers.last_answer();
  CHECK(last.since == 1);
  CHECK(last.number == 2);
  REQUIRE(last.topics.size() == 1);
  CHECK(last.topics[0].first == "new");
  CHECK(numbers.leave(9) == weir::bus_leave{p, 2, 9});
}

TEST_CASE("loss tracker: what was there before is history") {
  auto in = listening({"t"});
  const auto first = in.on_hint("t", at(500, 20), start);
  CHECK(first.is_new);
  CHECK(first.before.empty());
  CHECK(text(in.on_hint("t", at(501, 21), start).before).empty());
  CHECK(!in.on_hint("t", at(501, 21), start).is_new); // heard before
  CHECK(!in.on_hint("t", at(400, 1), start).is_new);
  CHECK(in.take_asks(start).empty());
}

TEST_CASE("loss tracker: the next hint on a topic says how many are missing") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_hint("u", at(2, 1), start);
  in.on_hint("other", at(3, 1), start);
  CHECK(text(in.on_hint("t", at(7, 3), start).before) == "t -1 publisher");
  CHECK(text(in.on_hint("u", at(8, 4), start).before) == "u -2 publisher");
  CHECK(text(in.on_hint("t", at(9, 4), start).before).empty());
}

TEST_CASE("loss tracker: a topic that falls silent is asked for") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_hint("u", at(2, 1), start);
  CHECK(in.on_beacon(beacon(2), start).empty());
  CHECK(in.take_asks(start).empty());
  in.on_beacon(beacon(5), start);
  const auto asks = in.take_asks(start);
  REQUIRE(asks.size() == 1);
  CHECK(asks.front() == std::pair{p, std::uint64_t{2}});
  CHECK(in.take_asks(start + 900ms).empty()); // not all the time
  CHECK(in.take_asks(start + 1s).size() == 1);
  // u moved by two, and another one of which nobody wants to know.
  CHECK(
    text(in.on_answer({.publisher = p, .number = 5, .since = 2, .topics = {{"u", 3}, {"x", 1}}}, start)) == "u -2 publisher");
  CHECK(in.take_asks(start + 5s).empty());
  CHECK(text(in.on_hint("u", at(6, 4), start).before).empty());
}

TEST_CASE("loss tracker: after the link was down everybody is told at once, and how many later") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_link_down();
  const auto told = in.on_link_up(start);
  CHECK(told.size() == 2);
  for (const auto& one : told)
    CHECK(std::get<lost>(one.what) == lost{0, false, {}, loss_cause::link_gap});
  CHECK(text(in.on_hint("t", at(4, 3), start).before) == "t -1 link_gap");
  // u was never heard of: nobody knows.
  CHECK(
    text(in.on_answer({.publisher = p, .number = 4, .since = 1, .topics = {{"t", 3}, {"u", 8}}}, start)) == "u -0+ link_gap");
  CHECK(text(in.on_hint("u", at(5, 9), start).before).empty());
}

TEST_CASE("loss tracker: who subscribes to a topic that others know is told of no loss before it") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  const auto early = in.subscribe("t");
  in.on_hint("other", at(2, 1), start);
  const auto between = in.subscribe("t"); // what is missing may have been published before it
  in.on_beacon(beacon(5), start);
  const auto late = in.subscribe("t");
  const auto found = in.on_answer({.publisher = p, .number = 5, .since = 2, .topics = {{"t", 3}}}, start);
  REQUIRE(text(found) == "t -2 publisher");
  REQUIRE(found.front().missed);
  const auto share = [&](std::uint64_t began) {
    return share_of(std::get<lost>(found.front().what), *found.front().missed, began);
  };
  CHECK(share(early) == lost{2, true, p, loss_cause::publisher});
  CHECK(share(between) == lost{0, false, p, loss_cause::publisher});
  CHECK(!share(late));
  const auto next = in.on_hint("t", at(7, 5), start).before;
  REQUIRE(text(next) == "t -1 publisher");
  CHECK(share_of(std::get<lost>(next.front().what), *next.front().missed, late) == lost{1, true, p, loss_cause::publisher});
}

TEST_CASE("loss tracker: a link that was down while nobody said anything costs nothing") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  in.on_link_up(start);
  in.on_beacon(beacon(1), start);
  CHECK(in.take_asks(start).empty());
  in.on_hint("other", at(3, 1), start); // and what is missing then is not the link's doing
  CHECK(text(in.on_hint("t", at(4, 3), start).before) == "t -1 publisher");
}

TEST_CASE("loss tracker: an answer in parts counts when all were heard") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_hint("u", at(2, 1), start);
  in.on_beacon(beacon(4), start);
  const auto part = [&](std::uint32_t number) {
    return in.on_answer(
      {.publisher = p, .number = 4, .since = 2, .part = number, .parts = 2, .topics = {{number == 0 ? "t" : "u", 2}}}, start);
  };
  CHECK(text(part(1)) == "u -1 publisher");
  CHECK(in.take_asks(start).size() == 1); // the first part was not heard
  CHECK(text(part(0)) == "t -1 publisher");
  CHECK(in.take_asks(start + 2s).size() == 1);
  CHECK(in.on_answer({.publisher = p, .number = 4, .since = 1, .part = 1, .parts = 2}, start).empty()); // of another answer
  CHECK(in.take_asks(start + 4s).size() == 1);
  CHECK(part(0).empty());
  CHECK(part(1).empty());
  CHECK(in.take_asks(start + 6s).empty());
}

TEST_CASE("loss tracker: an answer to a later question is not the one that is waited for") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  in.on_beacon(beacon(9), start);
  CHECK(in.on_answer({.publisher = p, .number = 9, .since = 5}, start).empty());
  CHECK(in.take_asks(start).size() == 1);
  CHECK(text(in.on_answer({.publisher = p, .number = 9, .since = 0, .topics = {{"t", 9}}}, start)) == "t -8 publisher");
  CHECK(in.take_asks(start + 2s).empty());
}

TEST_CASE("loss tracker: an answer that a dead connection held back says nothing that is not known") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_hint("u", at(2, 1), start);
  in.on_beacon(beacon(3), start);
  in.on_hint("t", at(5, 3), start);
  CHECK(in.on_answer({.publisher = p, .number = 3, .since = 2, .topics = {{"t", 2}}}, start).empty());
  CHECK(in.take_asks(start).size() == 1); // number 4 is missing, too
  CHECK(
    text(in.on_answer({.publisher = p, .number = 5, .since = 2, .topics = {{"u", 2}, {"t", 3}}}, start)) == "u -1 publisher");
  CHECK(text(in.on_hint("t", at(6, 4), start).before).empty());
}

TEST_CASE("loss tracker: one that was silent with something missing is asked when it is back") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  in.on_beacon(beacon(4), start);
  CHECK(text(on_time(in, start + 10s)) == "t -0+ publisher, t gone");
  CHECK(in.take_asks(start + 11s).empty()); // it would not hear
  in.on_beacon(beacon(4), start + 12s);
  const auto asks = in.take_asks(start + 12s);
  REQUIRE(asks.size() == 1);
  CHECK(asks.front() == std::pair{p, std::uint64_t{1}});
  CHECK(text(in.on_answer({.publisher = p, .number = 4, .since = 1, .topics = {{"t", 3}}}, start + 12s)) == "t -2 publisher");
}

TEST_CASE("loss tracker: who has forgotten says so, and so do we") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  in.on_beacon(beacon(9), start);
  CHECK(text(in.on_answer({.publisher = p, .number = 9, .since = 1, .has_forgotten = true}, start)) == "t -0+ publisher");
  CHECK(text(in.on_hint("t", at(10, 1), start).before) == "t -0+ publisher"); // it counts anew
}

TEST_CASE("loss tracker: what can't be understood is lost, where it is known on which topic") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  CHECK(text(in.on_undecodable("t", at(3, 3), start)) == "t -1 publisher, t -1 undecodable");
  CHECK(in.on_undecodable("u", at(4, 1), start).empty());
  CHECK(text(in.on_hint("t", at(5, 4), start).before).empty());
}

TEST_CASE("loss tracker: a bus that is closed, or silent for two beacons, is gone, once") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_beacon(beacon(1), start);
  CHECK(on_time(in, start + 9999ms).empty());
  CHECK(text(on_time(in, start + 10s)) == "t -0+ publisher, u -0+ publisher, t gone"); // of u it never said anything
  CHECK(on_time(in, start + 20s).empty());
  in.on_beacon(beacon(3), start + 30s); // it is back, and said something meanwhile
  CHECK(in.take_asks(start + 30s).size() == 1);
  CHECK(text(on_time(in, start + 40s)) == "t -0+ publisher, u -0+ publisher, t gone");
  CHECK(text(in.on_leave({p, 5, 0}, start + 50s)) == "t -0+ publisher, u -0+ publisher, t gone");
  CHECK(in.figures(start + 50s).at(0).has_left);
  CHECK(text(in.on_leave({p, 5, 0}, start + 51s)).empty());
}

TEST_CASE("loss tracker: of those that have left, the newest are remembered") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  for (std::uint64_t number = 100; number < 1'100; ++number) {
    in.on_hint("t", at(1, 1, {number}), start);
    CHECK(text(in.on_leave({{number}, 1, 0}, start)) == "t gone");
  }
  const auto all = in.figures(start);
  CHECK(all.size() == 1 + 256);
  CHECK(all.front().publisher == p);
  CHECK(all.back().publisher == bus_id{1'099});
}

TEST_CASE("loss tracker: of a publisher whose beacon was not heard, the usual one is assumed") {
  auto in = listening({"t", "u"});
  in.on_hint("t", at(1, 1), start);
  in.on_hint("t", at(3, 2), start);
  CHECK(in.take_asks(start).size() == 1);
  CHECK(on_time(in, start + 7999ms).empty());
  CHECK(text(on_time(in, start + 8s)) == "t -0+ publisher, u -0+ publisher, t gone");
  CHECK(in.take_asks(start + 1h).empty()); // nobody asks the dead
}

TEST_CASE("loss tracker: whose beacon was not heard is asked before it is taken for gone") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  CHECK(in.take_asks(start + 3999ms).empty());
  const auto asks = in.take_asks(start + 4s);
  REQUIRE(asks.size() == 1);
  CHECK(asks.front() == std::pair{p, std::uint64_t{1}});
  in.on_beacon({p, 1, 1h, 0}, start + 4s); // it speaks once an hour
  CHECK(in.on_answer({.publisher = p, .number = 1, .since = 1}, start + 4s).empty());
  CHECK(in.take_asks(start + 1h).empty());
  CHECK(on_time(in, start + 1h).empty());
  CHECK(text(on_time(in, start + 3h)) == "t -0+ publisher, t gone");
}

TEST_CASE("loss tracker: nobody is gone because our own link is silent") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  in.on_beacon(beacon(1), start); // every five seconds
  in.on_link_alive(start + 4999ms);
  CHECK(in.on_time(start + 1h).empty()); // its next beacon was not due
  in.on_link_alive(start + 5s);
  CHECK(in.on_time(start + 9999ms).empty());
  CHECK(text(in.on_time(start + 10s)) == "t -0+ publisher, t gone");
}

TEST_CASE("loss tracker: nobody is gone because our own link is down") {
  auto in = listening({"t"});
  in.on_hint("t", at(1, 1), start);
  in.on_beacon(beacon(1), start);
  in.on_link_down();
  CHECK(on_time(in, start + 1h).empty());
  in.on_link_up(start + 1h);
  CHECK(on_time(in, start + 1h + 9s).empty());
  CHECK(text(on_time(in, start + 1h + 10s)) == "t -0+ publisher, t gone");
}

TEST_CASE("loss tracker: knows no more publishers than it may, and a new one is a new one") {
  loss_tracker in{2};
  in.subscribe("t");
  in.on_hint("t", at(1, 1, {1}), start);
  in.on_hint("t", at(1, 1, {2}), start + 1s);
  in.on_hint("t", at(1, 1, {3}), start + 2s);
  CHECK(in.figures(start).size() == 2);
  CHECK(text(in.on_hint("t", at(5, 5, {2}), start + 3s).before) == "t -3 publisher");
}

TEST_CASE("loss tracker: what a bus that falls silent may have accepted and not said is told to who was there") {
  auto in = listening({"t"});
  in.on_beacon(beacon(0), start); // it has published nothing, as far as it said
  const auto early = in.subscribe("u");
  const auto found = on_time(in, start + 10s);
  REQUIRE(text(found) == "t -0+ publisher, u -0+ publisher");
  const auto late = in.subscribe("u");
  CHECK(share_of(std::get<lost>(found[0].what), *found[0].missed, early) == lost{0, false, p, loss_cause::publisher});
  CHECK(!share_of(std::get<lost>(found[0].what), *found[0].missed, late));
  in.on_beacon(beacon(0), start + 20s); // it was alive all the time
  CHECK(in.take_asks(start + 20s).empty());
  CHECK(text(in.on_leave({p, 0, 0}, start + 21s)).empty()); // in good order
}

TEST_CASE("hint numbers: an answer has a bound, and says that the rest is forgotten") {
  weir::hint_numbers numbers{p};
  for (int topic = 0; topic < 10'000; ++topic)
    (void)numbers.next(std::string(250, 'x') + std::to_string(topic), 0);
  const auto answer = numbers.since(0);
  CHECK(answer.has_forgotten);
  CHECK(answer.topics.size() > 5'000);
  CHECK(answer.topics.size() < 7'000);
  CHECK(answer.topics.back().second == 1);
  CHECK(answer.topics.back().first.ends_with("9999"));
  CHECK(encode(answer).size() < 400);
  CHECK(!numbers.since(5'000).has_forgotten);
}

TEST_CASE("hint numbers: count all and each topic, answer what moved, and forget the topics that are silent for longest") {
  weir::hint_numbers numbers{p, 3};
  CHECK(numbers.next("a", 5).on_topic == 1);
  CHECK(numbers.next("b", 5).number == 2);
  const auto third = numbers.next("a", 6);
  CHECK(third.number == 3);
  CHECK(third.on_topic == 2);
  CHECK(third.publisher == p);
  CHECK(third.published_at == 6);
  using topics = std::vector<std::pair<std::string, std::uint64_t>>;
  CHECK(numbers.since(0).topics == topics{{"b", 1}, {"a", 2}});
  CHECK(numbers.since(2).topics == topics{{"a", 2}});
  CHECK(numbers.since(3).topics.empty());
  CHECK(numbers.since(2).number == 3);
  numbers.next("c", 7);
  numbers.next("d", 8); // b goes
  CHECK(numbers.since(0).topics == topics{{"a", 2}, {"c", 1}, {"d", 1}});
  CHECK(numbers.since(1).has_forgotten);
  CHECK(!numbers.since(2).has_forgotten);
  CHECK(numbers.next("b", 9).on_topic == 1);
}

namespace {

/// Publishers that number what they say, a link that loses some of it, in one order for all, and subscriptions that come and
/// go.
struct world {
  struct subscribed {
    std::string topic;
    std::uint64_t began = 0;
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::uint64_t told = 0;
    bool is_vague = false;
  };

  explicit world(std::uint64_t seed) : random{seed} {
    for (std::uint64_t number = 1; number <= 3; ++number)
      publishers.emplace_back(bus_id{number});
  }

  void say(const weir::bus_text& one) {
    if (!is_up || random.chance(lossy))
      return;
    if (const auto* said = std::get_if<weir::hint_text>(&one)) {
      auto heard = in.on_hint(said->topic, said->at, now);
      take(heard.before);
      for (auto& of : subscriptions)
        of.received += heard.is_new && of.topic == said->topic ? 1 : 0;
    } else if (const auto* mark = std::get_if<weir::bus_beacon>(&one)) {
      take(in.on_beacon(*mark, now));
    } else if (const auto* answer = std::get_if<weir::bus_answer>(&one)) {
      take(in.on_answer(*answer, now));
    }
  }

  void take(const std::vector<finding>& all) {
    for (const auto& one : all)
      if (const auto* missing = std::get_if<lost>(&one.what))
        for (auto& of : subscriptions)
          if (of.topic == one.topic)
            take(of, one.missed ? share_of(*missing, *one.missed, of.began) : *missing);
  }

  static void take(subscribed& of, const std::optional<lost>& missing) {
    if (!missing)
      return;
    of.told += missing->count;
    of.is_vague = of.is_vague || (!missing->is_exact && missing->publisher);
  }

  std::string any_topic() { return std::string(1, static_cast<char>('a' + random.below(4))); }

  void subscribe() {
    auto topic = any_topic();
    const auto began = in.subscribe(topic);
    subscriptions.push_back({std::move(topic), began});
  }

  void unsubscribe() {
    if (subscriptions.empty())
      return;
    const auto left = subscriptions.begin() + static_cast<std::ptrdiff_t>(random.below(subscriptions.size()));
    const auto topic = left->topic;
    subscriptions.erase(left);
    if (std::ranges::find(subscriptions, topic, &subscribed::topic) == subscriptions.end())
      in.unsubscribe(topic);
  }

  void publish() {
    auto& by = random.pick(publishers);
    const auto topic = any_topic();
    for (auto& one : subscriptions)
      one.sent += one.topic == topic ? 1 : 0;
    say(weir::hint_text{topic, by.next(topic, 0), {}, {}});
  }

  void beacons() {
    for (const auto& by : publishers)
      say(weir::bus_beacon{by.publisher(), by.last(), 5s, 0});
  }

  void answer() {
    for (const auto& [whom, since] : in.take_asks(now))
      for (const auto& by : publishers)
        if (by.publisher() == whom)
          say(by.since(since));
  }

  core_tests::random_source random;
  loss_tracker in;
  std::vector<weir::hint_numbers> publishers;
  std::vector<subscribed> subscriptions;
  loss_tracker::time now{};
  unsigned lossy = 0;
  bool is_up = true;
};

} // namespace

TEST_CASE("loss tracker: whatever is lost on the way, in the end sent = received + told, for each subscription") {
  std::uint64_t exact = 0;
  for (const auto seed : core_tests::seeds(2'000)) {
    CAPTURE(core_tests::replay(seed));
    world all{seed};
    for (auto left = all.random.below(20); left > 0; --left)
      all.publish(); // history
    all.beacons();   // everybody is known, as after a few seconds
    constexpr std::array<unsigned, 3> lossy{0, 5, 40};
    all.lossy = all.random.pick(lossy);
    for (int step = 0; step < 150; ++step) {
      all.now += 100ms;
      const auto what = all.random.below(20);
      if (what < 12) {
        all.publish();
      } else if (what == 12) {
        all.subscribe();
      } else if (what == 13 && all.is_up) {
        all.in.on_link_down();
        all.is_up = false;
      } else if (what == 14 && !all.is_up) {
        all.take(all.in.on_link_up(all.now));
        all.is_up = true;
      } else if (what == 15) {
        all.beacons();
      } else if (what == 16) {
        all.answer();
      } else if (what == 17 && all.random.chance(30)) {
        all.unsubscribe();
      }
    }
    if (!all.is_up)
      all.take(all.in.on_link_up(all.now));
    all.is_up = true;
    all.lossy = 0;
    all.beacons();
    all.now += 5s;
    all.answer();
    CHECK(all.in.take_asks(all.now + 5s).empty());
    for (const auto& one : all.subscriptions) {
      CAPTURE(one.topic);
      CHECK(one.sent >= one.received + one.told);
      if (one.is_vague)
        continue;
      CHECK(one.sent == one.received + one.told);
      ++exact;
    }
  }
  CHECK(exact > 1'000);
}
