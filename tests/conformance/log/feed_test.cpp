#include "conformance/log/feed_caller.hpp"
#include "conformance/log/scripted_topic.hpp"

#include <doctest/doctest.h>

#include <algorithm>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::credit;
using weir::errc;
using call = scripted_topic::call;

namespace {

constexpr auto most = weir::feed_machine::most_credit;

/// A topic whose reads can be looked at, and a feed from its beginning.
struct read_topic {
  explicit read_topic(texts payloads = {}, weir::feed_options how = {})
    : topic{log, "orders"},
      store{std::make_shared<scripted_topic>(topic.topic())},
      feed{log, store, topic.topic()->description().origin(), std::move(how)} {
    if (!payloads.empty())
      topic.append_payloads(std::move(payloads));
  }

  /// What was granted is what was charged, what is there, and what was taken back.
  void check_conserved() {
    const auto now = must(feed.stats());
    CHECK(now.granted.items == now.charged.items + now.available.items + now.revoked.items);
    CHECK(now.granted.bytes == now.charged.bytes + now.available.bytes + now.revoked.bytes);
  }

  log_caller log;
  topic_caller topic;
  std::shared_ptr<scripted_topic> store;
  feed_caller feed;
};

} // namespace

TEST_CASE("log: a feed delivers what follows its cursor, in order, with all of it") {
  read_topic one;
  must(one.topic.append({{.key = "k", .dedupe = "d", .payload = "a"}, {.payload = "b"}}));
  one.feed.grant(10);
  const auto pulled = must(one.feed.pull());
  REQUIRE(pulled.size() == 2);
  CHECK(pulled[0].shard == 0);
  CHECK(pulled[0].entry.offset == 0);
  CHECK(pulled[0].entry.key == "k");
  CHECK(pulled[0].entry.dedupe == "d");
  CHECK(pulled[0].entry.payload == "a");
  CHECK(pulled[0].entry.time == one.log.clock().now());
  CHECK(pulled[1].entry.digest == one.topic.read_all()[1].digest);
  feed_caller behind{one.log, one.topic.topic(), one.topic.topic()->description().cursor_at({0})};
  CHECK(behind.payloads(10) == texts{"b"});
}

TEST_CASE("log: a feed delivers and reads nothing without credit") {
  read_topic one{numbered("p", 5)};
  for (int again = 0; again < 3; ++again)
    CHECK(must(one.feed.pull()).empty());
  CHECK(one.feed.grant(0, 0) == credit{});
  CHECK(must(one.feed.pull()).empty());
  CHECK(one.feed.grant(5, 0) == credit{5, 0}); // entries without bytes are no credit
  CHECK(must(one.feed.pull()).empty());
  CHECK(one.store->calls(call::read) == 0);
  CHECK(fault(one.feed.next(0ms)) == errc::timed_out);
  CHECK(one.store->calls(call::read) == 0);
  CHECK(one.feed.grant(0, 100) == credit{0, 100});
  CHECK(must(one.feed.pull()).size() == 5);
  one.check_conserved();
}

TEST_CASE("log: credit adds up, is used up entry by entry, and no more is delivered than there is") {
  read_topic one{numbered("p", 9)};
  one.feed.grant(1);
  one.feed.grant(2);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2});
  CHECK(must(one.feed.pull()).empty());
  one.feed.grant(1);
  CHECK(one.feed.pull_offsets() == offsets{3});
  CHECK(must(one.feed.stats()).granted.items == 4);
  CHECK(must(one.feed.stats()).charged.items == 4);
  CHECK(must(one.feed.stats()).available.items == 0);
  one.check_conserved();
}

TEST_CASE("log: a pull that brings less than there was credit for loses none of it") {
  read_topic one{numbered("p", 3)};
  one.feed.grant(10);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2});
  for (int again = 0; again < 3; ++again)
    CHECK(must(one.feed.pull()).empty());
  one.topic.append_payloads(numbered("p", 20));
  CHECK(one.feed.pull_offsets() == offsets{3, 4, 5, 6, 7, 8, 9}); // what has come since, up to the credit
  CHECK(must(one.feed.stats()).available.items == 0);
  one.check_conserved();
}

TEST_CASE("log: a pull brings what is there, also what came after the pull before, and never waits") {
  read_topic one;
  one.feed.grant(100);
  CHECK(must(one.feed.pull()).empty());
  for (std::int64_t round = 0; round < 5; ++round) {
    one.topic.append_payloads({"p"});
    CHECK(one.feed.pull_offsets() == offsets{round});
    CHECK(must(one.feed.pull()).empty());
  }
}

TEST_CASE("log: credit saturates at the most that can be there at once, and says what was added") {
  read_topic one{numbered("p", 3)};
  CHECK(one.feed.grant(10, 100) == credit{10, 100});
  CHECK(one.feed.grant(UINT64_MAX, UINT64_MAX) == credit{most - 10, most - 100});
  CHECK(one.feed.grant(1, 1) == credit{});
  CHECK(must(one.feed.stats()).available == credit{most, most});
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2});
  CHECK(must(one.feed.stats()).available.items == most - 3);
  CHECK(one.feed.grant(10, 0) == credit{3, 0});
  one.check_conserved();
}

TEST_CASE("log: credit that is revoked is not used, and is counted") {
  read_topic one{numbered("p", 9)};
  one.feed.grant(5, 1000);
  CHECK(one.feed.pull_offsets() == offsets{0, 1, 2, 3, 4});
  one.feed.grant(3, 10);
  CHECK(one.feed.revoke() == credit{3, 1000});
  CHECK(one.feed.revoke() == credit{});
  CHECK(must(one.feed.pull()).empty());
  const auto now = must(one.feed.stats());
  CHECK(now.granted == credit{8, 1010});
  CHECK(now.charged == credit{5, 10});
  CHECK(now.revoked == credit{3, 1000});
  CHECK(now.available == credit{});
  one.feed.grant(2, 1000);
  CHECK(one.feed.pull_offsets() == offsets{5, 6});
  one.check_conserved();
}

TEST_CASE("log: bytes of keys, dedupe keys and payloads are charged together") {
  read_topic one;
  must(one.topic.append({{.key = std::string(10, 'k'), .dedupe = std::string(20, 'd'), .payload = std::string(30, 'p')}}));
  one.feed.grant(5, 100);
  must(one.feed.pull());
  CHECK(must(one.feed.stats()).charged == credit{1, 60});
  CHECK(must(one.feed.stats()).available == credit{4, 40});
}

TEST_CASE("log: an entry larger than the byte credit there is waits for more, if it is within the feed's window") {
  read_topic one{
    {std::string(40, 'a'), std::string(40, 'b'), std::string(40, 'c'), std::string(100, 'd')}, {.window_bytes = 100}};
  one.feed.grant(10, 100);
  CHECK(one.feed.pull_offsets() == offsets{0, 1});
  CHECK(must(one.feed.pull()).empty());
  one.feed.grant(0, 19);
  CHECK(must(one.feed.pull()).empty());
  one.feed.grant(0, 1);
  CHECK(one.feed.pull_offsets() == offsets{2});
  CHECK(one.feed.phase() == weir::feed_phase::live);
  one.feed.grant(0, 100); // as large as the window
  CHECK(one.feed.pull_offsets() == offsets{3});
  one.check_conserved();
}

TEST_CASE("log: an entry larger than the whole window fails the feed with its size, and is not lost") {
  read_topic one{{"a", std::string(101, 'b'), "c"}, {.window_bytes = 100}};
  one.feed.grant(10, 100);
  CHECK(one.feed.pull_offsets() == offsets{0}); // what comes before it is delivered
  one.feed.grant(0, 1);
  for (int again = 0; again < 3; ++again) {
    const auto refused = one.feed.pull();
    CHECK(fault(refused) == errc::oversize);
    CHECK(fact(refused, "size") == "101");
    CHECK(fact(refused, "credit") == "100");
    CHECK(fact(refused, "window") == "100");
    CHECK(one.feed.phase() == weir::feed_phase::failed);
  }
  CHECK(fault(one.feed.next()) == errc::oversize); // does not wait: more credit than the window is no use
  CHECK(must(one.feed.stats()).last_error == errc::oversize);
  CHECK(must(one.feed.stats()).available == credit{9, 100}); // none is charged for it
  one.feed.grant(0, 1);
  CHECK(one.feed.pull_offsets() == offsets{1}); // there is more at once than was said
  CHECK(one.feed.phase() == weir::feed_phase::live);
  one.check_conserved();
}

TEST_CASE("log: without a window, an entry larger than the byte credit there is fails the feed, until there is more") {
  read_topic one{{std::string(40, 'a'), std::string(40, 'b')}};
  one.feed.grant(10, 60);
  CHECK(one.feed.pull_offsets() == offsets{0});
  const auto refused = one.feed.pull();
  CHECK(fault(refused) == errc::oversize);
  CHECK(fact(refused, "size") == "40");
  CHECK(fact(refused, "credit") == "20");
  one.feed.grant(0, 20);
  CHECK(one.feed.pull_offsets() == offsets{1});
  one.check_conserved();
}

TEST_CASE("log: an entry larger than the window is delivered alone where that was opted in, for all byte credit there is") {
  read_topic one{{"a", std::string(500, 'b'), "c"}, {.deliver_oversize = true, .window_bytes = 100}};
  one.feed.grant(10, 100);
  CHECK(one.feed.pull_offsets() == offsets{0});
  CHECK(must(one.feed.pull()).empty()); // the window is not whole: something of it is held
  one.feed.grant(0, 1);
  CHECK(one.feed.pull_offsets() == offsets{1}); // and nothing behind it
  CHECK(must(one.feed.stats()).available == credit{8, 0});
  CHECK(must(one.feed.stats()).charged == credit{2, 101});
  one.feed.grant(0, 1);
  CHECK(one.feed.pull_offsets() == offsets{2});
  one.check_conserved();
}

TEST_CASE("log: what a filter does not let through costs nothing, and moves the cursor all the same") {
  const auto is_even = [](const weir::entry& one) { return one.offset % 2 == 0; };
  read_topic one{numbered("p", 10), {.filter = is_even}};
  one.feed.grant(3);
  CHECK(one.feed.pull_offsets() == offsets{0, 2, 4});
  CHECK(must(one.feed.stats()).charged == credit{3, 6});
  CHECK(one.feed.acked() == -1);
  must(one.feed.acknowledge(0));
  CHECK(one.feed.acked() == 1); // with what follows it and is not wanted
  must(one.feed.acknowledge(2));
  must(one.feed.acknowledge(4));
  CHECK(one.feed.acked() >= 4);
  one.feed.grant(10);
  CHECK(one.feed.pull_offsets() == offsets{6, 8});
  must(one.feed.acknowledge_through(8));
  CHECK(one.feed.acked() == 9);
  one.check_conserved();
}

TEST_CASE("log: a feed whose filter lets nothing through does not expire") {
  read_topic one{numbered("p", 10), {.filter = [](const weir::entry&) { return false; }}};
  must(one.topic.commit({.consumer = "quiet", .offsets = {-1}}));
  one.feed.grant(1, 1);
  for (std::uint64_t round = 1; round < 5; ++round) {
    CHECK(must(one.feed.pull()).empty());
    CHECK(must(one.feed.stats()).available == credit{1, 1});
    const auto here = must(one.feed.at());
    CHECK(here.offsets == offsets{static_cast<std::int64_t>(round) * 10 - 1});
    must(one.topic.commit({.consumer = "quiet", .offsets = here.offsets, .expected = round}));
    CHECK(must(one.topic.force_trim(here.offsets.front())).held_by.empty());
    one.topic.append_payloads(numbered("p", 10));
  }
}

TEST_CASE("log: next waits for an entry, and for credit, whichever comes last") {
  read_topic one;
  auto first = one.feed.begin_next();
  one.feed.settle();
  one.feed.grant(1);
  one.feed.settle();
  CHECK_FALSE(first.is_done());
  one.topic.append_payloads({"a", "b"});
  CHECK(must(first.wait()).entry.payload == "a");
  auto second = one.feed.begin_next();
  one.feed.settle();
  CHECK_FALSE(second.is_done());
  one.feed.grant(0, 1);
  one.feed.settle();
  CHECK_FALSE(second.is_done());
  one.feed.grant(1, 0);
  CHECK(must(second.wait()).entry.payload == "b");
  one.check_conserved();
}

TEST_CASE("log: waiting costs no credit, and ends at its deadline") {
  read_topic one{{"a"}};
  one.feed.grant(2, 100);
  CHECK(must(one.feed.next()).entry.payload == "a");
  CHECK(fault(one.feed.next(0ms)) == errc::timed_out);
  CHECK(fault(one.feed.next(20ms)) == errc::timed_out);
  CHECK(must(one.feed.stats()).available == credit{1, 99});
  one.topic.append_payloads({"b", "c"});
  CHECK(must(one.feed.next()).entry.payload == "b");
  CHECK(fault(one.feed.next(20ms)) == errc::timed_out); // no credit
  one.feed.grant(1);
  CHECK(must(one.feed.next(0ms)).entry.payload == "c");
}

TEST_CASE("log: a slow consumer holds no more than its credit, however much is there") {
  read_topic one{texts(500, std::string(100, 'x')), {.read = {.entries = 1000, .bytes = 1 << 20}}};
  std::int64_t next = 0;
  for (int round = 0; round < 40; ++round) {
    one.feed.grant(3, 300);
    for (const auto offset : one.feed.pull_offsets())
      CHECK(offset == next++);
  }
  CHECK(next == 120);
  const auto is_within_credit = [](const scripted_topic::read_asked& read) {
    return read.limits.entries <= 3 && read.limits.bytes <= 300 && read.brought <= 3;
  };
  CHECK(std::ranges::all_of(one.store->reads(), is_within_credit));
  one.check_conserved();
}

TEST_CASE("log: a read takes no more at once than the feed is told to, whatever the credit") {
  read_topic one{numbered("p", 20), {.read = {.entries = 3, .bytes = 1 << 20}}};
  one.feed.grant(1000);
  CHECK(one.feed.pull_offsets().size() == 20);
  CHECK(std::ranges::all_of(one.store->reads(), [](const auto& read) { return read.limits.entries == 3; }));
  CHECK(one.store->reads().size() >= 7);
}
