#include "conformance/log/appender_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::entry_place;
using weir::errc;
using call = scripted_topic::call;

namespace {

constexpr auto for_ever = std::chrono::hours{24 * 365};

/// A window that tries again at once and does not give up, on a topic that fails when it is told to.
struct failing_window {
  explicit failing_window(weir::appender_options how = persistent())
    : topic{log, "orders"},
      store{std::make_shared<scripted_topic>(topic.topic())},
      window{log, store, how} {}

  static weir::appender_options persistent() { return {.give_up_after = for_ever, .first_pause = 0ms, .longest_pause = 0ms}; }

  /// Appends so many, of which the first is under way and held.
  void append_behind_held(std::size_t count) {
    store->hold(call::append);
    window.append("0");
    store->await_calls(call::append, 1);
    for (std::size_t one = 1; one < count; ++one)
      window.append(std::to_string(one));
  }

  log_caller log;
  topic_caller topic;
  std::shared_ptr<scripted_topic> store;
  appender_caller window;
};

} // namespace

TEST_CASE("log: an append that is at fault is refused alone, and those around it are stored") {
  failing_window one;
  auto& window = one.window;
  one.store->hold(call::append);
  window.append("first");
  one.store->await_calls(call::append, 1);
  must(window.append({{.dedupe = "key", .payload = "a", .shard = 0}}));
  must(window.append({{.payload = "lost with it", .shard = 0}, {.dedupe = "key", .payload = "other", .shard = 0}}));
  window.append("b");
  must(window.append(one_of("never"), 1)); // the head is 3 then
  must(window.append({{.payload = std::string((1 << 20) + 1, 'x'), .shard = 0}}));
  must(window.append({{.payload = "c", .shard = 0}}, 3));
  one.store->let_go(call::append);

  CHECK(must(window.stored(1)).front().offset == 1);
  const auto conflict = window.stored(2);
  CHECK(fault(conflict) == errc::dedupe_conflict);
  CHECK(fact(conflict, "entry") == "1");
  CHECK(fact(conflict, "first_offset") == "1");
  CHECK(fact(conflict, "retryable") == "no");
  CHECK(must(window.stored(3)).front().offset == 2);
  CHECK(fault(window.stored(4)) == errc::head_moved);
  CHECK(fact(window.stored(4), "retryable") == "no");
  CHECK(fault(window.stored(5)) == errc::entry_too_large);
  CHECK(fact(window.stored(5), "entry") == "0");
  CHECK(must(window.stored(6)).front().offset == 3);
  CHECK(one.topic.payloads() == texts{"first", "a", "b", "c"});
  CHECK(window.append("goes on") == 7);
}

TEST_CASE("log: a flush fails with the first failure since the flush before") {
  failing_window one;
  auto& window = one.window;
  must(window.append({{.dedupe = "key", .payload = "a", .shard = 0}}));
  must(window.flush());
  must(window.append({{.dedupe = "key", .payload = "other", .shard = 0}}));
  must(window.append(one_of("never"), 0));
  window.append("b");
  const auto failed = window.flush();
  CHECK(fault(failed) == errc::dedupe_conflict);
  CHECK(fact(failed, "entry") == "0");
  must(window.flush());
  window.append("c");
  must(window.append(one_of("never"), 0));
  CHECK(fault(window.close()) == errc::head_moved);
}

TEST_CASE("log: what fails in passing is tried again, first, before anything behind it") {
  for (const auto code : {errc::disconnected, errc::in_use, errc::storage_full, errc::io_failed, errc::overloaded,
         errc::permission_denied, errc::read_only, errc::timed_out}) {
    INFO(code);
    failing_window one;
    auto& window = one.window;
    one.append_behind_held(4);
    one.store->fail(call::append, code, 20);
    one.store->let_go(call::append);
    must(window.flush());
    for (std::size_t ticket = 0; ticket < 4; ++ticket)
      CHECK(must(window.stored(ticket)) == std::vector<entry_place>{{0, static_cast<std::int64_t>(ticket)}});
    CHECK(one.topic.payloads() == texts{"0", "1", "2", "3"});
    const auto calls = one.store->appended();
    CHECK(calls.size() == 21);
    CHECK(std::ranges::all_of(calls, [](const std::string& payloads) { return payloads.starts_with("0"); }));
  }
}

TEST_CASE("log: what was decided before a failure stays decided, and the rest is tried again in order") {
  failing_window one;
  auto& window = one.window;
  one.append_behind_held(1);
  must(window.append({{.dedupe = "key", .payload = "1", .shard = 0}}));
  must(window.append({{.dedupe = "key", .payload = "refused", .shard = 0}}));
  for (const auto* payload : {"2", "3", "4"})
    window.append(payload);
  one.store->fail_after(1, errc::disconnected); // of the first call
  one.store->fail_after(3, errc::disconnected); // of the second: a refusal among them
  one.store->fail_after(0, errc::disconnected);
  one.store->fail_after(1, errc::disconnected);
  one.store->let_go(call::append);
  CHECK(fault(window.flush()) == errc::dedupe_conflict);
  CHECK(one.store->appended() == texts{"0", "1 refused 2 3 4", "3 4", "3 4", "4"});
  CHECK(fault(window.stored(2)) == errc::dedupe_conflict);
  CHECK(one.topic.payloads() == texts{"0", "1", "2", "3", "4"});
  CHECK(must(window.stored(5)) == std::vector<entry_place>{{0, 4}});
}

TEST_CASE("log: an append whose answer was lost is found again by its dedupe keys, and is there once") {
  failing_window one;
  auto& window = one.window;
  one.store->lose_answer(errc::disconnected);
  one.store->lose_answer(errc::disconnected);
  must(window.append({{.dedupe = "a", .payload = "1", .shard = 0}, {.dedupe = "b", .payload = "2", .shard = 0}}));
  CHECK(must(window.stored(0)) == std::vector<entry_place>{{0, 0, true}, {0, 1, true}});
  CHECK(one.topic.payloads() == texts{"1", "2"});
}

TEST_CASE("log: a failure that does not pass is not tried again, and everything behind it is aborted, in order") {
  failing_window one;
  auto& window = one.window;
  one.append_behind_held(3);
  std::vector<pending<places>> waiting;
  for (std::size_t ticket = 0; ticket < 3; ++ticket)
    waiting.push_back(window.begin_stored(ticket));
  one.store->fail(call::append, errc::corrupt);
  one.store->let_go(call::append);
  const auto first = waiting[0].wait();
  CHECK(fault(first) == errc::corrupt);
  CHECK(fact(first, "retryable") == "no");
  for (std::size_t ticket = 1; ticket < 3; ++ticket) {
    const auto behind = waiting[ticket].wait();
    CHECK(fault(behind) == errc::append_aborted);
    CHECK(fact(behind, "retryable") == "yes");
    CHECK(fact(behind, "cause").starts_with("corrupt"));
  }
  CHECK(window.completed() == std::vector<std::size_t>{0, 1, 2});
  CHECK(window.held() == weir::credit{});
  CHECK(one.store->calls(call::append) == 1);
  CHECK(one.topic.payloads().empty());
}

TEST_CASE("log: nothing is appended after a failure until it is resumed, so that nothing overtakes") {
  failing_window one;
  auto& window = one.window;
  one.store->fail(call::append, errc::corrupt);
  CHECK(fault(window.stored(window.append("a"))) == errc::corrupt);
  for (int again = 0; again < 3; ++again) {
    const auto refused = window.append(one_of("b"));
    CHECK(fault(refused) == errc::append_aborted);
    CHECK(fact(refused, "cause").starts_with("corrupt"));
  }
  CHECK(fault(window.flush()) == errc::corrupt);
  must(window.flush());
  CHECK(fault(window.append(one_of("b"))) == errc::append_aborted); // flushing is not resuming
  CHECK(one.store->calls(call::append) == 1);
  window.resume();
  CHECK(must(window.stored(window.append("a"))) == std::vector<entry_place>{{0, 0}});
  CHECK(must(window.stored(window.append("b"))) == std::vector<entry_place>{{0, 1}});
  CHECK(one.topic.payloads() == texts{"a", "b"});
}

TEST_CASE("log: an append that waits for room while another one fails is aborted, too") {
  auto how = failing_window::persistent();
  how.window = {.entries = 1, .bytes = 1000};
  failing_window one{how};
  auto& window = one.window;
  one.append_behind_held(1);
  auto waiting = window.begin_append("never");
  window.settle();
  one.store->fail(call::append, errc::corrupt);
  one.store->let_go(call::append);
  CHECK(fault(waiting.wait()) == errc::append_aborted);
  window.resume();
  must(window.stored(window.append("a")));
  CHECK(one.topic.payloads() == texts{"a"});
}

TEST_CASE("log: what does not pass in the time that it is given fails, and may be tried again by its owner") {
  for (const auto patience_of_window : {0ms, 50ms}) {
    failing_window one{{.give_up_after = patience_of_window, .first_pause = 1ms, .longest_pause = 1ms}};
    auto& window = one.window;
    one.append_behind_held(3);
    one.store->fail(call::append, errc::disconnected, 1'000'000);
    one.store->let_go(call::append);
    const auto first = window.stored(0);
    CHECK(fault(first) == errc::disconnected);
    CHECK(fact(first, "retryable") == "yes");
    CHECK(fault(window.stored(1)) == errc::append_aborted);
    CHECK(fault(window.stored(2)) == errc::append_aborted);
    CHECK(fault(window.flush()) == errc::disconnected);
    if (patience_of_window == 0ms)
      CHECK(one.store->calls(call::append) == 1);
    CHECK(fault(window.append(one_of("never"))) == errc::append_aborted);
    CHECK(one.topic.payloads().empty());
  }
}

TEST_CASE("log: the refusal of one append is not counted among the store's failures") {
  failing_window one{{.give_up_after = 0ms, .first_pause = 1ms, .longest_pause = 1ms}};
  auto& window = one.window;
  must(window.append(one_of("never"), 5));
  CHECK(fault(window.stored(0)) == errc::head_moved);
  CHECK(must(window.stored(window.append("a"))) == std::vector<entry_place>{{0, 0}});
}

TEST_CASE("log: what fails after its appender was destroyed is not tried again") {
  failing_window one;
  auto& window = one.window;
  one.append_behind_held(2);
  window.drop();
  one.store->fail(call::append, errc::disconnected);
  one.store->let_go(call::append);
  CHECK(fault(window.stored(0)) == errc::disconnected);
  CHECK(fault(window.stored(1)) == errc::append_aborted);
  CHECK(one.store->calls(call::append) == 1);
  CHECK(one.topic.payloads().empty());
}

TEST_CASE("log: an actor that is destroyed while it appends leaves a store that works") {
  log_caller log;
  topic_caller topic{log, "orders"};
  for (std::size_t round = 0; round < 20; ++round) {
    appender_caller window{log, topic.topic()};
    for (int one = 0; one < 5; ++one)
      (void)window.begin_append(one_of("p"));
    window.kill(); // some are stored, and some are not
  }
  const auto here = topic.append_payloads({"behind whatever had begun"}).front();
  CHECK(topic.append_payloads({"last"}) == offsets{here + 1});
  CHECK(topic.payloads().size() == static_cast<std::size_t>(here) + 2);
}
