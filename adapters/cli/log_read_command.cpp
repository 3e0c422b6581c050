#include <weir/cli/arrival_order.hpp>
#include <weir/cli/entry_text.hpp>
#include <weir/cli/files.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/print.hpp>
#include <weir/cli/reader_watch.hpp>
#include <weir/log_rules.hpp>

#include "ending_signals.hpp"
#include "log_commands.hpp"
#include "log_session.hpp"

#include <boost/outcome/try.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <numeric>
#include <unistd.h>

namespace weir::cli {

namespace {

constexpr std::size_t most_bytes = 8U << 20U; ///< that are read ahead, of all shards together
constexpr std::size_t most_at_once = 1U << 20U;
constexpr std::size_t least_at_once = 64U << 10U;

/// Prints entries up to a limit, and knows where it is: for each shard the last that was printed.
class entry_printer {
public:
  entry_printer(cursor begin, std::optional<std::uint64_t> limit, bool json)
    : at_{std::move(begin)},
      left_{limit.value_or(std::numeric_limits<std::uint64_t>::max())},
      json_{json} {}

  const cursor& at() const noexcept { return at_; }
  std::int64_t after(std::uint32_t shard) const noexcept { return at_.offsets[shard]; }

  /// Nothing more is to be printed: the limit is reached, or nobody can read it.
  bool is_over() const noexcept { return left_ == 0 || output_ != printed::all; }
  exit_code code() const noexcept { return output_ == printed::failed ? exit_code::failed : exit_code::done; }

  std::size_t most_entries() const noexcept { return static_cast<std::size_t>(std::min<std::uint64_t>(left_, 512)); }

  void add(std::uint32_t shard, const entry& one) {
    at_.offsets[shard] = one.offset;
    --left_;
    if (json_)
      append_entry(text_, shard, one, at_);
    else
      text_.append(one.payload).append("\n");
    if (text_.size() >= most_at_once)
      flush();
  }

  /// Passes over entries that were given up.
  void pass_over(std::uint32_t shard, std::int64_t last) { at_.offsets[shard] = std::max(at_.offsets[shard], last); }

  void flush() {
    if (!text_.empty() && output_ == printed::all)
      output_ = print_some(text_);
    text_.clear();
  }

private:
  cursor at_;
  std::uint64_t left_;
  bool json_;
  std::string text_;
  printed output_ = printed::all;
};

/// Where a command begins, and where the topic ended then.
struct beginning {
  std::vector<std::int64_t> after = {};
  std::vector<shard_bounds> bounds = {};
  std::vector<std::uint32_t> shards = {}; ///< those that are read
};

result<beginning> choose_beginning(const topic_description& topic, const log_read& asked, std::vector<shard_bounds> bounds,
  const std::vector<snapshot_info>& snapshots) {
  beginning chosen;
  if (asked.shard) {
    BOOST_OUTCOME_TRY(log_rules::check_shard(*asked.shard, topic.shards));
    chosen.shards = {*asked.shard};
  } else {
    chosen.shards.resize(topic.shards);
    std::iota(chosen.shards.begin(), chosen.shards.end(), 0U);
  }
  if (asked.after) {
    BOOST_OUTCOME_TRY(chosen.after, place_in(topic.origin(), *asked.after));
  } else {
    for (const auto& one : bounds)
      chosen.after.push_back(asked.follows ? one.head - 1 : one.earliest - 1);
  }
  for (const auto shard : chosen.shards) {
    BOOST_OUTCOME_TRY(log_rules::check_after(topic.name, shard, chosen.after[shard], bounds[shard], snapshots));
  }
  chosen.bounds = std::move(bounds);
  return chosen;
}

task<result<beginning>> begin(self me, std::shared_ptr<log_topic> topic, log_read asked) {
  auto asking = topic->bounds(me);
  auto bounds = co_await std::move(asking);
  auto listing = topic->snapshots(me);
  auto snapshots = co_await std::move(listing);
  result<beginning> begun = error{errc::io_failed};
  if (!bounds)
    begun = std::move(bounds).error();
  else if (!snapshots)
    begun = std::move(snapshots).error();
  else
    begun = choose_beginning(topic->description(), asked, std::move(bounds).value(), snapshots.value());
  co_return begun;
}

/// What was printed stands; why there is no more is said.
exit_code stop_at(entry_printer& out, const error& why, std::string_view command) {
  out.flush();
  write_all(STDERR_FILENO, failure_text(command, why));
  return exit_code::failed;
}

/// One shard after the other, up to where each ended when the command began.
task<result<exit_code>> read_entries(self me, std::shared_ptr<log_topic> topic, log_read asked, bool json) {
  auto beginning_there = begin(me, topic, asked);
  auto begun = co_await std::move(beginning_there);
  if (!begun) {
    result<exit_code> refused = std::move(begun).error();
    co_return refused;
  }
  const auto& from = begun.value();
  entry_printer out{topic->description().cursor_at(from.after), asked.limit, json};
  for (const auto shard : from.shards) {
    const auto head = from.bounds[shard].head;
    while (!out.is_over() && out.after(shard) < head - 1) {
      auto reading = topic->read(me, shard, out.after(shard), {out.most_entries(), most_at_once});
      auto read = co_await std::move(reading);
      if (!read) {
        result<exit_code> failed = stop_at(out, read.error(), "read");
        co_return failed;
      }
      if (read.value().entries.empty())
        out.pass_over(shard, head - 1);
      for (const auto& one : read.value().entries)
        if (one.offset < head)
          out.add(shard, one);
        else
          out.pass_over(shard, head - 1);
      out.flush();
    }
  }
  result<exit_code> done = out.code();
  co_return done;
}

/// A tail: what of each shard was read, and waits to be printed.
struct follower {
  follower(std::shared_ptr<log_topic> topic, beginning from, entry_printer printer)
    : of{std::move(topic)},
      shards{std::move(from.shards)},
      read_to{std::move(from.after)},
      order{read_to.size()},
      out{std::move(printer)},
      bytes_at_once{std::clamp<std::size_t>(most_bytes / read_to.size(), least_at_once, most_at_once)} {}

  std::shared_ptr<log_topic> of;
  std::vector<std::uint32_t> shards;
  std::vector<std::int64_t> read_to; ///< for each shard; ahead of what was printed
  arrival_order order;
  entry_printer out;
  std::size_t bytes_at_once;

  void expect(const std::vector<shard_bounds>& bounds) {
    for (const auto shard : shards)
      if (bounds[shard].head - 1 > read_to[shard])
        order.expect(shard);
  }

  void add(std::uint32_t shard, log_reading read) {
    if (read.entries.empty()) { // whatever is there was given up
      read_to[shard] = std::max(read_to[shard], read.bounds.head - 1);
      out.pass_over(shard, read_to[shard]);
    } else {
      read_to[shard] = read.entries.back().offset;
    }
    order.add(shard, std::move(read.entries));
  }

  void print() {
    while (!out.is_over()) {
      auto next = order.take();
      if (!next)
        break;
      out.add(next->first, next->second);
    }
    out.flush();
  }

  std::vector<std::int64_t> awaited() const {
    std::vector<std::int64_t> after(read_to.size(), std::numeric_limits<std::int64_t>::max());
    for (const auto shard : shards)
      after[shard] = read_to[shard];
    return after;
  }
};

/// Prints what is there.
task<result<void>> catch_up(self me, std::shared_ptr<follower> tail) {
  auto asking = tail->of->bounds(me);
  auto bounds = co_await std::move(asking);
  if (!bounds) {
    result<void> failed = std::move(bounds).error();
    co_return failed;
  }
  tail->expect(bounds.value());
  for (auto wanted = tail->order.wanted(); !wanted.empty(); wanted = tail->order.wanted()) {
    for (const auto shard : wanted) {
      auto reading = tail->of->read(me, shard, tail->read_to[shard], {tail->out.most_entries(), tail->bytes_at_once});
      auto read = co_await std::move(reading);
      if (!read) { // what was read before it is printed
        for (const auto other : wanted)
          tail->order.add(other, {});
        tail->print();
        result<void> failed = std::move(read).error();
        co_return failed;
      }
      tail->add(shard, std::move(read).value());
    }
    tail->print();
    if (tail->out.is_over() || me.stop_token().stop_requested())
      break;
  }
  co_return success();
}

/// All shards, as their entries come.
task<result<exit_code>> follow_entries(
  self me, std::shared_ptr<log_topic> topic, log_read asked, bool json, std::shared_ptr<std::atomic<bool>> reader_gone) {
  auto beginning_there = begin(me, topic, asked);
  auto begun = co_await std::move(beginning_there);
  if (!begun) {
    result<exit_code> refused = std::move(begun).error();
    co_return refused;
  }
  entry_printer out{topic->description().cursor_at(begun.value().after), asked.limit, json};
  auto tail = std::make_shared<follower>(topic, std::move(begun).value(), std::move(out));
  for (;;) {
    auto catching_up = catch_up(me, tail);
    auto caught_up = co_await std::move(catching_up);
    if (!caught_up) {
      result<exit_code> failed = stop_at(tail->out, caught_up.error(), "tail");
      co_return failed;
    }
    if (tail->out.is_over())
      break;
    auto waiting = topic->wait(me, tail->awaited(), deadline::never());
    auto woken = co_await std::move(waiting);
    if (me.stop_token().stop_requested()) {
      if (!*reader_gone)
        write_all(STDERR_FILENO, fmt::format("weir log tail: ended; --after {} goes on\n", to_text(tail->out.at())));
      break;
    }
    if (!woken) {
      result<exit_code> failed = stop_at(tail->out, woken.error(), "tail");
      co_return failed;
    }
  }
  result<exit_code> done = tail->out.code();
  co_return done;
}

} // namespace

exit_code run_command(const log_arguments& given, const log_read& asked) {
  if (!can_print())
    return exit_code::failed;
  if (!asked.follows)
    return run_on_topic(given, log_access::read, nullptr, &read_entries, asked, given.json);
  const auto stop = std::make_shared<stop_switch>();
  const auto reader_gone = std::make_shared<std::atomic<bool>>(false);
  const ending_signals signals{stop};
  const reader_watch reader{STDOUT_FILENO, [stop, reader_gone] {
                              *reader_gone = true;
                              stop->request();
                            }};
  return run_on_topic(given, log_access::read, stop.get(), &follow_entries, asked, given.json, reader_gone);
}

} // namespace weir::cli
