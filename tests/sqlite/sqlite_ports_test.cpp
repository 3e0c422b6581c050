#include <weir/channel.hpp>
#include <weir/pipeline.hpp>
#include <weir/sqlite.hpp>

#include "../jsonl/batches.hpp"
#include "../jsonl/scratch.hpp"
#include "../jsonl/threaded.hpp"
#include "table_reader.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

// The sink as what it is for: a coroutine of a pipeline, fed by a source in memory.

using namespace adapter_tests;
using weir::errc;
using weir::position;
using weir::result;
using weir::self;
using weir::task;

namespace {

using rows = std::map<std::string, std::string>;

/// A source that holds its own state, gives the changes it is told to, and ends.
class told_source final : public weir::source {
public:
  told_source(rows state, std::vector<weir::batch> changes) : state_{std::move(state)}, changes_{std::move(changes)} {}

  task<result<void>> open(self, weir::resume_point from) override {
    auto opened = weir::success();
    confirmed_ = from.confirmed;
    co_return opened;
  }

  task<result<std::optional<weir::reading>>> read(self, weir::read_limit) override {
    std::optional<weir::reading> brought;
    while (next_ < changes_.size() && !brought) {
      auto& one = changes_[next_++];
      if (!confirmed_ || *one.at > *confirmed_)
        brought.emplace(weir::reading{one, {}});
    }
    co_return std::move(brought);
  }

  task<result<void>> confirm(self, position) override {
    auto confirmed = weir::success();
    co_return confirmed;
  }

  task<result<weir::snapshot_chunk>> snapshot(self, weir::snapshot_query query) override {
    weir::snapshot_chunk chunk;
    auto next = query.after ? state_.upper_bound(*query.after) : state_.begin();
    if (next != state_.end()) {
      chunk.rows.push_back(upsert("c", next->first, next->second));
      chunk.walked = next->first;
      ++next;
    }
    chunk.last = next == state_.end();
    co_return std::move(chunk);
  }

private:
  rows state_;
  std::vector<weir::batch> changes_;
  std::optional<position> confirmed_;
  std::size_t next_ = 0;
};

result<void> run(const std::filesystem::path& path, rows state, std::vector<weir::batch> changes, std::string pipeline = "p") {
  threaded actors;
  auto stream = weir::channel::open(actors.system, {.lanes = {"search"}, .collections = {"c"}});
  REQUIRE(stream);
  weir::pipeline_options options{.from = std::make_unique<told_source>(std::move(state), std::move(changes))};
  options.to.push_back({.name = "search",
    .destination = std::make_unique<weir::sqlite_sink>(
      weir::sqlite_sink_options{.path = path, .pipeline = std::move(pipeline), .lane = "search", .collections = {"c"}})});
  options.collections = {"c"};
  auto started = weir::pipeline::start(actors.system, std::move(stream).value(), std::move(options));
  if (!started)
    return std::move(started).error();
  return started.value().wait();
}

} // namespace

TEST_CASE("a pipeline seeds the table, keeps it up to date, and follows a rewritten history") {
  const scratch_directory scratch;
  const auto path = scratch / "out.db";
  const std::vector<weir::batch> changes{
    live(at(1, 1), {upsert("c", "a", "1"), upsert("c", "b", "1")}), live(at(1, 2), {erase("c", "b")})};
  REQUIRE(run(path, {{"a", "1"}, {"older", "0"}}, changes));
  CHECK(table_reader{path}.rows("c") == rows{{"a", "1"}, {"older", "0"}});
  REQUIRE(run(path, {{"a", "1"}, {"older", "0"}}, changes)); // all of it again
  CHECK(table_reader{path}.rows("c") == rows{{"a", "1"}, {"older", "0"}});
  REQUIRE(run(path, {{"a", "2"}, {"new", "2"}}, {live(at(2, 0), {}), live(at(2, 1), {upsert("c", "new", "2")})}));
  CHECK(table_reader{path}.rows("c") == rows{{"a", "2"}, {"new", "2"}});
  CHECK(table_reader{path}.query("SELECT seeded_epoch, request FROM weir_lane") == std::vector<std::string>{"2|NULL"});
}

TEST_CASE("what the database refuses comes out of the pipeline") {
  const scratch_directory scratch;
  CHECK(run(scratch / "no/such/out.db", {}, {}).error() == errc::not_found);
  REQUIRE(run(scratch / "out.db", {}, {}));
  const auto refused = run(scratch / "out.db", {}, {}, "another");
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::wrong_owner);
  CHECK(refused.error().fact_of("found_pipeline") == "p");
}
