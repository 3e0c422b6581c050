#include "actors/scripted_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

// The ingest engine: how it ends, by itself, when it is asked to, and when something fails.

using namespace std::chrono_literals;
using actor_tests::broken;
using actor_tests::chunk_of;
using actor_tests::for_each_seed;
using actor_tests::lines;
using actor_tests::read_of;
using actor_tests::scripted_pipeline;
using actor_tests::simulation;
using actor_tests::with_bad_records;
using core_tests::position_at;
using weir::errc;

namespace {

constexpr std::uint64_t few = 8;

} // namespace

TEST_SUITE("ingest engine: faults") {
  TEST_CASE("a source that breaks its promises ends the pipeline, and nothing of that batch is published or set aside") {
    for_each_seed(24, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}}};
      at.start();
      at.feed(1, {5});
      auto wrong = with_bad_records(read_of(1, 3), 1);
      const auto which = world.random().below(4);
      if (which == 1)
        wrong.live.at = position_at(1, 5); // again
      else if (which == 2)
        wrong.live.at.reset();
      else if (which == 3)
        wrong.live.request = weir::request_id{1, 2};
      at.feed(wrong);
      at.feed(1, {6});
      world.settle();
      CHECK(at.fault() == (which < 2 ? errc::sequence_restarted : errc::source_failed));
      for (const auto* sink : {"a", "b"}) {
        CHECK(at.has_ended(sink));
        CHECK(std::ranges::count(at.sink(sink).held(), "1:5") <= 1);
        CHECK(std::ranges::all_of(at.log->of({sink}), [](const auto& call) { return call.find("1:3") == call.npos; }));
        CHECK(at.figures(sink).published == 1);
      }
      CHECK(at.letters->added.empty());
      CHECK(at.log->of({"source.read"}).size() == 2);
      world.advance(1min);
      CHECK(at.log->of({"seen.failure"}).empty());
    });
  }

  TEST_CASE("after a failure no sink is given more") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}}};
      at.sink("b").writes->hold();
      at.start();
      at.feed(1, {1});
      world.settle();
      at.feed(1, {2, 3});
      at.source->reads->next(broken());
      world.advance(1s);
      CHECK(at.fault() == errc::io_failed);
      CHECK(at.log->of({"store", "source.confirm"}).empty());
      at.sink("b").writes->let_go();
      world.settle();
      CHECK(at.has_ended("b"));
      CHECK(at.log->of({"b.write"}) == lines{"b.write 1:1"});
    });
  }

  TEST_CASE("a new epoch restarts the numbering in good order") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {5});
      at.feed(2, {1});
      world.advance(1s);
      CHECK_FALSE(at.outcome().has_value());
      CHECK(at.sink().held() == lines{"1:5", "2:1"});
      CHECK(at.log->last({"source.confirm"}) == "source.confirm 2:1");
    });
  }

  TEST_CASE("opening, reading, saving, confirming or setting aside fails: it ends with that, also while the source is quiet") {
    for_each_seed(30, [](simulation& world) {
      scripted_pipeline at{world};
      const auto which = world.random().below(5);
      if (which == 0)
        at.source->opens->next(broken());
      else if (which == 1)
        at.source->reads->next(broken());
      else if (which == 2)
        at.saves->usual = broken();
      else if (which == 3)
        at.source->confirms->next(broken());
      else
        at.letters->adds->next(broken());
      at.start();
      at.feed(with_bad_records(read_of(1, 1), 1));
      world.advance(1s);
      CHECK(at.fault() == errc::io_failed);
      CHECK(at.has_ended("a"));
      CHECK(at.figures().published == (which == 2 || which == 3 ? 1u : 0u));
    });
  }

  TEST_CASE("a source that throws ends the engine") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      if (world.random().chance(50))
        at.source->opens->next_throws("nonsense");
      else
        at.source->reads->next_throws("nonsense");
      at.start();
      CHECK(at.fault() == errc::coroutine_failed);
    });
  }

  TEST_CASE("bad records that nobody keeps end the engine with the reason of the first") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.has_letters = false}};
      at.start();
      at.feed(with_bad_records(read_of(1, 1), 2));
      world.settle();
      CHECK(at.fault() == errc::bad_record);
      CHECK(at.sink().held().empty());
    });
  }

  TEST_CASE("saving fails while a lane is full: it ends with that, and does not wait for the lane") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}, .bound = {.items = 2, .bytes = 1u << 20}}};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.feed(1, {2});
      world.settle();
      at.saves->usual = broken();
      at.sink("b").writes->hold();
      at.feed(1, {3, 4, 5, 6, 7});
      world.advance(1s);
      CHECK(at.fault() == errc::io_failed);
      CHECK(at.has_ended("a"));
    });
  }

  TEST_CASE("saving fails while a live batch waits for a chunk of a backfill that does not come: it ends with that") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.feed(1, {2});
      world.settle();
      at.saves->usual = broken();
      at.ask(9, "a");
      world.settle();
      if (world.random().chance(50))
        at.feed(1, {3});
      world.advance(1s);
      CHECK(at.fault() == errc::io_failed);
      CHECK(at.has_ended("a"));
    });
  }
}

TEST_SUITE("ingest engine: the end") {
  TEST_CASE("the source ends: everything is acknowledged, then the last position is saved, then the stream closes") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}}};
      at.start();
      at.sink("b").flushes->hold();
      at.feed(1, {1, 2, 3});
      at.end_source();
      world.advance(5s);
      CHECK(at.log->of({"seen.end"}).size() == 1);
      CHECK_FALSE(at.outcome().has_value());
      CHECK_FALSE(at.has_ended("a"));
      CHECK(at.log->of({"store"}).empty());

      at.saves->hold();
      at.sink("b").flushes->let_go();
      world.advance(5s);
      CHECK_FALSE(at.outcome().has_value());
      CHECK_FALSE(at.has_ended("a"));
      at.saves->let_go();
      world.advance(1s);
      CHECK(at.log->last({"store", "source.confirm"}) == "source.confirm 1:3");
      CHECK(at.has_succeeded());
      CHECK(at.has_ended("a"));
      CHECK(at.has_ended("b"));
      CHECK(at.log->of({"failing", "seen.failure"}).empty());
    });
  }

  TEST_CASE("the last position is confirmed at the end although one was confirmed just before") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.feed(1, {2});
      at.end_source();
      world.advance(50ms); // less than between two confirmations
      CHECK(at.has_succeeded());
      CHECK(at.log->of({"store", "source.confirm"})
            == lines{"store.save 1:1", "source.confirm 1:1", "store.save 1:2", "source.confirm 1:2"});
    });
  }

  TEST_CASE("what is saved last fails: the end says so") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.saves->usual = broken();
      at.feed(1, {2});
      at.end_source();
      world.advance(50ms);
      CHECK(at.fault() == errc::io_failed);
      CHECK(at.has_ended("a"));
    });
  }

  TEST_CASE("a backfill that was asked for is served before the end") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      at.end_source();
      at.ask(9, "a");
      world.advance(1s);
      CHECK_FALSE(at.outcome().has_value());
      at.source->chunks->usual = chunk_of("k1", true);
      at.source->chunks->let_go();
      world.advance(1s);
      CHECK(at.has_succeeded());
      CHECK(at.sink().held() == lines{"1:1", "rows-k1", "complete"});
    });
  }

  TEST_CASE("an empty source ends at once") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.end_source();
      at.start();
      world.advance(50ms);
      CHECK(at.has_succeeded());
      CHECK(at.has_ended("a"));
      CHECK(at.log->of({"store", "source.confirm"}).empty());
    });
  }

  TEST_CASE("a backfill of a place that the source never reaches does not keep it from ending") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      at.sink().opens->usual = weir::sink_state{.committed = position_at(1, 9)};
      at.source->chunks->usual = chunk_of("k1", true);
      at.start();
      if (world.random().chance(50))
        at.feed(1, {3});
      at.end_source();
      world.advance(1min);
      CHECK(at.outcome().has_value());
      CHECK(at.has_ended("a"));
    });
  }

  TEST_CASE("a backfill that waits for its place when its lane is retired is forgotten") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}}};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.ask(9, "b", position_at(1, 5));
      world.settle();
      REQUIRE(at.over.retire_lane("b").has_value());
      world.settle();
      if (world.random().chance(50))
        at.feed(1, {6}); // reaches it
      at.end_source();
      world.advance(1s);
      CHECK(at.has_succeeded());
      CHECK(at.has_ended("a"));
      CHECK(at.log->of({"source.snapshot"}).empty());
    });
  }

  TEST_CASE("a stop while it reads, publishes or waits for a full lane: what was read is written and confirmed") {
    for_each_seed(40, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}, .bound = {.items = 3, .bytes = 1u << 20}}};
      at.start();
      if (world.random().chance(50))
        at.sink("b").writes->hold();
      at.feed(1, {1, 2, 3, 4, 5, 6});
      if (world.random().chance(50))
        world.settle();
      else
        for (auto steps = world.random().below(80); steps > 0; --steps)
          world.step();
      at.ingest->request_stop();
      world.advance(1s);
      const bool waits = at.figures("b").published != at.figures("b").acknowledged;
      CHECK(at.outcome().has_value() == !waits);
      at.sink("b").writes->let_go();
      world.advance(1s);
      CHECK(at.has_succeeded());
      CHECK(at.has_ended("a"));
      CHECK(at.has_ended("b"));
      for (const auto* lane : {"a", "b"})
        CHECK(at.figures(lane).published == at.figures(lane).acknowledged);
      const auto held = at.sink("a").held();
      CHECK(at.sink("b").held() == held);
      if (held.empty())
        CHECK(at.log->of({"source.confirm"}).empty());
      else
        CHECK(at.log->last({"store", "source.confirm"}) == "source.confirm " + held.back());
    });
  }

  TEST_CASE("a stop while the source is quiet ends at once, with what was acknowledged confirmed") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.feed(1, {2});
      world.settle();
      at.ask(9, "a"); // no chunk comes: a stop does not wait for it
      world.settle();
      at.ingest->request_stop();
      world.advance(50ms);
      CHECK(at.has_succeeded());
      CHECK(at.has_ended("a"));
      CHECK(at.log->last({"source.confirm"}) == "source.confirm 1:2");
    });
  }

  TEST_CASE("a stop while the source still opens: it does not read, and ends in good order") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.source->opens->hold();
      at.feed(1, {1});
      at.start();
      at.ingest->request_stop();
      world.advance(1s);
      at.source->opens->let_go();
      world.advance(1s);
      CHECK(at.has_succeeded());
      CHECK(at.has_ended("a"));
      CHECK(at.log->of({"source.read"}).empty());
    });
  }

  TEST_CASE("a stop reaches a source that can't open yet") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.source->opens->hold();
      at.start();
      at.ingest->request_stop();
      world.advance(1s);
      CHECK(at.outcome().has_value());
      CHECK(at.has_ended("a"));
    });
  }

  TEST_CASE("killed at any step of a run, the engines leave nothing behind") {
    for_each_seed(150, [](simulation& world) {
      std::weak_ptr<const weir::block> first;
      {
        scripted_pipeline at{world, {.sinks = {"a", "b"}, .bound = {.items = 3, .bytes = 1u << 20}}};
        at.sink("a").holds_state = true;
        if (world.random().chance(30))
          at.sink("b").writes->next(broken());
        if (world.random().chance(30))
          at.sink("b").flushes->hold();
        at.source->chunks->next(chunk_of("k1"));
        at.source->chunks->next(chunk_of("k2", true));
        {
          const auto one = read_of(1, 1);
          first = one.live.envelopes;
          at.feed(with_bad_records(one, 1));
        }
        at.feed(1, {2, 3, 4, 5, 6, 7, 8});
        at.end_source();
        at.start_sink("a");
        at.start_sink("b");
        at.start_ingest();
        for (auto steps = world.random().below(400); steps > 0; --steps)
          if (!world.step())
            world.pass_time(10ms);
        switch (world.random().below(4)) {
        case 0: at.ingest->kill(); break;
        case 1: at.engine("a").kill(); break;
        case 2: at.engine("b").kill(); break;
        default: break; // all of them, at once
        }
        if (world.random().chance(50))
          world.settle();
        for (const auto* lane : {"a", "b"})
          CHECK(at.figures(lane).bound_violations == 0);
      }
      world.settle();
      CHECK(world.running_actors() == 0);
      CHECK(first.expired());
    });
  }
}
