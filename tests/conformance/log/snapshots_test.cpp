#include "conformance/log/log_caller.hpp"

#include <doctest/doctest.h>

using namespace log_suite;
using namespace std::chrono_literals;
using weir::errc;

namespace {

std::vector<std::uint64_t> ids_of(const std::vector<weir::snapshot_info>& all) {
  std::vector<std::uint64_t> ids;
  for (const auto& one : all)
    ids.push_back(one.id);
  return ids;
}

using ids = std::vector<std::uint64_t>;

} // namespace

TEST_CASE("log: a snapshot comes back chunk by chunk, with what was said of it") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 3}};
  topic.append_payloads({"a", "b", "c"}, 0);
  topic.append_payloads({"d"}, 1);
  CHECK(topic.snapshots().empty());
  log.clock().advance(5s);
  const texts chunks{"first", std::string(1, '\0'), std::string(100'000, 'x'), "\xff\xfe"};
  const auto made = must(topic.snapshot({1, 0, -1}, chunks));
  CHECK(made.offsets == offsets{1, 0, -1});
  CHECK(made.chunks == 4);
  CHECK(made.bytes == 5 + 1 + 100'000 + 2);
  CHECK(made.time == log.clock().now());
  weir::chain_digest digest;
  for (const auto& one : chunks)
    digest = weir::snapshot_digest(digest, one);
  CHECK(made.digest == digest);

  // The log's own digests at its offsets, by which it is known what the snapshot is of.
  REQUIRE(made.chains.size() == 3);
  CHECK(made.chains[0] == topic.read_all(0)[1].digest);
  CHECK(made.chains[1] == topic.read_all(1)[0].digest);
  CHECK(made.chains[2] == weir::chain_begin(log.store().id(), "orders", 1, 2));

  CHECK(topic.snapshots() == std::vector<weir::snapshot_info>{made});
  for (std::size_t one = 0; one < chunks.size(); ++one)
    CHECK(must(topic.read_chunk(made.id, one)) == chunks[one]);
  CHECK(must(topic.read_chunk(made.id, 0)) == "first"); // in any order
  const auto beyond = topic.read_chunk(made.id, 4);
  CHECK(fault(beyond) == errc::no_snapshot);
  CHECK(fact(beyond, "chunks") == "4");
}

TEST_CASE("log: a snapshot is invisible until it is finished") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  const auto id = must(topic.begin_snapshot({0}));
  must(topic.add_chunk(id, "chunk"));
  CHECK(topic.snapshots().empty());
  CHECK(fault(topic.read_chunk(id, 0)) == errc::no_snapshot);
  CHECK(fault(topic.trim({.through = {0}})) == errc::not_covered);
  CHECK(must(topic.finish_snapshot(id)).id == id);
  CHECK(ids_of(topic.snapshots()) == ids{id});
  CHECK(must(topic.read_chunk(id, 0)) == "chunk");
}

TEST_CASE("log: nothing is added to a snapshot that is finished, or that was never begun") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic_caller other{log, "bills"};
  const auto id = must(topic.snapshot({-1}, {"chunk"})).id;
  for (const auto wrong : {id, id + 1, std::uint64_t{0}, ~std::uint64_t{0} >> 1}) {
    const auto refused = topic.add_chunk(wrong, "more");
    CHECK(fault(refused) == errc::no_snapshot);
    CHECK(fact(refused, "snapshot") == std::to_string(wrong));
    CHECK(fault(topic.finish_snapshot(wrong)) == errc::no_snapshot);
  }
  CHECK(must(topic.read_chunk(id, 0)) == "chunk");
  CHECK(topic.snapshots().front().chunks == 1);
  const auto begun = must(other.begin_snapshot({-1}));
  if (begun != id) { // where stores number them together
    CHECK(fault(topic.add_chunk(begun, "more")) == errc::no_snapshot);
    CHECK(fault(topic.finish_snapshot(begun)) == errc::no_snapshot);
  }
}

TEST_CASE("log: a snapshot that is not there is told from one that is") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic_caller other{log, "bills"};
  CHECK(fault(topic.read_chunk(1, 0)) == errc::no_snapshot);
  const auto id = must(topic.snapshot({-1}, {"chunk"})).id;
  const auto none = topic.read_chunk(id + 1, 0);
  CHECK(fault(none) == errc::no_snapshot);
  CHECK(fact(none, "topic") == "orders");
  CHECK(fact(none, "snapshot") == std::to_string(id + 1));
  CHECK(fault(topic.read_chunk(0, 0)) == errc::no_snapshot);
  CHECK(fault(other.read_chunk(id, 0)) == errc::no_snapshot);
  CHECK(other.snapshots().empty());
}

TEST_CASE("log: the latest snapshot at an offset wins, and others stay") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"a", "b"}, 0);
  topic.append_payloads({"c"}, 1);
  const auto low = must(topic.snapshot({0, -1}, {"low"})).id;
  const auto first = must(topic.snapshot({1, 0}, {"first", "of two"})).id;
  const auto aside = must(topic.snapshot({1, -1}, {"aside"})).id;
  const auto second = must(topic.snapshot({1, 0}, {"second"})).id;
  CHECK(ids_of(topic.snapshots()) == ids{low, aside, second}); // oldest first
  CHECK(low < first);
  CHECK(first < aside);
  CHECK(aside < second);
  CHECK(fault(topic.read_chunk(first, 0)) == errc::no_snapshot);
  CHECK(must(topic.read_chunk(second, 0)) == "second");
  CHECK(must(topic.read_chunk(low, 0)) == "low");
}

TEST_CASE("log: the latest at an offset is the one that was finished last") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto early = must(topic.begin_snapshot({-1}));
  const auto late = must(topic.begin_snapshot({-1}));
  must(topic.add_chunk(early, "of the early"));
  must(topic.add_chunk(late, "of the late"));
  must(topic.add_chunk(early, "more"));
  must(topic.finish_snapshot(late));
  must(topic.finish_snapshot(early));
  CHECK(ids_of(topic.snapshots()) == ids{early});
  CHECK(must(topic.read_chunk(early, 1)) == "more");
  CHECK(fault(topic.read_chunk(late, 0)) == errc::no_snapshot);
}

TEST_CASE("log: a snapshot may have no chunk at all, and one at -1 is of nothing") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto made = must(topic.snapshot({-1}, {}));
  CHECK(made.chunks == 0);
  CHECK(made.bytes == 0);
  CHECK(made.digest == weir::chain_digest{});
  CHECK(made.chains.front() == weir::chain_begin(log.store().id(), "orders", 1, 0));
  CHECK(topic.snapshots() == std::vector<weir::snapshot_info>{made});
  CHECK(fault(topic.read_chunk(made.id, 0)) == errc::no_snapshot);
}

TEST_CASE("log: a chunk has 1 byte to 4 MiB") {
  log_caller log;
  topic_caller topic{log, "orders"};
  const auto id = must(topic.begin_snapshot({-1}));
  const auto empty = topic.add_chunk(id, "");
  CHECK(fault(empty) == errc::invalid_argument);
  CHECK(fact(empty, "size") == "0");
  CHECK(fault(topic.add_chunk(id, std::string(weir::max_snapshot_chunk + 1, 'x'))) == errc::invalid_argument);
  const std::string largest(weir::max_snapshot_chunk, 'y');
  must(topic.add_chunk(id, largest));
  must(topic.add_chunk(id, "z"));
  const auto made = must(topic.finish_snapshot(id)); // what was refused is not in it
  CHECK(made.chunks == 2);
  CHECK(made.bytes == weir::max_snapshot_chunk + 1);
  CHECK(must(topic.read_chunk(id, 0)) == largest);
  CHECK(must(topic.read_chunk(id, 1)) == "z");
}

TEST_CASE("log: a snapshot is of offsets that there are") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"a", "b"}, 1);
  const auto ahead = topic.begin_snapshot({-1, 2});
  CHECK(fault(ahead) == errc::ahead_of_head);
  CHECK(fact(ahead, "shard") == "1");
  CHECK(fact(ahead, "requested") == "2");
  CHECK(fact(ahead, "head") == "2");
  CHECK(fault(topic.begin_snapshot({0, 1})) == errc::ahead_of_head);
  CHECK(fault(topic.begin_snapshot({-1})) == errc::invalid_argument);
  CHECK(fault(topic.begin_snapshot({-1, -1, -1})) == errc::invalid_argument);
  CHECK(fault(topic.begin_snapshot({-1, -2})) == errc::invalid_argument);
  must(topic.begin_snapshot({-1, 1}));
}

TEST_CASE("log: a snapshot at an offset that was trimmed is refused, unless what follows it is retained") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a", "b", "c", "d"});
  const auto there = topic.read_all();
  must(topic.force_trim(1));
  const auto expired = topic.begin_snapshot({0});
  CHECK(fault(expired) == errc::cursor_expired);
  CHECK(fact(expired, "earliest") == "2");
  const auto made = must(topic.snapshot({1}, {"state"}));
  CHECK(made.chains.front() == there[1].digest);
  must(topic.force_trim(3));
  CHECK(must(topic.snapshot({3}, {"all"})).chains.front() == there[3].digest);
}

TEST_CASE("log: snapshots go with the log, when what follows them is gone") {
  log_caller log;
  topic_caller topic{log, "orders", {.shards = 2}};
  topic.append_payloads({"a", "b", "c", "d"}, 0);
  topic.append_payloads({"e", "f"}, 1);
  const auto first = must(topic.snapshot({0, 1}, {"first"})).id;
  const auto second = must(topic.snapshot({2, -1}, {"second"})).id;
  const auto third = must(topic.snapshot({3, 1}, {"third"})).id;
  must(topic.force_trim(0, 0));
  CHECK(ids_of(topic.snapshots()) == ids{first, second, third}); // the next entry is there
  must(topic.force_trim(1, 0));
  CHECK(ids_of(topic.snapshots()) == ids{second, third});
  const auto trimmed = topic.read_chunk(first, 0);
  CHECK(fault(trimmed) == errc::snapshot_trimmed);
  CHECK(fact(trimmed, "snapshot") == std::to_string(first));
  CHECK(must(topic.read_chunk(second, 0)) == "second");
  must(topic.force_trim(0, 1)); // in one shard is enough
  CHECK(ids_of(topic.snapshots()) == ids{third});
  CHECK(fault(topic.read_chunk(second, 0)) == errc::snapshot_trimmed);
  CHECK(fault(topic.read_chunk(third + 100, 0)) == errc::no_snapshot);
  must(topic.force_trim(3, 0));
  must(topic.force_trim(1, 1));
  CHECK(ids_of(topic.snapshots()) == ids{third}); // all of the log is in it
}

TEST_CASE("log: a snapshot that was trimmed over before it was finished is not finished") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a", "b", "c"});
  const auto id = must(topic.begin_snapshot({0}));
  must(topic.add_chunk(id, "chunk"));
  must(topic.force_trim(1));
  CHECK(fault(topic.finish_snapshot(id)) == errc::snapshot_trimmed);
  CHECK(topic.snapshots().empty());
}

TEST_CASE("log: a snapshot that is begun and not finished goes away by itself") {
  log_caller log;
  topic_caller topic{log, "orders"};
  topic.append_payloads({"a"});
  const auto forgotten = must(topic.begin_snapshot({0}));
  must(topic.add_chunk(forgotten, "chunk"));
  log.clock().advance(23h);
  const auto slow = must(topic.begin_snapshot({0}));
  must(topic.add_chunk(forgotten, "still there"));
  log.clock().advance(2h);
  const auto next = must(topic.begin_snapshot({0}));
  CHECK(fault(topic.add_chunk(forgotten, "too late")) == errc::no_snapshot);
  CHECK(fault(topic.finish_snapshot(forgotten)) == errc::no_snapshot);
  must(topic.add_chunk(slow, "chunk"));
  must(topic.finish_snapshot(slow));
  must(topic.finish_snapshot(next));
}

TEST_CASE("log: a damaged chunk is found when it is read, and the others can be read") {
  log_caller log;
  if (lacks(log.store().capabilities().verifies, "nothing of it is verified"))
    return;
  topic_caller topic{log, "orders"};
  const texts chunks{"first chunk", "second chunk", "third chunk"};
  for (std::uint64_t bad = 0; bad < chunks.size(); ++bad) {
    const auto id = must(topic.snapshot({-1}, chunks)).id;
    REQUIRE(log.place().damage_chunk("orders", id, bad));
    for (std::uint64_t one = 0; one < chunks.size(); ++one) {
      const auto read = topic.read_chunk(id, one);
      if (one != bad) {
        CHECK(must(read) == chunks[one]);
        continue;
      }
      CHECK(fault(read) == errc::snapshot_corrupt);
      CHECK(fact(read, "snapshot") == std::to_string(id));
      CHECK(fact(read, "chunk") == std::to_string(bad));
    }
  }
}

TEST_CASE("log: snapshots are there after the store was opened anew") {
  log_caller log;
  if (lacks(log.store().capabilities().survives_process, "nothing of it outlives its store"))
    return;
  weir::snapshot_info kept;
  std::uint64_t gone = 0;
  {
    topic_caller topic{log, "orders"};
    topic.append_payloads({"a", "b", "c"});
    gone = must(topic.snapshot({0}, {"gone"})).id;
    kept = must(topic.snapshot({2}, {"kept", "whole"}));
    must(topic.force_trim(1));
  }
  log.reopen();
  topic_caller topic{log, "orders"};
  CHECK(topic.snapshots() == std::vector<weir::snapshot_info>{kept});
  CHECK(must(topic.read_chunk(kept.id, 1)) == "whole");
  CHECK(fault(topic.read_chunk(gone, 0)) == errc::snapshot_trimmed);
  CHECK(must(topic.snapshot({2}, {"new"})).id > kept.id);
}

TEST_CASE("log: a snapshot is seen at once through another connection") {
  log_caller log;
  if (lacks(log.place().is_shared(), "no second connection to the same store"))
    return;
  topic_caller here{log, "orders"};
  topic_caller there{log, must(log.open_topic(log.place().open(), "orders"))};
  const auto made = must(here.snapshot({-1}, {"chunk"}));
  CHECK(there.snapshots() == std::vector<weir::snapshot_info>{made});
  CHECK(must(there.read_chunk(made.id, 0)) == "chunk");
}
