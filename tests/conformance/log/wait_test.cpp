#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;

namespace {

weir::task<weir::result<void>> wait_for(
  weir::self me, std::shared_ptr<weir::log_topic> of, std::vector<std::int64_t> after, weir::deadline until) {
  auto waiting = of->wait(me, std::move(after), until);
  co_return co_await std::move(waiting);
}

/// An actor that waits.
struct waiter {
  waiter(log_caller& log, const topic_caller& topic, offsets after, weir::deadline until = weir::deadline::never())
    : actor{log.system()},
      woken{actor.begin(&wait_for, topic.topic(), std::move(after), until)} {
    actor.settle();
  }

  bool still_waits() {
    actor.settle();
    return !woken.is_done();
  }

  performer actor;
  pending<weir::result<void>> woken;
};

constexpr auto of_no_interest = INT64_MAX;

} // namespace

TEST_CASE("log: who waits is woken by the append of somebody else") {
  log_caller log;
  topic_caller topic{log, "orders"};
  waiter first{log, topic, {-1}};
  CHECK(first.still_waits());
  topic.append_payloads({"a"});
  must(first.woken.wait());
  waiter second{log, topic, {0}};
  CHECK(second.still_waits());
  topic.append_payloads({"b", "c"});
  must(second.woken.wait());
}

TEST_CASE("log: waiting completes at once where there is something") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"a", "b"}, 1);
  must(topic.wait({-1, -1}));
  must(topic.wait({-1, 0}));
  must(topic.wait({5, 0}));
  must(topic.wait({of_no_interest, 0}));
  CHECK(fault(topic.wait({-1, 1}, 0ms)) == errc::timed_out);
  must(topic.force_trim(1, 1)); // what is trimmed is not there
  CHECK(fault(topic.wait({-1, 1}, 0ms)) == errc::timed_out);
}

TEST_CASE("log: waiting completes for the entry that follows, not before") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"0"});
  waiter far{log, topic, {3}};
  for (const auto* payload : {"1", "2", "3"}) {
    topic.append_payloads({payload});
    CHECK(far.still_waits());
  }
  topic.append_payloads({"4"});
  must(far.woken.wait());
}

TEST_CASE("log: who waits for a shard is not woken by another") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  topic.append_payloads({"there"}, 0);
  waiter one{log, topic, {of_no_interest, -1, of_no_interest}};
  waiter two{log, topic, {0, of_no_interest, -1}};
  topic.append_payloads({"a"}, 0);
  CHECK(one.still_waits());
  must(two.woken.wait());
  topic.append_payloads({"b"}, 2);
  CHECK(one.still_waits());
  topic.append_payloads({"c"}, 1);
  must(one.woken.wait());
}

TEST_CASE("log: who waits for a topic is not woken by another") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic_caller other{log, "bills"};
  waiter one{log, topic, {-1}};
  other.append_payloads({"a"});
  CHECK(one.still_waits());
  topic.append_payloads({"b"});
  must(one.woken.wait());
}

TEST_CASE("log: an append wakes all who wait for it") {
  log_caller log;
  topic_caller topic{log, "orders"};
  std::vector<std::unique_ptr<waiter>> all;
  for (int one = 0; one < 30; ++one)
    all.push_back(std::make_unique<waiter>(log, topic, offsets{one % 3 - 1}));
  topic.append_payloads({"a", "b"});
  std::size_t still = 0;
  for (auto& one : all) {
    if (one == all[2] || (&one - all.data()) % 3 == 2)
      still += one->still_waits() ? 1 : 0; // for the third entry
    else
      must(one->woken.wait());
  }
  CHECK(still == 10);
  topic.append_payloads({"c"});
  for (std::size_t one = 2; one < all.size(); one += 3)
    must(all[one]->woken.wait());
}

TEST_CASE("log: waiting ends at its deadline") {
  log_caller log;
  topic_caller topic{log, "orders"};
  CHECK(fault(topic.wait({-1}, 0ms)) == errc::timed_out);
  const auto begun = std::chrono::steady_clock::now();
  CHECK(fault(topic.wait({-1}, 30ms)) == errc::timed_out);
  CHECK(std::chrono::steady_clock::now() - begun >= 30ms); // never early
  CHECK(fault(topic.wait({of_no_interest}, 1ms)) == errc::timed_out);
  topic.append_payloads({"a"});
  must(topic.wait({-1}, 0ms).has_value() ? topic.wait({-1}) : topic.wait({-1}, 1s));
}

TEST_CASE("log: waiting ends when its coroutine is asked to stop, and when its actor is") {
  log_caller log;
  topic_caller topic{log, "orders"};
  waiter one{log, topic, {-1}};
  one.woken.request_stop();
  CHECK(fault(one.woken.wait()) == errc::cancelled);
  waiter two{log, topic, {-1}};
  two.actor.request_stop();
  CHECK(fault(two.woken.wait()) == errc::cancelled);
  auto late = two.actor.begin(&wait_for, topic.topic(), offsets{-1}, weir::deadline::never()); // it was asked before
  CHECK(fault(late.wait()) == errc::cancelled);
}

TEST_CASE("log: an actor that is destroyed while it waits disturbs nobody") {
  log_caller log;
  topic_caller topic{log, "orders"};
  waiter stays{log, topic, {-1}};
  {
    waiter ends{log, topic, {-1}};
    ends.actor.kill();
    CHECK_FALSE(ends.woken.is_done());
  }
  topic.append_payloads({"a"});
  must(stays.woken.wait());
}

TEST_CASE("log: waiting takes an offset of each shard, from -1") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  CHECK(fault(topic.wait({})) == errc::invalid_argument);
  CHECK(fault(topic.wait({-1})) == errc::invalid_argument);
  CHECK(fault(topic.wait({-1, -1, -1})) == errc::invalid_argument);
  CHECK(fault(topic.wait({-1, -2})) == errc::invalid_argument);
}

TEST_CASE("log: who waits is woken by what somebody appends through another connection") {
  log_caller log;
  if (lacks(log.place().is_shared(), "no second connection to the same store"))
    return;
  topic_caller here{log, "orders", {.shards = 2}};
  topic_caller there{log, must(log.open_topic(log.place().open(), "orders", {.shards = 2}))};
  for (std::int64_t round = 0; round < 5; ++round) {
    waiter one{log, here, {of_no_interest, round * 2 - 1}};
    CHECK_FALSE(one.woken.is_done());
    there.append_payloads({"a"}, 1);
    must(one.woken.wait());
    waiter other{log, there, {-1, round * 2}};
    here.append_payloads({"b"}, 1);
    must(other.woken.wait());
  }
}

TEST_CASE("log: what was appended through another connection before is found at once by who waits") {
  log_caller log;
  if (lacks(log.place().is_shared(), "no second connection to the same store"))
    return;
  topic_caller here{log, "orders"};
  topic_caller there{log, must(log.open_topic(log.place().open(), "orders"))};
  there.append_payloads({"a"});
  must(here.wait({-1}));
  there.append_payloads({"b"});
  must(here.wait({0}));
  CHECK(here.payloads() == texts{"a", "b"});
}
