#pragma once

#include <weir/group_member.hpp>

#include "conformance/log/log_caller.hpp"
#include "conformance/log/performer.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace log_suite {

/// An actor that is a member of a group, and reads when a test says so.
class group_caller {
public:
  group_caller(log_caller& in, std::shared_ptr<weir::log_topic> topic);

  weir::result<void> join(weir::group_options how);
  weir::credit grant(std::uint64_t entries);
  weir::result<weir::feed_entry> next(weir::deadline until = weir::deadline::never());
  weir::result<weir::acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset);
  weir::result<void> commit();
  weir::result<void> leave();
  std::vector<std::uint32_t> shards();
  weir::group_view view();
  std::vector<weir::feed_gap> take_gaps();

  pending<weir::result<weir::feed_entry>> begin_next();

  /// Dies without a word.
  void kill() { performer_.kill(); }

private:
  struct belongings;
  group_caller(log_caller& in, std::shared_ptr<weir::log_topic> topic, std::shared_ptr<belongings> mine);

  std::shared_ptr<weir::log_topic> topic_;
  belongings* mine_; // the actor's
  performer performer_;
};

} // namespace log_suite
