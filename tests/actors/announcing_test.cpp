#include <weir/detail/bus_link.hpp>

#include "actors/scripted_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

// What a sink engine tells on a bus, when, and what it does where the bus takes nothing.

using namespace std::chrono_literals;
using actor_tests::broken;
using actor_tests::call_log;
using actor_tests::for_each_seed;
using actor_tests::lines;
using actor_tests::pipeline_settings;
using actor_tests::scripted_pipeline;
using actor_tests::simulation;
using core_tests::position_at;
using weir::errc;
using weir::error;

namespace {

constexpr std::uint64_t few = 8;

/// Takes hints, or fails as it is told to.
class scripted_link final : public weir::detail::bus_link {
public:
  std::shared_ptr<call_log> log;
  std::optional<errc> refuses;
  std::uint64_t refused_so_far = 0;

  weir::bus_id id() const noexcept override { return {1}; }
  weir::result<void> publish(std::string_view topic, std::string_view key, std::string_view payload,
    std::shared_ptr<weir::detail::commit_ticket>) override {
    if (refuses) {
      ++refused_so_far;
      return error{*refuses, "not now"};
    }
    log->add("bus " + std::string{topic} + " [" + std::string{key} + "] " + std::string{payload});
    return weir::success();
  }
  weir::result<std::shared_ptr<weir::detail::subscription_state>> subscribe(
    std::string_view, weir::subscription_options) override {
    return error{errc::unsupported, "nobody listens"};
  }
  void close() noexcept override {}
  weir::bus_stats stats() const override { return {}; }
};

/// A pipeline that announces on a scripted bus.
struct announcing_pipeline {
  explicit announcing_pipeline(simulation& world, std::vector<std::string> collections = {"files"},
    weir::announce_per per = weir::announce_per::key, std::string topic = "on/{collection}")
    : at{world, {.collections = std::move(collections),
                  .announce = weir::announce_options{.to = weir::bus{link}, .topic = std::move(topic), .per = per}}} {
    link->log = at.log;
  }

  lines said() const { return at.log->of({"bus "}); }
  lines unannounced() const { return at.log->of({"seen.unannounced"}); }

  std::shared_ptr<scripted_link> link = std::make_shared<scripted_link>();
  scripted_pipeline at;
};

weir::batch changing(std::uint64_t seq, const std::vector<std::string>& keys, const std::string& collection = "files") {
  weir::batch made;
  made.at = position_at(1, seq);
  made.changes = keys.size();
  std::vector<weir::envelope> changes;
  for (const auto& key : keys) {
    weir::envelope one;
    one.collection = collection;
    one.key = key;
    one.payload = "row";
    changes.push_back(std::move(one));
  }
  made.envelopes = weir::make_block(std::move(changes));
  return made;
}

weir::sink_policy setting_aside() {
  weir::sink_policy made;
  made.on_failure = weir::failure_policy::dead_letter;
  made.failures_before_dead_letter = 2;
  return made;
}

} // namespace

TEST_SUITE("announcing") {
  TEST_CASE("what a collection holds is announced when the destination is open, and not before") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world, {"files", "more"}};
      with.at.sink().opens->hold();
      with.at.start_sink();
      with.at.publish({changing(1, {"x"})});
      CHECK(with.said().empty());
      with.at.sink().opens->let_go();
      world.settle();
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/more [] ", "bus on/files [x] 1:1"});
      CHECK(with.at.log->of({"a.open", "bus "}).front() == "a.open");
    });
  }

  TEST_CASE("what the destination says that it holds is announced, too, and what the source has as well once") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world, {"files", "more"}};
      with.at.sink().opens->usual = weir::sink_state{.collections = {"held", "files", "other"}};
      with.at.start_sink();
      world.settle();
      const lines begun{"bus on/files [] ", "bus on/held [] ", "bus on/more [] ", "bus on/other [] "};
      CHECK(with.said() == begun);
      with.at.sink().writes->next(broken());
      with.at.publish({changing(1, {"x"}, "held")});
      world.advance(1min);
      CHECK(with.at.log->of({"a.open"}).size() == 2); // opened again, it is not begun again
      auto all = begun;
      all.push_back("bus on/held [x] 1:1");
      CHECK(with.said() == all);
    });
  }

  TEST_CASE("a source that names no collections leaves it to the destination, and one that knows none to the first change") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline held{world, {}};
      held.at.sink().opens->usual = weir::sink_state{.collections = {"c"}};
      held.at.start_sink();
      world.settle();
      CHECK(held.said() == lines{"bus on/c [] "});
      announcing_pipeline none{world, {}};
      none.at.start_sink();
      world.settle();
      CHECK(none.said().empty());
    });
  }

  TEST_CASE("one topic for all collections is announced on as the pipeline begins, whatever is known of them") {
    for_each_seed(few, [](simulation& world) {
      for (const auto& known : {std::vector<std::string>{}, std::vector<std::string>{"files", "more"}}) {
        announcing_pipeline with{world, known, weir::announce_per::key, "all"};
        with.at.start_sink();
        world.settle();
        CHECK(with.said() == lines{"bus all [] "});
        with.at.publish({changing(1, {"x"})});
        CHECK(with.said() == lines{"bus all [] ", "bus all [x] 1:1"});
      }
    });
  }

  TEST_CASE("a destination that can't be opened announces nothing") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.at.sink().opens->next(broken());
      with.at.start_sink();
      with.at.publish({changing(1, {"x"})});
      CHECK(with.at.has_ended());
      CHECK(with.said().empty());
      CHECK(with.unannounced().empty());
    });
  }

  TEST_CASE("a hint comes after the flush of its change, and not before") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world, {}};
      with.at.start_sink();
      with.at.sink().flushes->hold();
      with.at.publish({changing(1, {"x", "y"})});
      world.advance(1min);
      CHECK(with.at.log->of({"a.flush"}).size() == 1);
      CHECK(with.said().empty());
      with.at.sink().flushes->let_go();
      world.settle();
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [x] 1:1", "bus on/files [y] 1:1"});
      CHECK(with.at.figures().acknowledged == 1);
      with.at.publish({changing(2, {"y"}), changing(3, {"z"}, "other")});
      const auto all = with.said();
      REQUIRE(all.size() == 6);
      CHECK(lines{all.begin() + 3, all.end()} == lines{"bus on/files [y] 1:2", "bus on/other [] ", "bus on/other [z] 1:3"});
    });
  }

  TEST_CASE("per batch, one hint for each collection in it") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world, {}, weir::announce_per::batch};
      with.at.start_sink();
      with.at.publish({changing(1, {"x", "y", "z"})});
      with.at.publish({changing(2, {"x"})});
      CHECK(with.said() == lines{"bus on/files [] 1:1", "bus on/files [] 1:2"});
    });
  }

  TEST_CASE("a full bus holds back no sink, and everything is told later, each key once") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.link->refuses = errc::bus_full;
      with.at.start_sink();
      with.at.publish({changing(1, {"x", "y"})});
      with.at.publish({changing(2, {"x"}), changing(3, {"w", "y"})});
      world.advance(10min);
      CHECK(with.at.figures().acknowledged == 3);
      CHECK(with.at.sink().held() == lines{"1:1", "1:2", "1:3"});
      CHECK(with.at.over.idle());
      CHECK(with.said().empty());
      CHECK(with.unannounced().empty());
      CHECK(with.link->refused_so_far > 100); // it goes on trying
      with.link->refuses.reset();
      world.advance(20ms);
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [x] 1:2", "bus on/files [y] 1:3", "bus on/files [w] 1:3"});
      with.at.publish({changing(4, {"x"})});
      CHECK(with.said().back() == "bus on/files [x] 1:4");
      CHECK(with.said().size() == 5);
    });
  }

  TEST_CASE("at the end a full bus is waited for for two seconds, and what it did not take is said") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.link->refuses = errc::bus_full;
      with.at.start_sink();
      with.at.publish({changing(1, {"x"})});
      world.advance(1min);
      const auto begun = with.at.log->now();
      with.at.over.close(weir::close_mode::drain);
      world.settle();
      CHECK_FALSE(with.at.has_ended());
      world.advance(1900ms);
      CHECK_FALSE(with.at.has_ended());
      CHECK(with.unannounced().empty());
      world.advance(200ms);
      CHECK(with.at.has_ended());
      CHECK(with.unannounced() == lines{"seen.unannounced a bus_full"});
      CHECK(with.at.log->times({"seen.unannounced"}).front() <= begun + 2000);
      CHECK(with.said().empty());
    });
  }

  TEST_CASE("at the end a bus that has room again gets everything") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.link->refuses = errc::bus_full;
      with.at.start_sink();
      with.at.publish({changing(1, {"x"})});
      with.at.over.close(weir::close_mode::drain);
      world.advance(1500ms);
      CHECK_FALSE(with.at.has_ended());
      with.link->refuses.reset();
      world.advance(20ms);
      CHECK(with.at.has_ended());
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [x] 1:1"});
      CHECK(with.unannounced().empty());
    });
  }

  TEST_CASE("at the end what waits is told before the engine ends") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.at.publish({changing(1, {"x"}), changing(2, {"y"})});
      with.at.start_sink();
      with.at.over.close(weir::close_mode::drain);
      world.settle();
      CHECK(with.at.has_ended());
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [x] 1:1", "bus on/files [y] 1:2"});
      CHECK(with.at.log->now() == 0);
    });
  }

  TEST_CASE("a closed bus is said once, and the sink goes on") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.at.start_sink();
      with.at.publish({changing(1, {"x"})});
      with.link->refuses = errc::closed;
      for (std::uint64_t seq = 2; seq < 6; ++seq)
        with.at.publish({changing(seq, {"x"})});
      world.advance(1min);
      CHECK(with.unannounced() == lines{"seen.unannounced a closed"});
      CHECK(with.at.figures().acknowledged == 5);
      CHECK(with.link->refused_so_far == 1);
      with.at.over.close(weir::close_mode::drain);
      world.settle();
      CHECK(with.at.has_ended());
      CHECK(with.unannounced().size() == 1);
    });
  }

  TEST_CASE("whoever is asked to stop ends at once, and tells nobody anything more") {
    for_each_seed(16, [](simulation& world) {
      announcing_pipeline with{world};
      if (world.random().below(2) == 0)
        with.link->refuses = errc::bus_full;
      with.at.start_sink();
      with.at.publish({changing(1, {"x"})});
      const auto before = with.said().size();
      CHECK(before == (with.link->refuses ? 0U : 2U));
      with.at.engine().request_stop();
      world.settle();
      CHECK(with.at.has_ended());
      CHECK(with.at.log->now() == 0);
      with.link->refuses.reset();
      world.advance(1min);
      CHECK(with.said().size() == before);
      CHECK(with.unannounced().empty());
    });
  }

  TEST_CASE("what comes again is announced when it was flushed, and once") {
    for_each_seed(12, [](simulation& world) {
      announcing_pipeline with{world};
      const auto which = world.random().below(2);
      with.at.start_sink();
      world.settle();
      if (which == 0)
        with.at.sink().writes->next(broken());
      else
        with.at.sink().flushes->next(broken());
      with.at.publish({changing(1, {"x"})});
      CHECK(with.said() == lines{"bus on/files [] "});
      world.advance(1s);
      CHECK(with.at.sink().held() == lines{"1:1"});
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [x] 1:1"});
      world.advance(1min);
      CHECK(with.said().size() == 2);
    });
  }

  TEST_CASE("what was set aside is passed, so that its keys are looked at again") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      weir::write_outcome refusing;
      refusing.rejected.push_back(weir::rejected_record{0, 0, error{errc::rejected, "not that one"}});
      with.at.start_sink("a", setting_aside());
      world.settle();
      with.at.sink().writes->next(std::move(refusing));
      with.at.publish({changing(1, {"x"})});
      CHECK(with.at.letters->added.size() == 1);
      CHECK(with.said().back() == "bus on/files [x] 1:1");
      // One that fails over and over, and is replaced by an empty one.
      with.at.sink().poison = "1:2";
      with.at.publish({changing(2, {"y"})});
      CHECK(with.said().size() == 2);
      world.advance(1min);
      CHECK(with.at.letters->added.size() == 2);
      with.at.publish({changing(3, {"z"})});
      const auto all = with.said();
      CHECK(all == lines{"bus on/files [] ", "bus on/files [x] 1:1", "bus on/files [y] 1:2", "bus on/files [z] 1:3"});
    });
  }

  TEST_CASE("a backfill is announced without keys, its rows and its end") {
    for_each_seed(few, [](simulation& world) {
      announcing_pipeline with{world};
      with.at.start_sink();
      world.settle();
      weir::batch rows = changing(1, {"r1", "r2"});
      rows.at.reset();
      rows.request = weir::request_id{0, 1};
      rows.walked = "r2";
      with.at.publish({std::move(rows)});
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [] "});
      with.at.publish({weir::snapshot_complete{{0, 1}, {"files"}}});
      CHECK(with.said() == lines{"bus on/files [] ", "bus on/files [] ", "bus on/files [] "});
    });
  }
}
