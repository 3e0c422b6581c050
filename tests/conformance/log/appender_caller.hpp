#pragma once

#include "conformance/log/log_caller.hpp"
#include "conformance/log/performer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace log_suite {

using places = weir::result<std::vector<weir::entry_place>>;

/// An actor that appends through one window when a test says so. Tickets stay in it: tests name them by their number, from 0 as
/// they came.
class appender_caller {
public:
  appender_caller(log_caller& in, std::shared_ptr<weir::log_topic> to, weir::appender_options how = {});

  /// The ticket's number.
  weir::result<std::size_t> append(std::vector<weir::new_entry> entries, std::optional<std::int64_t> expected_head = {},
    weir::deadline until = weir::deadline::never());
  /// One entry of that payload, to shard 0. The ticket's number; must succeed.
  std::size_t append(std::string payload);

  places stored(std::size_t ticket, weir::deadline until = weir::deadline::never());
  bool is_complete(std::size_t ticket);
  weir::result<void> flush(weir::deadline until = weir::deadline::never());
  weir::result<void> close(weir::deadline until = weir::deadline::never());
  void resume();
  weir::credit held();

  /// Destroys the appender; tickets and the actor live on.
  void drop();

  /// The tickets that completed so far, in the order in which whoever awaited them went on; only of those begun with
  /// begin_stored().
  std::vector<std::size_t> completed();

  // Only begun.
  pending<weir::result<std::size_t>> begin_append(std::vector<weir::new_entry> entries,
    std::optional<std::int64_t> expected_head = {}, weir::deadline until = weir::deadline::never());
  pending<weir::result<std::size_t>> begin_append(std::string payload);
  pending<places> begin_stored(std::size_t ticket, weir::deadline until = weir::deadline::never());
  pending<weir::result<void>> begin_flush(weir::deadline until = weir::deadline::never());
  pending<weir::result<void>> begin_close(weir::deadline until = weir::deadline::never());

  void settle() { performer_.settle(); }
  void request_stop() { performer_.request_stop(); }
  void kill() { performer_.kill(); }

private:
  struct belongings;
  appender_caller(log_caller& in, std::shared_ptr<belongings> mine);

  belongings* mine_; // the actor's
  performer performer_;
};

/// One entry of that payload, for shard 0.
std::vector<weir::new_entry> one_of(std::string payload);

} // namespace log_suite
