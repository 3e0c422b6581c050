#include <weir/checkpoint.hpp>

#include <doctest/doctest.h>

using weir::checkpoint;
using weir::checkpoint_commit;
using weir::errc;
using weir::next_checkpoint;

namespace {

const std::vector<weir::shard_bounds> there{{10, 20}, {0, 5}};

checkpoint_commit commit(std::vector<std::int64_t> offsets, std::optional<std::uint64_t> expected = {}) {
  return {.consumer = "search", .offsets = std::move(offsets), .metadata = "m", .expected = expected};
}

errc refused(const std::optional<checkpoint>& stored, checkpoint_commit wanted) {
  const auto next = next_checkpoint(stored, std::move(wanted), there, 1);
  REQUIRE_FALSE(next);
  return next.error().code();
}

} // namespace

TEST_CASE("checkpoint: the first is number 1, and each commit one more") {
  const auto first = next_checkpoint({}, commit({9, -1}), there, 7);
  REQUIRE(first);
  CHECK(first.value() == checkpoint{"search", {9, -1}, "m", 1, 7, false});
  const auto second = next_checkpoint(first.value(), commit({19, 4}, 1), there, 8);
  REQUIRE(second);
  CHECK(second.value().revision == 2);
  CHECK(next_checkpoint(second.value(), commit({19, 4}, 2), there, 9).value().revision == 3); // where it is, again
}

TEST_CASE("checkpoint: the expected revision must be there") {
  const checkpoint stored{"search", {12, 1}, "", 5, 0, false};
  CHECK(refused(stored, commit({12, 1})) == errc::checkpoint_conflict);
  CHECK(refused(stored, commit({12, 1}, 4)) == errc::checkpoint_conflict);
  CHECK(refused(stored, commit({12, 1}, 6)) == errc::checkpoint_conflict);
  CHECK(refused({}, commit({12, 1}, 1)) == errc::checkpoint_conflict);
}

TEST_CASE("checkpoint: no shard goes back, unless a person says so") {
  const checkpoint stored{"search", {12, 1}, "", 5, 0, false};
  CHECK(refused(stored, commit({11, 4}, 5)) == errc::checkpoint_regress);
  CHECK(refused(stored, commit({13, 0}, 5)) == errc::checkpoint_regress);
  auto reset = commit({11, 0}, 5);
  reset.may_go_back = true;
  CHECK(next_checkpoint(stored, reset, there, 0));
}

TEST_CASE("checkpoint: only what is retained, and what there is") {
  CHECK(next_checkpoint({}, commit({9, -1}), there, 0)); // right before the earliest
  CHECK(refused({}, commit({8, -1})) == errc::cursor_expired);
  CHECK(refused({}, commit({20, 0})) == errc::ahead_of_head);
  CHECK(refused({}, commit({19, 5})) == errc::ahead_of_head);
  CHECK(refused({}, commit({19, -2})) == errc::invalid_argument);
}

TEST_CASE("checkpoint: one that had expired goes on where what follows is retained") {
  const checkpoint stored{"search", {2, 1}, "", 5, 0, true};
  CHECK(refused(stored, commit({2, 1}, 5)) == errc::cursor_expired);
  const auto next = next_checkpoint(stored, commit({9, 1}, 5), there, 0);
  REQUIRE(next);
  CHECK_FALSE(next.value().expired);
}

TEST_CASE("checkpoint: name, shards and metadata are checked") {
  CHECK(refused({}, commit({9})) == errc::invalid_argument);
  CHECK(refused({}, commit({9, 0, 0})) == errc::invalid_argument);
  auto nameless = commit({9, 0});
  nameless.consumer.clear();
  CHECK(refused({}, nameless) == errc::invalid_argument);
  auto chatty = commit({9, 0});
  chatty.metadata.assign(4096, 'x');
  CHECK(next_checkpoint({}, chatty, there, 0));
  chatty.metadata += 'x';
  CHECK(refused({}, chatty) == errc::invalid_argument);
}
