#include "conformance/log/feed_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::acknowledged;
using weir::errc;
using weir::feed_phase;
using call = scripted_topic::call;

namespace {

const weir::feed_options at_once{.first_pause = 0ms, .longest_pause = 0ms};
const weir::feed_options never_again{.first_pause = 24h, .longest_pause = 24h};

/// A topic of three entries that fails when it is told to, and a feed that has credit.
struct failing_topic {
  explicit failing_topic(weir::feed_options how = at_once)
    : topic{log, "orders"},
      store{std::make_shared<scripted_topic>(topic.topic())},
      feed{log, store, topic.topic()->description().origin(), std::move(how)} {
    topic.append_payloads({"a", "b", "c"});
    must(feed.ready());
    feed.grant(100);
  }

  /// Brings a next() to where it waits for the store, with everything delivered.
  pending<weir::result<weir::feed_entry>> wait_at_head() {
    must(feed.pull());
    auto waiting = feed.begin_next();
    store->await_calls(call::wait, 1);
    feed.settle();
    CHECK_FALSE(waiting.is_done());
    return waiting;
  }

  log_caller log;
  topic_caller topic;
  std::shared_ptr<scripted_topic> store;
  feed_caller feed;
};

} // namespace

TEST_CASE("log: next waits out what passes, and goes on behind what was delivered") {
  for (const auto code : {errc::disconnected, errc::in_use, errc::io_failed, errc::timed_out, errc::overloaded}) {
    INFO(code);
    failing_topic one;
    CHECK(must(one.feed.next()).entry.payload == "a");
    must(one.feed.acknowledge(0));
    one.feed.rewind(); // nothing is held that was read before
    one.store->fail(call::read, code, 20);
    CHECK(must(one.feed.next()).entry.payload == "b");
    CHECK(one.feed.phase() == feed_phase::live);
    CHECK(must(one.feed.stats()).last_error == code);
    CHECK(must(one.feed.next()).entry.payload == "c");
    CHECK(must(one.feed.stats()).charged.items == 3);
  }
}

TEST_CASE("log: a feed says that it reconnects, for as long as it does") {
  failing_topic one{never_again};
  one.store->fail(call::read, errc::disconnected);
  auto waiting = one.feed.begin_next();
  one.store->await_calls(call::read, 1);
  one.feed.settle();
  CHECK(one.feed.phase() == feed_phase::reconnecting);
  waiting.request_stop();
  CHECK(fault(waiting.wait()) == errc::cancelled);
  CHECK(one.feed.phase() == feed_phase::reconnecting);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2});
  CHECK(one.feed.phase() == feed_phase::live);
}

TEST_CASE("log: next waits out a store that can't be waited for, and misses nothing") {
  failing_topic one;
  must(one.feed.pull());
  one.store->fail(call::wait, errc::disconnected, 10);
  auto waiting = one.feed.begin_next();
  one.store->await_calls(call::wait, 11);
  one.feed.settle();
  CHECK_FALSE(waiting.is_done());
  CHECK(one.feed.phase() == feed_phase::live); // it has heard from the store again
  one.topic.append_payloads({"d"});
  CHECK(must(waiting.wait()).entry.payload == "d");
  CHECK(must(one.feed.stats()).last_error == errc::disconnected);

  failing_topic other{never_again};
  must(other.feed.pull());
  other.store->fail(call::wait, errc::disconnected);
  auto reconnecting = other.feed.begin_next();
  other.store->await_calls(call::wait, 1);
  other.feed.settle();
  CHECK(other.feed.phase() == feed_phase::reconnecting);
}

TEST_CASE("log: what passes is waited out no longer than the deadline, whatever the pause") {
  failing_topic one{never_again};
  one.store->fail(call::read, errc::disconnected, 1000);
  CHECK(fault(one.feed.next(0ms)) == errc::disconnected);
  CHECK(fault(one.feed.next(20ms)) == errc::disconnected);
  CHECK(fault(one.feed.pull()) == errc::disconnected); // which does not wait at all
  CHECK(one.feed.phase() == feed_phase::reconnecting);
  one.store->mend(call::read);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2});
}

TEST_CASE("log: a pull returns what it has before it fails") {
  failing_topic one{{.read = {.entries = 2}}};
  one.store->hold(call::read);
  auto pulling = one.feed.begin_pull();
  one.store->await_calls(call::read, 1);
  one.store->let_through(call::read);
  one.store->await_calls(call::read, 2);
  one.store->fail(call::read, errc::disconnected);
  one.store->let_go(call::read);
  CHECK(offsets_of(must(pulling.wait())) == offsets{0, 1});
  CHECK(one.feed.pull_offsets() == offsets{2});
}

TEST_CASE("log: what does not pass fails the feed, and it tries again when it is asked") {
  failing_topic one;
  one.store->fail(call::read, errc::corrupt, 2);
  CHECK(fault(one.feed.next()) == errc::corrupt);
  CHECK(one.feed.phase() == feed_phase::failed);
  CHECK(fault(one.feed.pull()) == errc::corrupt);
  CHECK(must(one.feed.stats()).last_error == errc::corrupt);
  CHECK(must(one.feed.next()).entry.payload == "a");
  CHECK(one.feed.phase() == feed_phase::live);
}

TEST_CASE("log: a store that returns entries out of their order fails the feed, and nothing of them is delivered") {
  for (const bool doubled : {false, true}) {
    failing_topic one;
    one.store->change_readings([=](weir::log_reading& reading) {
      if (doubled)
        reading.entries.push_back(reading.entries.front());
      else
        std::swap(reading.entries.front(), reading.entries.back());
    });
    CHECK(fault(one.feed.pull()) == errc::source_failed);
    CHECK(fault(one.feed.next()) == errc::source_failed);
    CHECK(one.feed.phase() == feed_phase::failed);
    one.store->change_readings(nullptr);
    CHECK(one.feed.pull_offsets() == offsets{0, 1, 2});
  }
}

TEST_CASE("log: a corrupt entry fails the feed that comes to it, and not the others") {
  log_caller log;
  if (lacks(log.store().capabilities().verifies, "nothing of it is verified"))
    return;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads(numbered("p", 10), 0);
  topic.append_payloads({"other"}, 1);
  REQUIRE(log.place().damage("orders", 0, 4, damaged::payload));
  const auto& known = topic.topic()->description();
  feed_caller below{log, topic.topic(), known.cursor_at({0, -1}), {.shards = {0}}};
  feed_caller at{log, topic.topic(), known.cursor_at({3, -1}), {.shards = {0}}};
  feed_caller above{log, topic.topic(), known.cursor_at({4, -1}), {.shards = {0}}};
  feed_caller aside{log, topic.topic(), known.origin(), {.shards = {1}}};
  must(below.ready());
  must(at.ready());
  CHECK(below.payloads(2) == texts{"p1", "p2"});
  below.grant(100);
  CHECK(below.pull_offsets() == offsets{3}); // what comes before it
  for (auto* feed : {&below, &at}) {
    feed->grant(100);
    for (int again = 0; again < 2; ++again) {
      const auto corrupt = feed->pull();
      CHECK(fault(corrupt) == errc::corrupt_entry);
      CHECK(fact(corrupt, "offset") == "4");
      CHECK(fault(feed->next()) == errc::corrupt_entry);
    }
    CHECK(feed->phase() == feed_phase::failed);
    CHECK(must(feed->stats()).last_error == errc::corrupt_entry);
  }
  CHECK(must(at.at()).offsets == offsets{3, -1});
  CHECK(above.payloads(100) == numbered("p", 5, 5));
  CHECK(aside.payloads(100) == texts{"other"});
}

TEST_CASE("log: a pull without credit reads nothing, on a corrupt log as well") {
  log_caller log;
  if (lacks(log.store().capabilities().verifies, "nothing of it is verified"))
    return;
  topic_caller topic{log, "orders"};
  topic.append_payloads(numbered("p", 3));
  REQUIRE(log.place().damage("orders", 0, 0, damaged::payload));
  const auto store = std::make_shared<scripted_topic>(topic.topic());
  feed_caller feed{log, store, topic.topic()->description().origin()};
  for (int again = 0; again < 3; ++again)
    CHECK(must(feed.pull()).empty());
  CHECK(feed.phase() == feed_phase::live);
  CHECK(store->calls(call::read) == 0);
  feed.grant(1);
  CHECK(fault(feed.pull()) == errc::corrupt_entry);
}

TEST_CASE("log: a feed that is closed delivers nothing more, and takes acknowledgements of what it has delivered") {
  failing_topic one;
  one.feed.revoke();
  one.feed.grant(2);
  must(one.feed.pull());
  one.feed.grant(5);
  must(one.feed.close());
  CHECK(one.feed.phase() == feed_phase::closed);
  CHECK(fault(one.feed.pull()) == errc::closed);
  CHECK(fault(one.feed.next()) == errc::closed);
  CHECK(fault(one.feed.ready()) == errc::closed);
  one.feed.grant(5);
  CHECK(fault(one.feed.pull()) == errc::closed);
  CHECK(must(one.feed.acknowledge(1)) == acknowledged::kept);
  CHECK(must(one.feed.acknowledge(0)) == acknowledged::moved);
  CHECK(one.feed.acked() == 1);
  CHECK(fault(one.feed.acknowledge(2)) == errc::ack_beyond_delivered);
  must(one.feed.close());
  CHECK(must(one.feed.stats()).phase == feed_phase::closed);
}

TEST_CASE("log: closing ends a next wherever it waits") {
  SUBCASE("for credit") {
    failing_topic one;
    one.feed.revoke();
    auto waiting = one.feed.begin_next();
    one.feed.settle();
    must(one.feed.close());
    CHECK(fault(waiting.wait()) == errc::closed);
  }
  SUBCASE("for an entry") {
    failing_topic one;
    auto waiting = one.wait_at_head();
    must(one.feed.close());
    CHECK(fault(waiting.wait()) == errc::closed);
  }
  SUBCASE("for a read") {
    failing_topic one;
    one.store->hold(call::read);
    auto waiting = one.feed.begin_next();
    one.store->await_calls(call::read, 1);
    must(one.feed.close());
    one.store->let_go(call::read);
    CHECK(fault(waiting.wait()) == errc::closed);
    CHECK(one.feed.phase() == feed_phase::closed);
    CHECK(must(one.feed.stats()).charged.items == 0);
  }
  SUBCASE("to be attached") {
    failing_topic one;
    one.store->hold(call::bounds);
    feed_caller feed{one.log, one.store, one.topic.topic()->description().origin()};
    feed.grant(1);
    auto waiting = feed.begin_next();
    one.store->await_calls(call::bounds, 2);
    must(feed.close());
    one.store->let_go(call::bounds);
    CHECK(fault(waiting.wait()) == errc::closed);
    CHECK(feed.phase() == feed_phase::closed);
  }
  SUBCASE("before it tries again") {
    failing_topic one{never_again};
    one.store->fail(call::read, errc::disconnected);
    auto waiting = one.feed.begin_next();
    one.store->await_calls(call::read, 1);
    one.feed.settle();
    must(one.feed.close());
    CHECK(fault(waiting.wait()) == errc::closed);
  }
}

TEST_CASE("log: a next that is cancelled has delivered nothing, wherever it waits") {
  SUBCASE("for credit") {
    failing_topic one;
    one.feed.revoke();
    auto waiting = one.feed.begin_next();
    one.feed.settle();
    waiting.request_stop();
    CHECK(fault(waiting.wait()) == errc::cancelled);
    one.feed.grant(1);
    CHECK(must(one.feed.next()).entry.payload == "a");
  }
  SUBCASE("for an entry") {
    failing_topic one;
    auto waiting = one.wait_at_head();
    waiting.request_stop();
    CHECK(fault(waiting.wait()) == errc::cancelled);
    one.topic.append_payloads({"d"});
    CHECK(must(one.feed.next()).entry.payload == "d");
  }
  SUBCASE("before it tries again") {
    failing_topic one{never_again};
    one.store->fail(call::read, errc::disconnected);
    auto waiting = one.feed.begin_next();
    one.store->await_calls(call::read, 1);
    one.feed.settle();
    waiting.request_stop();
    CHECK(fault(waiting.wait()) == errc::cancelled);
    CHECK(must(one.feed.next()).entry.payload == "a");
  }
}

TEST_CASE("log: a feed whose actor is asked to stop while it waits ends, and its cursor is where it was") {
  failing_topic one;
  auto waiting = one.wait_at_head();
  must(one.feed.acknowledge_through(1));
  one.feed.request_stop();
  CHECK(fault(waiting.wait()) == errc::cancelled);
  CHECK(one.feed.acked() == 1);
}

TEST_CASE("log: a feed that is destroyed wherever it waits disturbs nobody") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto store = std::make_shared<scripted_topic>(topic.topic());
  const auto begin = topic.topic()->description().origin();
  {
    feed_caller credit{log, store, begin};
    (void)credit.begin_next();
    credit.settle();
    credit.kill();
  }
  {
    feed_caller entry{log, store, begin};
    entry.grant(1);
    (void)entry.begin_next();
    store->await_calls(call::wait, 1);
    entry.kill();
  }
  topic.append_payloads({"a"});
  store->hold(call::read);
  const auto before = store->calls(call::read);
  {
    feed_caller read{log, store, begin};
    read.grant(1);
    (void)read.begin_next();
    store->await_calls(call::read, before + 1);
    read.kill();
  }
  store->let_go(call::read);
  feed_caller feed{log, store, begin};
  CHECK(feed.payloads(10) == texts{"a"});
}

TEST_CASE("log: a feed that is let go of while a next waits is not missed by it") {
  failing_topic one;
  auto waiting = one.wait_at_head();
  one.feed.drop();
  one.topic.append_payloads({"d"});
  CHECK(must(waiting.wait()).entry.payload == "d");
}

TEST_CASE("log: a feed that is rewound while a next waits delivers again what was not acknowledged") {
  SUBCASE("for an entry") {
    failing_topic one;
    auto waiting = one.wait_at_head();
    must(one.feed.acknowledge(0));
    one.feed.rewind();
    CHECK(must(waiting.wait()).entry.payload == "b");
  }
  SUBCASE("for a read") {
    failing_topic one{{.read = {.entries = 1}}};
    CHECK(must(one.feed.next()).entry.payload == "a");
    one.store->hold(call::read);
    auto waiting = one.feed.begin_next();
    one.store->await_calls(call::read, 2);
    one.feed.rewind();
    one.store->let_go(call::read);
    CHECK(must(waiting.wait()).entry.payload == "a"); // and not what was under way
    CHECK(one.feed.pull_offsets() == offsets{1, 2});
  }
}

TEST_CASE("log: credit that is revoked while a read is under way is not used") {
  failing_topic one;
  one.store->hold(call::read);
  auto waiting = one.feed.begin_next();
  one.store->await_calls(call::read, 1);
  one.feed.revoke();
  one.store->let_go(call::read);
  one.feed.settle();
  CHECK_FALSE(waiting.is_done());
  one.feed.grant(1);
  CHECK(must(waiting.wait()).entry.payload == "a");
  CHECK(must(one.feed.stats()).charged.items == 1);
}

TEST_CASE("log: trouble with one shard does not keep a feed from the others") {
  log_caller log;
  if (lacks(log.store().capabilities().verifies, "nothing of it is verified"))
    return;
  topic_caller topic{log, "orders", {.shards = 3}};
  for (std::uint32_t shard = 0; shard < 3; ++shard)
    topic.append_payloads(numbered("p", 5), shard);
  REQUIRE(log.place().damage("orders", 1, 2, damaged::payload));
  feed_caller feed{log, topic};
  feed.grant(1000);
  std::vector<std::size_t> count(3);
  std::size_t corrupt = 0;
  for (int again = 0; again < 10; ++again) {
    const auto pulled = feed.pull();
    corrupt += fault(pulled) == errc::corrupt_entry ? 1 : 0;
    if (pulled)
      for (const auto& one : pulled.value())
        ++count[one.shard];
  }
  CHECK(count == std::vector<std::size_t>{5, 2, 5});
  CHECK(corrupt > 0);
}
