#include <weir/change_text.hpp>
#include <weir/configure.hpp>
#include <weir/log_endpoints.hpp>
#include <weir/memory_log.hpp>
#include <weir/spawn.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

using weir::errc;
using weir::lane_item;
using weir::log_sink;
using weir::log_source;
using weir::self;
using weir::task;

namespace {

/// A store in memory, and an actor system to use it in.
struct bench {
  bench() : system{configured()} {}
  caf::actor_system_config& configured() {
    weir::configure(config, {.policy = weir::scheduler_policy::sharing});
    return config;
  }

  template <class F, class... Args>
  auto run(F function, Args... args) {
    return weir::sync_wait(system, function, std::move(args)...);
  }

  weir::log_opener opener() {
    return [opened = store]() -> weir::result<std::shared_ptr<weir::log_store>> { return opened; };
  }

  std::shared_ptr<weir::log_topic> topic(std::string name = "main", std::uint32_t shards = 1) {
    return run(
      [](self me, std::shared_ptr<weir::log_store> in, std::string wanted,
        std::uint32_t count) -> task<weir::result<std::shared_ptr<weir::log_topic>>> {
        auto opening = in->open_topic(me, std::move(wanted), {.shards = count});
        auto opened = co_await std::move(opening);
        co_return opened;
      },
      store, std::move(name), shards)
      .value();
  }

  void append(std::vector<weir::new_entry> entries) {
    auto outcome = run(
      [](self me, std::shared_ptr<weir::log_topic> to, std::vector<weir::new_entry> all) -> task<weir::append_outcome> {
        std::vector<weir::append_call> calls;
        calls.push_back({std::move(all), {}});
        auto appending = to->append(me, std::move(calls));
        auto appended = co_await std::move(appending);
        co_return appended;
      },
      topic(), std::move(entries));
    REQUIRE(outcome.value().decided.front());
  }

  std::vector<weir::entry> entries() {
    return run(
      [](self me, std::shared_ptr<weir::log_topic> from) -> task<weir::result<weir::log_reading>> {
        auto asking = from->bounds(me);
        auto bounds = co_await std::move(asking);
        auto reading = from->read(me, 0, bounds.value().front().earliest - 1, {});
        auto brought = co_await std::move(reading);
        co_return brought;
      },
      topic())
      .value()
      .entries;
  }

  /// Up to and with that offset; `over_consumers`: whoever has not read it.
  weir::trim_outcome trim(std::int64_t through, bool over_consumers) {
    auto trimmed = run(
      [](self me, std::shared_ptr<weir::log_topic> from, weir::trim_request how) -> task<weir::result<weir::trim_outcome>> {
        auto trimming = from->trim(me, std::move(how));
        auto done = co_await std::move(trimming);
        co_return done;
      },
      topic(),
      weir::trim_request{{through}, true, {.entries = over_consumers ? std::optional<std::uint64_t>{0} : std::nullopt}});
    REQUIRE(trimmed);
    return std::move(trimmed).value();
  }

  void trim_all() { trim(entries().back().offset, true); }

  caf::actor_system_config config;
  caf::actor_system system;
  std::shared_ptr<weir::log_store> store = weir::memory::open_log({.largest_entry = 1000});
};

lane_item change(std::uint64_t seq, const std::string& key, std::string payload = "{}") {
  weir::batch live;
  live.at = weir::position{1, seq, {}, 0, true};
  live.changes = 1;
  live.envelopes = weir::make_block({weir::envelope{"files", key, weir::operation::upsert, std::move(payload), {}}});
  return live;
}

/// Opens a sink, gives it the items, and flushes: what it said it holds, and what it left out.
struct written {
  weir::sink_state held;
  std::vector<weir::rejected_record> rejected;
};

weir::result<written> write(bench& in, std::vector<lane_item> items, std::string pipeline = "p") {
  return in.run(
    [](self me, weir::log_opener store, std::string owner, std::vector<lane_item> all) -> task<weir::result<written>> {
      written told;
      log_sink out{{.store = std::move(store), .pipeline = std::move(owner)}};
      auto opening = out.open(me);
      auto opened = co_await std::move(opening);
      if (!opened) {
        weir::result<written> failed = std::move(opened).error();
        co_return failed;
      }
      told.held = opened.value();
      auto writing = out.write(me, std::move(all));
      auto wrote = co_await std::move(writing);
      if (!wrote) {
        weir::result<written> failed = std::move(wrote).error();
        co_return failed;
      }
      told.rejected = wrote.value().rejected;
      auto flushing = out.flush(me);
      auto flushed = co_await std::move(flushing);
      weir::result<written> done = std::move(told);
      if (!flushed)
        done = std::move(flushed).error();
      co_return done;
    },
    in.opener(), std::move(pipeline), std::move(items));
}

/// Opens a source, reads to its end, confirms the last position if wanted.
struct read_back {
  std::vector<weir::reading> readings;
  std::optional<weir::position> last;
};

weir::result<read_back> read(bench& in, weir::log_source_options options, weir::resume_point from = {}, bool confirms = false) {
  options.store = in.opener();
  if (options.consumer.empty())
    options.consumer = "reader";
  return in.run(
    [](self me, weir::log_source_options how, weir::resume_point at, bool to_confirm) -> task<weir::result<read_back>> {
      log_source source{std::move(how)};
      read_back all;
      auto opening = source.open(me, at);
      auto opened = co_await std::move(opening);
      if (!opened) {
        weir::result<read_back> failed = std::move(opened).error();
        co_return failed;
      }
      for (;;) {
        auto reading = source.read(me, {.changes = 2, .bytes = 1000});
        auto brought = co_await std::move(reading);
        if (!brought) {
          weir::result<read_back> failed = std::move(brought).error();
          co_return failed;
        }
        if (!brought.value())
          break;
        all.last = brought.value()->live.at;
        all.readings.push_back(std::move(*brought.value()));
      }
      if (to_confirm && all.last) {
        auto confirming = source.confirm(me, *all.last);
        auto confirmed = co_await std::move(confirming);
        if (!confirmed) {
          weir::result<read_back> failed = std::move(confirmed).error();
          co_return failed;
        }
      }
      weir::result<read_back> done = std::move(all);
      co_return done;
    },
    std::move(options), from, confirms);
}

std::vector<std::string> keys(const read_back& from) {
  std::vector<std::string> all;
  for (const auto& one : from.readings)
    for (const auto& change : one.live.envelopes->envelopes())
      all.push_back(change.key);
  return all;
}

std::string line(const std::string& key) {
  return R"({"collection":"files","key":")" + key + R"(","op":"upsert","payload":{}})";
}

} // namespace

TEST_CASE("log sink: each change is an entry, and what comes again is not there twice") {
  bench in;
  REQUIRE(write(in, {change(1, "a"), change(2, "b")}));
  const auto again = write(in, {change(1, "a"), change(2, "b"), change(3, "c")});
  REQUIRE(again);
  CHECK(again.value().held.is_exact);
  CHECK(again.value().held.committed->seq == 2);
  const auto all = in.entries();
  REQUIRE(all.size() == 3);
  CHECK(all[2].key == std::string{"files\0c", 7});
  CHECK(all[2].dedupe == "p/1.3.0");
  CHECK(weir::read_log_line(all[2].payload)->at.seq == 3);
}

TEST_CASE("log sink: also where the log was trimmed behind its readers") {
  bench in;
  REQUIRE(write(in, {change(1, "a"), change(2, "b")}));
  in.trim_all();
  const auto again = write(in, {change(1, "a"), change(2, "b"), change(3, "c")});
  REQUIRE(again);
  CHECK_FALSE(again.value().held.is_exact);
  REQUIRE(in.entries().size() == 1);
  CHECK(in.entries().front().dedupe == "p/1.3.0");
}

TEST_CASE("log sink: says where it is complete when nothing changed") {
  bench in;
  weir::batch quiet;
  quiet.at = weir::position{1, 9, {}, 0, true};
  REQUIRE(write(in, {change(1, "a"), quiet}));
  const auto again = write(in, {});
  REQUIRE(again);
  CHECK(again.value().held.committed->seq == 9);
}

TEST_CASE("log sink: another pipeline's topic, one that no pipeline wrote, and one of several shards are refused") {
  bench in;
  REQUIRE(write(in, {change(1, "a")}));
  CHECK(write(in, {}, "other").error() == errc::wrong_owner);
  bench foreign;
  foreign.append({{.payload = "hello", .shard = 0}});
  CHECK(write(foreign, {}).error() == errc::wrong_owner);
  bench wide;
  wide.topic("main", 2);
  CHECK(write(wide, {}).error() == errc::layout_mismatch);
}

TEST_CASE("log sink: a change that is larger than the log takes is left out, and said") {
  bench in;
  const auto done = write(in, {change(1, "a"), change(2, "b", "\"" + std::string(2000, 'x') + "\""), change(3, "c")});
  REQUIRE(done);
  REQUIRE(done.value().rejected.size() == 1);
  CHECK(done.value().rejected.front().item == 1);
  CHECK(done.value().rejected.front().envelope == 0);
  CHECK(in.entries().size() == 2);
}

TEST_CASE("log source: reads changes to the head, and goes on behind what was confirmed") {
  bench in;
  in.append({{.payload = line("a"), .shard = 0}, {.payload = line("b"), .shard = 0}, {.payload = line("c"), .shard = 0}});
  const auto first = read(in, {}, {}, true);
  REQUIRE(first);
  CHECK(keys(first.value()) == std::vector<std::string>{"a", "b", "c"});
  CHECK(first.value().last->seq == 3);
  in.append({{.payload = line("d"), .shard = 0}});
  const auto second = read(in, {}, {.confirmed = first.value().last, .held = {}});
  REQUIRE(second);
  CHECK(keys(second.value()) == std::vector<std::string>{"d"});
  CHECK(second.value().last->epoch == 1);
  CHECK(second.value().last->seq == 4);
}

TEST_CASE("log source: in another log it opens an epoch and reads all of it") {
  bench in;
  in.append({{.payload = line("a"), .shard = 0}, {.payload = line("b"), .shard = 0}});
  const auto first = read(in, {}, {}, true);
  REQUIRE(first);
  bench other;
  other.append({{.payload = line("x"), .shard = 0}, {.payload = line("y"), .shard = 0}});
  const auto elsewhere = read(other, {}, {.confirmed = first.value().last, .held = {}});
  REQUIRE(elsewhere);
  REQUIRE(elsewhere.value().readings.size() == 2);
  CHECK(elsewhere.value().readings[0].live.at->epoch == 2);
  CHECK(elsewhere.value().readings[0].live.at->seq == 0);
  CHECK(keys(elsewhere.value()) == std::vector<std::string>{"x", "y"});
  // The destination holds more than this log ever had.
  auto ahead = *first.value().last;
  ahead.seq = 7;
  const auto shorter = read(in, {}, {.confirmed = first.value().last, .held = ahead});
  REQUIRE(shorter);
  CHECK(shorter.value().last->epoch == 2);
  CHECK(keys(shorter.value()) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("log source: an entry that is no change ends it, after everything before it, or is set aside") {
  bench in;
  in.append({{.payload = line("a"), .shard = 0}, {.payload = "hello", .shard = 0}, {.payload = line("b"), .shard = 0}});
  const auto stopped = read(in, {});
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error() == errc::bad_record);
  CHECK(stopped.error().fact_of("offset") == "1");
  const auto all = read(in, {.on_bad = weir::bad_record_policy::dead_letter});
  REQUIRE(all);
  CHECK(keys(all.value()) == std::vector<std::string>{"a", "b"});
  std::vector<weir::bad_record> bad;
  for (const auto& one : all.value().readings)
    bad.insert(bad.end(), one.bad.begin(), one.bad.end());
  REQUIRE(bad.size() == 1);
  CHECK(bad.front().reason == errc::bad_record);
  CHECK(bad.front().reason.fact_of("offset") == "1");
  CHECK(bad.front().bytes == "hello");
}

TEST_CASE("log source: entries themselves, by key or by offset") {
  bench in;
  in.append({{.key = "k", .payload = "v", .shard = 0}, {.payload = "w", .shard = 0}});
  const auto all = read(in, {.format = weir::log_format::entries, .collection = "things"});
  REQUIRE(all);
  CHECK(keys(all.value()) == std::vector<std::string>{"k", "1"});
  CHECK(all.value().readings.front().live.envelopes->envelopes().front().collection == "things");
  CHECK(all.value().readings.front().live.envelopes->envelopes().front().payload == "v");
}

TEST_CASE("log source: a topic that is not there, and one of several shards, are refused") {
  bench in;
  CHECK(read(in, {.topic = "none"}).error() == errc::unknown_topic);
  in.topic("wide", 2);
  CHECK(read(in, {.topic = "wide"}).error() == errc::layout_mismatch);
}

TEST_CASE("log source: a new consumer begins with what there is; one whose entries were trimmed by force is told") {
  bench in;
  in.append({{.payload = line("a"), .shard = 0}, {.payload = line("b"), .shard = 0}});
  const auto first = read(in, {}, {}, true);
  REQUIRE(first);
  in.append({{.payload = line("c"), .shard = 0}});
  in.trim_all();
  in.append({{.payload = line("d"), .shard = 0}});
  CHECK(read(in, {}, {.confirmed = first.value().readings.front().live.at, .held = {}}).error() == errc::cursor_expired);
  const auto fresh = read(in, {.consumer = "fresh"}, {});
  REQUIRE(fresh);
  CHECK(keys(fresh.value()) == std::vector<std::string>{"d"});
}

TEST_CASE("log source: trimming honours what was not confirmed, and a lost state makes it read again") {
  bench in;
  in.append({{.payload = line("a"), .shard = 0}, {.payload = line("b"), .shard = 0}});
  REQUIRE(read(in, {}, {}, true));
  const auto again = read(in, {}, {}, true);
  REQUIRE(again);
  CHECK(keys(again.value()) == std::vector<std::string>{"a", "b"});
  const auto behind = read(in, {.consumer = "slow"}, {}); // confirms nothing
  REQUIRE(behind);
  in.append({{.payload = line("c"), .shard = 0}});
  const auto held = in.trim(2, false);
  CHECK(held.held_by == std::vector<std::string>{"slow"});
  CHECK(in.entries().size() == 3);
}
