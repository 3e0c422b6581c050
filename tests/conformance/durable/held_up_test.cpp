#include "conformance/durable/durable_place.hpp"

#include <algorithm>

// What goes on while the log is held up or a consumer stands still: everything that does not need the one or the other.

using namespace std::chrono_literals;
using namespace durable_suite;
using namespace stream_suite;
using core_tests::live;
using core_tests::live_with;
using core_tests::position_at;
using weir::errc;
using weir::self;
using weir::task;

namespace {

constexpr std::uint64_t few = 6;

/// Publishes so many to each lane, all of them stored.
void publish_stored(process& only, publisher& out, std::uint64_t last, std::uint64_t first = 1) {
  std::vector<pending<std::vector<outcome>>> offered;
  for (const auto seq : up_to(last, first)) {
    offered.push_back(out.begin_publish_all(live(1, seq)));
    if (seq % 100 == 0)
      only.world().settle();
  }
  only.world().settle();
  for (auto& one : offered)
    for (const auto& published : one.value())
      REQUIRE(published);
}

task<weir::result<weir::request>> serve_one(self, weir::stream over) {
  auto end = over.requests().consumer();
  auto receiving = end.receive(0ms);
  auto asked = co_await receiving;
  if (!asked) {
    weir::result<weir::request> none = asked.error();
    co_return none;
  }
  weir::result<weir::request> served = asked.value().item();
  (void)asked.value().ack();
  co_return served;
}

} // namespace

TEST_SUITE("durable: held up") {
  TEST_CASE("two publishing actors share the budget, at every step, and both go on") {
    auto wanted = lanes({"a", "b"});
    const auto item = size_in_bytes(live_with(position_at(1, 1), 1000));
    wanted.log.budget = 4 * item;
    for_each_process(few, wanted, [&](durable_place&, process& only) {
      auto& world = only.world();
      only.log().hold(log_call::append);
      publisher first{world, only.stream(), {"a"}};
      publisher second{world, only.stream(), {"b"}};
      std::vector<pending<outcome>> offered;
      for (const auto seq : up_to(40)) {
        const auto payload = seq % 10 == 0 ? 10'000u : 1000u; // some go alone
        offered.push_back(first.begin_publish(live_with(position_at(1, seq), payload)));
        offered.push_back(second.begin_publish(live_with(position_at(1, seq), payload)));
      }
      std::uint64_t most = 0;
      for (int calls = 0; calls < 500; ++calls) {
        while (world.step()) {
          const auto held = only.stream().figures().charged_bytes;
          if (held > wanted.log.budget)
            CHECK(held == size_in_bytes(live_with(position_at(1, 1), 10'000)));
          else
            most = std::max(most, held);
        }
        only.log().let_through(log_call::append);
      }
      only.log().let_go(log_call::append);
      world.settle();
      CHECK(most == wanted.log.budget);
      for (auto& one : offered) {
        REQUIRE(one.is_done());
        CHECK(!fault(one.value()));
      }
      CHECK(only.stream().figures().charged_bytes == 0);
      for (const auto* name : {"a", "b"}) {
        subscriber in{world, only.stream(), name};
        CHECK(in.take(40) == up_to(40));
      }
    });
  }

  TEST_CASE("appends: deliveries, acknowledgements, the watermark and requests go on") {
    auto wanted = lanes({"a", "b"});
    wanted.log.line_items = 10;
    wanted.bound.items = 3;
    wanted.log.recent_bytes = 1; // so that it is also read from the log
    for_each_process(few, wanted, [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(only, out, 8);
      only.log().hold(log_call::append);
      std::vector<pending<std::vector<outcome>>> waiting;
      for (const auto seq : up_to(30, 9))
        waiting.push_back(out.begin_publish_all(live(1, seq)));
      only.world().settle();
      CHECK(!waiting.back().is_done());
      subscriber a{only.world(), only.stream(), "a"};
      subscriber b{only.world(), only.stream(), "b"};
      CHECK(a.take(8) == up_to(8));
      CHECK(b.take(5) == up_to(5));
      CHECK(a.is_empty());
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 5));
      REQUIRE(only.stream().requests().producer().publish({.id = {7, 1}, .sink = "a", .collections = {"x"}}));
      only.world().settle();
      CHECK(bounds_of(at, "stream.requests").head == 2);
      script server{only.world(), "server"};
      CHECK(server.complete(server.begin(serve_one, only.stream())).value().id.low == 1);
      CHECK(b.take(3) == up_to(8, 6));
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 8));
      CHECK(bounds_of(at).head == 9);
      only.log().let_go(log_call::append);
      CHECK(a.take(22) == up_to(30, 9));
      CHECK(b.take(22) == up_to(30, 9));
      only.world().settle();
      CHECK(only.stream().idle());
    });
  }

  TEST_CASE("requests: the stream goes on, and of those asked meanwhile only the newest set is stored") {
    for_each_process(few, lanes({"a"}), [&](durable_place& at, process& only) {
      only.log().hold(log_call::append, "stream.requests");
      for (std::uint64_t low = 1; low <= 20; ++low) {
        REQUIRE(
          only.stream().requests().producer().publish({.id = {7, low}, .sink = "a", .collections = {std::to_string(low)}}));
        only.world().settle();
      }
      publisher out{only.world(), only.stream()};
      REQUIRE(out.publish(live(1, 1)));
      subscriber in{only.world(), only.stream()};
      CHECK(in.take(1) == numbers{1});
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 1));
      script server{only.world(), "server"};
      CHECK(server.complete(server.begin(serve_one, only.stream())).value().id.low == 1); // stored or not
      only.log().let_go(log_call::append, "stream.requests");
      only.world().settle();
      CHECK(bounds_of(at, "stream.requests").head == 3);
      only.kill();
      process next{at, 2, lanes({"a"})};
      CHECK(next.stream().figures().requests == 19);
    });
  }

  TEST_CASE("checkpoints: acknowledgements go on, the watermark waits, and those that come meanwhile become one") {
    for_each_process(few, lanes({"a", "b"}), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      publish_stored(only, out, 50);
      subscriber a{only.world(), only.stream(), "a"};
      subscriber b{only.world(), only.stream(), "b"};
      CHECK(b.take(50) == up_to(50));
      only.world().settle();
      only.log().hold(log_call::commit);
      const auto before = only.log().calls(log_call::commit);
      CHECK(a.take(50) == up_to(50));
      only.world().settle();
      CHECK(only.log().calls(log_call::commit) == before + 1);
      CHECK(!read_watermark(only.world(), only.stream()).watermark);
      CHECK_FALSE(only.stream().idle());
      publish_stored(only, out, 60, 51);
      CHECK(a.take(10) == up_to(60, 51));
      only.log().let_through(log_call::commit);
      only.world().settle();
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 1));
      only.log().let_go(log_call::commit);
      CHECK(b.take(10) == up_to(60, 51));
      only.world().settle();
      CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 60));
      CHECK(only.stream().idle());
      const auto kept = checkpoints_of(at);
      REQUIRE(kept.size() == 2);
      CHECK(kept[0].offsets.front() == 60);
    });
  }

  TEST_CASE("reads: the lane that reads from the log waits, the others and their publishers don't") {
    auto wanted = lanes({"fast", "slow"});
    wanted.bound.items = 4;
    wanted.log.recent_bytes = 1;
    for_each_process(few, wanted, [&](durable_place&, process& only) {
      publisher out{only.world(), only.stream(), {"fast", "slow"}};
      subscriber fast{only.world(), only.stream(), "fast"};
      subscriber slow{only.world(), only.stream(), "slow"};
      publish_stored(only, out, 4);
      CHECK(fast.take(4) == up_to(4));
      for (const auto seq : up_to(20, 5)) {
        publish_stored(only, out, seq, seq);
        CHECK(fast.take(1) == numbers{seq});
      }
      only.log().hold(log_call::read);
      CHECK(slow.take(4) == up_to(4));
      only.world().settle();
      CHECK(slow.receive_all().size() <= 4);
      for (const auto seq : up_to(30, 21)) {
        publish_stored(only, out, seq, seq);
        CHECK(fast.take(1) == numbers{seq});
      }
      CHECK(slow.receive_all().empty());
      only.log().let_go(log_call::read);
      subscriber next{only.world(), only.stream(), "slow"};
      CHECK(next.take(26) == up_to(30, 5));
      only.world().settle();
      CHECK(only.stream().idle());
    });
  }

  TEST_CASE("a lane that is retired while its checkpoint is being stored, or dropped, and comes again under its name") {
    for (const bool is_storing : {true, false})
      for_each_process(few, lanes({"a", "b"}), [&](durable_place& at, process& only) {
        CAPTURE(is_storing);
        publisher out{only.world(), only.stream(), {"a", "b"}};
        publish_stored(only, out, 3);
        {
          subscriber in{only.world(), only.stream()};
          if (is_storing)
            only.log().hold(log_call::commit);
          only.log().hold(log_call::drop);
          CHECK(in.take(2) == up_to(2));
          only.world().settle();
          for (std::uint64_t times = 0; times < 3; ++times) {
            REQUIRE(only.stream().retire_lane("a"));
            REQUIRE(only.stream().add_lane("a", position_at(1, 3)));
            only.world().settle();
          }
        }
        publisher next{only.world(), only.stream(), {"a"}};
        REQUIRE(next.publish(live(1, 4)));
        only.log().let_go(log_call::commit);
        only.world().settle();
        only.log().let_go(log_call::drop);
        only.world().settle();
        subscriber in{only.world(), only.stream()};
        const auto got = in.receive();
        REQUIRE_MESSAGE(got, got.error().to_string());
        CHECK(got.value().seq() == 4);
        only.world().settle();
        const auto kept = checkpoints_of(at);
        REQUIRE(kept.size() == 2);
        CHECK(kept[0].offsets.front() == 3);
        only.kill();
        process later{at, 2, lanes({"a", "b"})};
        subscriber again{later.world(), later.stream()};
        CHECK(seqs(again.receive_all()) == numbers{4});
      });
  }

  TEST_CASE("a lane that is added while items are on their way begins behind them") {
    for_each_process(few, lanes({"a"}), [&](durable_place& at, process& only) {
      only.log().hold(log_call::append);
      publisher out{only.world(), only.stream()};
      for (const auto seq : up_to(3))
        REQUIRE(out.publish(live(1, seq)));
      REQUIRE(only.stream().add_lane("new", position_at(1, 3)));
      publisher both{only.world(), only.stream(), {"a", "new"}};
      for (const auto& published : both.publish_all(live(1, 4)))
        REQUIRE(published);
      only.log().let_through(log_call::append); // the first alone, or all
      only.world().settle();
      only.log().let_go(log_call::append);
      subscriber a{only.world(), only.stream()};
      CHECK(a.take(4) == up_to(4));
      subscriber in{only.world(), only.stream(), "new"};
      CHECK(in.take(1) == numbers{4});
      only.world().settle();
      CHECK(only.stream().idle());
      CHECK(bounds_of(at).head == 5);
    });
  }
}

TEST_SUITE("durable: bounds") {
  TEST_CASE("a consumer that takes nothing delays nobody, and its lane holds no more than its bound") {
    constexpr std::uint64_t count = 20'000;
    auto wanted = lanes({"fast", "still"});
    wanted.bound = {.items = 20, .bytes = 1u << 20};
    wanted.log.line_items = 256;
    wanted.log.recent_bytes = 4000;
    for_each_process(1, wanted, [&](durable_place&, process& only) {
      publisher out{only.world(), only.stream(), {"fast", "still"}};
      subscriber fast{only.world(), only.stream(), "fast"};
      numbers taken;
      for (std::uint64_t first = 1; first <= count; first += 100) {
        publish_stored(only, out, first + 99, first);
        const auto some = fast.take(100);
        taken.insert(taken.end(), some.begin(), some.end());
        CHECK(figures_of(only.stream(), "still").held_bytes <= 20 * core_tests::empty_bytes());
      }
      CHECK(taken == up_to(count));
      CHECK(figures_of(only.stream(), "still").peak_items == 20);
      const auto before = only.log().calls(log_call::read);
      subscriber still{only.world(), only.stream(), "still"};
      CHECK(still.take(count) == up_to(count));
      CHECK(only.log().calls(log_call::read) - before >= count / 256 - 1);
      CHECK(figures_of(only.stream(), "still").peak_items == 20);
      CHECK(figures_of(only.stream(), "still").bound_violations == 0);
      only.world().settle();
      CHECK(only.stream().idle());
    });
  }

  TEST_CASE("its bytes, too; and one item that is heavier than the bound is delivered alone") {
    auto wanted = lanes({"a"});
    const auto item = size_in_bytes(live_with(position_at(1, 1), 1000));
    wanted.bound = {.items = 100, .bytes = 3 * item};
    wanted.log.recent_bytes = 1;
    for_each_process(few, wanted, [&](durable_place&, process& only) {
      publisher out{only.world(), only.stream()};
      for (const auto seq : up_to(50))
        REQUIRE(out.publish(live_with(position_at(1, seq), seq == 10 ? 20'000 : 1000)));
      CHECK(figures_of(only.stream()).held_bytes <= 3 * item);
      CHECK(figures_of(only.stream()).peak_items == 3);
      subscriber in{only.world(), only.stream()};
      CHECK(in.take(50) == up_to(50));
      CHECK(figures_of(only.stream()).peak_items == 3);
      CHECK(figures_of(only.stream()).bound_violations == 0);
    });
  }
}
