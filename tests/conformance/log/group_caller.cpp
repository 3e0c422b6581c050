#include "conformance/log/group_caller.hpp"

namespace log_suite {

using weir::result;
using weir::self;
using weir::task;

struct group_caller::belongings {
  std::optional<weir::group_member> member;

  static task<result<void>> join(self me, belongings* mine, std::shared_ptr<weir::log_topic> topic, weir::group_options how) {
    auto joining = weir::group_member::join(me, std::move(topic), std::move(how));
    auto joined = co_await std::move(joining);
    result<void> outcome = weir::success();
    if (joined)
      mine->member.emplace(std::move(joined).value());
    else
      outcome = std::move(joined).error();
    co_return outcome;
  }
  static task<weir::credit> grant(self, belongings* mine, std::uint64_t entries) {
    const auto added = mine->member->grant(entries);
    co_return added;
  }
  static task<result<weir::feed_entry>> next(self me, belongings* mine, weir::deadline until) {
    auto waiting = mine->member->next(me, until);
    co_return co_await std::move(waiting);
  }
  static task<result<weir::acknowledged>> acknowledge(self, belongings* mine, std::uint32_t shard, std::int64_t offset) {
    auto done = mine->member->acknowledge(shard, offset);
    co_return std::move(done);
  }
  static task<result<void>> commit(self me, belongings* mine) {
    auto committing = mine->member->commit(me);
    co_return co_await std::move(committing);
  }
  static task<result<void>> leave(self me, belongings* mine) {
    auto leaving = mine->member->leave(me);
    co_return co_await std::move(leaving);
  }
  static task<std::vector<std::uint32_t>> shards(self, belongings* mine) {
    auto own = mine->member->shards();
    co_return std::move(own);
  }
  static task<weir::group_view> view(self, belongings* mine) {
    auto now = mine->member->view();
    co_return std::move(now);
  }
  static task<std::vector<weir::feed_gap>> take_gaps(self, belongings* mine) {
    auto taken = mine->member->take_gaps();
    co_return std::move(taken);
  }
};

group_caller::group_caller(log_caller& in, std::shared_ptr<weir::log_topic> topic)
  : group_caller{in, std::move(topic), std::make_shared<belongings>()} {}

group_caller::group_caller(log_caller& in, std::shared_ptr<weir::log_topic> topic, std::shared_ptr<belongings> mine)
  : topic_{std::move(topic)},
    mine_{mine.get()},
    performer_{in.system(), std::move(mine)} {}

result<void> group_caller::join(weir::group_options how) {
  return performer_.perform(&belongings::join, mine_, topic_, std::move(how));
}

weir::credit group_caller::grant(std::uint64_t entries) {
  return performer_.perform(&belongings::grant, mine_, entries);
}

result<weir::feed_entry> group_caller::next(weir::deadline until) {
  return performer_.perform(&belongings::next, mine_, until);
}

pending<result<weir::feed_entry>> group_caller::begin_next() {
  return performer_.begin(&belongings::next, mine_, weir::deadline::never());
}

result<weir::acknowledged> group_caller::acknowledge(std::uint32_t shard, std::int64_t offset) {
  return performer_.perform(&belongings::acknowledge, mine_, shard, offset);
}

result<void> group_caller::commit() {
  return performer_.perform(&belongings::commit, mine_);
}

result<void> group_caller::leave() {
  return performer_.perform(&belongings::leave, mine_);
}

std::vector<std::uint32_t> group_caller::shards() {
  return performer_.perform(&belongings::shards, mine_);
}

weir::group_view group_caller::view() {
  return performer_.perform(&belongings::view, mine_);
}

std::vector<weir::feed_gap> group_caller::take_gaps() {
  return performer_.perform(&belongings::take_gaps, mine_);
}

} // namespace log_suite
