#include "conformance/stream/reference.hpp"

#include <algorithm>
#include <memory>
#include <set>
#include <string>

// Seeded interleavings of everything that can be done with a stream, against the reference.

using namespace std::chrono_literals;
using namespace stream_suite;
using actor_tests::for_each_seed;
using core_tests::live_with;
using core_tests::position_at;
using weir::errc;
using weir::lane_id;
using weir::lane_item;
using weir::position;

namespace {

std::uint64_t id_of(const lane_item& item) {
  const auto* at = position_of(item);
  return at != nullptr ? at->seq : std::stoull(*std::get<weir::batch>(item).walked);
}

/// Does random things to a stream, and knows what must come of it.
class random_run {
public:
  explicit random_run(simulation& world)
    : world_{world},
      random_{world.random()},
      bench_{world},
      options_{random_options()},
      stream_{bench_.open(options_)} {
    for (const auto& lane : options_.lanes)
      join(lane, options_.floor);
    take_over_publishing();
  }

  void run(int rounds) {
    for (int round = 0; round < rounds; ++round) {
      for (auto actions = random_.between(5, 25); actions != 0; --actions) {
        act();
        if (random_.chance(20))
          begin_reading();
        for (auto steps = random_.below(12); steps != 0 && world_.step(); --steps)
          check_step();
      }
      check();
    }
    finish();
  }

private:
  struct lane_side {
    reference_lane reference;
    std::vector<std::unique_ptr<subscriber>> consumers = {};      // the newest last
    std::vector<std::pair<std::size_t, std::uint64_t>> held = {}; // by the newest: handle, item
    std::vector<pending<weir::result<arrival>>> receiving = {};   // of the newest
    std::vector<std::pair<pending<outcome>, std::uint64_t>> acking = {};
    bool was_disturbed = false;         // a consumer came or went since the last check: its acks may have been too late
    weir::window window = {};           // of the newest
    std::set<std::uint64_t> taken = {}; // sequences that the newest was given
  };

  struct offered {
    std::uint64_t id;
    std::vector<lane_id> lanes;
    std::optional<pending<outcome>> to_one;
    std::optional<pending<std::vector<outcome>>> to_all;
    bool is_noted = false; // its success
  };

  struct reading_under_way {
    pending<weir::result<weir::watermark_reading>> under_way;
    std::uint64_t lanes_changed;
  };

  stream_options random_options() {
    stream_options made;
    made.lanes.clear();
    for (std::uint64_t count = random_.between(1, 3); count != 0; --count)
      made.lanes.emplace_back("lane" + std::to_string(++lanes_made_));
    if (random_.chance(50))
      made.floor = position_at(1, 1);
    made.bound = {.items = random_.between(1, 6), .bytes = random_.chance(50) ? 1u << 20 : 2000};
    if (!new_implementation()->holds_up_publishers())
      made.bound = {}; // what is in a lane is what can be compared: all of it
    made.budget = random_.chance(50) ? 1u << 20 : 3000;
    return made;
  }

  void join(const lane_id& id, std::optional<position> floor) {
    lanes_.emplace(id, std::make_unique<lane_side>(lane_side{.reference = reference_lane{floor}}));
    ++lanes_changed_;
    take_over_consuming(id);
  }

  std::vector<lane_id> lane_ids() const {
    std::vector<lane_id> all;
    for (const auto& [id, side] : lanes_)
      all.push_back(id);
    return all;
  }

  // Actions -------------------------------------------------------------------------------------------------------------------

  void act() {
    const auto what = random_.below(100);
    if (lanes_.empty() || what >= 98)
      return add_lane();
    const auto ids = lane_ids();
    const auto id = ids[random_.below(ids.size())];
    auto& lane = *lanes_.at(id);
    if (what < 30)
      publish(what);
    else if (what < 55)
      lane.receiving.push_back(
        random_.chance(70) ? lane.consumers.back()->begin_receive() : lane.consumers.back()->begin_receive(10ms));
    else if (what < 80)
      end_lease(lane);
    else if (what < 84)
      world_.pass_time(std::chrono::milliseconds{random_.below(10)});
    else if (what < 87)
      take_over_publishing();
    else if (what < 91)
      take_over_consuming(id);
    else if (what < 93)
      kill_consumer(id);
    else if (what < 95 && !offers_.empty())
      cancel(offers_[random_.below(offers_.size())]);
    else if (what < 97 && !lane.receiving.empty())
      lane.receiving[random_.below(lane.receiving.size())].request_stop();
    else if (what == 97 && lanes_.size() > 1)
      retire_lane(id);
  }

  lane_item next_item() {
    const auto id = ++items_made_;
    if (random_.chance(15)) {
      weir::batch rows;
      rows.request = weir::request_id{1, 1};
      rows.walked = std::to_string(id);
      return rows;
    }
    auto item = live_with(position_at(1, id, random_.chance(75)), random_.below(random_.chance(10) ? 4000 : 600));
    if (random_.chance(30))
      std::get<weir::batch>(item).envelopes.reset();
    largest_ = std::max(largest_, size_in_bytes(item));
    return item;
  }

  void publish(std::uint64_t what) {
    auto item = next_item();
    offered offer{.id = items_made_, .lanes = publisher_lanes_, .to_one = {}, .to_all = {}};
    if (what < 15) {
      for (const auto& id : offer.lanes)
        if (lanes_.contains(id))
          lanes_.at(id)->reference.offer(items_made_, item);
      offer.to_all = publishers_.back()->begin_publish_all(std::move(item));
    } else {
      const auto which = random_.below(publisher_lanes_.size());
      offer.lanes = {publisher_lanes_[which]};
      if (lanes_.contains(offer.lanes[0]))
        lanes_.at(offer.lanes[0])->reference.offer(items_made_, item);
      const auto until = what < 20 ? weir::deadline{5ms} : weir::deadline::never();
      offer.to_one = publishers_.back()->begin_publish_until(std::move(item), until, which);
    }
    offers_.push_back(std::move(offer));
  }

  void cancel(offered& offer) {
    if (offer.to_one)
      offer.to_one->request_stop();
    else
      offer.to_all->request_stop();
  }

  void end_lease(lane_side& lane) {
    collect_received(lane);
    if (lane.held.empty())
      return;
    const auto which =
      lane.held.begin() + static_cast<std::ptrdiff_t>(random_.below(std::min<std::size_t>(lane.held.size(), 4)));
    const auto [handle, id] = *which;
    auto& by = *lane.consumers.back();
    const auto how = random_.below(10);
    if (how < 2) {
      const auto acking = by.begin_ack_through(handle);
      for (auto one = lane.held.begin(); one != std::next(which); ++one) {
        lane.acking.emplace_back(acking, one->second);
        lane.reference.on_acking(one->second);
      }
      lane.held.erase(lane.held.begin(), std::next(which));
      return;
    }
    lane.held.erase(which);
    if (how < 7) {
      lane.acking.emplace_back(by.begin_ack(handle), id);
      lane.reference.on_acking(id);
    } else if (how < 9) {
      (void)by.begin_nack(handle, std::chrono::milliseconds{random_.chance(50) ? 0 : random_.below(8)});
    } else {
      (void)by.begin_drop(handle);
    }
  }

  void take_over_publishing() {
    collect_published(false);
    for (auto& [id, lane] : lanes_)
      lane->reference.on_taken_over();
    publisher_lanes_ = lane_ids();
    if (!publishers_.empty() && random_.chance(30))
      publishers_.back()->kill();
    publishers_.push_back(std::make_unique<publisher>(world_, stream_, publisher_lanes_));
    for (std::size_t which = 0; which < publisher_lanes_.size(); ++which)
      (void)publishers_.back()->begin_attach(which); // nobody else publishes from here on
    publishing_was_disturbed_ = true;
  }

  void take_over_consuming(const lane_id& id) {
    auto& lane = *lanes_.at(id);
    forget_consumer(lane);
    lane.window = {};
    if (random_.chance(50))
      lane.window = {.items = random_.between(1, 4), .bytes = random_.chance(50) ? 1u << 20 : 1200};
    lane.consumers.push_back(std::make_unique<subscriber>(world_, stream_, id, lane.window));
    (void)lane.consumers.back()->begin_attach();
  }

  void kill_consumer(const lane_id& id) {
    lanes_.at(id)->consumers.back()->kill();
    take_over_consuming(id);
  }

  /// What the newest consumer has brought and done so far; from here on nobody asks it.
  void forget_consumer(lane_side& lane) {
    lane.was_disturbed = true;
    collect_received(lane);
    zombies_receiving_.insert(zombies_receiving_.end(), lane.receiving.begin(), lane.receiving.end());
    lane.receiving.clear();
    lane.held.clear();
    lane.taken.clear();
  }

  void add_lane() {
    const lane_id id{"lane" + std::to_string(++lanes_made_)};
    const auto floor = random_.chance(70) ? std::optional{position_at(1, items_made_)} : std::nullopt;
    REQUIRE(stream_.add_lane(id, floor).has_value());
    join(id, floor);
    take_over_publishing();
  }

  void retire_lane(const lane_id& id) {
    REQUIRE(stream_.retire_lane(id).has_value());
    for (auto& one : lanes_.at(id)->consumers)
      retired_.push_back(std::move(one));
    lanes_.erase(id);
    ++lanes_changed_;
  }

  void begin_reading() {
    auto under_way = watcher_.begin(
      [](weir::self, weir::stream of) -> weir::task<weir::result<weir::watermark_reading>> {
        auto op = of.watermark().read();
        co_return co_await op;
      },
      stream_);
    readings_.push_back(reading_under_way{std::move(under_way), lanes_changed_});
  }

  // What came of it -----------------------------------------------------------------------------------------------------------

  void collect_received(lane_side& lane) {
    std::erase_if(lane.receiving, [&](pending<weir::result<arrival>>& one) {
      if (!one.is_done())
        return false;
      if (one.value()) {
        const auto id = id_of(one.value().value().item);
        const auto sequence = one.value().value().sequence;
        const bool is_in_order = lane.taken.empty() || sequence > *lane.taken.rbegin() || lane.taken.contains(sequence);
        CHECK_MESSAGE(is_in_order, "an item came late, and had not been returned");
        lane.taken.insert(sequence);
        lane.reference.on_delivered(id);
        lane.held.emplace_back(one.value().value().handle, id);
      }
      return true;
    });
  }

  void collect_acknowledged(lane_side& lane) {
    for (auto& [acked, id] : lane.acking)
      if (!acked.is_done())
        lane.reference.on_acknowledged(id, false); // its actor was killed: it may have been in time
      else if (acked.value())
        lane.reference.on_acknowledged(id, !lane.was_disturbed);
      else
        CHECK(fault(acked.value()) == errc::stale_delivery);
    lane.acking.clear();
  }

  void settle_publication(const lane_id& id, std::uint64_t item, const outcome& published, bool surely) {
    if (!published) {
      const auto why = published.error().code();
      const bool is_expected = why == errc::fenced || why == errc::cancelled || why == errc::timed_out
                               || why == errc::lane_retired || why == errc::closed || why == errc::position_not_above;
      CHECK_MESSAGE(is_expected, published.error().to_string());
    } else if (const auto found = lanes_.find(id); found != lanes_.end()) {
      found->second->reference.on_published(item, surely);
    }
  }

  /// `at_rest`: nothing is under way, so what was published to a lane has arrived there, unless it was taken over on the way.
  void collect_published(bool at_rest) {
    std::erase_if(offers_, [&](offered& offer) {
      const bool surely = at_rest && !publishing_was_disturbed_;
      if (offer.to_one && offer.to_one->is_done()) {
        settle_publication(offer.lanes[0], offer.id, offer.to_one->value(), surely);
        return true;
      }
      if (offer.to_all && offer.to_all->is_done()) {
        for (std::size_t index = 0; index < offer.lanes.size(); ++index)
          settle_publication(offer.lanes[index], offer.id, offer.to_all->value()[index], surely);
        return true;
      }
      // Copies of a fan-out that still waits elsewhere are in; those of a producer that was killed may be.
      if (at_rest && offer.to_all)
        for (const auto& id : offer.lanes)
          if (const auto found = lanes_.find(id); found != lanes_.end())
            found->second->reference.on_published(offer.id, false);
      if (at_rest && offer.to_one)
        if (const auto found = lanes_.find(offer.lanes[0]); found != lanes_.end() && publishing_was_disturbed_)
          found->second->reference.on_published(offer.id, false);
      return false;
    });
  }

  // At every step: what must hold whatever is under way
  // --------------------------------------------------------------------------

  void check_step() {
    note_enqueued();
    const auto now = stream_.figures();
    CHECK(now.charged_bytes <= std::max<std::size_t>(options_.budget, largest_));
    for (const auto& lane : now.lanes) {
      CAPTURE(to_string(lane.id));
      CHECK(lane.bound_violations == 0);
      CHECK(lane.peak_items <= options_.bound.items);
      CHECK(lane.held_bytes <= std::max<std::size_t>(options_.bound.bytes, largest_)); // one that is larger is alone
      CHECK(lane.acknowledged <= lane.published);
      if (!publishing_was_disturbed_) // then a window may be filled twice, until the lane has dropped what is fenced
        CHECK(lane.published - lane.acknowledged <= options_.bound.items);
    }
    for (auto& [id, lane] : lanes_) {
      CAPTURE(to_string(id));
      collect_received(*lane);
      check_window(*lane);
    }
    check_readings();
  }

  void check_window(const lane_side& lane) const {
    CHECK(lane.held.size() <= lane.window.items);
    std::size_t bytes = 0;
    for (const auto& [handle, id] : lane.held)
      bytes += lane.reference.bytes_of(id);
    const bool is_alone = lane.held.size() == 1;
    CHECK((is_alone || bytes <= lane.window.bytes));
  }

  /// Nothing is confirmed early: a watermark that was read lies below all that is surely in a lane and surely not acknowledged.
  void check_readings() {
    std::erase_if(readings_, [&](reading_under_way& one) {
      if (!one.under_way.is_done())
        return false;
      REQUIRE(one.under_way.value().has_value());
      const auto& read = one.under_way.value().value();
      if (read.confirmable) {
        CHECK(read.confirmable->ends_transaction);
        REQUIRE(read.watermark.has_value());
        CHECK(covers(*read.watermark, *read.confirmable));
      }
      if (read.watermark && one.lanes_changed == lanes_changed_)
        for (const auto& [id, lane] : lanes_) {
          CAPTURE(to_string(id));
          const auto highest = lane->reference.highest_floor();
          CHECK_MESSAGE((highest && covers(*highest, *read.watermark)), "confirmed early");
        }
      return true;
    });
  }

  void note_enqueued() {
    const auto note = [&](const lane_id& id, std::uint64_t item, const outcome& published) {
      if (const auto found = lanes_.find(id); published && found != lanes_.end())
        found->second->reference.on_enqueued(item);
    };
    for (auto& offer : offers_) {
      if (offer.is_noted || publishing_was_disturbed_)
        continue;
      if (offer.to_one && offer.to_one->is_done())
        note(offer.lanes[0], offer.id, offer.to_one->value());
      else if (offer.to_all && offer.to_all->is_done())
        for (std::size_t index = 0; index < offer.lanes.size(); ++index)
          note(offer.lanes[index], offer.id, offer.to_all->value()[index]);
      else
        continue;
      offer.is_noted = true;
    }
  }

  // Comparing -----------------------------------------------------------------------------------------------------------------

  void check() {
    world_.settle();
    collect_published(true);
    for (const auto& figures : stream_.figures().lanes) {
      CHECK(figures.bound_violations == 0);
      CHECK(figures.peak_items <= options_.bound.items);
    }
    for (auto& [id, lane] : lanes_) {
      CAPTURE(to_string(id));
      collect_received(*lane);
      collect_acknowledged(*lane);
      forget_consumer(*lane);
      // The ones before go first: what they hold is charged, and what waits for room would come in later.
      lane->consumers.clear();
      lane->window = {};
      lane->consumers.push_back(std::make_unique<subscriber>(world_, stream_, id));
      world_.settle();
    }
    for (auto& [id, lane] : lanes_) {
      CAPTURE(to_string(id));
      const auto all = lane->consumers.back()->receive_all(); // acknowledges nothing, so nothing moves
      numbers there;
      for (const auto& one : all) {
        there.push_back(id_of(one.item));
        lane->held.emplace_back(one.handle, there.back());
        lane->taken.insert(one.sequence);
        lane->reference.on_delivered(there.back());
      }
      lane->reference.settle(there);
      lane->was_disturbed = false;
    }
    publishing_was_disturbed_ = false;
    compare();
  }

  void compare() {
    std::optional<position> watermark;
    std::optional<position> confirmable;
    bool is_first = true;
    bool is_empty = true;
    for (const auto& [id, lane] : lanes_) {
      const auto floor = lane->reference.floor();
      const auto ending = lane->reference.confirmable();
      is_empty = is_empty && lane->reference.is_empty();
      watermark = is_first ? floor : watermark && floor ? std::optional{lesser(*watermark, *floor)} : std::nullopt;
      confirmable = is_first ? ending : confirmable && ending ? std::optional{lesser(*confirmable, *ending)} : std::nullopt;
      is_first = false;
    }
    const auto reading = read_watermark(world_, stream_);
    CHECK(reading.watermark == watermark);
    CHECK(reading.confirmable == confirmable);
    if (reading.watermark && watermark)
      CHECK(reading.watermark->ends_transaction == watermark->ends_transaction);
    std::string counts;
    for (const auto& one : stream_.figures().lanes)
      counts += to_string(one.id) + ": " + std::to_string(one.published) + " published, " + std::to_string(one.acknowledged)
                + " acknowledged; ";
    CAPTURE(counts);
    CHECK(stream_.idle() == is_empty);
  }

  /// Closes, takes everything that is left, and lets go: then nothing is held anywhere.
  void finish() {
    const bool abort = random_.chance(30);
    stream_.close(abort ? weir::close_mode::abort : weir::close_mode::drain);
    world_.settle();
    collect_published(true);
    for (auto& [id, lane] : lanes_) {
      CAPTURE(to_string(id));
      for (auto& one : lane->held)
        (void)lane->consumers.back()->ack(one.first);
      subscriber last{world_, stream_, id};
      if (abort) {
        CHECK(fault(last.receive()) == errc::closed);
        continue;
      }
      for (;;) {
        const auto next = last.receive();
        if (!next) {
          CHECK(fault(next) == errc::end_of_lane);
          break;
        }
        CHECK(last.ack(next.value().handle).has_value());
      }
    }
    world_.settle();
    if (!abort)
      CHECK(stream_.idle());
    for (auto& [id, lane] : lanes_)
      lane->consumers.clear();
    retired_.clear();
    publishers_.clear();
    world_.settle();
    if (!abort)
      CHECK(stream_.figures().charged_bytes == 0);
  }

  simulation& world_;
  core_tests::random_source& random_;
  bench bench_;
  std::uint64_t lanes_made_ = 0;
  std::uint64_t items_made_ = 1;
  stream_options options_;
  weir::stream stream_;
  std::map<lane_id, std::unique_ptr<lane_side>> lanes_;
  std::vector<std::unique_ptr<publisher>> publishers_; // the newest last
  std::vector<lane_id> publisher_lanes_;
  std::vector<offered> offers_;
  bool publishing_was_disturbed_ = false;
  std::vector<pending<weir::result<arrival>>> zombies_receiving_;
  std::vector<std::unique_ptr<subscriber>> retired_;
  script watcher_{world_, "watcher"};
  std::vector<reading_under_way> readings_;
  std::uint64_t lanes_changed_ = 0;
  std::size_t largest_ = 0; // item, in bytes
};

} // namespace

TEST_SUITE("stream: model") {
  TEST_CASE("random interleavings agree with the reference") {
    for_each_seed(200, [](simulation& world) {
      random_run run{world};
      run.run(6);
    });
  }
}
