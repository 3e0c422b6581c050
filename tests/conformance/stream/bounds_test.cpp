#include "conformance/stream/ends.hpp"

#include <algorithm>
#include <functional>

// What a lane and a stream may hold, who waits for whom, and what is refused: rules 8 and 13, and the violations.

using namespace std::chrono_literals;
using namespace stream_suite;
using actor_tests::for_each_seed;
using core_tests::live;
using core_tests::live_with;
using core_tests::position_at;
using core_tests::snapshot;
using weir::errc;

namespace {

constexpr std::uint64_t few = 8;

std::uint64_t block_bytes(std::size_t payload) {
  return std::get<weir::batch>(live_with(position_at(1, 1), payload)).envelopes->size_in_bytes();
}

std::uint64_t item_bytes(std::size_t payload) {
  return size_in_bytes(live_with(position_at(1, 1), payload));
}

weir::lane_item on_block(std::uint64_t seq, const weir::block_ptr& shared) {
  weir::batch made;
  made.at = position_at(1, seq);
  made.changes = 1;
  made.envelopes = shared;
  return made;
}

} // namespace

TEST_SUITE("stream: bounds") {
  TEST_CASE("items: a full lane makes its publisher wait, and room lets it go on") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      for (const std::size_t bound : {1u, 2u, 3u, 5u, 8u, 64u}) {
        CAPTURE(bound);
        bench at{world};
        const auto over = at.open({.bound = {.items = bound, .bytes = 1u << 20}});
        publisher out{world, over};
        std::vector<pending<outcome>> published;
        for (std::uint64_t seq = 1; seq <= bound + 2; ++seq)
          published.push_back(out.begin_publish(live(1, seq)));
        world.settle();
        CHECK(std::ranges::count_if(published, [](const auto& one) { return one.is_done(); }) == static_cast<long>(bound));
        CHECK(figures_of(over).published == bound);
        CHECK(fault(out.try_publish(live(1, 1000))) == errc::would_wait);
        subscriber in{world, over};
        CHECK(in.take(bound + 2).back() == bound + 2);
        CHECK(published.back().is_done());
        CHECK(figures_of(over).peak_items == bound);
        CHECK(figures_of(over).bound_violations == 0);
        CHECK(figures_of(over).held_bytes == 0);
      }
    });
  }

  TEST_CASE("items: one place is enough, also while the consumer holds the rest and waits for more") {
    for_each_seed(few, [](simulation& world) {
      for (const std::size_t bound : {3u, 4u, 5u, 8u, 64u}) {
        CAPTURE(bound);
        bench at{world};
        const auto over = at.open({.bound = {.items = bound, .bytes = 1u << 20}});
        publisher out{world, over};
        subscriber in{world, over};
        for (std::uint64_t seq = 1; seq <= bound; ++seq)
          REQUIRE(out.publish(live(1, seq)).has_value());
        const auto held = in.receive_all();
        REQUIRE(held.size() == bound);
        auto waiting = out.begin_publish(live(1, bound + 1));
        auto parked = in.begin_receive();
        world.settle();
        REQUIRE(in.ack(held[0].handle).has_value());
        world.advance(1s);
        CHECK(waiting.is_done());
        REQUIRE(parked.is_done());
        CHECK(parked.value().value().seq() == bound + 1);
      }
    });
  }

  TEST_CASE("window: a consumer has no more in its hands than it granted, and holds up only itself") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over, "a", {.items = 4, .bytes = 1u << 20}};
      for (std::uint64_t seq = 1; seq <= 20; ++seq)
        REQUIRE(out.publish(live(1, seq)).has_value());
      const auto held = in.receive_all();
      CHECK(held.size() == 4);
      auto parked = in.begin_receive();
      world.settle();
      CHECK_FALSE(parked.is_done());
      REQUIRE(in.ack(held[0].handle).has_value());
      world.advance(1s);
      REQUIRE(parked.is_done());
      CHECK(parked.value().value().seq() == 5);
      CHECK(figures_of(over).bound_violations == 0);
    });
  }

  TEST_CASE("window: bytes that are free are granted again, whatever sizes come") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto window = item_bytes(1000);
      const auto over = at.open({.bound = {.items = 64, .bytes = 10 * window}});
      publisher out{world, over};
      subscriber in{world, over, "a", {.items = 64, .bytes = window}};
      std::uint64_t seq = 0;
      for (const std::size_t payload : {300u, 900u, 100u, 1000u, 10u, 5000u, 10u, 1000u, 999u, 3000u}) {
        CAPTURE(payload);
        REQUIRE(out.publish(live_with(position_at(1, ++seq), payload)).has_value());
        REQUIRE(in.take(1) == numbers{seq});
      }
    });
  }

  TEST_CASE("bytes: items are held back by their weight, and one that is too heavy goes alone") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 100, .bytes = 3 * item_bytes(1000)}});
      publisher out{world, over};
      subscriber in{world, over};
      for (std::uint64_t seq = 1; seq <= 3; ++seq)
        REQUIRE(out.publish(live_with(position_at(1, seq), 1000)).has_value());
      auto fourth = out.begin_publish(live_with(position_at(1, 4), 1000));
      auto heavy = out.begin_publish(live_with(position_at(1, 5), 10'000));
      auto small = out.begin_publish(live(1, 6));
      world.settle();
      CHECK_FALSE(fourth.is_done());
      CHECK(in.take(2) == numbers{1, 2});
      CHECK(fourth.is_done());
      CHECK_FALSE(heavy.is_done());
      CHECK(in.take(1) == numbers{3});
      CHECK_FALSE(heavy.is_done());
      CHECK(in.take(1) == numbers{4});
      CHECK(heavy.is_done()); // nothing else is there
      CHECK_FALSE(small.is_done());
      CHECK(in.take(1) == numbers{5});
      CHECK(small.is_done());
      CHECK(in.take(1) == numbers{6});
      CHECK(figures_of(over).bound_violations == 0);
    });
  }

  TEST_CASE("waiters: they are let in in order, and there is a limit to how many may wait") {
    if (no_lane_fills_up())
      return;
    for_each_seed(2, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 1, .bytes = 1u << 20}});
      publisher out{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      std::vector<pending<outcome>> line;
      for (std::uint64_t seq = 2; seq <= 1 + 1024; ++seq) {
        line.push_back(out.begin_publish(live(1, seq)));
        if (seq % 32 == 0)
          world.settle(); // within one turn's share of awaits coroutines begin in order
      }
      world.settle();
      const auto one_too_many = out.publish(live(1, 5000));
      CHECK(fault(one_too_many) == errc::too_many_waiters);
      subscriber in{world, over};
      for (std::uint64_t seq = 1; seq <= 1025; ++seq) {
        CAPTURE(seq);
        REQUIRE(in.take(1) == numbers{seq});
      }
      CHECK(line.back().is_done());
    });
  }

  TEST_CASE("waiters: who gives up leaves its place, and keeps its value") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 1, .bytes = 1u << 20}});
      publisher out{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      auto first = out.begin_publish(live(1, 2));
      auto second = out.begin_publish_until(live(1, 3), 20ms);
      auto third = out.begin_publish(live(1, 4));
      world.settle();
      first.request_stop();
      world.settle();
      CHECK(fault(first.value()) == errc::cancelled);
      world.advance(21ms);
      CHECK(fault(second.value()) == errc::timed_out);
      subscriber in{world, over};
      CHECK(in.take(2) == numbers{1, 4});
      CHECK(third.value().has_value());
      CHECK(figures_of(over).published == 2);
    });
  }

  TEST_CASE("a heavy first waiter that gives up lets in those behind it") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 10, .bytes = 2 * item_bytes(1000)}});
      publisher out{world, over};
      REQUIRE(out.publish(live_with(position_at(1, 1), 1000)).has_value());
      auto heavy = out.begin_publish(live_with(position_at(1, 2), 5000));
      auto light = out.begin_publish(live(1, 3));
      world.settle();
      CHECK_FALSE(light.is_done());
      heavy.request_stop();
      world.settle();
      REQUIRE(light.is_done());
      CHECK(light.value().has_value());
    });
  }
}

TEST_SUITE("stream: fan-out") {
  TEST_CASE("a full lane delays no other lane's copy") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"slow", "fast"}, .bound = {.items = 2, .bytes = 1u << 20}});
      publisher out{world, over, {"slow", "fast"}};
      subscriber fast{world, over, "fast"};
      std::vector<pending<std::vector<outcome>>> offered;
      for (std::uint64_t seq = 1; seq <= 5; ++seq)
        offered.push_back(out.begin_publish_all(live(1, seq)));
      CHECK(fast.take(5) == numbers{1, 2, 3, 4, 5});
      CHECK(offered[1].is_done());
      CHECK_FALSE(offered[2].is_done());
      subscriber slow{world, over, "slow"};
      CHECK(slow.take(5) == numbers{1, 2, 3, 4, 5});
      CHECK(offered[4].is_done());
    });
  }

  TEST_CASE("cancelled in the middle: each lane has its copy or has not, and says which") {
    if (no_lane_fills_up())
      return;
    for_each_seed(40, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b", "c"}, .bound = {.items = 1, .bytes = 1u << 20}});
      publisher out{world, over, {"a", "b", "c"}};
      publisher filler{world, over, {"b"}};
      REQUIRE(filler.publish(live(1, 1)).has_value());
      filler.drop_ends();
      auto offered = out.begin_publish_all(live(1, 2));
      for (auto steps = world.random().below(25); steps != 0; --steps)
        world.step();
      offered.request_stop();
      world.settle();
      REQUIRE(offered.is_done());
      CHECK(fault(offered.value()[1]) == errc::cancelled);
      std::size_t index = 0;
      for (const auto* lane : {"a", "b", "c"}) {
        const auto& has_copy = offered.value()[index++];
        if (!has_copy)
          CHECK(fault(has_copy) == errc::cancelled);
        subscriber in{world, over, lane};
        auto wanted = std::string{lane} == "b" ? numbers{1} : numbers{};
        if (has_copy)
          wanted.push_back(2);
        CHECK(seqs(in.receive_all()) == wanted);
      }
    });
  }

  TEST_CASE("one slow consumer costs its own lane only, and a backfill starves no live lane") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"filling", "live"}, .bound = {.items = 4, .bytes = 1u << 20}});
      publisher backfill{world, over, {"filling"}};
      publisher changes{world, over, {"live"}};
      subscriber in{world, over, "live"};
      std::vector<pending<outcome>> rows;
      for (int count = 0; count < 50; ++count)
        rows.push_back(backfill.begin_publish(snapshot()));
      for (std::uint64_t seq = 1; seq <= 50; ++seq) {
        REQUIRE(changes.publish(live(1, seq)).has_value());
        REQUIRE(in.take(1) == numbers{seq});
      }
      CHECK_FALSE(rows.back().is_done());
    });
  }
}

TEST_SUITE("stream: byte budget") {
  TEST_CASE("one block on many lanes is charged once, and released with its last copy") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b", "c"}, .budget = 100'000});
      publisher out{world, over, {"a", "b", "c"}};
      subscriber a{world, over, "a"};
      subscriber b{world, over, "b"};
      subscriber c{world, over, "c"};
      for (const auto& published : out.publish_all(live_with(position_at(1, 1), 1000)))
        REQUIRE(published.has_value());
      CHECK(over.figures().charged_bytes == block_bytes(1000));
      (void)a.take(1);
      (void)b.take(1);
      a.kill();
      b.kill();
      world.settle();
      CHECK(over.figures().charged_bytes == block_bytes(1000));
      (void)c.take(1);
      c.kill();
      world.settle();
      CHECK(over.figures().charged_bytes == 0);
    });
  }

  TEST_CASE("who finds no room waits; a fan-out that waits is charged once too, and goes on") {
    if (no_lane_fills_up())
      return;
    for_each_seed(30, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b", "c"}, .budget = block_bytes(1000)});
      publisher out{world, over, {"a", "b", "c"}};
      std::vector<pending<std::vector<outcome>>> offered;
      for (std::uint64_t seq = 1; seq <= 4; ++seq)
        offered.push_back(out.begin_publish_all(live_with(position_at(1, seq), 1000)));
      world.settle();
      CHECK(offered[0].is_done());
      CHECK_FALSE(offered[1].is_done());
      for (std::uint64_t seq = 1; seq <= 4; ++seq) {
        CHECK(over.figures().charged_bytes == block_bytes(1000));
        for (const auto* lane : {"a", "b", "c"}) {
          subscriber in{world, over, lane};
          const auto taken = in.receive_all();
          REQUIRE(seqs(taken) == numbers{seq});
          REQUIRE(in.ack(taken[0].handle).has_value());
        }
        world.settle();
      }
      CHECK(offered.back().is_done());
      CHECK(over.figures().charged_bytes == 0);
    });
  }

  TEST_CASE("the same block offered lane by lane is charged once as well") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.lanes = {"a", "b"}, .budget = 1u << 20});
      const auto shared = weir::make_block({weir::envelope{"c", "k", weir::operation::upsert, std::string(1000, 'x'), {}}});
      publisher a{world, over, {"a"}};
      publisher b{world, over, {"b"}};
      REQUIRE(a.publish(on_block(1, shared)).has_value());
      REQUIRE(b.publish(on_block(1, shared)).has_value());
      CHECK(over.figures().charged_bytes == shared->size_in_bytes());
    });
  }

  TEST_CASE("a block larger than the whole budget is admitted alone") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 10, .bytes = 1u << 20}, .budget = block_bytes(1000)});
      publisher out{world, over};
      auto first = out.begin_publish(live_with(position_at(1, 1), 1000));
      auto huge = out.begin_publish(live_with(position_at(1, 2), 50'000));
      auto third = out.begin_publish(live_with(position_at(1, 3), 1000));
      world.settle();
      CHECK(first.is_done());
      CHECK_FALSE(huge.is_done());
      {
        subscriber in{world, over};
        CHECK(in.take(1) == numbers{1});
      }
      world.settle();
      CHECK(huge.is_done());
      CHECK(over.figures().charged_bytes == block_bytes(50'000));
      CHECK_FALSE(third.is_done());
      subscriber in{world, over};
      {
        const auto held = in.receive_all();
        REQUIRE(seqs(held) == numbers{2});
        REQUIRE(in.ack(held[0].handle).has_value());
        in.drop(held[0].handle);
      }
      world.settle();
      CHECK(third.is_done());
    });
  }

  TEST_CASE("a consumer that dies holding a charge gives the item back, and the charge stays one") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.budget = block_bytes(1000)});
      publisher out{world, over};
      REQUIRE(out.publish(live_with(position_at(1, 1), 1000)).has_value());
      {
        subscriber in{world, over};
        REQUIRE(in.receive().has_value());
        in.kill();
        world.settle();
      }
      CHECK(over.figures().charged_bytes == block_bytes(1000));
      subscriber next{world, over};
      CHECK(next.take(1) == numbers{1});
      next.kill();
      world.settle();
      CHECK(over.figures().charged_bytes == 0);
    });
  }

  TEST_CASE("a waiting publisher whose lane is retired, or who dies, leaves the line to those behind it") {
    if (no_lane_fills_up())
      return;
    for (const bool by_kill : {false, true}) {
      CAPTURE(by_kill);
      for_each_seed(few, [&](simulation& world) {
        bench at{world};
        auto over = at.open({.lanes = {"a", "b", "c"}, .budget = block_bytes(1000)});
        publisher a{world, over, {"a"}};
        publisher b{world, over, {"b"}};
        publisher c{world, over, {"c"}};
        REQUIRE(a.publish(live_with(position_at(1, 1), 1000)).has_value());
        auto in_b = b.begin_publish(live_with(position_at(1, 1), 1000));
        world.settle();
        auto in_c = c.begin_publish(live_with(position_at(1, 1), 500));
        world.settle();
        CHECK_FALSE(in_b.is_done());
        if (by_kill)
          b.kill();
        else
          REQUIRE(over.retire_lane("b").has_value());
        world.settle();
        if (!by_kill) {
          REQUIRE(in_b.is_done());
          CHECK(fault(in_b.value()) == errc::lane_retired);
        }
        subscriber in{world, over, "a"};
        (void)in.take(1);
        in.kill();
        world.settle();
        CHECK(in_c.is_done());
        CHECK(over.figures().charged_bytes == block_bytes(500));
      });
    }
  }

  TEST_CASE("retiring a lane gives back what only it held") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      auto over = at.open({.lanes = {"a", "b"}, .budget = 1u << 20});
      publisher out{world, over, {"a", "b"}};
      (void)out.publish_all(live_with(position_at(1, 1), 1000));
      publisher a{world, over, {"a"}};
      REQUIRE(a.publish(live_with(position_at(1, 2), 3000)).has_value());
      REQUIRE(over.retire_lane("a").has_value());
      world.settle();
      CHECK(over.figures().charged_bytes == block_bytes(1000));
    });
  }
}

TEST_SUITE("stream: violations") {
  TEST_CASE("each is refused with its own error, and changes nothing") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      REQUIRE(out.publish(live(2, 10)).has_value());
      const auto before = figures_of(over).published;

      weir::batch missing;
      CHECK(fault(out.publish(missing)) == errc::position_missing);
      weir::batch unexpected;
      unexpected.at = position_at(2, 11);
      unexpected.request = weir::request_id{1, 1};
      CHECK(fault(out.publish(unexpected)) == errc::position_unexpected);
      weir::batch walked;
      walked.at = position_at(2, 11);
      walked.walked = "k";
      CHECK(fault(out.publish(walked)) == errc::request_missing);
      CHECK(fault(out.publish(live(2, 10))) == errc::position_not_above);
      CHECK(fault(out.publish(live(2, 9))) == errc::position_not_above);
      CHECK(fault(out.publish(live(1, 99))) == errc::position_not_above);
      const auto refused = out.publish(live(2, 9));
      CHECK(refused.error().fact_of("last") == "2:10");
      CHECK(refused.error().fact_of("given") == "2:9");
      CHECK(refused.error().fact_of("lane") == "a");
      CHECK(fault(weir::stamp::from(std::string(65, 's'))) == errc::stamp_too_long);
      CHECK(fault(over.lane("nowhere")) == errc::unknown_lane);
      CHECK(over.lane("nowhere").error().fact_of("known") == "a");

      CHECK(figures_of(over).published == before);
      CHECK(out.publish(live(2, 11)).has_value());
      subscriber in{world, over};
      CHECK(in.take(2) == numbers{10, 11});
    });
  }

  TEST_CASE("a violation in the line of waiters is refused in its turn, and the others are not held up") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 1, .bytes = 1u << 20}});
      publisher out{world, over};
      REQUIRE(out.publish(live(1, 1)).has_value());
      auto good = out.begin_publish(live(1, 3));
      auto bad = out.begin_publish(live(1, 2));
      auto better = out.begin_publish(live(1, 4));
      subscriber in{world, over};
      CHECK(in.take(3) == numbers{1, 3, 4});
      CHECK(good.value().has_value());
      CHECK(fault(bad.value()) == errc::position_not_above);
      CHECK(better.value().has_value());
    });
  }

  TEST_CASE("opening: bounds of nothing, names of nothing, names twice") {
    simulation world{1};
    bench at{world};
    const auto is_refused = [&](const stream_options& wanted, errc why) {
      const auto opened = at.try_open(wanted);
      return !opened && opened.error() == why;
    };
    CHECK(is_refused({.bound = {.items = 0, .bytes = 1}}, errc::invalid_argument));
    CHECK(is_refused({.bound = {.items = 1, .bytes = 0}}, errc::invalid_argument));
    CHECK(is_refused({.bound = {.items = std::size_t{1} << 50, .bytes = 1}}, errc::invalid_argument));
    CHECK(is_refused({.budget = 0}, errc::invalid_argument));
    CHECK(is_refused({.max_attempts = 0}, errc::invalid_argument));
    CHECK(is_refused({.lanes = {""}}, errc::invalid_argument));
    CHECK(is_refused({.lanes = {"a", "b", "a"}}, errc::duplicate_lane));
    world.settle();
    CHECK(world.running_actors() == 0);
  }

  TEST_CASE("attempts: a stream with the smallest bounds works") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 1, .bytes = 1}, .budget = 1});
      publisher out{world, over};
      std::vector<pending<outcome>> published;
      for (std::uint64_t seq = 1; seq <= 5; ++seq)
        published.push_back(out.begin_publish(live_with(position_at(1, seq), 10)));
      for (std::uint64_t seq = 1; seq <= 5; ++seq) {
        subscriber in{world, over, "a", {.items = 1, .bytes = 1}};
        CHECK(in.take(1) == numbers{seq});
        in.kill();
        world.settle();
      }
      CHECK(published.back().is_done());
      CHECK(figures_of(over).bound_violations == 0);
      CHECK(over.idle());
    });
  }
}
