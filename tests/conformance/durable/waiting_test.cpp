#include "conformance/durable/durable_place.hpp"

#include <algorithm>

// Who waits for whom: a publisher for the log alone, and for as long as it is held up; nobody for a consumer.

using namespace std::chrono_literals;
using namespace durable_suite;
using namespace stream_suite;
using core_tests::empty_bytes;
using core_tests::live;
using core_tests::live_with;
using core_tests::position_at;
using weir::close_mode;
using weir::errc;
using weir::self;
using weir::task;

namespace {

constexpr std::uint64_t few = 6;

std::uint64_t item_bytes(std::size_t payload) {
  return size_in_bytes(live_with(position_at(1, 1), payload));
}

weir::durable::options line_of(std::size_t items, std::vector<weir::lane_id> names = {"a"}) {
  auto wanted = lanes(std::move(names));
  wanted.log.line_items = items;
  return wanted;
}

template <class T>
long done(const std::vector<pending<T>>& all) {
  return std::ranges::count_if(all, [](const auto& one) { return one.is_done(); });
}

/// What was offered and not published is still its publisher's.
struct kept_value {
  outcome published = weir::success();
  std::uint64_t seq = 0;
};

task<kept_value> publish_and_keep(self, weir::producer<weir::lane_item>* to, weir::lane_item item, weir::deadline until) {
  auto op = to->publish_until(std::move(item), until);
  auto published = co_await op;
  kept_value kept{std::move(published)};
  if (!kept.published) {
    const auto left = op.item();
    kept.seq = position_of(left)->seq;
  }
  co_return kept;
}

} // namespace

TEST_SUITE("durable: waiting for the log") {
  TEST_CASE("a publisher is let in up to its line's items, then it waits, and what is stored lets it go on") {
    for (const std::size_t items : {1u, 2u, 5u, 64u})
      for_each_process(few, line_of(items), [&](durable_place& at, process& only) {
        CAPTURE(items);
        only.log().hold(log_call::append);
        publisher out{only.world(), only.stream()};
        std::vector<pending<outcome>> offered;
        for (const auto seq : up_to(items + 3))
          offered.push_back(out.begin_publish(live(1, seq)));
        only.world().advance(1h);
        CHECK(done(offered) == static_cast<long>(items));
        CHECK(only.stream().figures().charged_bytes == items * empty_bytes());
        CHECK(fault(out.try_publish(live(1, 1000))) == errc::would_wait);
        CHECK(bounds_of(at).head == 1);
        only.log().let_go(log_call::append);
        only.world().settle();
        for (auto& one : offered)
          CHECK(!fault(one.value()));
        CHECK(only.stream().figures().charged_bytes == 0);
        CHECK(bounds_of(at).head == static_cast<std::int64_t>(1 + offered.size()));
        subscriber in{only.world(), only.stream()};
        CHECK(in.take(items + 3) == up_to(items + 3));
      });
  }

  TEST_CASE("and up to the budget; one item that is larger than all of it goes alone") {
    auto wanted = lanes({"a"});
    wanted.log.budget = 3 * item_bytes(1000);
    for_each_process(few, wanted, [&](durable_place&, process& only) {
      only.log().hold(log_call::append);
      publisher out{only.world(), only.stream()};
      std::vector<pending<outcome>> offered;
      for (const auto seq : up_to(4))
        offered.push_back(out.begin_publish(live_with(position_at(1, seq), 1000)));
      offered.push_back(out.begin_publish(live_with(position_at(1, 5), 20'000)));
      offered.push_back(out.begin_publish(live(1, 6)));
      const auto calls_until = [&](long count) {
        only.world().settle();
        for (int calls = 1;; ++calls) {
          only.log().let_through(log_call::append);
          only.world().settle();
          if (done(offered) >= count || calls == 10)
            return done(offered);
          CHECK(only.stream().figures().charged_bytes <= wanted.log.budget);
        }
      };
      only.world().settle();
      CHECK(done(offered) == 3);
      CHECK(only.stream().figures().charged_bytes == wanted.log.budget);
      CHECK(calls_until(5) == 5); // not the last one with it
      CHECK(only.stream().figures().charged_bytes == item_bytes(20'000));
      CHECK(calls_until(6) == 6);
      CHECK(only.stream().figures().charged_bytes == empty_bytes());
      only.log().let_go(log_call::append);
      subscriber in{only.world(), only.stream()};
      CHECK(in.take(6) == up_to(6));
      CHECK(only.stream().figures().charged_bytes == 0);
    });
  }

  TEST_CASE("who gives up leaves its place and keeps its value, and nothing of it is ever stored") {
    for_each_process(few, line_of(1), [&](durable_place& at, process& only) {
      only.log().hold(log_call::append);
      auto mine = std::make_shared<weir::producer<weir::lane_item>>(only.stream().lane("a").value().producer());
      auto* const to = mine.get();
      script out{only.world(), "publisher", std::exchange(mine, nullptr)};
      auto first = out.begin(publish_and_keep, to, live(1, 1), weir::deadline::never());
      auto second = out.begin(publish_and_keep, to, live(1, 2), weir::deadline::never());
      auto third = out.begin(publish_and_keep, to, live(1, 3), weir::deadline{20ms});
      auto fourth = out.begin(publish_and_keep, to, live(1, 4), weir::deadline::never());
      only.world().settle();
      CHECK(first.is_done());
      second.request_stop();
      only.world().settle();
      CHECK(fault(second.value().published) == errc::cancelled);
      CHECK(second.value().seq == 2);
      only.world().advance(19ms);
      CHECK_FALSE(third.is_done());
      only.world().advance(2ms);
      CHECK(fault(third.value().published) == errc::timed_out);
      CHECK(third.value().seq == 3);
      CHECK_FALSE(fourth.is_done());
      only.log().let_go(log_call::append);
      subscriber in{only.world(), only.stream()};
      CHECK(in.take(2) == numbers{1, 4});
      CHECK(!fault(fourth.value().published));
      CHECK(in.is_empty());
      CHECK(bounds_of(at).head == 3);
    });
  }

  TEST_CASE("a heavy first waiter that gives up, or whose actor is killed, lets in those behind it") {
    for (const bool by_kill : {false, true}) {
      auto wanted = lanes({"a", "b"});
      wanted.log.budget = 2 * item_bytes(1000);
      for_each_process(few, wanted, [&](durable_place&, process& only) {
        CAPTURE(by_kill);
        only.log().hold(log_call::append);
        publisher out{only.world(), only.stream(), {"a"}};
        publisher other{only.world(), only.stream(), {"b"}};
        REQUIRE(out.publish(live_with(position_at(1, 1), 1000)));
        auto heavy = out.begin_publish(live_with(position_at(1, 2), 5000));
        auto behind = out.begin_publish(live(1, 3));
        auto light = other.begin_publish(live(1, 1));
        only.world().settle();
        CHECK_FALSE(behind.is_done());
        CHECK(light.is_done()); // another actor's line
        if (by_kill)
          out.kill();
        else
          heavy.request_stop();
        only.world().settle();
        CHECK(behind.is_done() == !by_kill);
        only.log().let_go(log_call::append);
        only.world().settle();
        CHECK(only.stream().figures().charged_bytes == 0);
        subscriber in{only.world(), only.stream()};
        CHECK(seqs(in.receive_all()) == (by_kill ? numbers{1} : numbers{1, 3}));
      });
    }
  }

  TEST_CASE("they are let in in order, and there is a limit to how many may wait") {
    for_each_process(2, line_of(1), [&](durable_place&, process& only) {
      only.log().hold(log_call::append);
      publisher out{only.world(), only.stream()};
      REQUIRE(out.publish(live(1, 1)));
      std::vector<pending<outcome>> line;
      for (const auto seq : up_to(1025, 2)) {
        line.push_back(out.begin_publish(live(1, seq)));
        if (seq % 32 == 0)
          only.world().settle(); // within one turn's share of awaits coroutines begin in order
      }
      only.world().settle();
      CHECK(done(line) == 0);
      CHECK(fault(out.publish(live(1, 5000))) == errc::too_many_waiters);
      for (long stored = 1; stored <= 20; ++stored) {
        only.log().let_through(log_call::append);
        only.world().settle();
        REQUIRE(done(line) == stored);
        CHECK(line[static_cast<std::size_t>(stored - 1)].is_done());
      }
      only.log().let_go(log_call::append);
      subscriber in{only.world(), only.stream()};
      CHECK(in.take(1025) == up_to(1025));
    });
  }

  TEST_CASE("a fan-out that waited is one entry, too") {
    for_each_process(few, line_of(2, {"a", "b", "c"}), [&](durable_place& at, process& only) {
      only.log().hold(log_call::append);
      publisher out{only.world(), only.stream(), {"a", "b", "c"}};
      std::vector<pending<std::vector<outcome>>> offered;
      for (const auto seq : up_to(20))
        offered.push_back(out.begin_publish_all(live(1, seq)));
      only.world().settle();
      CHECK(done(offered) == 2);
      only.log().let_go(log_call::append);
      for (const auto* name : {"a", "b", "c"}) {
        subscriber in{only.world(), only.stream(), name};
        CHECK(in.take(20) == up_to(20));
      }
      for (auto& one : offered)
        for (const auto& published : one.value())
          CHECK(!fault(published));
      CHECK(bounds_of(at).head == 21);
    });
  }

  TEST_CASE("a fan-out that is cancelled in the middle: each lane has its copy or has not, and says which") {
    const std::vector<weir::lane_id> names{"a", "b", "c"};
    int whole = 0;
    int none = 0;
    for_each_process(40, line_of(1, names), [&](durable_place& at, process& only) {
      auto& world = only.world();
      only.log().hold(log_call::append);
      publisher out{world, only.stream(), names};
      auto before = out.begin_publish(live(1, 1), 1);
      if (world.random().chance(50))
        world.settle();
      auto offered = out.begin_publish_all(live(1, 2));
      for (auto steps = world.random().below(20); steps != 0; --steps)
        world.step();
      only.log().let_go(log_call::append);
      for (auto steps = world.random().below(20); steps != 0; --steps)
        world.step();
      offered.request_stop();
      world.settle();
      REQUIRE(offered.is_done());
      CHECK(before.is_done());
      long copies = 0;
      for (std::size_t which = 0; which < names.size(); ++which) {
        const auto& has_copy = offered.value()[which];
        copies += has_copy ? 1 : 0;
        if (!has_copy)
          CHECK(fault(has_copy) == errc::cancelled);
        auto wanted = which == 1 ? numbers{1} : numbers{};
        if (has_copy)
          wanted.push_back(2);
        subscriber in{world, only.stream(), names[which]};
        CHECK(seqs(in.receive_all()) == wanted);
      }
      whole += copies == 3 ? 1 : 0;
      none += copies == 0 ? 1 : 0;
      CHECK(bounds_of(at).head == (copies == 0 ? 2 : 3));
    });
    CHECK(whole > 0);
    CHECK(none > 0);
  }

  TEST_CASE("a lane that is retired: what waits for it alone is refused, other lanes' copies go on") {
    for_each_process(few, line_of(1, {"a", "b"}), [&](durable_place& at, process& only) {
      only.log().hold(log_call::append);
      publisher out{only.world(), only.stream(), {"a", "b"}};
      for (const auto& published : out.publish_all(live(1, 1)))
        REQUIRE(published);
      auto for_b = out.begin_publish(live(1, 2), 1);
      auto for_both = out.begin_publish_all(live(1, 3));
      auto for_a = out.begin_publish(live(1, 4), 0);
      only.world().settle();
      REQUIRE(only.stream().retire_lane("b"));
      REQUIRE(only.stream().add_lane("b", position_at(1, 3))); // begins behind everything
      only.world().settle();
      CHECK(fault(for_b.value()) == errc::lane_retired);
      CHECK_FALSE(for_both.is_done());
      only.log().let_go(log_call::append);
      subscriber a{only.world(), only.stream(), "a"};
      CHECK(a.take(3) == numbers{1, 3, 4});
      CHECK(!fault(for_both.value()[0]));
      CHECK(fault(for_both.value()[1]) == errc::lane_retired);
      CHECK(!fault(for_a.value()));
      subscriber b{only.world(), only.stream(), "b"};
      CHECK(seqs(b.receive_all()).empty());
      CHECK(bounds_of(at).head == 4);
    });
  }

  TEST_CASE("a producer that is fenced while it waits") {
    for_each_process(few, line_of(1), [&](durable_place& at, process& only) {
      only.log().hold(log_call::append);
      publisher old{only.world(), only.stream()};
      REQUIRE(old.publish(live(1, 1)));
      auto waiting = old.begin_publish(live(1, 2));
      only.world().settle();
      publisher young{only.world(), only.stream()};
      CHECK(young.attach().value() == 2);
      CHECK(fault(waiting.value()) == errc::fenced);
      CHECK(fault(young.publish(live(1, 1))) == errc::position_not_above);
      REQUIRE(young.publish(live(1, 2)));
      only.log().let_go(log_call::append);
      subscriber in{only.world(), only.stream()};
      CHECK(in.take(2) == numbers{1, 2});
      CHECK(bounds_of(at).head == 3);
    });
  }

  TEST_CASE("a process that is fenced while its publishers wait: they are told, and nothing more of it is stored") {
    for_each_process(few, line_of(2, {"a", "b"}), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      for (const auto& published : out.publish_all(live(1, 1)))
        REQUIRE(published);
      only.log().hold(log_call::append);
      std::vector<pending<std::vector<outcome>>> offered;
      for (const auto seq : up_to(5, 2))
        offered.push_back(out.begin_publish_all(live(1, seq)));
      only.world().settle();
      process young{at, 2, lanes({"a", "b"})};
      CHECK(young.opened().resume == position_at(1, 1));
      only.log().let_go(log_call::append);
      only.world().settle();
      REQUIRE(done(offered) == 4);
      for (const auto& published : offered.back().value()) {
        CHECK(fault(published) == errc::fenced);
        CHECK(published.error().sentence() == "another process has opened the stream");
      }
      publisher next{young.world(), young.stream(), {"a", "b"}};
      for (const auto& published : next.publish_all(live(1, 2)))
        CHECK(!fault(published));
      for (const auto* name : {"a", "b"}) {
        subscriber in{young.world(), young.stream(), name};
        CHECK(in.take(2) == up_to(2));
      }
      CHECK(bounds_of(at).head == 4);
    });
  }

  TEST_CASE("closing: whoever waits is refused, what was let in is stored") {
    for (const auto mode : {close_mode::drain, close_mode::abort}) {
      for_each_process(few, line_of(2, {"a", "b"}), [&](durable_place& at, process& only) {
        CAPTURE(mode == close_mode::drain);
        only.log().hold(log_call::append);
        publisher out{only.world(), only.stream(), {"a", "b"}};
        subscriber a{only.world(), only.stream(), "a"};
        auto parked = a.begin_receive();
        for (const auto seq : up_to(2))
          for (const auto& published : out.publish_all(live(1, seq)))
            REQUIRE(published);
        auto waiting = out.begin_publish_all(live(1, 3));
        only.world().settle();
        only.stream().close(mode);
        only.world().settle();
        REQUIRE(waiting.is_done());
        for (const auto& published : waiting.value())
          CHECK(fault(published) == errc::closed);
        for (const auto& published : out.publish_all(live(1, 4)))
          CHECK(fault(published) == errc::closed);
        if (mode == close_mode::abort) {
          REQUIRE(parked.is_done());
          CHECK(fault(parked.value()) == errc::closed);
        } else {
          CHECK_FALSE(parked.is_done());
          CHECK_FALSE(only.stream().idle());
        }
        only.log().let_go(log_call::append);
        only.world().settle();
        CHECK(bounds_of(at).head == 3);
        if (mode == close_mode::abort)
          return;
        REQUIRE(parked.is_done());
        CHECK(parked.value().value().seq() == 1);
        CHECK(a.ack(parked.value().value().handle));
        CHECK(a.take(1) == numbers{2});
        CHECK(fault(a.receive()) == errc::end_of_lane);
        subscriber b{only.world(), only.stream(), "b"};
        CHECK(b.take(2) == up_to(2));
        CHECK(fault(b.receive()) == errc::end_of_lane);
        only.world().settle();
        CHECK(only.stream().idle());
      });
    }
  }
}
