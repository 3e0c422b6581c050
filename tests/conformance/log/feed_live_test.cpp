#include "conformance/log/feed_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

#include <thread>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;
using weir::feed_phase;
using call = scripted_topic::call;

namespace {

/// Appends entries "0", "1", … while a test does something else.
class busy_appender {
public:
  busy_appender(const topic_caller& topic, std::size_t from, std::size_t count)
    : works_{[topic, from, count] {
        auto mine = topic;
        for (std::size_t one = from; one < from + count; ++one)
          (void)mine.append_payloads({std::to_string(one)});
      }} {}
  ~busy_appender() { works_.join(); }
  busy_appender(const busy_appender&) = delete;
  busy_appender& operator=(const busy_appender&) = delete;

private:
  std::thread works_;
};

} // namespace

TEST_CASE("log: a feed is attaching until it has heard from the store, and live from then on") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  feed_caller feed{log, topic};
  CHECK(feed.phase() == feed_phase::attaching);
  must(feed.ready());
  CHECK(feed.phase() == feed_phase::live);
  must(feed.ready());
  CHECK(feed.payloads(10) == texts{"a"});
  CHECK(feed.phase() == feed_phase::live);
  feed_caller other{log, topic};
  CHECK(other.payloads(10) == texts{"a"}); // pulling is enough
  CHECK(other.phase() == feed_phase::live);
  must(other.close());
  CHECK(other.phase() == feed_phase::closed);
}

TEST_CASE("log: ready tries again what passes, until its deadline") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto store = std::make_shared<scripted_topic>(topic.topic());
  const auto begin = topic.topic()->description().origin();
  feed_caller feed{log, store, begin, {.first_pause = 0ms, .longest_pause = 0ms}};
  store->fail(call::bounds, errc::disconnected, 20);
  must(feed.ready());
  CHECK(store->calls(call::bounds) == 21);
  CHECK(must(feed.stats()).last_error == errc::disconnected);

  feed_caller slow{log, store, begin, {.first_pause = 24h, .longest_pause = 24h}};
  store->fail(call::bounds, errc::disconnected, 1000);
  CHECK(fault(slow.ready(0ms)) == errc::disconnected);
  CHECK(fault(slow.ready(20ms)) == errc::disconnected); // waits no longer than it may, whatever the pause
  CHECK(slow.phase() == feed_phase::attaching);
  store->mend(call::bounds);
  must(slow.ready());

  feed_caller broken{log, store, begin};
  store->fail(call::bounds, errc::corrupt);
  CHECK(fault(broken.ready()) == errc::corrupt);
  CHECK(broken.phase() == feed_phase::failed);
  must(broken.ready());
  CHECK(broken.phase() == feed_phase::live);
}

TEST_CASE("log: a feed that is cancelled while it attaches may be used again") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  const auto store = std::make_shared<scripted_topic>(topic.topic());
  feed_caller feed{log, store, topic.topic()->description().origin(), {.first_pause = 24h, .longest_pause = 24h}};
  store->fail(call::bounds, errc::disconnected);
  auto waiting = feed.begin_ready();
  store->await_calls(call::bounds, 1);
  feed.settle();
  waiting.request_stop();
  CHECK(fault(waiting.wait()) == errc::cancelled);
  CHECK(feed.payloads(10) == texts{"a"});
}

TEST_CASE("log: a feed of the tail begins at the head, as of ready, and misses nothing after") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"before"}, 0);
  topic.append_payloads({"before", "before"}, 1);
  feed_caller feed{log, weir::feed::tail_only(topic.topic())};
  feed.grant(10);
  topic.append_payloads({"still before"}, 1);
  must(feed.ready());
  CHECK(must(feed.pull()).empty());
  topic.append_payloads({"a"}, 0);
  topic.append_payloads({"b"}, 1);
  const auto pulled = must(feed.pull());
  CHECK(pulled.size() == 2);
  topic.append_payloads({"c"}, 0);
  CHECK(must(feed.next()).entry.payload == "c");
  auto waiting = feed.begin_next();
  feed.settle();
  topic.append_payloads({"d"}, 1);
  CHECK(must(waiting.wait()).entry.payload == "d");
}

TEST_CASE("log: a feed of the tail begins with its first pull or next where nobody awaits ready") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"before"});
  feed_caller pulling{log, weir::feed::tail_only(topic.topic())};
  pulling.grant(10);
  feed_caller waiting{log, weir::feed::tail_only(topic.topic())};
  waiting.grant(10);
  topic.append_payloads({"before"});
  CHECK(must(pulling.pull()).empty());
  CHECK(fault(waiting.next(0ms)) == errc::timed_out);
  topic.append_payloads({"a"});
  CHECK(payloads_of(must(pulling.pull())) == texts{"a"});
  CHECK(must(waiting.next()).entry.payload == "a");
}

TEST_CASE("log: a feed of the tail has no cursor, and so no checkpoint") {
  log_caller log;
  topic_caller topic{log, "orders"};
  feed_caller feed{log, weir::feed::tail_only(topic.topic())};
  CHECK(fault(feed.at()) == errc::unsupported);
  feed.grant(10);
  must(feed.ready());
  topic.append_payloads({"a"});
  CHECK(feed.pull_offsets() == offsets{0});
  must(feed.acknowledge(0));
  CHECK(fault(feed.at()) == errc::unsupported);
}

TEST_CASE("log: the credit of a feed of the tail is what was granted before it began") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"before"});
  feed_caller feed{log, weir::feed::tail_only(topic.topic())};
  feed.grant(5, 500);
  CHECK(feed.revoke() == weir::credit{5, 500});
  feed.grant(2, 200);
  must(feed.ready());
  const auto now = must(feed.stats());
  CHECK(now.granted == weir::credit{7, 700});
  CHECK(now.revoked == weir::credit{5, 500});
  CHECK(now.available == weir::credit{2, 200});
  CHECK(now.shards.front().progress.acked == 0);
  CHECK(now.shards.front().lag.entries == 0);
}

TEST_CASE("log: between what is there and what comes, a feed has neither a gap nor an entry twice") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads(numbered("", 100));
  feed_caller waiting{log, topic};
  feed_caller pulling{log, topic};
  waiting.grant(1000);
  std::int64_t next = 0;
  std::int64_t pulled = 0;
  {
    const busy_appender busy{topic, 100, 200};
    while (next < 300 || pulled < 300) {
      if (next < 300) {
        const auto one = must(waiting.next());
        REQUIRE(one.entry.offset == next);
        REQUIRE(one.entry.payload == std::to_string(next));
        ++next;
      }
      if (pulled < 300) {
        pulling.grant(7);
        for (const auto offset : pulling.pull_offsets())
          REQUIRE(offset == pulled++);
      }
    }
  }
  CHECK(must(pulling.pull()).empty());
  CHECK(fault(waiting.next(0ms)) == errc::timed_out);
}

TEST_CASE("log: a feed of the tail that begins while others append sees all from where it begins") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const busy_appender busy{topic, 0, 200};
  for (int round = 0; round < 5; ++round) {
    feed_caller feed{log, weir::feed::tail_only(topic.topic())};
    must(feed.ready());
    const auto head = topic.bounds().front().head;
    feed.grant(1000);
    if (head == 200)
      break;
    const auto first = must(feed.next()).entry.offset;
    CHECK(first <= head);
    for (auto next = first + 1; next < 200 && next < first + 20; ++next)
      CHECK(must(feed.next()).entry.offset == next);
  }
}

TEST_CASE("log: a feed whose next entries were trimmed fails, and goes on where that is wanted, and reports the gap") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads(numbered("a", 10), 0);
  topic.append_payloads(numbered("b", 10), 1);
  feed_caller strict{log, topic, {.shards = {0}}};
  feed_caller skips{log, topic, {.skip_expired = true}};
  strict.grant(4);
  skips.grant(4);
  CHECK(strict.pull_offsets() == offsets{0, 1, 2, 3});
  must(skips.pull());
  must(skips.acknowledge_through(3, 0));
  must(topic.trim({.through = {6, 4}, .force = true}));

  strict.grant(100);
  const auto refused = strict.pull();
  CHECK(fault(refused) == errc::cursor_expired);
  CHECK(fact(refused, "requested") == "3");
  CHECK(fact(refused, "earliest") == "7");
  CHECK(strict.phase() == feed_phase::failed);

  skips.grant(100);
  const auto pulled = must(skips.pull());
  CHECK(pulled.size() == 3 + 5);
  CHECK(skips.phase() == feed_phase::gap);
  CHECK(must(skips.stats()).missed == 3 + 5);
  CHECK(must(skips.stats()).last_error == errc::cursor_expired);
  const auto gaps = skips.take_gaps();
  REQUIRE(gaps.size() == 2);
  for (const auto& gap : gaps) {
    CHECK(gap.first == (gap.shard == 0 ? 4 : 0));
    CHECK(gap.last == (gap.shard == 0 ? 6 : 4));
  }
  CHECK(skips.phase() == feed_phase::live);
  CHECK(skips.take_gaps().empty());
  CHECK(must(skips.at()).offsets == offsets{6, 4}); // what is gone is done with
  must(skips.acknowledge_through(9, 0));
  CHECK(must(skips.at()).offsets == offsets{9, 4});
}

TEST_CASE("log: a feed that begins at an expired cursor reports the gap at once, where it may pass over it") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads(numbered("p", 10));
  must(topic.force_trim(5));
  feed_caller feed{log, topic, {.skip_expired = true}};
  must(feed.ready());
  CHECK(feed.phase() == feed_phase::gap);
  const auto gaps = feed.take_gaps();
  REQUIRE(gaps.size() == 1);
  CHECK(gaps.front().first == 0);
  CHECK(gaps.front().last == 5);
  CHECK(feed.phase() == feed_phase::live);
  CHECK(feed.payloads(1) == texts{"p6"});
  must(topic.force_trim(9)); // everything
  feed.grant(10);
  CHECK(must(feed.pull()).empty());
  CHECK(feed.phase() == feed_phase::gap);
  CHECK(feed.take_gaps().front().last == 9);
  topic.append_payloads({"p10"});
  CHECK(must(feed.next()).entry.payload == "p10");
  CHECK(must(feed.stats()).missed == 6 + 3);
}

TEST_CASE("log: a feed says how far it is behind, in entries, bytes and time, and how far from being expired") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads(texts(4, std::string(1000, 'x')));
  log.clock().advance(10s);
  topic.append_payloads(texts(6, std::string(1000, 'x')));
  log.clock().advance(5s);
  feed_caller feed{log, topic};
  feed.grant(6, 100'000);
  must(feed.pull());
  must(feed.acknowledge_through(2));
  must(feed.acknowledge(4));
  must(topic.force_trim(1));
  auto now = must(feed.stats()).shards.front();
  CHECK(now.progress.acked == 2);
  CHECK(now.progress.delivered == 5);
  CHECK(now.progress.head == 10);
  CHECK(now.progress.earliest == 2);
  CHECK(now.progress.in_flight == 2);
  CHECK(now.lag.entries == 7); // behind what is acknowledged
  CHECK(now.lag.bytes >= 7000);
  CHECK(now.lag.bytes <= 7000 + 7 * 64);
  CHECK(now.lag.age == 15s);
  CHECK(now.headroom == 1);
  CHECK(must(feed.stats()).phase == feed_phase::live);
  must(topic.force_trim(2));
  CHECK(must(feed.stats()).shards.front().headroom == 0);
  must(topic.force_trim(4));
  CHECK(must(feed.stats()).shards.front().headroom == -2);
  topic.append_payloads({"more"});
  now = must(feed.stats()).shards.front();
  CHECK(now.progress.head == 11); // of the store, not of the last read
  CHECK(now.lag.entries == 6);
}
