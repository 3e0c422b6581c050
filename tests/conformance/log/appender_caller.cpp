#include "conformance/log/appender_caller.hpp"

namespace log_suite {

using weir::result;
using weir::self;
using weir::task;

struct appender_caller::belongings {
  std::optional<weir::appender> window;
  std::vector<weir::append_ticket> tickets;
  std::vector<std::size_t> completed;

  static task<result<std::size_t>> append(self me, belongings* mine, std::vector<weir::new_entry> entries,
    std::optional<std::int64_t> expected_head, weir::deadline until) {
    auto appending = mine->window->append(me, std::move(entries), expected_head, until);
    auto ticket = co_await std::move(appending);
    if (!ticket)
      co_return std::move(ticket).error();
    mine->tickets.push_back(std::move(ticket).value());
    co_return mine->tickets.size() - 1;
  }
  static task<places> stored(self me, belongings* mine, std::size_t ticket, weir::deadline until) {
    const auto awaited = mine->tickets.at(ticket);
    auto completing = awaited.stored(me, until);
    auto outcome = co_await std::move(completing);
    if (awaited.is_complete())
      mine->completed.push_back(ticket);
    co_return outcome;
  }
  static task<bool> is_complete(self, belongings* mine, std::size_t ticket) {
    const bool complete = mine->tickets.at(ticket).is_complete();
    co_return complete;
  }
  static task<result<void>> flush(self me, belongings* mine, weir::deadline until) {
    auto flushing = mine->window->flush(me, until);
    co_return co_await std::move(flushing);
  }
  static task<result<void>> close(self me, belongings* mine, weir::deadline until) {
    auto closing = mine->window->close(me, until);
    co_return co_await std::move(closing);
  }
  static task<bool> resume(self, belongings* mine) {
    const bool there = mine->window.has_value();
    mine->window->resume();
    co_return there;
  }
  static task<weir::credit> held(self, belongings* mine) {
    const auto now = mine->window->held();
    co_return now;
  }
  static task<bool> drop(self, belongings* mine) {
    const bool there = mine->window.has_value();
    mine->window.reset();
    co_return there;
  }
  static task<std::vector<std::size_t>> all_completed(self, belongings* mine) {
    auto all = mine->completed;
    co_return std::move(all);
  }
};

appender_caller::appender_caller(log_caller& in, std::shared_ptr<belongings> mine)
  : mine_{mine.get()},
    performer_{in.system(), std::move(mine)} {}

appender_caller::appender_caller(log_caller& in, std::shared_ptr<weir::log_topic> to, weir::appender_options how)
  : appender_caller{in, [&] {
                      auto mine = std::make_shared<belongings>();
                      mine->window.emplace(std::move(to), how);
                      return mine;
                    }()} {}

result<std::size_t> appender_caller::append(
  std::vector<weir::new_entry> entries, std::optional<std::int64_t> expected_head, weir::deadline until) {
  return begin_append(std::move(entries), expected_head, until).wait();
}

std::size_t appender_caller::append(std::string payload) {
  return must(append(one_of(std::move(payload))));
}

places appender_caller::stored(std::size_t ticket, weir::deadline until) {
  return begin_stored(ticket, until).wait();
}

bool appender_caller::is_complete(std::size_t ticket) {
  return performer_.perform(&belongings::is_complete, mine_, ticket);
}

result<void> appender_caller::flush(weir::deadline until) {
  return begin_flush(until).wait();
}

result<void> appender_caller::close(weir::deadline until) {
  return begin_close(until).wait();
}

void appender_caller::resume() {
  performer_.perform(&belongings::resume, mine_);
}

weir::credit appender_caller::held() {
  return performer_.perform(&belongings::held, mine_);
}

void appender_caller::drop() {
  performer_.perform(&belongings::drop, mine_);
}

std::vector<std::size_t> appender_caller::completed() {
  return performer_.perform(&belongings::all_completed, mine_);
}

pending<result<std::size_t>> appender_caller::begin_append(
  std::vector<weir::new_entry> entries, std::optional<std::int64_t> expected_head, weir::deadline until) {
  return performer_.begin(&belongings::append, mine_, std::move(entries), expected_head, until);
}

pending<result<std::size_t>> appender_caller::begin_append(std::string payload) {
  return begin_append(one_of(std::move(payload)));
}

pending<places> appender_caller::begin_stored(std::size_t ticket, weir::deadline until) {
  return performer_.begin(&belongings::stored, mine_, ticket, until);
}

pending<result<void>> appender_caller::begin_flush(weir::deadline until) {
  return performer_.begin(&belongings::flush, mine_, until);
}

pending<result<void>> appender_caller::begin_close(weir::deadline until) {
  return performer_.begin(&belongings::close, mine_, until);
}

std::vector<weir::new_entry> one_of(std::string payload) {
  std::vector<weir::new_entry> entries;
  entries.push_back({.payload = std::move(payload), .shard = 0});
  return entries;
}

} // namespace log_suite
