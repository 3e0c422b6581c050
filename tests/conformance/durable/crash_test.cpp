#include "conformance/durable/durable_place.hpp"

#include <algorithm>
#include <map>
#include <set>

// Processes that are killed at any moment, one after the other: nothing lost, nothing confirmed early, nothing again that a
// checkpoint knew.

using namespace durable_suite;
using namespace stream_suite;
using core_tests::position_at;
using weir::lane_id;
using weir::position;

namespace {

const std::vector<lane_id> names{"a", "b"};

/// The parts of one source's transactions, in order. A part is known by its number, which is its stamp.
struct source_parts {
  std::vector<position> all;

  explicit source_parts(core_tests::random_source& random, std::size_t count) {
    std::uint64_t seq = 0;
    bool is_open = false;
    while (all.size() < count) {
      seq += is_open ? 0 : random.between(1, 3);
      is_open = all.size() + 1 < count && random.chance(25);
      all.push_back(position_at(1, seq, !is_open));
      all.back().stamp = weir::stamp::from(std::to_string(all.size() - 1)).value();
    }
  }

  weir::lane_item item(std::size_t part, std::size_t payload) const {
    weir::batch made;
    made.at = all[part];
    made.changes = 1;
    weir::envelope change;
    change.payload = std::string(payload, 'x');
    made.envelopes = weir::make_block({std::move(change)});
    return made;
  }

  /// The first part behind what is stored.
  std::size_t behind(const std::optional<position>& resume) const {
    std::size_t part = 0;
    while (resume && part < all.size() && covers(*resume, all[part]))
      ++part;
    return part;
  }
};

std::size_t part_of(const weir::lane_item& item) {
  return std::stoull(std::string{position_of(item)->stamp.bytes()});
}

struct lane_knowledge {
  std::set<std::size_t> acknowledged; // by somebody's code, in whatever life
  std::set<std::size_t> of_this_life;
  std::set<std::size_t> kept; // so that it is stored
};

class killed_lives {
public:
  killed_lives(durable_place& at, std::uint64_t seed) : at_{at}, random_{seed}, source_{random_, 60}, seed_{seed} {}

  void run() {
    for (int life = 0; life < 8; ++life)
      live(life);
    finish();
  }

private:
  struct consumer_side {
    std::unique_ptr<subscriber> end;
    std::vector<std::pair<std::size_t, std::size_t>> held; // handle, part
    std::optional<pending<weir::result<arrival>>> receiving;
    std::vector<std::pair<pending<outcome>, std::size_t>> acking;
  };

  weir::durable::options options() {
    weir::durable::options wanted;
    wanted.lanes = names;
    wanted.bound = {.items = random_.between(1, 20), .bytes = random_.chance(50) ? 1u << 20 : 3000};
    wanted.log.budget = random_.chance(50) ? 1u << 20 : 2000;
    wanted.log.line_items = random_.between(1, 20);
    wanted.log.recent_bytes = random_.chance(50) ? 1u << 20 : 1000;
    return wanted;
  }

  void live(int life) {
    process now{at_, seed_ * 100 + static_cast<std::uint64_t>(life), options()};
    check_watermark(now);
    auto next = replay_behind(now.opened().resume);
    publisher out{now.world(), now.stream(), names};
    std::deque<pending<std::vector<outcome>>> offered;
    std::map<lane_id, consumer_side> sides;
    for (const auto& name : names)
      sides[name].end = std::make_unique<subscriber>(now.world(), now.stream(), name);
    for (auto actions = random_.between(10, 120); actions > 0; --actions) {
      const auto what = random_.below(100);
      auto& [name, side] = *std::next(sides.begin(), static_cast<std::ptrdiff_t>(random_.below(sides.size())));
      if (what < 35 && next < source_.all.size() && offered.size() < 30)
        offered.push_back(out.begin_publish_all(source_.item(next++, random_.below(random_.chance(10) ? 3000 : 300))));
      else if (what < 65 && !side.receiving)
        side.receiving = side.end->begin_receive();
      else if (what < 90)
        end_lease(side);
      else if (what < 93)
        settle(now, sides);
      else
        disturb(now);
      for (auto steps = random_.below(20); steps > 0 && now.world().step(); --steps)
        collect(name, side);
      while (!offered.empty() && offered.front().is_done()) {
        for (const auto& published : offered.front().value())
          CHECK(published);
        offered.pop_front();
      }
    }
    if (random_.chance(20))
      settle(now, sides);
    for (auto& [name, side] : sides)
      collect(name, side);
    // What was acknowledged by now may be stored, or may not.
    for (auto& [name, side] : sides)
      for (const auto& [acked, part] : side.acking)
        known_[name].acknowledged.insert(part);
    for (auto& [name, lane] : known_)
      lane.of_this_life.clear();
    published_ = std::max(published_, next);
    now.kill();
  }

  /// Parts of a transaction whose end was not stored come again, and are further items then.
  std::size_t replay_behind(const std::optional<position>& resume) {
    const auto first = source_.behind(resume);
    for (auto part = first; part < published_; ++part)
      replayed_.insert(part);
    return first;
  }

  void check_not_kept(const lane_id& name, std::size_t part) {
    CAPTURE(part);
    if (!replayed_.contains(part))
      CHECK_MESSAGE(!known_[name].kept.contains(part), "acknowledged and stored, and there again");
  }

  void collect(const lane_id& name, consumer_side& side) {
    if (side.receiving && side.receiving->is_done()) {
      if (auto& got = side.receiving->value()) {
        const auto part = part_of(got.value().item);
        check_not_kept(name, part);
        side.held.emplace_back(got.value().handle, part);
      }
      side.receiving.reset();
    }
    std::erase_if(side.acking, [&](auto& one) {
      if (!one.first.is_done())
        return false;
      CHECK(one.first.value());
      known_[name].acknowledged.insert(one.second);
      known_[name].of_this_life.insert(one.second);
      return true;
    });
  }

  void end_lease(consumer_side& side) {
    if (side.held.empty())
      return;
    auto& one = random_.chance(60) ? side.held.front() : random_.pick(side.held);
    if (random_.chance(80))
      side.acking.emplace_back(side.end->begin_ack(one.first), one.second);
    else
      (void)side.end->begin_nack(one.first, std::chrono::milliseconds{0});
    std::swap(one, side.held.back());
    side.held.pop_back();
  }

  /// The log is slow, or fails in passing.
  void disturb(process& now) {
    std::vector kinds{log_call::append, log_call::read, log_call::commit};
    const auto which = random_.pick(kinds);
    if (random_.chance(50))
      now.log().fail(which, random_.chance(50) ? weir::errc::io_failed : weir::errc::in_use, random_.between(1, 3));
    else if (random_.chance(50))
      now.log().hold(which);
    else
      now.log().let_go(which);
    if (random_.chance(50))
      now.world().advance(std::chrono::milliseconds{random_.below(50)});
  }

  void settle(process& now, std::map<lane_id, consumer_side>& sides) {
    now.log().let_everything_go();
    now.world().advance(std::chrono::seconds{1}); // what has failed is tried again
    for (auto& [name, side] : sides) {
      collect(name, side);
      known_[name].kept.insert(known_[name].of_this_life.begin(), known_[name].of_this_life.end());
    }
    check_watermark(now);
  }

  /// At rest, it covers nothing that some lane has not acknowledged.
  void check_watermark(process& now) {
    const auto reading = read_watermark(now.world(), now.stream());
    for (const auto& at : {reading.watermark, reading.confirmable}) {
      if (!at)
        continue;
      for (const auto& name : names)
        for (std::size_t part = 0; part < source_.all.size(); ++part) {
          // Inside of a transaction a position does not say how many of its parts there are.
          const bool is_open = *at == source_.all[part] && !at->ends_transaction;
          CAPTURE(part);
          CHECK_MESSAGE(
            (is_open || !covers(*at, source_.all[part]) || known_[name].acknowledged.contains(part)), "confirmed early");
        }
    }
  }

  /// The last life publishes and takes everything that is left.
  void finish() {
    {
      process last{at_, seed_ * 100 + 99, options()};
      publisher out{last.world(), last.stream(), names};
      std::vector<pending<std::vector<outcome>>> offered;
      for (auto next = replay_behind(last.opened().resume); next < source_.all.size(); ++next)
        offered.push_back(out.begin_publish_all(source_.item(next, 10)));
      for (const auto& name : names) {
        CAPTURE(to_string(name));
        subscriber in{last.world(), last.stream(), name};
        for (bool is_any = true; is_any;) {
          const auto all = in.receive_all();
          is_any = !all.empty();
          for (const auto& one : all) {
            check_not_kept(name, part_of(one.item));
            known_[name].acknowledged.insert(part_of(one.item));
            CHECK(in.ack(one.handle));
          }
          last.world().settle();
        }
        CHECK(known_[name].acknowledged.size() == source_.all.size()); // each at least once
      }
      for (auto& one : offered)
        CHECK(one.is_done());
      CHECK(last.stream().idle());
      const auto reading = read_watermark(last.world(), last.stream());
      CHECK(reading.watermark == source_.all.back());
      CHECK(reading.confirmable == source_.all.back());
    }
    const auto kept = bounds_of(at_);
    CHECK(kept.earliest == kept.head);
  }

  durable_place& at_;
  core_tests::random_source random_;
  source_parts source_;
  std::uint64_t seed_;
  std::map<lane_id, lane_knowledge> known_;
  std::size_t published_ = 0;      // parts that were, in whatever life
  std::set<std::size_t> replayed_; // parts that were more than once
};

} // namespace

TEST_SUITE("durable: crashes") {
  TEST_CASE("processes that are killed at any moment, one after the other") {
    for (const auto seed : core_tests::seeds(100)) {
      INFO(core_tests::replay(seed));
      const auto at = new_place();
      killed_lives{*at, seed}.run();
    }
  }
}
