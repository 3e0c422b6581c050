#include "feed_log.hpp"
#include "seeds.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace core_tests {

using weir::credit;
using weir::feed_machine;

namespace {

using offsets = std::vector<std::int64_t>;

/// The simplest feed there can be.
struct naive_parity_feed {
  offsets pull() {
    offsets all;
    for (const auto& one : log.entries)
      if (one.offset > cursor && one.matches) {
        if (available.items == 0 || available.bytes == 0 || available.bytes < one.bytes)
          break;
        available = {available.items - 1, available.bytes - one.bytes};
        all.push_back(one.offset);
      }
    available = {};
    return all;
  }

  void acknowledge(std::int64_t offset) {
    if (offset > cursor && offset < log.bounds.head)
      cursor = offset;
  }

  const feed_log& log;
  std::int64_t cursor = -1;
  credit available = {};
};

/// Three feeds of one log, driven alike by one seed: the naive one, one in parity mode, and one in continued mode that goes
/// back before each pull and gives its credit back after it.
class parity_world {
public:
  /// `faithful`: only what was delivered is acknowledged, which is all that the continued feed allows.
  parity_world(std::uint64_t seed, bool faithful)
    : random_{seed},
      faithful_{faithful},
      has_holes_{random_.chance(50)},
      read_{random_.between(1, 8), random_.between(1, 100)},
      parity_{{{0, -1}}, settings(weir::feed_mode::parity)},
      continued_{{{0, -1}}, settings(weir::feed_mode::continued)} {}

  /// What went wrong; empty when nothing did.
  std::string run(int steps) {
    for (int number = 0; number < steps && failure_.empty(); ++number) {
      append();
      pull();
      for (auto count = random_.below(3); count > 0; --count)
        acknowledge();
    }
    return failure_;
  }

  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t moves() const { return moves_; }

private:
  feed_machine::settings settings(weir::feed_mode mode) const {
    feed_machine::settings how;
    how.mode = mode;
    how.read = read_;
    return how;
  }

  void append() {
    for (auto count = random_.below(5); count > 0; --count) {
      if (has_holes_ && random_.chance(20))
        log_.leave_hole(1);
      log_.append(random_.below(20), !has_holes_ || random_.chance(75));
    }
  }

  void pull() {
    const credit more{random_.below(6), random_.below(80)};
    parity_.on_head(0, log_.bounds.head);
    continued_.on_head(0, log_.bounds.head);
    naive_.available = more;
    parity_.grant(more);
    continued_.grant(more);
    continued_.rewind();
    const auto expected = naive_.pull();
    const auto in_parity = pull(parity_);
    if (faithful_) {
      check(pull(continued_) == expected, "the continued feed delivers something else");
      check(parity_.available() == continued_.available(), "the credit differs within a pull");
      check(!is_exact() || parity_.progress() == continued_.progress(), "the progress differs within a pull");
      continued_.revoke();
    }
    parity_.end_pull();
    check(in_parity == expected, "the parity feed delivers something else");
    check(parity_.available() == naive_.available, "the parity feed keeps credit");
    deliveries_ += expected.size();
    compare();
  }

  offsets pull(feed_machine& from) const {
    offsets all;
    while (true) {
      for (auto order = from.next_read(); order; order = from.next_read()) {
        const auto found = log_.read(order->after, order->limits).value();
        from.on_read(*order, found.bounds, found.entries);
      }
      if (from.next() != feed_machine::next_is::deliverable)
        return all;
      all.push_back(from.deliver().offset);
    }
  }

  void acknowledge() {
    const auto last = faithful_ && random_.chance(80) ? continued_.progress().front().delivered : log_.bounds.head;
    const auto offset = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(last) + 3)) - 1;
    if (faithful_) {
      const auto answer = continued_.acknowledge_through(0, offset);
      if (answer.has_error())
        return; // it was not delivered
    }
    const auto before = naive_.cursor;
    naive_.acknowledge(offset);
    moves_ += naive_.cursor != before ? 1 : 0;
    const auto cursor = parity_.progress().front().acked;
    const auto answer = parity_.acknowledge(0, offset);
    check(answer.has_value(), "the parity feed refuses an acknowledgement");
    const bool is_moved = parity_.progress().front().acked != cursor;
    check(answer.value() == (is_moved ? weir::acknowledged::moved : weir::acknowledged::nothing),
      "the parity feed says something else than it does");
    compare();
  }

  /// The cursors are at the same place: the same comes next. Where nothing is filtered and nothing is missing, they are equal.
  void compare() {
    const auto parity = parity_.progress().front();
    const auto continued = continued_.progress().front();
    check(log_.next_match(parity.acked) == log_.next_match(naive_.cursor), "the parity feed's cursor is elsewhere");
    check(parity.delivered == parity.acked && parity.in_flight == 0, "the parity feed holds something between pulls");
    if (faithful_)
      check(log_.next_match(continued.acked) == log_.next_match(naive_.cursor), "the continued feed's cursor is elsewhere");
    if (is_exact()) {
      check(parity.acked == naive_.cursor, "the parity feed's cursor differs");
      check(!faithful_ || continued.acked == naive_.cursor, "the continued feed's cursor differs");
    }
  }

  bool is_exact() const { return !has_holes_; }

  void check(bool holds, const char* sentence) {
    if (!holds && failure_.empty())
      failure_ = sentence;
  }

  random_source random_;
  bool faithful_;
  bool has_holes_;
  weir::entry_limits read_;
  feed_log log_;
  naive_parity_feed naive_{log_};
  feed_machine parity_;
  feed_machine continued_;
  std::uint64_t deliveries_ = 0;
  std::uint64_t moves_ = 0;
  std::string failure_;
};

void check_seeds(bool faithful) {
  std::uint64_t deliveries = 0;
  std::uint64_t moves = 0;
  const auto all = seeds(1000);
  for (const auto seed : all) {
    parity_world world{seed, faithful};
    const auto wrong = world.run(40);
    REQUIRE_MESSAGE(wrong.empty(), replay(seed), ": ", wrong);
    deliveries += world.deliveries();
    moves += world.moves();
  }
  CHECK(deliveries > 20 * all.size()); // it is not an empty exercise
  CHECK(moves > 5 * all.size());
}

} // namespace

TEST_SUITE("feed machine parity") {
  TEST_CASE("a continued feed that goes back before each pull and revokes after it is a parity feed") {
    check_seeds(true);
  }

  TEST_CASE("a parity feed takes every acknowledgement that the simplest feed takes, delivered or not") {
    check_seeds(false);
  }
}

} // namespace core_tests
