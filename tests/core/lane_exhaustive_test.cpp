#include "checked_lane.hpp"
#include "lane_items.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

using weir::outlet;

namespace core_tests {

namespace {

/// What may happen to a lane, one at a time. The stale ones speak for the generation before.
enum class happening : std::uint8_t {
  publish,
  acknowledge,
  acknowledge_below,
  give_back,
  give_back_later,
  give_back_with_rest,
  pass_time,
  attach,
  detach_unseen,
  detach_seen,
  acknowledge_stale,
  acknowledge_below_stale,
  give_back_stale,
};

struct event {
  happening what{};
  weir::outlet out = outlet::main;
  std::uint64_t ordinal = 0;
};

std::string text_of(const event& one) {
  static constexpr const char* names[] = {"publish", "acknowledge", "acknowledge below", "give back", "give back for later",
    "give back, and all behind it", "let time pass", "attach", "detach, nothing seen", "detach, all seen",
    "acknowledge (stale)", "acknowledge below (stale)", "give back (stale)"};
  return std::string{names[static_cast<std::size_t>(one.what)]} + " #" + std::to_string(one.ordinal)
         + (one.out == outlet::dead_letters ? " (dead letters)" : "");
}

/// Three items, the last two of them one transaction that is cut.
weir::lane_item item_number(std::uint64_t number) {
  return live(1, number == 0 ? 1 : 2, number != 1);
}

constexpr std::uint64_t items = 3;
constexpr std::uint64_t generations = 2;

struct lane_scope {
  std::uint64_t window;
  weir::lane_policy policy;
};

/// One lane in one state, reached by a sequence of events from the start.
class small_lane {
public:
  explicit small_lane(const lane_scope& scope) : window_{scope.window}, lane_{scope.policy, {}} {
    producer_ = lane_.attach_producer();
  }

  std::vector<event> possible() const {
    std::vector<event> all;
    if (lane_.naive().end() < items)
      all.push_back({.what = happening::publish});
    if (lane_.naive().next_due(now_))
      all.push_back({.what = happening::pass_time});
    for (const auto out : {outlet::main, outlet::dead_letters}) {
      const auto& link = lane_.naive().at(out);
      if (out == outlet::dead_letters && lane_.naive().parked() == 0 && !link.attached)
        continue;
      if (link.generation < generations)
        all.push_back({.what = happening::attach, .out = out});
      if (link.attached) {
        all.push_back({.what = happening::detach_unseen, .out = out});
        all.push_back({.what = happening::detach_seen, .out = out});
        for (std::uint64_t ordinal = 0; ordinal < link.leases.size(); ++ordinal) {
          all.push_back({.what = happening::acknowledge, .out = out, .ordinal = ordinal});
          all.push_back({.what = happening::acknowledge_below, .out = out, .ordinal = ordinal + 1});
          all.push_back({.what = happening::give_back, .out = out, .ordinal = ordinal});
          all.push_back({.what = happening::give_back_later, .out = out, .ordinal = ordinal});
          all.push_back({.what = happening::give_back_with_rest, .out = out, .ordinal = ordinal});
        }
      }
      if (link.generation > 1 || (link.generation == 1 && !link.attached)) {
        all.push_back({.what = happening::acknowledge_stale, .out = out, .ordinal = 0});
        all.push_back({.what = happening::acknowledge_below_stale, .out = out, .ordinal = 2});
        all.push_back({.what = happening::give_back_stale, .out = out, .ordinal = 0});
      }
    }
    return all;
  }

  /// Carries the event out, delivers what may go, and compares when it is new.
  void apply(const event& one, bool check) {
    const auto current = lane_.naive().at(one.out).generation;
    const auto stale = lane_.naive().at(one.out).attached ? current - 1 : current;
    const auto before = check && is_stale(one) ? lane_.naive().fingerprint(now_) : std::string{};
    const auto floor = lane_.machine().floor();
    switch (one.what) {
    case happening::publish: lane_.receive(producer_, lane_.naive().end(), {item_number(lane_.naive().end())}); break;
    case happening::acknowledge: lane_.on_acknowledged(one.out, current, one.ordinal); break;
    case happening::acknowledge_below: lane_.on_acknowledged_below(one.out, current, one.ordinal, one.ordinal); break;
    case happening::give_back: lane_.on_returned(one.out, current, one.ordinal, now_); break;
    case happening::give_back_later: lane_.on_returned(one.out, current, one.ordinal, now_ + 1); break;
    case happening::give_back_with_rest:
      lane_.on_returned(one.out, current, one.ordinal, now_);
      lane_.return_untaken(one.out, current, one.ordinal + 1);
      break;
    case happening::pass_time: now_ = lane_.naive().next_due(now_).value_or(now_); break;
    case happening::attach: lane_.attach_consumer(one.out, {window_, 1u << 20}); break;
    case happening::detach_unseen: lane_.detach_consumer(one.out, current, 0); break;
    case happening::detach_seen: lane_.detach_consumer(one.out, current, lane_.naive().at(one.out).leases.size()); break;
    case happening::acknowledge_stale:
      expect(!lane_.on_acknowledged(one.out, stale, one.ordinal), "a stale lease was acknowledged");
      break;
    case happening::acknowledge_below_stale:
      expect(!lane_.on_acknowledged_below(one.out, stale, one.ordinal, one.ordinal), "stale leases were acknowledged");
      break;
    case happening::give_back_stale:
      expect(!lane_.on_returned(one.out, stale, one.ordinal, now_), "a stale lease was returned");
      break;
    }
    settle();
    if (!check)
      return;
    lane_.compare(now_);
    if (is_stale(one))
      expect(
        before == lane_.naive().fingerprint(now_) && floor == lane_.machine().floor(), "a stale message changed something");
    expect(!floor.reached || *lane_.machine().floor().reached >= *floor.reached, "the floor went back");
  }

  /// Whoever holds something acknowledges it now; nothing may be lost on the way.
  void drain() {
    while (lane_.naive().end() < items)
      lane_.receive(producer_, lane_.naive().end(), {item_number(lane_.naive().end())});
    for (const auto out : {outlet::main, outlet::dead_letters})
      lane_.attach_consumer(out, {window_, 1u << 20});
    for (std::uint64_t round = 0; round < 2 * items; ++round) {
      settle();
      for (const auto out : {outlet::main, outlet::dead_letters}) {
        const auto& link = lane_.naive().at(out);
        lane_.on_acknowledged_below(out, link.generation, link.leases.size(), link.leases.size());
      }
    }
    settle();
    lane_.compare(now_);
    expect(lane_.machine().released_items() == items, "something was lost");
    expect(
      lane_.machine().floor().reached == lane_.machine().last_position(), "all is acknowledged, the floor is not the last");
    expect(lane_.machine().floor().confirmable == lane_.machine().last_position(), "all is acknowledged and not confirmable");
  }

  std::string fingerprint() const { return lane_.naive().fingerprint(now_); }
  std::string wrong() const { return failure_.empty() ? lane_.difference() : failure_; }

private:
  static bool is_stale(const event& one) { return one.what >= happening::acknowledge_stale; }

  void expect(bool holds, const char* otherwise) {
    if (!holds && failure_.empty())
      failure_ = otherwise;
  }

  void settle() {
    for (const auto out : {outlet::main, outlet::dead_letters}) {
      const auto& link = lane_.naive().at(out);
      if (!link.attached)
        continue;
      // A consumer that grants again for everything it has done.
      const auto ended = static_cast<std::uint64_t>(std::ranges::count(link.leases, false, &naive_lane::lease::active));
      lane_.on_grant(out, link.generation, {ended + window_, std::uint64_t{1} << 20});
      std::uint64_t above = 0;
      for (const auto& one : lane_.deliver(out, now_)) {
        expect(one.sequence >= above, "deliveries are not in the order of publishing");
        above = one.sequence + 1;
        if (out == outlet::main) {
          expect(one.sequence <= newest_, "an item was passed over");
          newest_ = std::max(newest_, above);
        }
      }
      const auto active = static_cast<std::uint64_t>(std::ranges::count(link.leases, true, &naive_lane::lease::active));
      expect(active <= window_, "more is lent than the window holds");
    }
  }

  std::uint64_t window_;
  checked_lane lane_;
  std::uint64_t producer_ = 0;
  std::uint64_t now_ = 1;
  std::uint64_t newest_ = 0; // items below were delivered at least once
  std::string failure_;
};

struct explored {
  std::size_t states = 0;
  std::string wrong; ///< with the shortest sequence of events that shows it
};

/// Breadth first through every sequence of events up to `depth`, each state once.
explored explore(const lane_scope& scope, std::size_t depth) {
  struct node {
    std::size_t parent;
    event by;
    std::size_t depth;
  };
  explored result;
  std::vector<node> nodes{{0, {}, 0}};
  std::unordered_set<std::string> known{small_lane{scope}.fingerprint()};
  auto path_to = [&](std::size_t number) {
    std::vector<event> path;
    for (; number != 0; number = nodes[number].parent)
      path.push_back(nodes[number].by);
    std::ranges::reverse(path);
    return path;
  };
  for (std::size_t number = 0; number < nodes.size() && nodes[number].depth < depth; ++number) {
    const auto path = path_to(number);
    auto at_node = [&] {
      small_lane lane{scope};
      for (const auto& one : path)
        lane.apply(one, false);
      return lane;
    };
    for (const auto& one : at_node().possible()) {
      auto next = at_node();
      next.apply(one, true);
      const bool is_new = known.insert(next.fingerprint()).second;
      if (is_new) {
        nodes.push_back({number, one, nodes[number].depth + 1});
        next.drain();
      }
      if (const auto wrong = next.wrong(); !wrong.empty()) {
        result.wrong = wrong;
        for (const auto& step : path)
          result.wrong += "\n  " + text_of(step);
        result.wrong += "\n  " + text_of(one);
        return result;
      }
    }
  }
  result.states = nodes.size();
  return result;
}

} // namespace

TEST_SUITE("lane machine exhaustive") {
  TEST_CASE("three items, a window of one or two, two generations: every sequence of events") {
    for (const std::uint64_t window : {1u, 2u}) {
      CAPTURE(window);
      const auto found = explore({window, {}}, window == 1 ? 9 : 8);
      CHECK_MESSAGE(found.wrong.empty(), found.wrong);
      CHECK(found.states > 1000); // it is not an empty exercise
    }
  }

  TEST_CASE("the same with two attempts, the lane stopping or parking") {
    for (const auto policy : {weir::dead_letter_policy::stop_lane, weir::dead_letter_policy::park}) {
      weir::lane_policy two_attempts;
      two_attempts.max_attempts = 2;
      two_attempts.dead_letters = policy;
      const auto found = explore({2, two_attempts}, 8);
      CHECK_MESSAGE(found.wrong.empty(), found.wrong);
      CHECK(found.states > 1000); // it is not an empty exercise
    }
  }
}

} // namespace core_tests
