#include <weir/lane_cursor.hpp>

#include "lane_items.hpp"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using core_tests::live;
using core_tests::position_at;
using weir::lane_checkpoint;
using weir::lane_cursor;
using weir::lane_machine;

namespace {

/// One entry of the log, as far as one lane is concerned.
struct known_entry {
  bool is_ours = false;
  std::optional<weir::position> at = {};
  bool is_acknowledged = false;
};

/// Of what was read, or of a floor that was known before.
std::optional<weir::position> floor_of(
  const std::vector<known_entry>& log, std::int64_t next, std::optional<weir::position> floor) {
  for (std::int64_t offset = 0; offset < next; ++offset) {
    const auto& one = log[static_cast<std::size_t>(offset)];
    if (!one.is_ours || !one.at)
      continue;
    if (!one.is_acknowledged)
      break;
    if (!floor || !covers(*floor, *one.at))
      floor = one.at;
  }
  return floor;
}

/// A process that reads the log into a lane, and a consumer that acknowledges in any order; all but the log and the checkpoint
/// ends with it.
class reader {
public:
  reader(std::vector<known_entry>& log, std::int64_t acknowledged, const lane_checkpoint& kept)
    : log_{log},
      cursor_{acknowledged, kept},
      lane_{{.bound = {.items = 64, .bytes = 1u << 20}}, kept.floor} {
    producer_ = lane_.attach_producer();
    consumer_ = lane_.attach_consumer(weir::outlet::main, {1u << 20, 1u << 30});
  }

  bool read_one() {
    const auto offset = cursor_.next();
    if (offset >= static_cast<std::int64_t>(log_.size()))
      return false;
    const auto& one = log_[static_cast<std::size_t>(offset)];
    if (!one.is_ours) {
      cursor_.pass(offset);
      return true;
    }
    if (cursor_.pass_if_acknowledged(offset, one.at ? &*one.at : nullptr)) {
      REQUIRE(one.is_acknowledged);
      return true;
    }
    REQUIRE(!one.is_acknowledged); // nothing that was acknowledged comes again
    std::vector<weir::lane_item> items;
    items.push_back(one.at ? live(one.at->epoch, one.at->seq, one.at->ends_transaction) : core_tests::snapshot());
    REQUIRE(lane_.receive(producer_, given_.size(), std::move(items)));
    cursor_.lend(offset);
    given_.push_back(offset);
    (void)lane_.lend(weir::outlet::main, 0, 1);
    (void)lane_.take_grant(true);
    return true;
  }

  void acknowledge(std::size_t item) {
    lane_.on_acknowledged(weir::outlet::main, consumer_, item);
    log_[static_cast<std::size_t>(given_[item])].is_acknowledged = true;
  }

  const lane_cursor& report() {
    cursor_.on_progress(lane_.progress());
    return cursor_;
  }

  std::size_t given() const { return given_.size(); }
  bool is_full() const { return cursor_.lent() >= 64; }

private:
  std::vector<known_entry>& log_;
  lane_cursor cursor_;
  lane_machine lane_;
  std::uint64_t producer_ = 0;
  std::uint64_t consumer_ = 0;
  std::vector<std::int64_t> given_; // the offset of each item
};

std::vector<known_entry> any_log(core_tests::random_source& random, std::size_t count) {
  std::vector<known_entry> log;
  std::uint64_t seq = 1;
  bool is_open = false;
  for (std::size_t one = 0; one < count; ++one) {
    known_entry made;
    made.is_ours = random.chance(70);
    if (random.chance(75)) {
      seq += is_open ? 0 : random.between(1, 3);
      is_open = made.is_ours && random.chance(25); // a part: the next one has the same seq
      made.at = position_at(1, seq, !is_open);
    }
    if (is_open && !made.at)
      made.is_ours = false;
    log.push_back(made);
  }
  return log;
}

} // namespace

TEST_SUITE("lane cursor") {
  TEST_CASE("entries of others, and what is acknowledged without a hole, move it") {
    lane_cursor cursor{-1, {}};
    CHECK(cursor.next() == 0);
    CHECK(cursor.acknowledged() == -1);
    cursor.pass(2);
    CHECK(cursor.acknowledged() == 2);
    cursor.lend(5);
    cursor.lend(6);
    CHECK(cursor.next() == 7);
    CHECK(cursor.acknowledged() == 4);
    cursor.on_progress({.floor = {position_at(1, 7), position_at(1, 7)}, .released = 1, .settled_below = 1});
    CHECK(cursor.acknowledged() == 5);
    CHECK(cursor.checkpoint().settled_below == 6);
    cursor.pass(9);
    CHECK(cursor.acknowledged() == 5);
    cursor.on_progress({.floor = {position_at(1, 8), position_at(1, 8)}, .released = 2, .settled_below = 2});
    CHECK(cursor.acknowledged() == 9);
    CHECK(cursor.checkpoint().settled_below == 10);
    CHECK(cursor.checkpoint().acknowledged.empty());
  }

  TEST_CASE("what is acknowledged behind a hole is kept as runs of offsets, also before it was read again") {
    lane_cursor cursor{4, {{}, {{9, 11}, {20, 30}}, 0}};
    for (const auto offset : {5, 6, 8})
      cursor.lend(offset);
    CHECK(cursor.pass_if_acknowledged(9, nullptr));
    CHECK(cursor.pass_if_acknowledged(11, nullptr));
    CHECK(!cursor.pass_if_acknowledged(12, nullptr));
    cursor.lend(14);
    cursor.on_progress({.released = 1, .settled_below = 1, .acknowledged = {{2, 3}}});
    using runs = std::vector<std::pair<std::int64_t, std::int64_t>>;
    CHECK(cursor.acknowledged() == 5);
    CHECK(cursor.checkpoint().acknowledged == runs{{8, 14}, {20, 30}});
  }

  TEST_CASE("what was acknowledged behind a hole is known before it is read again, and a loss is kept") {
    lane_cursor cursor{4, {{}, {{9, 11}}, 0}};
    for (const auto offset : {8, 12})
      CHECK_FALSE(cursor.is_acknowledged(offset));
    for (const auto offset : {9, 10, 11})
      CHECK(cursor.is_acknowledged(offset));
    CHECK_FALSE(cursor.checkpoint().has_lost);
    cursor.note_loss();
    cursor.lend(5);
    cursor.on_progress({.released = 1, .settled_below = 1});
    CHECK(cursor.checkpoint().has_lost);
  }

  TEST_CASE("a lane's stated floor passes over what it covers, unless that is inside of a transaction") {
    const auto at = position_at(1, 5);
    const auto below = position_at(1, 4);
    const auto above = position_at(1, 6);
    lane_cursor stated{-1, {{at, at}, {}, 0}};
    CHECK(stated.pass_if_acknowledged(0, &below));
    CHECK(stated.pass_if_acknowledged(1, &at));
    CHECK(!stated.pass_if_acknowledged(2, &above));
    CHECK(!stated.pass_if_acknowledged(2, nullptr));
    CHECK(stated.acknowledged() == 1);
    CHECK(stated.checkpoint().floor.reached == at);
    const auto open = position_at(1, 5, false);
    lane_cursor inside{-1, {{open, below}, {}, 0}};
    CHECK(!inside.pass_if_acknowledged(1, &open));
  }

  TEST_CASE("a reader that ends at any moment loses nothing, and brings nothing again that its checkpoint knew") {
    for (const auto seed : core_tests::seeds(2'000)) {
      INFO(core_tests::replay(seed));
      core_tests::random_source random{seed};
      auto log = any_log(random, random.between(1, 120));
      std::int64_t acknowledged = -1;
      lane_checkpoint kept;
      for (int life = 0; life < 6; ++life) {
        reader now{log, acknowledged, kept};
        std::vector<std::size_t> held;
        for (auto steps = random.below(150); steps > 0; --steps) {
          const auto before = now.given();
          if (!now.is_full() && random.chance(60) && now.read_one() && now.given() > before)
            held.push_back(before);
          else if (!held.empty()) {
            auto& one = random.chance(50) ? held.front() : random.pick(held);
            now.acknowledge(one);
            std::swap(one, held.back());
            held.pop_back();
          }
          if (random.chance(30)) {
            const auto& stored = now.report();
            REQUIRE(stored.checkpoint().floor.reached == floor_of(log, stored.next(), kept.floor.reached));
            REQUIRE(stored.acknowledged() >= acknowledged);
          }
        }
        const auto& stored = now.report();
        acknowledged = stored.acknowledged();
        kept = stored.checkpoint();
        const auto encoded = weir::decode_lane_checkpoint(weir::encode_lane_checkpoint(kept));
        REQUIRE(encoded);
        kept = encoded.value();
      }
      // The last life reads all the rest.
      reader last{log, acknowledged, kept};
      for (std::size_t next = 0; last.read_one();)
        for (; next < last.given(); ++next)
          last.acknowledge(next), (void)last.report();
      for (const auto& one : log)
        REQUIRE((!one.is_ours || one.is_acknowledged));
    }
  }
}
