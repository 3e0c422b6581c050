#include <weir/error.hpp>

#include <algorithm>

namespace weir {

std::string_view name_of(errc code) noexcept {
  switch (code) {
  case errc::invalid_argument: return "invalid_argument";
  case errc::stamp_too_long: return "stamp_too_long";
  case errc::position_missing: return "position_missing";
  case errc::position_unexpected: return "position_unexpected";
  case errc::position_not_above: return "position_not_above";
  case errc::unknown_lane: return "unknown_lane";
  case errc::unknown_collection: return "unknown_collection";
  case errc::duplicate_lane: return "duplicate_lane";
  case errc::wait_cycle: return "wait_cycle";
  case errc::unsupported: return "unsupported";
  case errc::request_missing: return "request_missing";
  case errc::end_of_lane: return "end_of_lane";
  case errc::closed: return "closed";
  case errc::lane_retired: return "lane_retired";
  case errc::fenced: return "fenced";
  case errc::stale_delivery: return "stale_delivery";
  case errc::too_many_waiters: return "too_many_waiters";
  case errc::dead_lettered: return "dead_lettered";
  case errc::actor_stopped: return "actor_stopped";
  case errc::broken_promise: return "broken_promise";
  case errc::coroutine_failed: return "coroutine_failed";
  case errc::cancelled: return "cancelled";
  case errc::timed_out: return "timed_out";
  case errc::would_wait: return "would_wait";
  case errc::overloaded: return "overloaded";
  case errc::inbox_full: return "inbox_full";
  case errc::not_found: return "not_found";
  case errc::not_a_repository: return "not_a_repository";
  case errc::permission_denied: return "permission_denied";
  case errc::storage_full: return "storage_full";
  case errc::io_failed: return "io_failed";
  case errc::corrupt: return "corrupt";
  case errc::wrong_owner: return "wrong_owner";
  case errc::in_use: return "in_use";
  case errc::bad_record: return "bad_record";
  case errc::rejected: return "rejected";
  case errc::source_failed: return "source_failed";
  case errc::sink_failed: return "sink_failed";
  case errc::sequence_restarted: return "sequence_restarted";
  case errc::sink_behind: return "sink_behind";
  case errc::not_a_log: return "not_a_log";
  case errc::newer_format: return "newer_format";
  case errc::read_only: return "read_only";
  case errc::disconnected: return "disconnected";
  case errc::layout_mismatch: return "layout_mismatch";
  case errc::unknown_topic: return "unknown_topic";
  case errc::entry_too_large: return "entry_too_large";
  case errc::dedupe_conflict: return "dedupe_conflict";
  case errc::head_moved: return "head_moved";
  case errc::append_aborted: return "append_aborted";
  case errc::cursor_expired: return "cursor_expired";
  case errc::ahead_of_head: return "ahead_of_head";
  case errc::corrupt_entry: return "corrupt_entry";
  case errc::no_snapshot: return "no_snapshot";
  case errc::snapshot_corrupt: return "snapshot_corrupt";
  case errc::snapshot_trimmed: return "snapshot_trimmed";
  case errc::not_covered: return "not_covered";
  case errc::checkpoint_conflict: return "checkpoint_conflict";
  case errc::checkpoint_regress: return "checkpoint_regress";
  case errc::invalid_cursor: return "invalid_cursor";
  case errc::wrong_source: return "wrong_source";
  case errc::stale_epoch: return "stale_epoch";
  case errc::ack_beyond_delivered: return "ack_beyond_delivered";
  case errc::oversize: return "oversize";
  case errc::group_full: return "group_full";
  case errc::bad_topic: return "bad_topic";
  case errc::too_large: return "too_large";
  case errc::bus_full: return "bus_full";
  case errc::outcome_unknown: return "outcome_unknown";
  case errc::evicted: return "evicted";
  case errc::bus_closed: return "bus_closed";
  }
  return "unknown";
}

bool is_passing(errc code) noexcept {
  switch (code) {
  case errc::timed_out:
  case errc::would_wait:
  case errc::overloaded:
  case errc::inbox_full:
  case errc::permission_denied:
  case errc::storage_full:
  case errc::io_failed:
  case errc::in_use:
  case errc::read_only:
  case errc::disconnected:
  case errc::bus_full: return true;
  default: return false;
  }
}

error::error(errc code, std::string sentence, std::vector<fact> facts) : code_{code} {
  if (!sentence.empty() || !facts.empty())
    particulars_ = std::make_unique<particulars>(particulars{std::move(sentence), std::move(facts)});
}

error::error(const error& other)
  : code_{other.code_},
    particulars_{other.particulars_ ? std::make_unique<particulars>(*other.particulars_) : nullptr} {}

error& error::operator=(const error& other) {
  return *this = error{other};
}

const error::particulars& error::known() const noexcept {
  static const particulars none;
  return particulars_ ? *particulars_ : none;
}

const std::string& error::sentence() const noexcept {
  return known().sentence;
}

const std::vector<error::fact>& error::facts() const noexcept {
  return known().facts;
}

std::string_view error::fact_of(std::string_view name) const noexcept {
  auto found = std::ranges::find(facts(), name, &fact::first);
  return found == facts().end() ? std::string_view{} : std::string_view{found->second};
}

error&& error::with(std::string name, std::string value) && {
  if (!particulars_)
    particulars_ = std::make_unique<particulars>();
  if (std::ranges::find(facts(), name, &fact::first) == facts().end())
    particulars_->facts.emplace_back(std::move(name), std::move(value));
  return std::move(*this);
}

std::string error::to_string() const {
  std::string text{name_of(code_)};
  if (!sentence().empty())
    text += ": " + sentence();
  if (facts().empty())
    return text;
  const char* separator = " (";
  for (const auto& [name, value] : facts()) {
    text += separator + name + "=" + value;
    separator = ", ";
  }
  return text + ")";
}

} // namespace weir
