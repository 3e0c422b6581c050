#include <weir/shard_hash.hpp>

#include "conformance/log/appender_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

#include <set>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::append_bound;
using weir::entry_place;
using weir::errc;
using call = scripted_topic::call;

namespace {

/// A window on a topic whose calls can be held up.
struct held_window {
  explicit held_window(weir::appender_options how = {}, weir::topic_layout layout = {})
    : topic{log, "orders", layout},
      store{std::make_shared<scripted_topic>(topic.topic())},
      window{log, store, how} {}

  log_caller log;
  topic_caller topic;
  std::shared_ptr<scripted_topic> store;
  appender_caller window;
};

std::vector<weir::new_entry> several(std::size_t count, const std::string& payload) {
  std::vector<weir::new_entry> entries;
  for (std::size_t one = 0; one < count; ++one)
    entries.push_back({.payload = payload + std::to_string(one), .shard = 0});
  return entries;
}

} // namespace

TEST_CASE("log: a ticket completes with the place of each entry, and stays complete") {
  held_window one;
  auto& window = one.window;
  const auto ticket = must(window.append(several(3, "a")));
  const std::vector<entry_place> expected{{0, 0}, {0, 1}, {0, 2}};
  CHECK(must(window.stored(ticket)) == expected);
  CHECK(window.is_complete(ticket));
  CHECK(must(window.stored(ticket)) == expected);
  CHECK(one.topic.payloads() == texts{"a0", "a1", "a2"}); // stored, when the ticket says so
  CHECK(window.held() == weir::credit{});
}

TEST_CASE("log: tickets complete in the order of their appends") {
  held_window one{{.call = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  for (std::size_t ticket = 0; ticket < 5; ++ticket)
    CHECK(window.append(std::to_string(ticket)) == ticket);
  for (std::size_t ticket = 0; ticket < 5; ++ticket) {
    for (auto later = ticket; later < 5; ++later)
      CHECK_FALSE(window.is_complete(later));
    one.store->let_through(call::append);
    CHECK(must(window.stored(ticket)) == std::vector<entry_place>{{0, static_cast<std::int64_t>(ticket)}});
  }
}

TEST_CASE("log: whoever appends need not wait, and what waits goes to the store together") {
  held_window one;
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  one.store->await_calls(call::append, 1);
  for (const auto* payload : {"b", "c", "d"})
    window.append(payload);
  for (std::size_t ticket = 0; ticket < 4; ++ticket)
    CHECK_FALSE(window.is_complete(ticket));
  one.store->let_through(call::append);
  CHECK(must(window.stored(0)).front().offset == 0);
  one.store->await_calls(call::append, 2);
  CHECK_FALSE(window.is_complete(1));
  one.store->let_go(call::append);
  CHECK(must(window.stored(3)).front().offset == 3);
  CHECK(one.store->appended() == texts{"a", "b c d"});
  CHECK(one.topic.payloads() == texts{"a", "b", "c", "d"});
}

TEST_CASE("log: a call to the store takes as many appends as its limits let it, and one append alone may be larger") {
  held_window one{{.call = {.entries = 3, .bytes = 100}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  one.store->await_calls(call::append, 1);
  must(window.append(several(2, "b")));
  must(window.append(several(1, "c")));
  must(window.append(several(1, "d"))); // the fourth entry
  window.append(std::string(99, 'e'));  // with d's two bytes one too many
  window.append(std::string(500, 'f')); // larger than a call
  must(window.append(several(5, "g"))); // the same in entries
  window.append("h");
  one.store->let_go(call::append);
  must(window.flush());
  CHECK(
    one.store->appended() == texts{"a", "b0 b1 c0", "d0", std::string(99, 'e'), std::string(500, 'f'), "g0 g1 g2 g3 g4", "h"});
}

TEST_CASE("log: the window holds no more entries than its bound, and whoever appends waits for room") {
  held_window one{{.window = {.entries = 3, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  must(window.append(several(2, "a")));
  window.append("b");
  CHECK(window.held() == weir::credit{3, 5});
  auto fourth = window.begin_append("c");
  auto fifth = window.begin_append(several(3, "d"));
  window.settle();
  CHECK_FALSE(fourth.is_done());
  CHECK(window.held() == weir::credit{3, 5});
  one.store->let_through(call::append); // the first append, which went alone
  CHECK(must(fourth.wait()) == 2);
  CHECK(window.held() == weir::credit{2, 2});
  one.store->let_through(call::append);
  must(window.stored(1));
  window.settle();
  CHECK_FALSE(fifth.is_done());
  CHECK(window.held() == weir::credit{1, 1});
  one.store->let_through(call::append);
  CHECK(must(fifth.wait()) == 3);
  CHECK(window.held() == weir::credit{3, 6});
  one.store->let_go(call::append);
  must(window.flush());
  CHECK(window.held() == weir::credit{});
  CHECK(one.topic.payloads() == texts{"a0", "a1", "b", "c", "d0", "d1", "d2"});
}

TEST_CASE("log: the window holds no more bytes than its bound, of keys, dedupe keys and payloads together") {
  held_window one{{.window = {.entries = 100, .bytes = 30}}};
  auto& window = one.window;
  one.store->hold(call::append);
  must(window.append({{.key = std::string(10, 'k'), .dedupe = std::string(10, 'd'), .payload = std::string(9, 'p')}}));
  CHECK(window.held() == weir::credit{1, 29});
  window.append("x");
  CHECK(window.held() == weir::credit{2, 30});
  auto more = window.begin_append("y");
  window.settle();
  CHECK_FALSE(more.is_done());
  CHECK(fault(window.append(std::vector<weir::new_entry>(1), {}, 0s)) == errc::timed_out); // one without bytes waits its turn
  one.store->let_go(call::append);
  must(more.wait());
  must(window.flush());
}

TEST_CASE("log: one append that is larger than the whole window is admitted alone") {
  held_window one{{.window = {.entries = 100, .bytes = 50}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("small");
  auto large = window.begin_append(std::string(500, 'L'));
  auto behind = window.begin_append("behind");
  window.settle();
  CHECK_FALSE(large.is_done());
  CHECK(window.held() == weir::credit{1, 5});
  one.store->let_through(call::append);
  must(large.wait());
  window.settle();
  CHECK_FALSE(behind.is_done());
  CHECK(window.held() == weir::credit{1, 500});
  one.store->let_through(call::append);
  must(behind.wait());
  CHECK(window.held() == weir::credit{1, 6});
  one.store->let_go(call::append);
  must(window.flush());
  CHECK(one.topic.payloads() == texts{"small", std::string(500, 'L'), "behind"});
}

TEST_CASE("log: an append with no entries, or with more than the window ever holds, is refused") {
  held_window one{{.window = {.entries = 3, .bytes = 1000}}};
  CHECK(fault(one.window.append(std::vector<weir::new_entry>{})) == errc::invalid_argument);
  const auto refused = one.window.append(several(4, "a"));
  CHECK(fault(refused) == errc::invalid_argument);
  CHECK(fact(refused, "entries") == "4");
  CHECK(fact(refused, "window") == "3");
  CHECK(one.store->calls(call::append) == 0);
  must(one.window.append(several(3, "a")));
}

TEST_CASE("log: nobody who waits for room is overtaken by somebody smaller") {
  held_window one{{.window = {.entries = 3, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  must(window.append(several(2, "a")));
  auto large = window.begin_append(several(2, "b"));
  auto small = window.begin_append("c"); // would fit
  window.settle();
  CHECK_FALSE(small.is_done());
  one.store->let_go(call::append);
  must(large.wait());
  must(small.wait());
  must(window.flush());
  CHECK(one.topic.payloads() == texts{"a0", "a1", "b0", "b1", "c"});
}

TEST_CASE("log: an append that is cancelled while it waits for room is not in the window, and those behind it go on") {
  held_window one{{.window = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  auto cancelled = window.begin_append("never");
  auto behind = window.begin_append("b");
  window.settle();
  cancelled.request_stop();
  CHECK(fault(cancelled.wait()) == errc::cancelled);
  CHECK(window.held() == weir::credit{1, 1});
  CHECK_FALSE(behind.is_done());
  one.store->let_go(call::append);
  must(behind.wait());
  must(window.flush());
  CHECK(one.topic.payloads() == texts{"a", "b"});
}

TEST_CASE("log: an append that finds no room before its deadline is not in the window") {
  held_window one{{.window = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  CHECK(fault(window.append(one_of("never"), {}, 0ms)) == errc::timed_out);
  CHECK(fault(window.append(one_of("never"), {}, 20ms)) == errc::timed_out);
  one.store->let_go(call::append);
  must(window.flush());
  CHECK(must(window.append(one_of("b"), {}, 0ms)) == 1); // where there is room, nobody waits
  must(window.flush());
  CHECK(one.topic.payloads() == texts{"a", "b"});
}

TEST_CASE("log: 1024 appends may wait for room, one more is refused, and all that wait are stored") {
  held_window one{{.window = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("first");
  std::vector<pending<weir::result<std::size_t>>> waiting;
  for (int number = 0; number < 1024; ++number) {
    waiting.push_back(window.begin_append(std::to_string(number)));
    if (number % 32 == 31)
      window.settle(); // coroutines that begin together are not in line in any order
  }
  const auto refused = window.append(one_of("never"));
  CHECK(fault(refused) == errc::too_many_waiters);
  CHECK(fact(refused, "waiting") == "1024");
  one.store->let_go(call::append);
  std::size_t admitted = 0;
  for (auto& one_waiting : waiting)
    admitted += one_waiting.wait() ? 1 : 0;
  CHECK(admitted == 1024);
  must(window.flush());
  const auto stored = one.topic.payloads();
  REQUIRE(stored.size() == 1025);
  for (std::size_t number = 0; number < 1024; ++number)
    REQUIRE(stored[number + 1] == std::to_string(number));
}

TEST_CASE("log: whoever stops waiting for a ticket leaves the append as it is") {
  held_window one;
  auto& window = one.window;
  one.store->hold(call::append);
  const auto ticket = window.append("a");
  CHECK(fault(window.stored(ticket, 0ms)) == errc::timed_out);
  auto waiting = window.begin_stored(ticket);
  window.settle();
  waiting.request_stop();
  CHECK(fault(waiting.wait()) == errc::cancelled);
  one.store->let_go(call::append);
  CHECK(must(window.stored(ticket)) == std::vector<entry_place>{{0, 0}});
  CHECK(one.topic.payloads() == texts{"a"});
}

TEST_CASE("log: a flush completes when what was appended before it is decided, whatever was appended since") {
  held_window one{{.call = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  must(window.flush()); // nothing is appended
  one.store->hold(call::append);
  window.append("a");
  auto first = window.begin_flush();
  window.settle();
  window.append("b");
  CHECK_FALSE(first.is_done());
  CHECK(fault(window.flush(0ms)) == errc::timed_out);
  one.store->let_through(call::append);
  must(first.wait());
  CHECK(window.is_complete(0));
  CHECK_FALSE(window.is_complete(1));
  auto second = window.begin_flush();
  window.settle();
  CHECK_FALSE(second.is_done());
  one.store->let_go(call::append);
  must(second.wait());
  CHECK(window.is_complete(1));
}

TEST_CASE("log: a flush that is cancelled changes nothing") {
  held_window one;
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  auto flushing = window.begin_flush();
  window.settle();
  flushing.request_stop();
  CHECK(fault(flushing.wait()) == errc::cancelled);
  one.store->let_go(call::append);
  must(window.flush());
  CHECK(one.topic.payloads() == texts{"a"});
}

TEST_CASE("log: close refuses what comes later and what waits for room, and waits for what is in the window") {
  held_window one{{.window = {.entries = 2, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  window.append("b");
  auto waiting = window.begin_append("never");
  window.settle();
  auto closing = window.begin_close();
  CHECK(fault(waiting.wait()) == errc::closed);
  CHECK(fault(window.append(one_of("never"))) == errc::closed);
  CHECK_FALSE(closing.is_done());
  CHECK(fault(window.close(0ms)) == errc::timed_out);
  one.store->let_go(call::append);
  must(closing.wait());
  CHECK(window.is_complete(1));
  must(window.close());
  CHECK(fault(window.append(one_of("never"))) == errc::closed);
  CHECK(one.topic.payloads() == texts{"a", "b"});
}

TEST_CASE("log: entries without a key go round the shards, those with one to their key's, and those with a shard there") {
  held_window one{{}, {.shards = 3}};
  auto& window = one.window;
  std::vector<weir::new_entry> mixed;
  mixed.push_back({.payload = "none"});
  mixed.push_back({.key = "customer", .payload = "key"});
  mixed.push_back({.key = "customer", .payload = "shard", .shard = 2});
  mixed.push_back({.payload = "none"});
  const auto hashed = weir::shard_of("customer", 3);
  const auto first = must(window.stored(must(window.append(mixed))));
  CHECK(std::vector<std::uint32_t>{first[0].shard, first[1].shard, first[2].shard, first[3].shard}
        == std::vector<std::uint32_t>{0, hashed, 2, 1});
  const auto second = must(window.stored(must(window.append(mixed))));
  CHECK(std::vector<std::uint32_t>{second[0].shard, second[1].shard, second[2].shard, second[3].shard}
        == std::vector<std::uint32_t>{2, hashed, 2, 0});
  std::set<std::uint32_t> of_keys;
  for (int key = 0; key < 50; ++key) {
    const auto name = "key" + std::to_string(key);
    const auto at = must(window.stored(must(window.append({{.key = name, .payload = "p"}})))).front();
    CHECK(at.shard == weir::shard_of(name, 3));
    of_keys.insert(at.shard);
  }
  CHECK(of_keys.size() == 3);
}

TEST_CASE("log: what was appended goes to the store when the appender is destroyed, and the ticket still tells") {
  held_window one{{.call = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  window.append("b");
  one.store->await_calls(call::append, 1);
  window.drop();
  auto waiting = window.begin_stored(1);
  window.settle();
  CHECK_FALSE(waiting.is_done());
  one.store->let_go(call::append);
  CHECK(must(waiting.wait()) == std::vector<entry_place>{{0, 1}});
  CHECK(one.topic.payloads() == texts{"a", "b"});
}

TEST_CASE("log: an actor that is asked to stop still stores what it has appended") {
  held_window one{{.window = {.entries = 2, .bytes = 1000}, .call = {.entries = 1, .bytes = 1000}}};
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("a");
  window.append("b");
  auto waiting = window.begin_append("never");
  one.store->await_calls(call::append, 1);
  window.request_stop();
  CHECK(fault(waiting.wait()) == errc::cancelled);
  one.store->let_go(call::append);
  must(one.topic.wait({0})); // for the second
  CHECK(one.topic.payloads() == texts{"a", "b"});
}
