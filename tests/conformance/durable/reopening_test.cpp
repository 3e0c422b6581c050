#include <weir/stream_item.hpp>

#include "conformance/durable/durable_place.hpp"

#include <algorithm>

// What a durable stream is after its process ended: contract-stream's rule 12, and who is fenced.

using namespace std::chrono_literals;
using namespace durable_suite;
using namespace stream_suite;
using core_tests::live;
using core_tests::live_with;
using core_tests::marker;
using core_tests::position_at;
using core_tests::snapshot;
using weir::errc;
using weir::lane_id;

TEST_SUITE("durable: reopening") {
  TEST_CASE("what was published is there after a kill, what was acknowledged is not") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a"})};
      CHECK(!first.opened().resume);
      publisher out{first.world(), first.stream()};
      for (const auto seq : up_to(10))
        REQUIRE(out.publish(live_with(position_at(1, seq), 100)));
      subscriber in{first.world(), first.stream()};
      CHECK(in.take(4) == up_to(4));
      first.world().settle();
      first.kill();
    }
    process second{*at, 2, lanes({"a"})};
    CHECK(second.opened().resume == position_at(1, 10));
    CHECK(!second.stream().idle());
    CHECK(read_watermark(second.world(), second.stream()).watermark == position_at(1, 4));
    subscriber in{second.world(), second.stream()};
    publisher out{second.world(), second.stream()};
    CHECK(fault(out.publish(live(1, 10))) == errc::position_not_above);
    REQUIRE(out.publish(live(1, 11)));
    CHECK(in.take(7) == up_to(11, 5));
    second.world().settle();
    CHECK(second.stream().idle());
    CHECK(read_watermark(second.world(), second.stream()).watermark == position_at(1, 11));
  }

  TEST_CASE("acknowledged behind a hole: only the hole comes again, and then the floor passes what was known before") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a"})};
      publisher out{first.world(), first.stream()};
      for (const auto seq : up_to(6))
        REQUIRE(out.publish(live(1, seq)));
      subscriber in{first.world(), first.stream()};
      const auto all = in.receive_all();
      for (const auto which : {0u, 2u, 3u, 5u})
        CHECK(in.ack(all[which].handle));
      first.world().settle();
      first.kill();
    }
    process second{*at, 2, lanes({"a"})};
    subscriber in{second.world(), second.stream()};
    const auto again = in.receive_all();
    CHECK(seqs(again) == numbers{2, 5});
    CHECK(read_watermark(second.world(), second.stream()).watermark == position_at(1, 1));
    CHECK(in.ack(again[0].handle));
    second.world().settle();
    CHECK(read_watermark(second.world(), second.stream()).watermark == position_at(1, 4));
    CHECK(in.ack(again[1].handle));
    second.world().settle();
    CHECK(read_watermark(second.world(), second.stream()).watermark == position_at(1, 6));
    CHECK(second.stream().idle());
  }

  TEST_CASE("snapshot batches and markers keep their place, and hold up no floor") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a", "b"})};
      publisher out{first.world(), first.stream(), {"a", "b"}};
      publisher rows{first.world(), first.stream(), {"a"}};
      for (const auto& published : out.publish_all(live(1, 1)))
        REQUIRE(published);
      REQUIRE(rows.publish(snapshot(3)));
      REQUIRE(rows.publish(marker()));
      subscriber in{first.world(), first.stream()};
      const auto all = in.receive_all();
      REQUIRE(all.size() == 3);
      CHECK(in.ack(all[0].handle));
      first.world().settle();
      first.kill();
    }
    process second{*at, 2, lanes({"a", "b"})};
    subscriber a{second.world(), second.stream(), "a"};
    subscriber b{second.world(), second.stream(), "b"};
    const auto in_a = a.receive_all();
    REQUIRE(in_a.size() == 2);
    CHECK(std::get<weir::batch>(in_a[0].item).walked == "www");
    CHECK(std::get<weir::snapshot_complete>(in_a[1].item).collections == std::vector<std::string>{"files"});
    CHECK(seqs(b.receive_all()) == numbers{1});
  }

  TEST_CASE("an item is one entry, however many lanes it is for") {
    const auto at = new_place();
    process only{*at, 1, lanes({"a", "b", "c", "d"})};
    const auto before = bounds_of(*at).head;
    publisher out{only.world(), only.stream(), {"a", "b", "c", "d"}};
    std::vector<pending<std::vector<outcome>>> offered;
    for (const auto seq : up_to(100))
      offered.push_back(out.begin_publish_all(live(1, seq)));
    only.world().settle();
    for (auto& one : offered)
      for (const auto& published : one.value())
        CHECK(published);
    CHECK(bounds_of(*at).head == before + 100);
    for (const auto* name : {"a", "b", "c", "d"}) {
      subscriber in{only.world(), only.stream(), name};
      CHECK(in.take(100) == up_to(100));
    }
  }

  TEST_CASE("lanes come back that nobody names, new ones begin with what is retained, retired ones are forgotten") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a", lane_id{"s/1", "c%2"}})};
      publisher out{first.world(), first.stream(), {"a", lane_id{"s/1", "c%2"}}};
      for (const auto seq : up_to(5))
        (void)out.publish_all(live(1, seq));
    }
    {
      auto wanted = lanes({"a", "b", "c"});
      wanted.floor = position_at(1, 2);
      process second{*at, 2, wanted};
      REQUIRE(second.opened().lanes.size() == 4);
      for (const auto& one : second.opened().lanes) {
        CHECK(one.is_asked_for == (one.id != lane_id{"s/1", "c%2"}));
        CHECK(!one.has_expired);
        CHECK(one.floor == (one.id == lane_id{"b"} || one.id == lane_id{"c"} ? wanted.floor : std::nullopt));
      }
      CHECK(second.opened().resume == position_at(1, 5));
      subscriber b{second.world(), second.stream(), "b"};
      CHECK(b.take(3) == up_to(5, 3));
      subscriber other{second.world(), second.stream(), lane_id{"s/1", "c%2"}};
      CHECK(other.take(5) == up_to(5));
      CHECK(second.stream().retire_lane(lane_id{"s/1", "c%2"}));
      second.world().settle();
      CHECK(fault(other.receive()) == errc::lane_retired);
      // A lane that is added while the stream runs begins behind everything that was published.
      REQUIRE(second.stream().add_lane("d", position_at(1, 5)));
      publisher out{second.world(), second.stream(), {"d"}};
      REQUIRE(out.publish(live(1, 6)));
      subscriber d{second.world(), second.stream(), "d"};
      CHECK(d.take(1) == numbers{6});
    }
    std::vector<std::string> consumers;
    for (const auto& one : checkpoints_of(*at))
      consumers.push_back(one.consumer);
    CHECK(consumers == std::vector<std::string>{"lane:a", "lane:b", "lane:c", "lane:d"});
  }

  TEST_CASE("a retired lane that comes again under its old name is a new one, also in the log") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a"})};
      publisher out{first.world(), first.stream()};
      REQUIRE(out.publish(live(1, 1)));
      for (int times = 0; times < 3; ++times) { // not one after the other: the log has to keep up
        CHECK(first.stream().retire_lane("a"));
        CHECK(first.stream().add_lane("a", position_at(1, 1)));
      }
      publisher next{first.world(), first.stream()};
      REQUIRE(next.publish(live(1, 2)));
    }
    process second{*at, 2, lanes({"a"})};
    subscriber in{second.world(), second.stream()};
    CHECK(seqs(in.receive_all()) == numbers{2});
  }

  TEST_CASE("requests that were asked for and not served are asked again, served ones are not") {
    const auto at = new_place();
    const auto ask = [](process& in, std::uint64_t low, const char* collection) {
      REQUIRE(in.stream().requests().producer().publish({.id = {7, low}, .sink = "a", .collections = {collection}}));
      in.world().settle();
    };
    const auto serve = [](process& in) {
      script server{in.world(), "server"};
      return server.complete(server.begin(
        [](weir::self, weir::stream over) -> weir::task<weir::result<weir::request>> {
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
        },
        in.stream()));
    };
    {
      process first{*at, 1, lanes({"a"})};
      CHECK(first.stream().idle());
      for (std::uint64_t low = 1; low <= 200; ++low) // each replaces the one before
        ask(first, low, "x");
      ask(first, 201, "y");
      CHECK(!first.stream().idle());
      first.kill();
    }
    {
      process second{*at, 2, lanes({"a"})};
      CHECK(second.stream().figures().requests == 2);
      CHECK(!second.stream().idle());
      const auto served = serve(second);
      REQUIRE(served);
      CHECK(served.value().id.low == 200);
      second.world().settle();
      second.kill();
    }
    process third{*at, 3, lanes({"a"})};
    CHECK(third.stream().figures().requests == 1);
    CHECK(serve(third).value().id.low == 201);
    third.world().settle();
    CHECK(third.stream().idle());
    const auto kept = bounds_of(*at, "stream.requests");
    CHECK(kept.head - kept.earliest < 130);
  }

  TEST_CASE("with the log's floor the source is released as soon as something is stored") {
    const auto at = new_place();
    auto wanted = lanes({"a", "b"});
    wanted.log.floors = weir::lane_floors::log;
    {
      process first{*at, 1, wanted};
      publisher out{first.world(), first.stream(), {"a", "b"}};
      (void)out.publish_all(live(1, 1));
      (void)out.publish_all(live(1, 2, false));
      const auto reading = read_watermark(first.world(), first.stream());
      CHECK(reading.watermark == position_at(1, 2));
      CHECK(reading.confirmable == position_at(1, 1));
      first.kill();
    }
    process second{*at, 2, wanted};
    const auto reading = read_watermark(second.world(), second.stream());
    CHECK(reading.watermark == position_at(1, 2));
    CHECK(reading.confirmable == position_at(1, 1));
    CHECK(second.opened().resume == position_at(1, 1));
    subscriber in{second.world(), second.stream()};
    CHECK(in.take(2) == numbers{1, 2});
  }

  TEST_CASE("whoever opens the stream fences the one who has it") {
    const auto at = new_place();
    process old{*at, 1, lanes({"a"})};
    publisher out{old.world(), old.stream()};
    subscriber in{old.world(), old.stream()};
    REQUIRE(out.publish(live(1, 1)));
    REQUIRE(out.publish(live(1, 2)));
    const auto held = in.receive_all();
    process young{*at, 2, lanes({"a"})};
    CHECK(young.opened().resume == position_at(1, 2));

    // The old one's acknowledgement is not stored: what it acknowledged comes again elsewhere.
    CHECK(in.ack(held[0].handle));
    const auto ended = in.receive();
    CHECK(fault(ended) == errc::fenced);
    CHECK(ended.error().sentence() == "another process has opened the stream");
    CHECK(read_watermark(old.world(), old.stream()).watermark == std::nullopt);
    CHECK(fault(out.publish(live(1, 3))) == errc::fenced);

    subscriber next{young.world(), young.stream()};
    CHECK(seqs(next.receive_all()) == numbers{1, 2});
  }

  TEST_CASE("a publisher of a fenced process is told so, and nothing of it is stored") {
    const auto at = new_place();
    process old{*at, 1, lanes({"a"})};
    publisher out{old.world(), old.stream()};
    REQUIRE(out.publish(live(1, 1)));
    process young{*at, 2, lanes({"a"})};
    (void)out.publish(live(1, 2)); // is on its way when the old one finds out
    old.world().settle();
    CHECK(fault(out.publish(live(1, 3))) == errc::fenced);
    publisher next{young.world(), young.stream()};
    REQUIRE(next.publish(live(1, 2)));
    subscriber in{young.world(), young.stream()};
    CHECK(in.take(2) == numbers{1, 2});
    CHECK(in.is_empty());
  }

  TEST_CASE("what every lane has is let go of") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a", "b"})};
      publisher out{first.world(), first.stream(), {"a", "b"}};
      std::vector<pending<std::vector<outcome>>> offered;
      for (const auto seq : up_to(10'000)) {
        offered.push_back(out.begin_publish_all(live(1, seq)));
        if (seq % 100 == 0)
          first.world().settle();
      }
      first.world().settle();
      for (auto& one : offered)
        for (const auto& published : one.value())
          CHECK(!fault(published));
      CHECK(bounds_of(*at).head == 10'001);
      subscriber a{first.world(), first.stream(), "a"};
      CHECK(a.take(10'000) == up_to(10'000));
      first.world().settle();
      CHECK(bounds_of(*at).earliest == 0); // b has nothing of it
      subscriber b{first.world(), first.stream(), "b"};
      CHECK(b.take(9'000) == up_to(9'000));
      first.world().settle();
      const auto kept = bounds_of(*at);
      CHECK(kept.earliest > 4'000);
      CHECK(kept.earliest <= 9'001);
      CHECK(b.take(1'000) == up_to(10'000, 9'001));
    }
    const auto kept = bounds_of(*at);
    CHECK(kept.earliest == kept.head);
  }
}
