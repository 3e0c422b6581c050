#include <weir/group_machine.hpp>

#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using weir::errc;
using weir::group_machine;
using weir::group_table;

namespace {

using instant = group_machine::time;
using shards = std::vector<std::uint32_t>;

constexpr auto lease = 1000ms;

bool idle(std::uint32_t) {
  return true;
}

/// A store that always answers at once.
struct shared_table {
  group_table now;

  explicit shared_table(std::uint32_t count) : now{count} {}

  /// Reads, decides and writes. Returns what was gained.
  shards beat(group_machine& by, instant at, const std::function<bool(std::uint32_t)>& is_idle = idle) {
    (void)by.on_read(now, at);
    auto wanted = by.next(at, is_idle);
    REQUIRE(wanted);
    now = wanted.value();
    return by.on_written(now, at);
  }
};

} // namespace

TEST_CASE("group: the first member has all shards, and a second one its share of them") {
  shared_table in{5};
  group_machine a{1, lease};
  group_machine b{2, lease};
  CHECK(!a.is_member());
  CHECK(in.beat(a, 0ms) == shards{0, 1, 2, 3, 4});
  CHECK(a.may_deliver_until() == 750ms);
  CHECK(a.beat_at() == 250ms);
  CHECK(in.beat(b, 10ms).empty()); // all are somebody's
  const auto term = in.now.term;
  CHECK(in.beat(a, 250ms).empty());
  CHECK(a.own() == shards{0, 1, 2}); // those that it got last go
  CHECK(in.now.term == term + 1);
  CHECK(in.beat(b, 260ms) == shards{3, 4});
  CHECK(in.beat(a, 500ms).empty());
  CHECK(in.now.term == term + 2); // a beat changes nothing
  CHECK(in.now.find(1)->beats == 3);
}

TEST_CASE("group: a shard goes when nothing of it is in flight, and is not delivered from meanwhile") {
  shared_table in{2};
  group_machine a{1, lease};
  group_machine b{2, lease};
  in.beat(a, 0ms);
  in.beat(b, 1ms);
  const auto busy = [](std::uint32_t) { return false; };
  in.beat(a, 250ms, busy);
  CHECK(a.own() == shards{0, 1});
  CHECK(a.is_leaving(1));
  CHECK(!a.is_leaving(0));
  CHECK(in.beat(b, 260ms).empty());
  // b goes before it got anything: a keeps what it was about to give up.
  (void)b.on_read(in.now, 300ms);
  in.now = b.farewell().value();
  in.beat(a, 500ms, busy);
  CHECK(!a.is_leaving(1));
  CHECK(a.own() == shards{0, 1});
}

TEST_CASE("group: what was to go is not delivered from until a write says that it stays") {
  shared_table in{2};
  group_machine a{1, lease};
  group_machine b{2, lease};
  in.beat(a, 0ms);
  in.beat(b, 1ms);
  (void)a.on_read(in.now, 250ms);
  REQUIRE(a.next(250ms, idle).value().owners == std::vector<std::uint64_t>{1, 0}); // whether that arrives, it never hears
  (void)a.on_read(in.now, 1300ms);
  const auto wanted = a.next(1300ms, idle); // b is taken for dead
  REQUIRE(wanted.value().owners == std::vector<std::uint64_t>{1, 1});
  CHECK(a.is_leaving(1)); // b may be alive, and have it by now
  (void)a.on_written(wanted.value(), 1300ms);
  CHECK(!a.is_leaving(1));
}

TEST_CASE("group: who does not beat for its lease loses its seat, by the clock of whoever looks") {
  shared_table in{2};
  group_machine a{1, lease};
  group_machine b{2, lease};
  in.beat(a, 0ms);
  in.beat(b, 900ms); // it has seen a for the first time
  in.beat(b, 1899ms);
  CHECK(in.now.find(1) != nullptr);
  CHECK(in.beat(b, 1900ms) == shards{0, 1});
  CHECK(in.now.find(1) == nullptr);
  CHECK(a.on_read(in.now, 2s) == shards{0, 1});
  const auto late = a.next(2s, idle);
  REQUIRE(!late);
  CHECK(late.error() == errc::fenced);
  CHECK(a.farewell().error() == errc::fenced);
}

TEST_CASE("group: no more members than a group may have") {
  shared_table in{1};
  for (std::uint64_t id = 1; id <= weir::max_group_members; ++id) {
    group_machine one{id, lease};
    in.beat(one, 0ms);
  }
  group_machine late{99, lease};
  (void)late.on_read(in.now, 0ms);
  CHECK(late.next(0ms, idle).error() == errc::group_full);
}

TEST_CASE("group: one that comes or goes moves no more than its share") {
  for (const std::uint32_t count : {7U, 12U, 64U}) {
    shared_table in{count};
    std::vector<group_machine> all;
    auto at = instant{};
    const auto settle = [&] {
      for (int round = 0; round < 4; ++round)
        for (auto& one : all)
          in.beat(one, at += 1ms);
    };
    for (std::uint64_t id = 1; id <= 5; ++id) {
      all.emplace_back(id, lease);
      const auto before = in.now.owners;
      settle();
      std::size_t moved = 0;
      for (std::uint32_t shard = 0; shard < count; ++shard)
        moved += before[shard] != in.now.owners[shard] ? 1 : 0;
      CHECK(moved == in.now.shards_of(id).size());
    }
    const auto before = in.now.owners;
    (void)all[2].on_read(in.now, at);
    in.now = all[2].farewell().value();
    all.erase(all.begin() + 2);
    settle();
    for (std::uint32_t shard = 0; shard < count; ++shard)
      CHECK((before[shard] == 3 || in.now.owners[shard] == before[shard]));
  }
}

namespace {

/// A store whose answers take time, or never come; members that stop for a while, die, leave and come.
class world {
public:
  explicit world(std::uint64_t seed) : random_{seed}, table_{static_cast<std::uint32_t>(random_.between(1, 6))} {
    floors_.resize(table_.owners.size());
    for (auto left = random_.between(1, 4); left > 0; --left)
      join();
  }

  void run(int steps) {
    for (int step = 0; step < steps; ++step) {
      now_ += 10ms;
      disturb();
      tick();
    }
    for (auto& one : members_)
      one->paused_until = now_;
    is_calm_ = true;
    const auto calm = now_ + 6 * instant{lease};
    while (now_ < calm) {
      now_ += 10ms;
      tick();
    }
    for (const auto& one : members_) {
      const auto own = table_.shards_of(one->machine.id());
      CHECK(own.size() == table_.share_of(one->machine.id()));
      CHECK(own.size() == one->machine.own().size());
    }
    for (const auto owner : table_.owners)
      CHECK(owner != group_table::nobody);
    CHECK(table_.seats.size() == members_.size());
  }

  std::uint64_t moves() const { return moves_; }
  std::uint64_t fenced() const { return fenced_; }

private:
  struct call {
    bool is_read = false;
    instant sent;
    instant arrives; // at the store
    instant answered;
    group_table wanted{0};
    std::uint64_t expected = 0;
    std::vector<std::int64_t> offsets;
    std::optional<std::uint64_t> revision; // of what was read, or written; absent: refused
    bool is_done = false;
  };

  struct member {
    member(std::uint64_t id) : machine{id, lease} {}

    group_machine machine;
    instant paused_until{};
    std::shared_ptr<call> under_way;
    instant began{}; // the read
    instant due{};
    std::uint64_t revision = 0;
    std::vector<std::int64_t> done; // of each shard: handled up to here
    std::vector<std::int64_t> in_flight;
  };

  void join() {
    auto& one = *members_.emplace_back(std::make_unique<member>(++ids_));
    one.done.assign(floors_.size(), -1);
    one.in_flight.assign(floors_.size(), -1);
    one.due = now_;
  }

  void disturb() {
    if (random_.chance(2) && members_.size() < 6)
      join();
    if (random_.chance(1) && members_.size() > 1) // killed
      members_.erase(members_.begin() + static_cast<std::ptrdiff_t>(random_.below(members_.size())));
    if (random_.chance(3))
      random_.pick(members_)->paused_until = now_ + 10ms * random_.below(200);
  }

  /// Everything that is on its way happens when it is due.
  void tick() {
    std::vector<std::shared_ptr<call>> arriving;
    for (auto& one : calls_)
      if (!one->is_done && one->arrives <= now_)
        arriving.push_back(one);
    std::ranges::sort(arriving, {}, &call::arrives);
    for (auto& one : arriving)
      arrive(*one);
    std::erase_if(calls_, [](const auto& one) { return one->is_done; });
    std::vector<member*> all;
    for (auto& one : members_)
      all.push_back(one.get());
    for (auto* one : all)
      if (one->paused_until <= now_)
        work(*one);
    std::erase_if(members_, [](const auto& one) { return one->due == instant::max(); });
    if (members_.empty())
      join();
  }

  void arrive(call& one) {
    one.is_done = true;
    if (one.is_read) {
      one.wanted = table_;
      one.offsets = floors_;
      one.revision = revision_;
      return;
    }
    if (one.expected != revision_)
      return;
    for (std::size_t shard = 0; shard < floors_.size(); ++shard) {
      CHECK(one.offsets[shard] >= floors_[shard]);
      moves_ += table_.owners[shard] != one.wanted.owners[shard] ? 1 : 0;
    }
    table_ = one.wanted;
    floors_ = one.offsets;
    one.revision = ++revision_;
  }

  void send(member& by, bool is_read) {
    auto made = std::make_shared<call>();
    made->is_read = is_read;
    made->sent = now_;
    made->arrives = now_ + 10ms * random_.below(is_calm_ ? 3 : 30);
    made->answered = made->arrives + 10ms * random_.below(is_calm_ ? 3 : 30);
    calls_.push_back(made);
    by.under_way = std::move(made);
  }

  void work(member& by) {
    consume(by);
    if (by.under_way) {
      const auto& asked = *by.under_way;
      const bool gives_up = now_ - asked.sent > 300ms; // it may arrive all the same
      if (!gives_up && (!asked.is_done || asked.answered > now_))
        return;
      const auto answer = std::exchange(by.under_way, nullptr);
      if (gives_up || !answer->revision) {
        by.due = now_ + 20ms;
        return;
      }
      by.revision = *answer->revision;
      if (answer->is_read)
        return decide(by, *answer);
      for (const auto shard : by.machine.on_written(answer->wanted, by.began)) {
        by.done[shard] = answer->offsets[shard];
        by.in_flight[shard] = -1;
      }
      by.due = by.machine.beat_at();
    } else if (now_ >= by.due) {
      by.began = now_;
      send(by, true);
    }
  }

  void decide(member& by, const call& answer) {
    (void)by.machine.on_read(answer.wanted, now_);
    auto wanted = by.machine.next(now_, [&](std::uint32_t shard) { return by.in_flight[shard] < 0; });
    if (!wanted) {
      CHECK(wanted.error() == errc::fenced);
      ++fenced_;
      by.due = instant::max(); // it goes
      return;
    }
    auto offsets = answer.offsets;
    for (const auto shard : by.machine.own())
      offsets[shard] = by.done[shard];
    send(by, false);
    by.under_way->wanted = wanted.value();
    by.under_way->expected = by.revision;
    by.under_way->offsets = std::move(offsets);
  }

  /// Takes the next entry of a shard, and is done with it some time later. Nobody else may be at it meanwhile, as long as
  /// this member may deliver.
  void consume(member& by) {
    const bool may = by.machine.may_deliver_until() && now_ < *by.machine.may_deliver_until();
    for (const auto shard : by.machine.own()) {
      auto& at = by.in_flight[shard];
      if (at >= 0 && random_.chance(40))
        by.done[shard] = std::exchange(at, -1);
      if (!may || at >= 0 || by.machine.is_leaving(shard))
        continue;
      for (const auto& other : members_) {
        const bool delivers = other.get() != &by && other->paused_until <= now_ && other->machine.may_deliver_until()
                              && now_ < *other->machine.may_deliver_until() && !other->machine.is_leaving(shard)
                              && std::ranges::find(other->machine.own(), shard) != other->machine.own().end();
        CHECK(!delivers);
      }
      CHECK(by.done[shard] >= floors_[shard]); // nothing that is committed comes again
      at = by.done[shard] + 1;
    }
  }

  core_tests::random_source random_;
  group_table table_;
  std::uint64_t revision_ = 0;
  std::vector<std::int64_t> floors_ = std::vector<std::int64_t>(table_.owners.size(), -1);
  std::vector<std::unique_ptr<member>> members_;
  std::vector<std::shared_ptr<call>> calls_;
  std::uint64_t ids_ = 0;
  instant now_ = 1s;
  bool is_calm_ = false;
  std::uint64_t moves_ = 0;
  std::uint64_t fenced_ = 0;
};

} // namespace

TEST_CASE(
  "group: whatever members and the store do, nobody delivers beside somebody else, and in the end all shards are shared out") {
  std::uint64_t moves = 0;
  std::uint64_t fenced = 0;
  for (const auto seed : core_tests::seeds(400)) {
    CAPTURE(core_tests::replay(seed));
    world all{seed};
    all.run(600);
    moves += all.moves();
    fenced += all.fenced();
  }
  CHECK(moves > 4'000);
  CHECK(fenced > 100);
}
