#include "conformance/durable/durable_place.hpp"

// What is refused when a stream is opened, and lanes that lagged more than the log retains.

using namespace durable_suite;
using namespace stream_suite;
using core_tests::live;
using core_tests::position_at;
using weir::errc;

namespace {

constexpr std::uint64_t few = 4;

std::optional<errc> code_of(const std::optional<weir::error>& why) {
  return why ? std::optional{why->code()} : std::nullopt;
}

weir::durable::options retaining(std::uint64_t entries, std::vector<weir::lane_id> names) {
  auto wanted = lanes(std::move(names));
  wanted.log.retention.entries = entries;
  wanted.log.recent_bytes = 1;
  wanted.bound.items = 16;
  return wanted;
}

/// Publishes to each lane, all of them stored; and one consumer takes them all.
void publish_and_take(process& only, publisher& out, subscriber& in, std::uint64_t last, std::uint64_t first = 1) {
  for (auto next = first; next <= last; next += 100) {
    std::vector<pending<std::vector<outcome>>> offered;
    const auto end = std::min(last, next + 99);
    for (const auto seq : up_to(end, next))
      offered.push_back(out.begin_publish_all(live(1, seq)));
    only.world().settle();
    for (auto& one : offered)
      for (const auto& published : one.value())
        REQUIRE(!fault(published));
    CHECK(in.take(end - next + 1) == up_to(end, next));
  }
  only.world().settle();
}

} // namespace

TEST_SUITE("durable: refusals") {
  TEST_CASE("a topic of another layout: nothing is started, nothing is written") {
    const auto at = new_place();
    write_foreign(*at, "stream", {.shards = 2}, {});
    CHECK(code_of(refusal_of(*at, lanes({"a"}))) == errc::layout_mismatch);
    CHECK(bounds_of(*at).head == 0);
    auto wanted = lanes({"a"});
    wanted.log.topic = "other";
    CHECK(!refusal_of(*at, wanted));
    write_foreign(*at, "third.requests", {.shards = 3}, {});
    wanted.log.topic = "third";
    CHECK(code_of(refusal_of(*at, wanted)) == errc::layout_mismatch);
  }

  TEST_CASE("a topic that holds something else: where, and nothing is written into it") {
    const auto at = new_place();
    write_foreign(*at, "stream", {}, {"{\"id\": 1}", "{\"id\": 2}"});
    for (int times = 0; times < 20; ++times) {
      const auto refused = refusal_of(*at, lanes({"a"}));
      REQUIRE(refused);
      CHECK(refused->code() == errc::corrupt);
      CHECK(refused->fact_of("offset") == "0");
      CHECK(refused->fact_of("topic") == "stream");
    }
    CHECK(bounds_of(*at).head == 2);

    write_foreign(*at, "newer", {}, {std::string{"\x08\x7f", 2}}); // version 127
    auto wanted = lanes({"a"});
    wanted.log.topic = "newer";
    const auto newer = refusal_of(*at, wanted);
    REQUIRE(newer);
    CHECK(newer->code() == errc::newer_format);
    CHECK(newer->fact_of("offset") == "0");

    write_foreign(*at, "third.requests", {}, {"{\"id\": 1}"});
    wanted.log.topic = "third";
    const auto requests = refusal_of(*at, wanted);
    REQUIRE(requests);
    CHECK(requests->code() == errc::corrupt);
    CHECK(requests->fact_of("topic") == "third.requests");
  }

  TEST_CASE("something else behind what a stream has written") {
    const auto at = new_place();
    {
      process first{*at, 1, lanes({"a"})};
      publisher out{first.world(), first.stream()};
      for (const auto seq : up_to(3))
        REQUIRE(out.publish(live(1, seq)));
    }
    write_foreign(*at, "stream", {}, {"{\"id\": 1}"});
    const auto refused = refusal_of(*at, lanes({"a"}));
    REQUIRE(refused);
    CHECK(refused->code() == errc::corrupt);
    CHECK(refused->fact_of("offset") == "4");
  }

  TEST_CASE("a log that fails while the stream is opened") {
    for (const auto which : {log_call::append, log_call::commit, log_call::read}) {
      const auto at = new_place();
      {
        process first{*at, 1, lanes({"a", "b"})};
        publisher out{first.world(), first.stream(), {"a", "b"}};
        for (const auto seq : up_to(3))
          (void)out.publish_all(live(1, seq));
      }
      for (const auto* topic : {"stream", "stream.requests"}) {
        if (which == log_call::commit && std::string{topic} != "stream")
          continue;
        CAPTURE(static_cast<int>(which));
        CAPTURE(topic);
        const auto refused =
          refusal_of(*at, lanes({"a"}), [&](relay& through) { through.fail(which, errc::io_failed, 1, topic); });
        REQUIRE(refused);
        CHECK(refused->code() == errc::io_failed);
      }
      process second{*at, 2, lanes({"a"})};
      CHECK(second.opened().resume == position_at(1, 3));
      CHECK(second.opened().lanes.size() == 2);
      subscriber b{second.world(), second.stream(), "b"};
      CHECK(b.take(3) == up_to(3));
    }
  }

  TEST_CASE("options") {
    const auto at = new_place();
    const auto refused = [&](auto change) {
      auto wanted = lanes({"a"});
      change(wanted);
      return code_of(refusal_of(*at, wanted));
    };
    using weir::durable::options;
    CHECK(refused([](options& of) { of.bound = {.items = 0, .bytes = 1}; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.bound = {.items = 1, .bytes = 0}; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.log.budget = 0; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.log.line_items = 0; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.log.line_items = std::size_t{1} << 50; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.log.topic = ""; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.log.topic = std::string(10'000, 't'); }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.max_attempts = 0; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.lanes = {""}; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.lanes = {"a", "b", "a"}; }) == errc::duplicate_lane);
    CHECK(refused([](options& of) { of.lanes = {weir::lane_id{std::string(5000, 'n')}}; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.lanes = {std::string{"a\0b", 3}}; }) == errc::invalid_argument);
    CHECK(refused([](options& of) { of.lanes = {"\xff"}; }) == errc::invalid_argument);
    CHECK(!refused([](options& of) { of.log.recent_bytes = 0; }));
    CHECK(!refused([](options& of) { of.lanes = {}; }));
  }

  TEST_CASE("a lane whose name no log can keep, added while the stream runs") {
    const auto at = new_place();
    process only{*at, 1, lanes({"a"})};
    for (const auto& name : {std::string(250, 'n'), std::string{"\xff"}, std::string{"a\0b", 3}})
      CHECK(fault(only.stream().add_lane(weir::lane_id{name}, std::nullopt)) == errc::invalid_argument);
    REQUIRE(only.stream().add_lane(weir::lane_id{std::string(200, 'N'), "c/%"}, std::nullopt));
    publisher out{only.world(), only.stream()};
    REQUIRE(out.publish(live(1, 1)));
    subscriber in{only.world(), only.stream()};
    CHECK(in.take(1) == numbers{1});
    only.leave();
    process next{*at, 2, lanes({"a"})};
    CHECK(next.opened().lanes.size() == 2);
  }
}

TEST_SUITE("durable: retention") {
  TEST_CASE("a lane that lags more than is retained ends, disturbs nobody, and holds the watermark until it is added again") {
    for (const bool reopened : {true, false})
      for_each_process(few, retaining(100, {"lags", "reads"}), [&](durable_place& at, process& only) {
        CAPTURE(reopened);
        publisher out{only.world(), only.stream(), {"lags", "reads"}};
        subscriber reads{only.world(), only.stream(), "reads"};
        subscriber lags{only.world(), only.stream(), "lags"};
        publish_and_take(only, out, reads, 20);
        CHECK(lags.take(10) == up_to(10));
        only.world().settle();
        publish_and_take(only, out, reads, 6000, 21);
        (void)lags.receive_all();
        const auto ended = lags.receive();
        REQUIRE(!ended);
        CHECK(ended.error().code() == errc::cursor_expired);
        CHECK(ended.error().fact_of("lane") == "lags");
        CHECK(read_watermark(only.world(), only.stream()).watermark == position_at(1, 10));
        CHECK(bounds_of(at).earliest > 1000);
        publish_and_take(only, out, reads, 6100, 6001);
        if (reopened)
          only.leave();
        std::optional<process> second;
        if (reopened) {
          second.emplace(at, 2, retaining(100, {"lags", "reads"}));
          REQUIRE(second->opened().lanes.size() == 2);
          for (const auto& one : second->opened().lanes) {
            CHECK(one.has_expired == (one.id == weir::lane_id{"lags"}));
            CHECK(one.floor == position_at(1, one.has_expired ? 10 : 6100));
          }
        }
        auto& now = reopened ? *second : only;
        {
          subscriber still{now.world(), now.stream(), "lags"};
          CHECK(fault(still.receive()) == errc::cursor_expired);
        }
        CHECK(read_watermark(now.world(), now.stream()).watermark == position_at(1, 10));
        REQUIRE(now.stream().retire_lane("lags"));
        REQUIRE(now.stream().add_lane("lags", position_at(1, 6100)));
        now.world().settle();
        CHECK(read_watermark(now.world(), now.stream()).watermark == position_at(1, 6100));
        publisher next{now.world(), now.stream(), {"lags", "reads"}};
        for (const auto& published : next.publish_all(live(1, 6101)))
          CHECK(!fault(published));
        for (const auto* name : {"lags", "reads"}) {
          subscriber in{now.world(), now.stream(), name};
          CHECK(in.take(1) == numbers{6101});
        }
        now.world().settle();
        CHECK(read_watermark(now.world(), now.stream()).watermark == position_at(1, 6101));
        CHECK(now.stream().idle());
        now.kill();
        process third{at, 3, retaining(100, {"lags", "reads"})};
        for (const auto& one : third.opened().lanes)
          CHECK(!one.has_expired);
      });
  }

  TEST_CASE("the log is bounded also where no consumer takes anything") {
    for_each_process(1, retaining(100, {"a", "b"}), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"a", "b"}};
      std::vector<pending<std::vector<outcome>>> offered;
      for (const auto seq : up_to(10'000)) {
        offered.push_back(out.begin_publish_all(live(1, seq)));
        if (seq % 100 == 0)
          only.world().settle();
      }
      for (auto& one : offered)
        for (const auto& published : one.value())
          CHECK(!fault(published));
      const auto kept = bounds_of(at);
      CHECK(kept.head - kept.earliest < 6000);
      subscriber a{only.world(), only.stream()};
      (void)a.receive_all();
      CHECK(fault(a.receive()) == errc::cursor_expired);
    });
  }

  TEST_CASE("within the budget a lane that lags holds the log back") {
    for_each_process(1, retaining(20'000, {"lags", "reads"}), [&](durable_place& at, process& only) {
      publisher out{only.world(), only.stream(), {"lags", "reads"}};
      subscriber reads{only.world(), only.stream(), "reads"};
      publish_and_take(only, out, reads, 10'000);
      CHECK(bounds_of(at).earliest <= 1); // the entry that opened the stream is nobody's
      subscriber lags{only.world(), only.stream(), "lags"};
      CHECK(lags.take(10'000) == up_to(10'000));
      only.world().settle();
      CHECK(bounds_of(at).earliest > 4000);
    });
  }
}
