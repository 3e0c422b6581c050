#include "actors/scripted_pipeline.hpp"

#include <doctest/doctest.h>

#include <algorithm>

// The ingest engine: what it publishes and when, what it confirms, and the backfills it serves.

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
using times = std::vector<std::int64_t>;

weir::block_ptr block_of(const weir::lane_item& item) {
  return std::get<weir::batch>(item).envelopes;
}

/// How often each line stands in it.
std::ptrdiff_t count(const lines& all, const std::string& wanted) {
  return std::ranges::count(all, wanted);
}

} // namespace

TEST_SUITE("ingest engine: publishing") {
  TEST_CASE("every lane gets the same block, and nobody waits for a timer") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b", "c"}}};
      at.start();
      for (const std::uint64_t seq : {1u, 2u, 3u}) {
        const auto one = read_of(1, seq);
        const auto block = one.live.envelopes;
        at.feed(one);
        world.settle();
        for (const auto* sink : {"a", "b", "c"}) {
          REQUIRE(at.sink(sink).durable.size() == seq);
          CHECK(block_of(at.sink(sink).durable.back()).get() == block.get());
        }
      }
      CHECK(at.log->now() == 0);
    });
  }

  TEST_CASE("while one lane is full, the others get what was read, requests are served, and what moves is confirmed") {
    for_each_seed(12, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}, .bound = {.items = 2, .bytes = 1u << 20}}};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.feed(1, {2});
      world.settle();
      CHECK(at.log->of({"store.save"}) == lines{"store.save 1:1"}); // the next is due in 200 ms
      at.sink("b").writes->hold();
      at.feed(1, {3, 4, 5, 6, 7});
      world.settle();
      CHECK(at.figures("b").published - at.figures("b").acknowledged == 2);
      CHECK(at.sink("a").held() == lines{"1:1", "1:2", "1:3", "1:4", "1:5"}); // one more waits in b's line
      world.advance(200ms);
      CHECK(at.log->of({"store.save", "source.confirm"})
            == lines{"store.save 1:1", "source.confirm 1:1", "store.save 1:2", "source.confirm 1:2"});

      at.ask(1, "a");
      at.source->chunks->next(chunk_of("k1"));
      at.source->chunks->next(chunk_of("k2", true));
      world.settle();
      CHECK(at.over.figures().requests == 0);
      CHECK(at.sink("a").held() == lines{"1:1", "1:2", "1:3", "1:4", "1:5", "rows-k1", "rows-k2", "complete"});

      at.sink("b").writes->let_go();
      world.advance(1s);
      CHECK(at.sink("b").held() == lines{"1:1", "1:2", "1:3", "1:4", "1:5", "1:6", "1:7"});
      CHECK(at.log->last({"source.confirm"}) == "source.confirm 1:7");
      for (const auto* lane : {"a", "b"}) {
        CHECK(at.figures(lane).peak_items <= 2);
        CHECK(at.figures(lane).bound_violations == 0);
      }
    });
  }

  TEST_CASE("a backfill that waits for a full lane delays neither live changes nor another sink's backfill") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}, .bound = {.items = 2, .bytes = 1u << 20}}};
      at.sink("b").writes->hold();
      at.start();
      at.feed(1, {1, 2});
      world.settle();
      at.ask(1, "b");
      at.source->chunks->next(chunk_of("k1", true));
      world.settle();
      at.feed(1, {3});
      world.settle();
      CHECK(at.sink("a").held() == lines{"1:1", "1:2", "1:3"});
      at.ask(2, "a");
      at.source->chunks->next(chunk_of("k2", true));
      world.settle();
      CHECK(at.sink("a").held() == lines{"1:1", "1:2", "1:3", "rows-k2", "complete"});
      CHECK(at.over.figures().requests == 1);
      at.sink("b").writes->let_go();
      world.settle();
      CHECK(at.over.figures().requests == 0);
      auto held = at.sink("b").held();
      CHECK(count(held, "complete") == 1);
      std::erase(held, "complete"); // before or after the live batch
      CHECK(held == lines{"1:1", "1:2", "rows-k1", "1:3"});
    });
  }

  TEST_CASE("bad records are set aside before their batch is published") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.letters->adds->hold();
      at.feed(with_bad_records(read_of(1, 4), 2));
      world.settle();
      CHECK(at.log->of({"letters"}) == lines{"letters.add source bad_record 1:4", "letters.add source bad_record 1:4"});
      CHECK(at.figures().published == 0);
      at.letters->adds->let_go();
      world.settle();
      CHECK(at.sink().held() == lines{"1:4"});
      CHECK(at.log->of({"seen.letters"}) == lines{"seen.letters source 2"});
      REQUIRE(at.letters->added.size() == 2);
      CHECK(at.letters->added[1].bytes == "{1");
      CHECK_FALSE(at.letters->added[1].record.has_value());
    });
  }

  TEST_CASE("a lane is retired while a publish waits for it and a backfill for it is served: the others go on") {
    for_each_seed(40, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}, .bound = {.items = 2, .bytes = 1u << 20}}};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.sink("b").writes->hold();
      at.ask(1, "b");
      at.feed(1, {2, 3, 4, 5, 6});
      const auto chunk_waits = world.random().chance(50);
      if (!chunk_waits) {
        at.source->chunks->next(chunk_of("k1"));
        at.source->chunks->next(chunk_of("k2"));
      }
      if (world.random().chance(50))
        world.settle();
      else
        for (auto steps = world.random().below(60); steps > 0; --steps)
          world.step();
      REQUIRE(at.over.retire_lane("b").has_value());
      if (world.random().chance(50))
        world.settle();
      for (const auto* key : {"k3", "k4", "k5"})
        at.source->chunks->next(chunk_of(key, true));
      world.settle();
      CHECK(at.sink("a").held() == lines{"1:1", "1:2", "1:3", "1:4", "1:5", "1:6"});
      CHECK(at.over.figures().requests == 0);
      at.feed(1, {7});
      at.end_source();
      world.advance(1s);
      CHECK(count(at.sink("a").held(), "1:7") == 1);
      CHECK(at.log->last({"source.confirm"}) == "source.confirm 1:7");
      CHECK(at.has_succeeded());
      at.sink("b").writes->let_go();
      world.settle();
      CHECK(at.has_ended("a"));
      CHECK(at.has_ended("b"));
    });
  }
}

TEST_SUITE("ingest engine: confirming") {
  TEST_CASE("what every sink has acknowledged is saved, then confirmed, while the source is quiet") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}}};
      at.start();
      at.sink("b").flushes->hold();
      at.feed(1, {1, 2});
      world.advance(1s);
      CHECK(at.sink("a").held() == lines{"1:1", "1:2"});
      CHECK(at.log->of({"store", "source.confirm"}).empty());

      at.saves->hold();
      at.sink("b").flushes->let_go();
      world.advance(1s);
      CHECK(at.log->of({"store", "source.confirm"}).size() == 1);
      CHECK(at.log->of({"store.save"}).size() == 1);
      at.saves->let_go();
      world.advance(1s);
      CHECK(at.log->first({"store", "source.confirm", "seen.confirmed"}).starts_with("store.save"));
      CHECK(at.log->last({"store"}) == "store.save 1:2");
      CHECK(at.log->last({"seen.confirmed"}) == "seen.confirmed 1:2");
      CHECK(at.log->of({"source.read"}).size() == 3); // it still waits in the third
    });
  }

  TEST_CASE("at most that often, and never the same twice") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      for (const std::uint64_t seq : {1u, 2u, 3u, 4u}) {
        at.feed(1, {seq});
        world.advance(60ms);
      }
      world.advance(5s);
      CHECK(at.log->of({"source.confirm"}) == lines{"source.confirm 1:1", "source.confirm 1:4"});
      CHECK(at.log->times({"source.confirm"}) == times{0, 200});
      at.feed(1, {5});
      world.settle();
      CHECK(at.log->times({"source.confirm"}) == times{0, 200, 5240});
    });
  }

  TEST_CASE("never inside of a transaction") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      at.feed(read_of(1, 2, false));
      at.feed(read_of(1, 2, false));
      world.advance(5s);
      CHECK(at.sink().held() == lines{"1:1", "1:2+", "1:2+"});
      CHECK(at.log->of({"store.save"}) == lines{"store.save 1:1"});
      at.feed(1, {2});
      world.advance(5s);
      CHECK(at.log->of({"store.save"}) == lines{"store.save 1:1", "store.save 1:2"});
      CHECK(at.log->of({"source.confirm"}) == lines{"source.confirm 1:1", "source.confirm 1:2"});
    });
  }

  TEST_CASE("it goes on from what was confirmed, and does not confirm that again") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.confirmed = position_at(1, 5)}};
      at.start();
      world.advance(1s);
      CHECK(at.log->of({"source.open"}) == lines{"source.open 1:5"});
      CHECK(at.log->of({"store", "source.confirm"}).empty());
      at.feed(1, {6});
      world.settle();
      CHECK(at.log->of({"store.save"}) == lines{"store.save 1:6"});
    });
  }
}

TEST_SUITE("ingest engine: backfills") {
  TEST_CASE("chunks until the last, each as of what was published before it, live changes between them, then the marker") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.ask(9, "a");
      world.settle();
      CHECK(at.log->of({"source.snapshot"}) == lines{"source.snapshot 1:1"});
      at.feed(1, {2});
      world.settle();
      CHECK(at.sink().held() == lines{"1:1"}); // the chunk that is being read has its place before
      at.source->chunks->next(chunk_of("k1"));
      world.settle();
      CHECK(at.sink().held() == lines{"1:1", "rows-k1", "1:2"});
      CHECK(at.log->last({"source.snapshot"}) == "source.snapshot 1:2 after k1");
      at.source->chunks->next(chunk_of("k2"));
      world.settle();
      CHECK(at.over.figures().requests == 1);
      at.source->chunks->next(chunk_of("k3", true));
      at.feed(1, {3});
      world.settle();
      auto held = at.sink().held();
      CHECK(count(held, "1:3") == 1);
      std::erase(held, "1:3"); // it came before or after the marker, or between the last rows
      CHECK(held == lines{"1:1", "rows-k1", "1:2", "rows-k2", "rows-k3", "complete"});
      CHECK(at.over.figures().requests == 0);
      CHECK(at.log->of({"source.snapshot"}).size() == 3);
      for (const auto& item : at.sink().durable) {
        if (const auto* rows = std::get_if<weir::batch>(&item); rows != nullptr && rows->is_snapshot())
          CHECK(*rows->request == weir::request_id{0, 9});
        if (const auto* marker = std::get_if<weir::snapshot_complete>(&item)) {
          CHECK(marker->request == weir::request_id{0, 9});
          CHECK(marker->collections == lines{"files"});
        }
      }
    });
  }

  TEST_CASE("the request is served when its marker is published, not before") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.bound = {.items = 1, .bytes = 1u << 20}}};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.sink().flushes->hold();
      at.ask(9, "a");
      at.source->chunks->next(chunk_of("k1", true));
      world.settle();
      CHECK(at.figures().published == 2); // the marker waits for room
      CHECK(at.over.figures().requests == 1);
      at.sink().flushes->let_go();
      world.settle();
      CHECK(at.over.figures().requests == 0);
      CHECK(at.sink().held() == lines{"1:1", "rows-k1", "complete"});
    });
  }

  TEST_CASE("where nothing was ever published there are no rows, only the marker") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.sink().holds_state = true;
      at.start();
      CHECK(at.sink().held() == lines{"complete"});
      CHECK(at.log->of({"source.snapshot"}).empty());
      CHECK(at.log->of({"seen.backfill"}) == lines{"seen.backfill a begun", "seen.backfill a complete"});
    });
  }

  TEST_CASE("not before the position that the sink holds was offered again") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world};
      at.start();
      at.feed(1, {1});
      world.settle();
      at.ask(9, "a", position_at(1, 3));
      at.source->chunks->next(chunk_of("k1", true));
      world.settle();
      at.feed(1, {2});
      at.feed(read_of(1, 3, false));
      world.advance(1s);
      CHECK(at.log->of({"source.snapshot"}).empty());
      CHECK(at.over.figures().requests == 1);
      at.feed(1, {3});
      world.settle();
      CHECK(at.log->of({"source.snapshot"}) == lines{"source.snapshot 1:3"});
      CHECK(at.sink().held() == lines{"1:1", "1:2", "1:3+", "1:3", "rows-k1", "complete"});
      CHECK(at.over.figures().requests == 0);
    });
  }

  TEST_CASE("a source without snapshots, or whose snapshot fails, ends the pipeline with its word, also while it is quiet") {
    for_each_seed(few, [](simulation& world) {
      scripted_pipeline at{world, {.sinks = {"a", "b"}}};
      at.source->has_snapshots = world.random().chance(50);
      at.source->chunks->next(broken());
      at.start();
      at.feed(1, {1});
      world.settle();
      at.ask(9, "b");
      world.advance(1s);
      REQUIRE(at.fault() == (at.source->has_snapshots ? errc::io_failed : errc::unsupported));
      CHECK(at.outcome()->error().fact_of("sink") == "b");
      CHECK(at.has_ended("a"));
      CHECK(at.has_ended("b"));
    });
  }

  TEST_CASE("a sink engine's backfill from the beginning to its end, over a failure of the destination") {
    for_each_seed(12, [](simulation& world) {
      scripted_pipeline at{world, {.confirmed = position_at(1, 5)}};
      at.sink().holds_state = true;
      at.source->chunks->next(chunk_of("k1"));
      at.source->chunks->next(chunk_of("k2", true));
      at.source->chunks->usual = chunk_of("k9", true);
      if (world.random().chance(50))
        at.sink().flushes->next(broken());
      at.start();
      at.feed(1, {6, 7});
      world.advance(10s);
      CHECK(at.log->last({"seen.backfill"}) == "seen.backfill a complete");
      const auto held = at.sink().held();
      for (const auto* line : {"1:6", "1:7", "rows-k1", "rows-k2"})
        CHECK(count(held, line) == 1);
      CHECK(at.over.idle());
      CHECK(at.log->last({"source.confirm"}) == "source.confirm 1:7");
    });
  }
}
