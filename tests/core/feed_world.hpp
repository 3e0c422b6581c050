#pragma once

#include <weir/feed_machine.hpp>

#include "feed_log.hpp"
#include "feed_texts.hpp"
#include "naive_feed.hpp"
#include "seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace core_tests {

/// A feed of one to three shards, the log that it reads, and whoever uses it, driven by one seed: the log grows, has holes and
/// is trimmed; reads come late, short or not at all; credit comes in all sizes. Every event also goes to the naive feed, and
/// every answer is compared. Beside that, the deliveries are compared with the log itself: in order, each once until a rewind,
/// and none left out but those that the feed said were missed.
template <class Machine>
class feed_world {
public:
  using machine = weir::feed_machine;

  explicit feed_world(std::uint64_t seed)
    : random_{seed},
      how_{some_settings()},
      logs_{some_logs()},
      machine_{starts(), how_},
      naive_{starts(), how_} {
    for (const auto& [shard, log] : logs_)
      positions_[shard] = -1;
  }

  /// Runs so many steps and then delivers and acknowledges what is left. Returns what went wrong, with the last steps; empty
  /// when nothing did.
  std::string run(int steps) {
    compare();
    for (int number = 0; number < steps && failure_.empty(); ++number) {
      step();
      compare();
    }
    if (failure_.empty())
      drain();
    if (failure_.empty())
      return {};
    for (const auto& one : log_)
      failure_ += "\n  " + one;
    return failure_;
  }

  std::uint64_t deliveries() const { return deliveries_; }
  std::uint64_t redeliveries() const { return redeliveries_; }
  std::uint64_t late_reads() const { return late_reads_; }
  std::uint64_t gaps() const { return gaps_; }

private:
  struct pending_read {
    machine::read_order order;
    std::optional<feed_log::answer> found; // as of when it was asked for; else it is looked up when it answers
  };

  machine::settings some_settings() {
    machine::settings how;
    how.deliver_oversize = random_.chance(50);
    how.window_bytes = random_.chance(50) ? random_.between(1, 80) : 0;
    how.read.entries = random_.chance(70) ? random_.between(1, 6) : 512;
    how.read.bytes = random_.chance(50) ? random_.between(1, 80) : 1u << 20;
    return how;
  }

  std::map<std::uint32_t, feed_log> some_logs() {
    std::map<std::uint32_t, feed_log> logs;
    for (auto count = random_.between(1, 3); logs.size() < count;)
      logs[static_cast<std::uint32_t>(random_.below(5))];
    return logs;
  }

  std::vector<machine::shard_start> starts() const {
    std::vector<machine::shard_start> all;
    for (const auto& [shard, log] : logs_)
      all.push_back({shard, -1});
    return all;
  }

  std::uint32_t some_shard() {
    auto one = logs_.begin();
    std::advance(one, static_cast<long>(random_.below(logs_.size())));
    return one->first;
  }

  void step() {
    const auto dice = random_.below(1000);
    if (dice < 150)
      append();
    else if (dice < 170)
      trim();
    else if (dice < 270)
      grant();
    else if (dice < 280)
      revoke();
    else if (dice < 480)
      ask();
    else if (dice < 640)
      answer();
    else if (dice < 830)
      deliver(1 + random_.below(6));
    else if (dice < 910)
      acknowledge();
    else if (dice < 945)
      rewind();
    else if (dice < 990)
      hear();
    else
      skip(some_shard(), static_cast<std::int64_t>(random_.below(6)) - 3);
  }

  void append() {
    const auto shard = some_shard();
    auto& log = logs_[shard];
    const bool is_quiet = random_.chance(30); // nothing that matches for a while
    for (auto count = random_.between(1, 5); count > 0; --count) {
      if (random_.chance(15))
        log.leave_hole(static_cast<std::int64_t>(random_.between(1, 3)));
      log.append(random_.chance(10) ? random_.between(30, 200) : random_.below(20), !is_quiet && random_.chance(75));
    }
    if (random_.chance(15))
      log.leave_hole(1);
    note("log of shard " + std::to_string(shard) + ": head " + std::to_string(log.bounds.head));
  }

  void trim() {
    const auto shard = some_shard();
    auto& log = logs_[shard];
    log.trim(static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(log.bounds.head) + 1)));
    note("log of shard " + std::to_string(shard) + ": earliest " + std::to_string(log.bounds.earliest));
  }

  void grant() {
    credit more{random_.between(1, 8), random_.between(1, 100)};
    switch (random_.below(12)) {
    case 0: more = {}; break;
    case 1: more.bytes = 0; break;
    case 2: more.items = 0; break;
    case 3: more = {machine::most_credit - random_.below(3), ~std::uint64_t{0}}; break;
    default: break;
    }
    note("grant " + text_of(more));
    same("credit: grant", machine_.grant(more), naive_.grant(more));
  }

  void revoke() {
    note("revoke");
    same("credit: revoke", machine_.revoke(), naive_.revoke());
  }

  void ask() {
    const auto order = machine_.next_read();
    if (!same("next_read", order, naive_.next_read()) || !order)
      return;
    note("asks for shard " + std::to_string(order->shard) + " behind " + std::to_string(order->after));
    if (order->limits.entries > machine_.available().items || order->limits.bytes > machine_.available().bytes)
      fail("more is asked for than there is credit for");
    pending_.push_back({*order, std::nullopt});
    if (random_.chance(50))
      pending_.back().found = logs_[order->shard].read(order->after, order->limits);
  }

  /// One of the reads answers; mostly the last that was asked for.
  void answer() {
    if (pending_.empty())
      return;
    const auto index = random_.chance(70) ? pending_.size() - 1 : random_.below(pending_.size());
    auto [order, found] = std::move(pending_[index]);
    pending_.erase(pending_.begin() + static_cast<long>(index));
    const auto shard = order.shard;
    const bool fails = random_.chance(10);
    if (!fails && !found)
      found = logs_[shard].read(order.after, order.limits);
    if (fails || !found) {
      note("the read of shard " + std::to_string(shard) + (fails ? " fails" : " is below what is retained"));
      machine_.on_read_failed(order);
      naive_.on_read_failed(order);
      if (!fails)
        skip(shard, 0);
      return;
    }
    if (found->entries.size() > 1 && random_.chance(20))
      found->entries.resize(random_.between(1, found->entries.size() - 1));
    take(order, *found);
  }

  void take(const machine::read_order& order, const feed_log::answer& found) {
    const auto was = machine_.on_read(order, found.bounds, found.entries);
    note("the read of shard " + std::to_string(order.shard) + " behind " + std::to_string(order.after) + " brings "
         + std::to_string(found.entries.size()) + " of head " + std::to_string(found.bounds.head) + ": " + text_of(was));
    same("on_read", was, naive_.on_read(order, found.bounds, found.entries));
    if (was != machine::read_was::taken) {
      ++late_reads_;
      return;
    }
    for (const auto& one : found.entries)
      if (one.matches)
        line_.push_back({order.shard, one.offset});
  }

  void deliver(std::uint64_t count) {
    for (; count > 0 && failure_.empty(); --count) {
      if (machine_.next() != machine::next_is::deliverable || naive_.next() != machine::next_is::deliverable)
        return; // compare() looks whether both are
      const auto one = machine_.deliver();
      note("delivers " + text_of(one));
      same("deliver", one, naive_.deliver());
      if (line_.empty() || line_.front() != one)
        return fail("what is delivered is not what stands first in line");
      line_.pop_front();
      check_delivered(one.shard, one.offset);
      compare();
    }
  }

  void check_delivered(std::uint32_t shard, std::int64_t offset) {
    auto& position = positions_[shard];
    for (auto expected = logs_[shard].next_match(position); expected != offset; expected = logs_[shard].next_match(expected))
      if (expected > offset || !is_missed(shard, expected))
        return fail("delivered out of order, twice, or with one left out: shard " + std::to_string(shard) + " expected "
                    + std::to_string(expected));
    position = offset;
    ++deliveries_;
    redeliveries_ += seen_.insert({shard, offset}).second ? 0 : 1;
  }

  bool is_missed(std::uint32_t shard, std::int64_t offset) const {
    const auto of = missed_.find(shard);
    return of != missed_.end() && of->second.contains(offset);
  }

  void acknowledge() {
    const auto shard = random_.chance(97) ? some_shard() : 77;
    const auto in_flight = naive_.in_flight(shard);
    std::int64_t offset = 0;
    if (!in_flight.empty() && random_.chance(85))
      offset = random_.chance(50) ? in_flight.front() : in_flight[random_.below(in_flight.size())];
    else if (logs_.contains(shard))
      offset = static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(logs_[shard].bounds.head) + 3)) - 1;
    const bool through = random_.chance(30);
    note(std::string{"acknowledges "} + (through ? "through " : "") + text_of(machine::handed_out{shard, offset}));
    if (through) {
      const auto answer = machine_.acknowledge_through(shard, offset);
      same("acknowledge_through", answer, naive_.acknowledge_through(shard, offset));
      if (answer.has_value())
        for (const auto one : in_flight)
          if (one <= offset)
            done_.insert({shard, one});
    } else {
      const auto answer = machine_.acknowledge(shard, offset);
      same("acknowledge", answer, naive_.acknowledge(shard, offset));
      if (answer.has_value() && answer.value() != weir::acknowledged::nothing)
        done_.insert({shard, offset});
    }
  }

  void rewind() {
    note("rewinds");
    machine_.rewind();
    naive_.rewind();
    line_.clear();
    for (const auto& one : machine_.progress()) {
      check_cursor(one.shard, one.acked);
      positions_[one.shard] = one.acked;
      std::erase_if(done_, [&](const auto& done) { return done.first == one.shard && done.second > one.acked; });
    }
  }

  /// Everything at or below the cursor was acknowledged, or missed.
  void check_cursor(std::uint32_t shard, std::int64_t acked) {
    for (const auto& one : logs_[shard].entries)
      if (one.offset <= acked && one.matches && !done_.contains({shard, one.offset}) && !is_missed(shard, one.offset))
        return fail("the cursor is beyond what was acknowledged: " + text_of(machine::handed_out{shard, one.offset}));
  }

  void hear() {
    const auto shard = some_shard();
    const auto head = logs_[shard].bounds.head;
    hear(shard, random_.chance(85) ? head : static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(head) + 1)));
  }

  void hear(std::uint32_t shard, std::int64_t head) {
    note("hears of head " + std::to_string(head) + " of shard " + std::to_string(shard));
    machine_.on_head(shard, head);
    naive_.on_head(shard, head);
  }

  /// To the earliest that is retained; or so much beside it, where what is below that goes first.
  void skip(std::uint32_t shard, std::int64_t beside) {
    auto& log = logs_[shard];
    const auto earliest = std::clamp<std::int64_t>(log.bounds.earliest + beside, 0, log.bounds.head);
    log.trim(earliest);
    note("skips to " + std::to_string(earliest) + " of shard " + std::to_string(shard));
    const auto missed = machine_.skip_to(shard, earliest);
    same("skip_to", missed, naive_.skip_to(shard, earliest));
    if (!missed)
      return;
    ++gaps_;
    for (auto offset = missed->first; offset < missed->second; ++offset)
      missed_[shard].insert(offset);
  }

  /// Everything that is there is delivered and acknowledged.
  void drain() {
    note("drains");
    while (!pending_.empty()) {
      answer();
      compare();
    }
    for (const auto& [shard, log] : logs_)
      hear(shard, log.bounds.head);
    compare();
    same("credit: grant", machine_.grant({machine::most_credit, machine::most_credit}),
      naive_.grant({machine::most_credit, machine::most_credit}));
    for (int tries = 0; failure_.empty() && tries < 10'000; ++tries) {
      deliver(1000);
      ask();
      if (pending_.empty())
        break;
      while (!pending_.empty()) {
        answer();
        compare();
      }
    }
    for (const auto& [shard, log] : logs_) {
      for (auto left = log.next_match(positions_[shard]); left < log.bounds.head; left = log.next_match(left))
        if (!is_missed(shard, left))
          fail("never delivered: " + text_of(machine::handed_out{shard, left}));
      const auto delivered = log.bounds.head - 1;
      for (const auto one : naive_.in_flight(shard))
        done_.insert({shard, one});
      same("acknowledge_through", machine_.acknowledge_through(shard, delivered), naive_.acknowledge_through(shard, delivered));
      check_cursor(shard, delivered);
    }
    compare();
    for (const auto& one : machine_.progress())
      if (one.acked != logs_[one.shard].bounds.head - 1 || one.in_flight != 0)
        fail("not everything was delivered and acknowledged");
  }

  void compare() {
    same("credit: available", machine_.available(), naive_.available());
    same("credit: charged", machine_.charged(), naive_.charged());
    same("credit: revoked", machine_.revoked(), naive_.revoked());
    same("credit: granted", machine_.granted(), naive_.granted());
    same("next", machine_.next(), naive_.next());
    same("next_bytes", machine_.next_bytes(), naive_.next_bytes());
    const auto progress = machine_.progress();
    same("progress", progress, naive_.progress());
    const auto all = machine_.granted();
    if (all.items != machine_.charged().items + machine_.available().items + machine_.revoked().items
        || all.bytes != machine_.charged().bytes + machine_.available().bytes + machine_.revoked().bytes)
      fail("credit is not conserved");
    for (const auto& one : progress)
      if (one.acked > one.delivered || one.delivered >= one.head || one.acked < -1)
        fail("not acked <= delivered < head");
  }

  /// Keeps the first difference as a sentence that begins with what differs.
  template <class T>
  bool same(const char* what, const T& found, const T& expected) {
    const bool agrees = is_same(found, expected);
    if (!agrees)
      fail(std::string{what} + ": " + text_of(found) + ", and should be " + text_of(expected));
    return agrees;
  }

  void fail(std::string sentence) {
    if (failure_.empty())
      failure_ = std::move(sentence);
  }

  void note(std::string line) {
    log_.push_back(std::move(line));
    if (log_.size() > 25)
      log_.pop_front();
  }

  using credit = weir::credit;

  random_source random_;
  machine::settings how_;
  std::map<std::uint32_t, feed_log> logs_;
  Machine machine_;
  naive_feed naive_;
  std::vector<pending_read> pending_;
  std::deque<machine::handed_out> line_;                   // as the shell keeps the entries
  std::map<std::uint32_t, std::int64_t> positions_;        // the last that was delivered since the last rewind
  std::map<std::uint32_t, std::set<std::int64_t>> missed_; // what the feed said
  std::set<std::pair<std::uint32_t, std::int64_t>> done_;
  std::set<std::pair<std::uint32_t, std::int64_t>> seen_;
  std::uint64_t deliveries_ = 0;
  std::uint64_t redeliveries_ = 0;
  std::uint64_t late_reads_ = 0;
  std::uint64_t gaps_ = 0;
  std::string failure_;
  std::deque<std::string> log_;
};

} // namespace core_tests
