#include "conformance/log/feed_caller.hpp"

namespace log_suite {

using weir::result;
using weir::self;
using weir::task;

// A feed ---------------------------------------------------------------------------------------------------------------------

struct feed_caller::belongings {
  std::optional<weir::feed> read;

  static task<weir::credit> grant(self, belongings* mine, weir::credit more) {
    const auto added = mine->read->grant(more.items, more.bytes);
    co_return added;
  }
  static task<weir::credit> revoke(self, belongings* mine) {
    const auto taken = mine->read->revoke();
    co_return taken;
  }
  static task<result<void>> ready(self me, belongings* mine, weir::deadline until) {
    auto getting_ready = mine->read->ready(me, until);
    co_return co_await std::move(getting_ready);
  }
  static task<entries> pull(self me, belongings* mine) {
    auto pulling = mine->read->pull(me);
    co_return co_await std::move(pulling);
  }
  static task<result<weir::feed_entry>> next(self me, belongings* mine, weir::deadline until) {
    auto waiting = mine->read->next(me, until);
    co_return co_await std::move(waiting);
  }
  static task<result<weir::acknowledged>> acknowledge(self, belongings* mine, std::uint32_t shard, std::int64_t offset) {
    auto done = mine->read->acknowledge(shard, offset);
    co_return std::move(done);
  }
  static task<result<weir::acknowledged>> acknowledge_through(
    self, belongings* mine, std::uint32_t shard, std::int64_t offset) {
    auto done = mine->read->acknowledge_through(shard, offset);
    co_return std::move(done);
  }
  static task<bool> rewind(self, belongings* mine) {
    const bool there = mine->read.has_value();
    mine->read->rewind();
    co_return there;
  }
  static task<result<weir::cursor>> at(self, belongings* mine) {
    auto here = mine->read->at();
    co_return std::move(here);
  }
  static task<weir::feed_phase> phase(self, belongings* mine) {
    const auto now = mine->read->phase();
    co_return now;
  }
  static task<std::vector<weir::feed_gap>> take_gaps(self, belongings* mine) {
    auto taken = mine->read->take_gaps();
    co_return std::move(taken);
  }
  static task<result<weir::feed_stats>> stats(self me, belongings* mine) {
    auto asking = mine->read->stats(me);
    co_return co_await std::move(asking);
  }
  static task<result<void>> close(self me, belongings* mine) {
    auto closing = mine->read->close(me);
    co_return co_await std::move(closing);
  }
  static task<bool> drop(self, belongings* mine) {
    const bool there = mine->read.has_value();
    mine->read.reset();
    co_return there;
  }
};

feed_caller::feed_caller(log_caller& in, std::shared_ptr<belongings> mine)
  : mine_{mine.get()},
    performer_{in.system(), std::move(mine)} {}

feed_caller::feed_caller(log_caller& in, weir::feed made)
  : feed_caller{in, std::make_shared<belongings>(belongings{std::optional{std::move(made)}})} {}

feed_caller::feed_caller(log_caller& in, std::shared_ptr<weir::log_topic> from, weir::cursor at, weir::feed_options how)
  : feed_caller{in, weir::feed{std::move(from), std::move(at), std::move(how)}} {}

feed_caller::feed_caller(log_caller& in, const topic_caller& from, weir::feed_options how)
  : feed_caller{in, from.topic(), from.topic()->description().origin(), std::move(how)} {}

weir::credit feed_caller::grant(std::uint64_t count, std::uint64_t bytes) {
  return performer_.perform(&belongings::grant, mine_, weir::credit{count, bytes});
}

weir::credit feed_caller::revoke() {
  return performer_.perform(&belongings::revoke, mine_);
}

result<void> feed_caller::ready(weir::deadline until) {
  return begin_ready(until).wait();
}

feed_caller::entries feed_caller::pull() {
  return begin_pull().wait();
}

result<weir::feed_entry> feed_caller::next(weir::deadline until) {
  return begin_next(until).wait();
}

result<weir::acknowledged> feed_caller::acknowledge(std::int64_t offset, std::uint32_t shard) {
  return performer_.perform(&belongings::acknowledge, mine_, shard, offset);
}

result<weir::acknowledged> feed_caller::acknowledge_through(std::int64_t offset, std::uint32_t shard) {
  return performer_.perform(&belongings::acknowledge_through, mine_, shard, offset);
}

void feed_caller::rewind() {
  performer_.perform(&belongings::rewind, mine_);
}

result<weir::cursor> feed_caller::at() {
  return performer_.perform(&belongings::at, mine_);
}

weir::feed_phase feed_caller::phase() {
  return performer_.perform(&belongings::phase, mine_);
}

std::vector<weir::feed_gap> feed_caller::take_gaps() {
  return performer_.perform(&belongings::take_gaps, mine_);
}

result<weir::feed_stats> feed_caller::stats() {
  return performer_.perform(&belongings::stats, mine_);
}

result<void> feed_caller::close() {
  return performer_.perform(&belongings::close, mine_);
}

void feed_caller::drop() {
  performer_.perform(&belongings::drop, mine_);
}

texts feed_caller::payloads(std::uint64_t count) {
  grant(count);
  return payloads_of(must(pull()));
}

offsets feed_caller::pull_offsets() {
  return offsets_of(must(pull()));
}

std::int64_t feed_caller::acked(std::uint32_t shard) {
  return must(at()).offsets.at(shard);
}

pending<result<void>> feed_caller::begin_ready(weir::deadline until) {
  return performer_.begin(&belongings::ready, mine_, until);
}

pending<result<weir::feed_entry>> feed_caller::begin_next(weir::deadline until) {
  return performer_.begin(&belongings::next, mine_, until);
}

pending<feed_caller::entries> feed_caller::begin_pull() {
  return performer_.begin(&belongings::pull, mine_);
}

// A bootstrap ----------------------------------------------------------------------------------------------------------------

struct bootstrap_caller::belongings {
  weir::bootstrap from;

  static task<result<weir::snapshot_info>> open(self me, belongings* mine) {
    auto opening = mine->from.open(me);
    co_return co_await std::move(opening);
  }
  static task<result<std::optional<std::string>>> next_chunk(self me, belongings* mine) {
    auto reading = mine->from.next_chunk(me);
    co_return co_await std::move(reading);
  }
  static task<std::shared_ptr<result<weir::feed>>> take_feed(self, belongings* mine, weir::feed_options how) {
    auto taken = std::make_shared<result<weir::feed>>(mine->from.take_feed(std::move(how)));
    co_return std::move(taken);
  }
  static task<result<void>> close(self me, belongings* mine) {
    auto closing = mine->from.close(me);
    co_return co_await std::move(closing);
  }
};

bootstrap_caller::bootstrap_caller(log_caller& in, std::shared_ptr<belongings> mine)
  : mine_{mine.get()},
    performer_{in.system(), std::move(mine)} {}

bootstrap_caller::bootstrap_caller(
  log_caller& in, std::shared_ptr<weir::log_topic> from, std::optional<weir::cursor> through, std::chrono::seconds pin_for)
  : bootstrap_caller{
      in, std::make_shared<belongings>(belongings{weir::bootstrap{std::move(from), std::move(through), pin_for}})} {}

result<weir::snapshot_info> bootstrap_caller::open() {
  return performer_.perform(&belongings::open, mine_);
}

result<std::optional<std::string>> bootstrap_caller::next_chunk() {
  return performer_.perform(&belongings::next_chunk, mine_);
}

texts bootstrap_caller::chunks() {
  texts all;
  while (auto next = must(next_chunk()))
    all.push_back(std::move(*next));
  return all;
}

result<weir::feed> bootstrap_caller::take_feed(weir::feed_options how) {
  auto taken = performer_.perform(&belongings::take_feed, mine_, std::move(how));
  return std::move(*taken);
}

result<void> bootstrap_caller::close() {
  return performer_.perform(&belongings::close, mine_);
}

// --------------------------------------------------------------------------------------------------------------------------

texts payloads_of(const std::vector<weir::feed_entry>& all) {
  texts found;
  for (const auto& one : all)
    found.push_back(one.entry.payload);
  return found;
}

offsets offsets_of(const std::vector<weir::feed_entry>& all) {
  offsets found;
  for (const auto& one : all)
    found.push_back(one.entry.offset);
  return found;
}

} // namespace log_suite
