#include "conformance/stream/ends.hpp"

// Order, leases, take-over, returns: rules 1, 2, 6 and 7.

using namespace std::chrono_literals;
using namespace stream_suite;
using actor_tests::for_each_seed;
using core_tests::live;
using core_tests::marker;
using core_tests::position_at;
using core_tests::snapshot;
using weir::errc;

namespace {

constexpr std::uint64_t few = 8;

void publish_range(publisher& out, std::uint64_t first, std::uint64_t last) {
  for (auto seq = first; seq <= last; ++seq)
    REQUIRE(out.publish(live(1, seq)).has_value());
}

/// A lane with an item nobody has acknowledged for each seq from 1 to `count`, all delivered.
struct lent_lane {
  lent_lane(simulation& world, std::uint64_t count, const stream_options& options = {})
    : at{world},
      over{at.open(options)},
      out{world, over},
      in{world, over} {
    publish_range(out, 1, count);
    held = in.receive_all();
    REQUIRE(held.size() == count);
  }

  bench at;
  weir::stream over;
  publisher out;
  subscriber in;
  std::vector<arrival> held;
};

} // namespace

TEST_SUITE("stream: order") {
  TEST_CASE("publish order is delivery order, for everything that a lane carries") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      std::vector<pending<outcome>> published;
      for (std::uint64_t seq = 1; seq <= 100; ++seq)
        published.push_back(out.begin_publish(seq % 7 == 0 ? snapshot() : seq % 11 == 0 ? marker() : live(1, seq)));
      const auto all = in.receive_all();
      REQUIRE(all.size() == 100);
      for (std::uint64_t seq = 1; seq <= 100; ++seq) {
        CHECK(published[seq - 1].value().has_value());
        CHECK(all[seq - 1].sequence == seq - 1);
        CHECK(all[seq - 1].attempt == 1);
        if (seq % 7 == 0)
          CHECK(std::get<weir::batch>(all[seq - 1].item).is_snapshot());
        else if (seq % 11 == 0)
          CHECK(std::holds_alternative<weir::snapshot_complete>(all[seq - 1].item));
        else
          CHECK(all[seq - 1].seq() == seq);
      }
    });
  }

  TEST_CASE("a consumer that comes late finds everything, in order") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      publish_range(out, 1, 20);
      subscriber in{world, over};
      CHECK(in.take(20) == seqs(lent_lane{world, 20}.held));
    });
  }

  TEST_CASE("redelivery: before anything that the consumer has not seen, however much was under way to it") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      publish_range(out, 1, 10);
      subscriber in{world, over};
      const auto first = in.receive();
      const auto second = in.receive();
      REQUIRE(in.nack(first.value().handle).has_value());
      const auto again = in.receive();
      CHECK(again.value().seq() == 1);
      CHECK(again.value().attempt == 2);
      CHECK(in.receive().value().seq() == 3);
      CHECK(in.ack(second.value().handle).has_value());
      REQUIRE(in.nack(again.value().handle).has_value());
      CHECK(seqs(in.receive_all()) == numbers{1, 4, 5, 6, 7, 8, 9, 10});
    });
  }

  TEST_CASE("redelivery: a group that is dropped comes again as it was, in order, and then the rest") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      publish_range(out, 1, 30);
      subscriber in{world, over};
      const auto group = in.receive_some(8, 1u << 20);
      REQUIRE(group.value().size() == 8);
      for (const auto& one : group.value())
        (void)in.begin_drop(one.handle);
      const auto all = in.receive_all();
      REQUIRE(all.size() == 30);
      for (std::uint64_t seq = 1; seq <= 30; ++seq) {
        CHECK(all[seq - 1].seq() == seq);
        CHECK(all[seq - 1].attempt == (seq <= 8 ? 2 : 1));
      }
    });
  }
}

TEST_SUITE("stream: leases") {
  TEST_CASE("acknowledging in any order, twice, or through the last of several") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 6};
      for (const std::size_t index : {3u, 1u, 1u, 0u, 3u})
        CHECK(lane.in.ack(lane.held[index].handle).has_value());
      CHECK(figures_of(lane.over).acknowledged == 2);
      CHECK(lane.in.ack_through(lane.held[4].handle).has_value());
      CHECK(figures_of(lane.over).acknowledged == 5);
      CHECK(lane.in.ack(lane.held[2].handle).has_value());
      CHECK(lane.in.ack(lane.held[5].handle).has_value());
      CHECK(figures_of(lane.over).acknowledged == 6);
      CHECK(lane.over.idle());
    });
  }

  TEST_CASE("ack_through leaves alone what was returned, and what comes after") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 5};
      REQUIRE(lane.in.nack(lane.held[1].handle).has_value());
      CHECK(lane.in.ack_through(lane.held[3].handle).has_value());
      CHECK(figures_of(lane.over).acknowledged == 1);
      CHECK(lane.in.receive().value().seq() == 2);
    });
  }

  TEST_CASE("returning one redelivers exactly that one, and counts its attempts") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 5};
      auto handle = lane.held[2].handle;
      for (std::uint32_t attempt = 2; attempt < 6; ++attempt) {
        REQUIRE(lane.in.nack(handle).has_value());
        const auto again = lane.in.receive();
        CHECK(again.value().seq() == 3);
        CHECK(again.value().attempt == attempt);
        handle = again.value().handle;
        CHECK(lane.in.receive_all().empty());
      }
    });
  }

  TEST_CASE("a lease that was returned is stale, and acknowledging it changes nothing") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 1};
      REQUIRE(lane.in.nack(lane.held[0].handle).has_value());
      CHECK(fault(lane.in.ack(lane.held[0].handle)) == errc::stale_delivery);
      CHECK(fault(lane.in.nack(lane.held[0].handle)) == errc::stale_delivery);
      CHECK(figures_of(lane.over).acknowledged == 0);
      CHECK(lane.in.receive().value().attempt == 2);
    });
  }

  TEST_CASE("dropping a lease returns it") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 2};
      lane.in.drop(lane.held[1].handle);
      const auto again = lane.in.receive();
      CHECK(again.value().seq() == 2);
      CHECK(again.value().attempt == 2);
    });
  }

  TEST_CASE("a return wakes a consumer that is parked on the empty lane") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 3};
      auto parked = lane.in.begin_receive();
      world.settle();
      REQUIRE_FALSE(parked.is_done());
      lane.in.drop(lane.held[1].handle);
      REQUIRE(parked.is_done());
      CHECK(parked.value().value().seq() == 2);
    });
  }

  TEST_CASE("nack after a time: the item comes then and not before, and nothing new overtakes it") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 2};
      REQUIRE(lane.in.nack(lane.held[0].handle, 50ms).has_value());
      publish_range(lane.out, 3, 4);
      auto parked = lane.in.begin_receive();
      world.advance(49ms);
      CHECK_FALSE(parked.is_done());
      world.advance(1ms);
      REQUIRE(parked.is_done());
      CHECK(parked.value().value().seq() == 1);
      CHECK(seqs(lane.in.receive_all()) == numbers{3, 4});
    });
  }

  TEST_CASE("nack after a time: a shorter time that is set later holds for its item") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 2};
      REQUIRE(lane.in.nack(lane.held[1].handle, 10'000ms).has_value());
      REQUIRE(lane.in.nack(lane.held[0].handle, 20ms).has_value());
      auto first = lane.in.begin_receive();
      auto second = lane.in.begin_receive();
      world.advance(20ms);
      REQUIRE(first.is_done());
      CHECK(first.value().value().seq() == 1);
      CHECK_FALSE(second.is_done());
      world.advance(10'000ms);
      REQUIRE(second.is_done());
      CHECK(second.value().value().seq() == 2);
    });
  }

  TEST_CASE("receive_some takes no more than it was allowed, but always the first") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      for (std::uint64_t seq = 1; seq <= 10; ++seq)
        REQUIRE(out.publish(core_tests::live_with(position_at(1, seq), 1000)).has_value());
      REQUIRE(in.attach().has_value());
      const auto one = size_in_bytes(core_tests::live_with(position_at(1, 1), 1000));
      CHECK(in.receive_some(3, 1u << 20).value().size() == 3);
      CHECK(in.receive_some(100, 2 * one).value().size() == 2);
      CHECK(in.receive_some(100, one + one / 2).value().size() == 1);
      CHECK(in.receive_some(100, 1).value().size() == 1);
      CHECK(in.receive_some(100, 1u << 20).value().size() == 3);
    });
  }

  TEST_CASE("try_receive and empty say what is there now") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      subscriber in{world, over};
      CHECK(fault(in.try_receive()) == errc::would_wait);
      REQUIRE(in.attach().has_value());
      CHECK(in.is_empty());
      CHECK(fault(in.try_receive()) == errc::would_wait);
      publish_range(out, 1, 1);
      CHECK_FALSE(in.is_empty());
      CHECK(in.try_receive().value().seq() == 1);
      CHECK(in.is_empty());
    });
  }
}

TEST_SUITE("stream: take-over") {
  TEST_CASE("a new consumer fences the old one: parked receive, later acks, later receives") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 4};
      REQUIRE(lane.in.ack(lane.held[1].handle).has_value());
      auto parked = lane.in.begin_receive();
      world.settle();
      subscriber next{world, lane.over};
      const auto generation = next.attach();
      REQUIRE(generation.has_value());
      REQUIRE(parked.is_done());
      CHECK(fault(parked.value()) == errc::fenced);
      CHECK(fault(lane.in.ack(lane.held[0].handle)) == errc::stale_delivery);
      CHECK(fault(lane.in.nack(lane.held[2].handle)) == errc::stale_delivery);
      CHECK(fault(lane.in.receive()) == errc::fenced);
      lane.in.drop(lane.held[3].handle);
      const auto all = next.receive_all();
      CHECK(seqs(all) == numbers{1, 3, 4});
      for (const auto& one : all)
        CHECK(one.attempt == 2); // the one before had them in its hands
      CHECK(figures_of(lane.over).acknowledged == 0);
    });
  }

  TEST_CASE("generations grow with every take-over") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      subscriber first{world, over};
      subscriber second{world, over};
      publisher one{world, over};
      publisher two{world, over};
      const auto earlier = first.attach().value();
      CHECK(second.attach().value() > earlier);
      const auto before = one.attach().value();
      CHECK(two.attach().value() > before);
    });
  }

  TEST_CASE("an ack at the very moment of a take-over counts, or the item comes again: never neither") {
    for_each_seed(60, [](simulation& world) {
      lent_lane lane{world, 3};
      subscriber next{world, lane.over};
      auto taking_over = next.begin_attach();
      auto acked = lane.in.begin_ack(lane.held[0].handle);
      const auto all = next.receive_all();
      REQUIRE(acked.is_done());
      REQUIRE(taking_over.is_done());
      const auto came_again = seqs(all) == numbers{1, 2, 3};
      CHECK((came_again || seqs(all) == numbers{2, 3}));
      CHECK(figures_of(lane.over).acknowledged == (came_again ? 0 : 1));
      if (!acked.value())
        CHECK(came_again);
    });
  }

  TEST_CASE("a consumer that ends gives back what it holds, in order") {
    for (const bool by_kill : {false, true}) {
      CAPTURE(by_kill);
      for_each_seed(few, [&](simulation& world) {
        lent_lane lane{world, 5};
        REQUIRE(lane.in.ack(lane.held[2].handle).has_value());
        if (by_kill)
          lane.in.kill();
        else
          lane.in.drop_end();
        world.settle();
        subscriber next{world, lane.over};
        const auto all = next.receive_all();
        CHECK(seqs(all) == numbers{1, 2, 4, 5});
        for (const auto& one : all)
          CHECK(one.attempt == 2);
      });
    }
  }

  TEST_CASE("attempts count what a consumer had in its hands, not what was under way to it") {
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      publisher out{world, over};
      publish_range(out, 1, 3);
      subscriber in{world, over};
      CHECK(in.receive().value().seq() == 1);
      in.kill();
      subscriber next{world, over};
      const auto all = next.receive_all();
      REQUIRE(seqs(all) == numbers{1, 2, 3});
      CHECK(all[0].attempt == 2);
      CHECK(all[1].attempt == 1);
      CHECK(all[2].attempt == 1);
    });
  }

  TEST_CASE("a new producer fences the old one, and goes on behind what the lane has") {
    if (no_lane_fills_up())
      return;
    for_each_seed(few, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 4, .bytes = 1u << 20}});
      publisher zombie{world, over};
      publish_range(zombie, 1, 4);
      auto parked = zombie.begin_publish(live(1, 5));
      world.settle();
      publisher next{world, over};
      REQUIRE(next.attach().has_value());
      REQUIRE(parked.is_done());
      CHECK(fault(parked.value()) == errc::fenced);
      CHECK(fault(zombie.publish(live(1, 5))) == errc::fenced);
      CHECK(fault(zombie.try_publish(live(1, 5))) == errc::fenced);
      CHECK(fault(next.publish(live(1, 4))) == errc::position_not_above);
      auto waiting = next.begin_publish(live(1, 5));
      world.settle();
      CHECK_FALSE(waiting.is_done());
      subscriber in{world, over};
      CHECK(in.take(5) == numbers{1, 2, 3, 4, 5});
      CHECK(waiting.value().has_value());
      CHECK(figures_of(over).bound_violations == 0);
    });
  }

  TEST_CASE("a take-over in the middle of publishing: what arrived is a prefix, and the successor fills the rest") {
    for_each_seed(60, [](simulation& world) {
      bench at{world};
      const auto over = at.open({.bound = {.items = 8, .bytes = 1u << 20}});
      publisher zombie{world, over};
      publisher next{world, over};
      subscriber in{world, over};
      for (std::uint64_t seq = 1; seq <= 6; ++seq)
        (void)zombie.begin_publish(live(1, seq));
      for (auto steps = world.random().below(20); steps != 0; --steps)
        world.step();
      auto taking_over = next.begin_attach();
      const auto early = in.receive_all();
      REQUIRE(taking_over.is_done());
      REQUIRE(taking_over.value().has_value());
      for (std::uint64_t index = 0; index < early.size(); ++index)
        CHECK(early[index].seq() == index + 1);
      for (auto seq = early.size() + 1; seq <= 6; ++seq)
        CHECK(next.publish(live(1, seq)).has_value());
      const auto late = in.receive_all();
      CHECK(late.size() + early.size() == 6);
      CHECK(figures_of(over).bound_violations == 0);
    });
  }

  TEST_CASE("a producer that ends leaves everything that it published, and its successor in the same actor too") {
    for_each_seed(30, [](simulation& world) {
      bench at{world};
      const auto over = at.open();
      script host{world, "hosts two in turn"};
      auto published = host.begin(
        [](weir::self, weir::stream to) -> weir::task<bool> {
          bool all_well = true;
          for (std::uint64_t round = 0; round < 3; ++round) {
            auto out = to.lane("a").value().producer();
            for (std::uint64_t seq = 1; seq <= 5; ++seq) {
              auto publishing = out.publish(live(1, round * 5 + seq));
              auto published_one = co_await publishing;
              all_well = all_well && published_one.has_value();
            }
          }
          co_return all_well;
        },
        over);
      subscriber in{world, over};
      const auto all = in.receive_all();
      REQUIRE(published.is_done());
      CHECK(published.value());
      CHECK(all.size() == 15);
    });
  }
}

TEST_SUITE("stream: dead letters") {
  TEST_CASE("stop_lane: the lane stops at the item, and goes on there for whoever attaches next") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 4, {.max_attempts = 3}};
      REQUIRE(lane.in.ack(lane.held[0].handle).has_value());
      auto handle = lane.held[1].handle;
      for (std::uint32_t attempt = 2; attempt <= 3; ++attempt) {
        REQUIRE(lane.in.nack(handle).has_value());
        const auto again = lane.in.receive();
        REQUIRE(again.value().attempt == attempt);
        handle = again.value().handle;
      }
      auto parked = lane.in.begin_receive();
      REQUIRE(lane.in.nack(handle).has_value());
      REQUIRE(parked.is_done());
      CHECK(fault(parked.value()) == errc::dead_lettered);
      CHECK(fault(lane.in.ack(lane.held[2].handle)) == errc::stale_delivery);
      CHECK(figures_of(lane.over).acknowledged == 1);
      subscriber next{world, lane.over};
      const auto all = next.receive_all();
      CHECK(seqs(all) == numbers{2, 3, 4});
      CHECK(all[0].attempt == 4);
    });
  }

  TEST_CASE("park: the lane goes on, and the floor waits for the dead-letter consumer") {
    for_each_seed(few, [](simulation& world) {
      lent_lane lane{world, 4, {.max_attempts = 2, .dead_letters = weir::dead_letter_policy::park}};
      REQUIRE(lane.in.nack(lane.held[1].handle).has_value());
      const auto again = lane.in.receive();
      REQUIRE(lane.in.nack(again.value().handle).has_value());
      CHECK(lane.in.receive_all().empty());
      for (const std::size_t index : {0u, 2u, 3u})
        CHECK(lane.in.ack(lane.held[index].handle).has_value());
      publish_range(lane.out, 5, 5);
      CHECK(lane.in.take(1) == numbers{5});
      CHECK(read_watermark(world, lane.over).watermark->seq == 1);
      CHECK_FALSE(lane.over.idle());

      subscriber morgue{world, lane.over.lane("a").value().dead_letters()};
      const auto parked = morgue.receive();
      CHECK(parked.value().seq() == 2);
      CHECK(parked.value().attempt == 3);
      CHECK(morgue.nack(parked.value().handle).has_value());
      const auto once_more = morgue.receive(); // there is nowhere else to go
      CHECK(once_more.value().seq() == 2);
      CHECK(read_watermark(world, lane.over).watermark->seq == 1);
      CHECK(morgue.ack(once_more.value().handle).has_value());
      CHECK(read_watermark(world, lane.over).watermark->seq == 5);
      CHECK(lane.over.idle());
    });
  }

  TEST_CASE("without a limit an item comes for ever") {
    for_each_seed(2, [](simulation& world) {
      lent_lane lane{world, 1};
      auto handle = lane.held[0].handle;
      for (std::uint32_t attempt = 2; attempt < 100; ++attempt) {
        REQUIRE(lane.in.nack(handle).has_value());
        const auto again = lane.in.receive();
        REQUIRE(again.value().attempt == attempt);
        handle = again.value().handle;
      }
    });
  }
}
