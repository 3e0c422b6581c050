#include "checked_lane.hpp"
#include "lane_items.hpp"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using weir::credit;
using weir::outlet;

namespace core_tests {

namespace {

/// A producer, and what it has sent that has not arrived. A fenced one goes on sending for a while.
struct producer_end {
  std::uint64_t generation = 0;
  weir::sending_credit credit;
  std::uint64_t next = 0; // the sequence of its next item
  std::optional<weir::position> last;
  std::deque<std::pair<std::uint64_t, std::vector<weir::lane_item>>> sent;
};

struct held_delivery {
  std::uint64_t ordinal = 0;
  std::uint64_t bytes = 0;
  bool ended = false;
};

struct acknowledged_below {
  std::uint64_t through;
  std::uint64_t taken;
};
struct acknowledged_one {
  std::uint64_t ordinal;
};
struct returned_one {
  std::uint64_t ordinal;
  std::uint64_t due;
  std::optional<std::uint64_t> taken; // what lies behind was not, and comes again
};

/// A consumer of one outlet and one generation, and what it has said that has not arrived. Its code takes deliveries in order
/// and ends them in any.
struct consumer_end {
  outlet out = outlet::main;
  std::uint64_t generation = 0;
  weir::receiving_credit credit{{1, 1}};
  std::vector<held_delivery> deliveries; // by ordinal
  std::uint64_t taken = 0;
  std::deque<std::variant<acknowledged_below, acknowledged_one, returned_one, weir::credit>> said;
};

/// One lane and everybody around it, driven by one seed: messages arrive late, grants get lost and come twice, ends are taken
/// over, consumers die.
class lane_world {
public:
  lane_world(std::uint64_t seed, bool tiny) : random_{seed}, lane_{policy_of(random_, tiny), start_of(random_)}, tiny_{tiny} {
    attach_producer();
    attach_consumer(outlet::main);
  }

  /// Runs so many steps and then drains or drops the lane. Returns what went wrong, with the last steps; empty when nothing
  /// did.
  std::string run(int steps) {
    for (int number = 0; number < steps && is_fine(); ++number) {
      for (int tries = 0; tries < 12 && !step(); ++tries)
        ;
      settle();
    }
    if (is_fine()) {
      if (random_.chance(25))
        drop();
      else
        drain();
    }
    if (is_fine())
      return {};
    std::string text = failure_.empty() ? lane_.difference() : failure_;
    for (const auto& one : log_)
      text += "\n  " + one;
    return text;
  }

  std::uint64_t items() const { return lane_.naive().end(); }
  std::uint64_t redeliveries() const { return redeliveries_; }

private:
  static weir::lane_policy policy_of(random_source& random, bool tiny) {
    weir::lane_policy policy;
    policy.bound.items = tiny ? random.between(1, 3) : random.between(4, 64);
    policy.bound.bytes = tiny ? random.between(1, 4) * empty_bytes() : random.between(4, 100) * empty_bytes();
    if (random.chance(50))
      policy.max_attempts = static_cast<std::uint32_t>(random.between(1, 4));
    policy.dead_letters = random.chance(50) ? weir::dead_letter_policy::park : weir::dead_letter_policy::stop_lane;
    return policy;
  }

  static weir::lane_floor start_of(random_source& random) {
    if (random.chance(50))
      return {};
    return {position_at(1, 10, random.chance(50)), position_at(1, 9)};
  }

  credit window() {
    return {tiny_ ? random_.between(1, 2) : random_.between(1, 32),
      (tiny_ ? random_.between(1, 3) : random_.between(1, 40)) * empty_bytes()};
  }

  /// False when there was nothing to do for whom the dice named.
  bool step() {
    const auto dice = random_.below(1000);
    if (dice < 170)
      return publish(producers_.back());
    if (dice < 180)
      return publish(random_.pick(producers_)); // a fenced one may go on
    if (dice < 310)
      return arrive(random_.chance(80) ? producers_.back() : random_.pick(producers_));
    if (dice < 420)
      return grant();
    if (dice < 550)
      return take(who());
    if (dice < 640)
      return acknowledge(who());
    if (dice < 680)
      return acknowledge_through(who());
    if (dice < 720)
      return give_back(who());
    if (dice < 930)
      return hear(who());
    if (dice < 970)
      now_ += random_.below(6);
    else if (dice < 975)
      attach_consumer(random_.chance(75) ? outlet::main : outlet::dead_letters);
    else if (dice < 990)
      return rarely();
    return true;
  }

  bool rarely() {
    switch (random_.below(8)) {
    case 0: detach_consumer(who()); return true;
    case 1: attach_producer(); return true;
    case 2:
      if (random_.chance(90))
        return false;
      say("producer detaches", [&] { lane_.detach_producer(producers_.back().generation); });
      return true;
    case 3:
      if (lane_.machine().has_producer())
        return false;
      attach_producer();
      return true;
    default:
      if (lane_.naive().at(outlet::main).attached && !lane_.naive().is_stopped())
        return false;
      attach_consumer(outlet::main);
      return true;
    }
  }

  /// Mostly who is attached now, sometimes one that was.
  consumer_end& who() {
    auto* one = current(random_.chance(80) ? outlet::main : outlet::dead_letters);
    return one != nullptr && random_.chance(85) ? *one : random_.pick(consumers_);
  }

  /// What a lane's actor does after every event: deliver, grant, and look at everything.
  void settle() {
    for (const auto out : {outlet::main, outlet::dead_letters}) {
      auto* to = current(out);
      for (const auto& one : lane_.deliver(out, now_)) {
        note("delivered #" + std::to_string(one.ordinal) + " = item " + std::to_string(one.sequence));
        redeliveries_ += one.attempt > 1 ? 1 : 0;
        if (to == nullptr) {
          fail("delivered to nobody");
          break;
        }
        const auto bytes = lane_.naive().at(one.sequence).bytes;
        if (!to->credit.on_received(1, bytes))
          fail("more was delivered than the consumer has room for");
        to->deliveries.push_back({one.ordinal, bytes});
        if (one.ordinal + 1 != to->deliveries.size())
          fail("ordinals are not consecutive");
      }
    }
    if (const auto up_to = lane_.take_grant(lane_.naive().is_producer_starved() && random_.chance(5)))
      grants_.push_back(*up_to);
    lane_.compare(now_);
    if (lane_.machine().bound_violations() != 0)
      fail("a producer with credit was counted as a violation of the bound");
  }

  bool publish(producer_end& from) {
    std::vector<weir::lane_item> items;
    const auto most = random_.between(1, 4);
    const auto first = from.next;
    while (items.size() < most) {
      auto item = next_item(from);
      const auto bytes = size_in_bytes(item);
      if (!from.credit.may_send(bytes)) {
        if (random_.chance(50))
          say("probe", [&] { lane_.on_probe(from.generation, from.credit.wanted_for(bytes)); });
        break;
      }
      from.credit.spend(bytes);
      ++from.next;
      if (const auto* at = position_of(item))
        from.last = *at;
      items.push_back(std::move(item));
    }
    if (items.empty())
      return false;
    from.sent.emplace_back(first, std::move(items));
    return true;
  }

  weir::lane_item next_item(const producer_end& from) {
    const auto last = from.last.value_or(position_at(1, 0));
    auto at = position_at(last.epoch, last.seq + random_.between(1, 2), random_.chance(70));
    if (!last.ends_transaction)
      at.seq = last.seq;
    if (random_.chance(5))
      at = position_at(last.epoch + 1, random_.between(1, 3), random_.chance(70));
    switch (random_.below(10)) {
    case 0: return snapshot(random_.below(100));
    case 1: return marker();
    case 2: return live_with(at, random_.below(6) * empty_bytes());
    case 3: return live_with(at, random_.chance(20) ? 120 * empty_bytes() : 0); // larger than any window, now and then
    default: return live(at.epoch, at.seq, at.ends_transaction);
    }
  }

  bool arrive(producer_end& from) {
    if (from.sent.empty())
      return false;
    auto [first, items] = std::move(from.sent.front());
    from.sent.pop_front();
    say("data of producer " + std::to_string(from.generation) + " from " + std::to_string(first),
      [&] { lane_.receive(from.generation, first, std::move(items)); });
    return true;
  }

  bool grant() {
    if (grants_.empty())
      return false;
    const auto index = random_.below(grants_.size());
    const auto up_to = grants_[index];
    const auto fate = random_.below(10);
    if (fate > 0) // else it is lost
      producers_.back().credit.on_grant(up_to);
    if (fate < 9) // else it comes again
      grants_.erase(grants_.begin() + static_cast<long>(index));
    return true;
  }

  void attach_producer() {
    grants_.clear();
    producer_end next;
    say("producer attaches", [&] { next.generation = lane_.attach_producer(); });
    next.credit = lane_.machine().producer_credit();
    next.next = lane_.machine().received_items();
    next.last = lane_.machine().last_position();
    producers_.push_back(std::move(next));
    if (producers_.size() > 3)
      producers_.erase(producers_.begin());
  }

  void attach_consumer(outlet out) {
    consumer_end next;
    next.out = out;
    next.credit = weir::receiving_credit{window()};
    say(out == outlet::main ? "consumer attaches" : "dead-letter consumer attaches",
      [&] { next.generation = lane_.attach_consumer(out, next.credit.bound()); });
    consumers_.push_back(std::move(next));
    if (consumers_.size() > 5) // the oldest that is not current
      consumers_.erase(std::ranges::find_if(consumers_, [this](const auto& one) { return current(one.out) != &one; }));
  }

  void detach_consumer(consumer_end& gone) {
    if (random_.chance(50))
      gone.said.clear(); // it died before that went out
    say("consumer detaches", [&] { lane_.detach_consumer(gone.out, gone.generation, gone.taken); });
  }

  bool take(consumer_end& one) {
    const auto before = one.taken;
    one.taken = std::min<std::uint64_t>(one.deliveries.size(), one.taken + random_.between(1, 4));
    return one.taken != before;
  }

  bool acknowledge(consumer_end& one) {
    if (one.taken == 0)
      return false;
    const auto ordinal = some_taken(one);
    end(one, ordinal);
    one.said.emplace_back(acknowledged_one{ordinal}); // perhaps for the second time
    offer_grant(one);
    return true;
  }

  bool acknowledge_through(consumer_end& one) {
    const auto through = one.taken == 0 ? 0 : some_taken(one) + 1;
    for (std::uint64_t ordinal = 0; ordinal < through; ++ordinal)
      end(one, ordinal);
    one.said.emplace_back(acknowledged_below{through, one.taken});
    offer_grant(one);
    return true;
  }

  bool give_back(consumer_end& one) {
    if (one.taken == 0)
      return false;
    const auto ordinal = some_taken(one);
    end(one, ordinal);
    returned_one back{ordinal, random_.chance(50) ? now_ : now_ + random_.below(10), std::nullopt};
    if (random_.chance(50)) {
      back.taken = one.taken;
      for (; one.taken < one.deliveries.size(); ++one.taken)
        end(one, one.taken);
    }
    one.said.emplace_back(back);
    offer_grant(one);
    return true;
  }

  /// Mostly one that the consumer still holds.
  std::uint64_t some_taken(const consumer_end& of) {
    const auto ordinal = random_.below(of.taken);
    for (auto one = ordinal; one < of.taken && random_.chance(95); ++one)
      if (!of.deliveries[one].ended)
        return one;
    return ordinal;
  }

  static void end(consumer_end& of, std::uint64_t ordinal) {
    auto& one = of.deliveries[ordinal];
    if (!std::exchange(one.ended, true))
      of.credit.on_done(1, one.bytes);
  }

  /// Grants when it is time; now and then the lane has asked.
  bool offer_grant(consumer_end& one) {
    const auto next =
      one.generation == lane_.naive().at(one.out).generation ? lane_.naive().next_sequence(one.out, now_) : std::nullopt;
    if (next && random_.chance(50)) {
      const auto& link = lane_.naive().at(one.out);
      one.credit.on_probe(
        weir::sending_credit{link.window, link.granted, link.spent}.wanted_for(lane_.naive().at(*next).bytes));
    }
    const auto up_to = one.credit.take_grant();
    if (up_to)
      one.said.emplace_back(*up_to);
    return up_to.has_value();
  }

  /// Something that a consumer said arrives; in what order is left open.
  bool hear(consumer_end& from) {
    if (from.said.empty())
      return offer_grant(from);
    const auto index = random_.chance(70) ? 0 : random_.below(from.said.size());
    const auto message = from.said[index];
    from.said.erase(from.said.begin() + static_cast<long>(index));
    const auto who = (from.out == outlet::main ? "consumer " : "dead-letter consumer ") + std::to_string(from.generation);
    if (const auto* below = std::get_if<acknowledged_below>(&message))
      say(who + " acknowledges all below #" + std::to_string(below->through),
        [&] { lane_.on_acknowledged_below(from.out, from.generation, below->through, below->taken); });
    else if (const auto* one = std::get_if<acknowledged_one>(&message))
      say(who + " acknowledges #" + std::to_string(one->ordinal),
        [&] { lane_.on_acknowledged(from.out, from.generation, one->ordinal); });
    else if (const auto* back = std::get_if<returned_one>(&message))
      say(who + " returns #" + std::to_string(back->ordinal) + ", due " + std::to_string(back->due)
            + (back->taken ? ", and what it has not taken" : ""),
        [&] {
          lane_.on_returned(from.out, from.generation, back->ordinal, back->due);
          if (back->taken)
            lane_.return_untaken(from.out, from.generation, *back->taken);
        });
    else
      say(who + " grants", [&] { lane_.on_grant(from.out, from.generation, std::get<credit>(message)); });
    return true;
  }

  /// Everything that was published is delivered to somebody who acknowledges it.
  void drain() {
    note("drain");
    auto& last = producers_.back();
    while (!last.sent.empty() && is_fine())
      arrive(last);
    if (lane_.machine().has_producer())
      lane_.detach_producer(last.generation);
    consumers_.clear();
    attach_consumer(outlet::main);
    attach_consumer(outlet::dead_letters);
    for (auto before = ~std::uint64_t{0}; is_fine() && before != lane_.naive().prefix_end();) {
      before = lane_.naive().prefix_end();
      now_ += 100;
      settle();
      for (auto& one : consumers_) {
        one.taken = one.deliveries.size();
        for (std::uint64_t ordinal = 0; ordinal < one.taken; ++ordinal)
          end(one, ordinal);
        lane_.on_acknowledged_below(one.out, one.generation, one.taken, one.taken);
        lane_.on_grant(one.out, one.generation,
          {one.credit.done().items + one.credit.bound().items, one.credit.done().bytes + one.credit.bound().bytes});
        one.credit.on_probe({});
        static_cast<void>(one.credit.take_grant());
      }
      lane_.compare(now_);
    }
    const auto& machine = lane_.machine();
    if (machine.held_items() != 0 || machine.held_bytes() != 0 || machine.released_items() != machine.received_items())
      fail("not everything was delivered and acknowledged");
    else if (machine.floor().reached != machine.last_position())
      fail("everything is acknowledged, and the floor is not the last position");
  }

  void drop() {
    say("drop", [&] { lane_.drop_all(); });
    settle();
    const auto floor = lane_.machine().floor();
    const auto released = lane_.machine().released_items();
    for (auto& one : producers_)
      while (!one.sent.empty() && is_fine())
        arrive(one);
    for (auto& one : consumers_)
      while (!one.said.empty() && is_fine()) {
        hear(one);
        settle();
      }
    if (lane_.machine().held_items() != 0 || lane_.machine().held_bytes() != 0 || lane_.machine().parked_items() != 0)
      fail("a dropped lane still holds something");
    if (!(lane_.machine().floor() == floor) || lane_.machine().released_items() != released)
      fail("something moved after the lane was dropped");
  }

  consumer_end* current(outlet out) {
    for (auto& one : consumers_)
      if (one.out == out && one.generation == lane_.naive().at(out).generation)
        return &one;
    return nullptr;
  }

  bool is_fine() const { return failure_.empty() && lane_.difference().empty(); }
  void fail(std::string sentence) {
    if (failure_.empty())
      failure_ = std::move(sentence);
  }
  void note(std::string line) {
    log_.push_back(std::move(line));
    if (log_.size() > 25)
      log_.pop_front();
  }
  void say(std::string line, const std::function<void()>& act) {
    note(std::move(line));
    act();
  }

  random_source random_;
  checked_lane lane_;
  bool tiny_;
  std::uint64_t now_ = 1000;
  std::vector<producer_end> producers_;
  std::vector<credit> grants_; // to the newest producer, under way
  std::vector<consumer_end> consumers_;
  std::uint64_t redeliveries_ = 0;
  std::string failure_;
  std::deque<std::string> log_;
};

} // namespace

TEST_SUITE("lane machine model") {
  TEST_CASE("a lane with tiny windows does what the naive lane does") {
    std::uint64_t items = 0;
    std::uint64_t redeliveries = 0;
    const auto all = seeds(200);
    for (const auto seed : all) {
      lane_world world{seed, true};
      const auto wrong = world.run(700);
      REQUIRE_MESSAGE(wrong.empty(), replay(seed), ": ", wrong);
      items += world.items();
      redeliveries += world.redeliveries();
    }
    CHECK(items > 10 * all.size()); // it is not an empty exercise
    CHECK(redeliveries > 5 * all.size());
  }

  TEST_CASE("a lane with ordinary windows does what the naive lane does") {
    std::uint64_t items = 0;
    std::uint64_t redeliveries = 0;
    const auto all = seeds(60);
    for (const auto seed : all) {
      lane_world world{seed, false};
      const auto wrong = world.run(2000);
      REQUIRE_MESSAGE(wrong.empty(), replay(seed), ": ", wrong);
      items += world.items();
      redeliveries += world.redeliveries();
    }
    CHECK(items > 60 * all.size());
    CHECK(redeliveries > 10 * all.size());
  }
}

} // namespace core_tests
