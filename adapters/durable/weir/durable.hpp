#pragma once

#include <weir/durable_options.hpp>
#include <weir/log.hpp>
#include <weir/self.hpp>
#include <weir/shared_wiring.hpp>
#include <weir/stream.hpp>
#include <weir/task.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace caf {
class actor_system;
} // namespace caf

/// A stream whose lanes are kept in a log: it survives every process at any instant, what was acknowledged does not come again,
/// and a consumer that stands still delays nobody. docs/durable.md says how.
namespace weir::durable {

struct options {
  std::vector<lane_id> lanes = {};
  std::optional<position> floor = {};             ///< what was confirmed to the source: lanes that are new begin behind it
  lane_bound bound = {};                          ///< of each lane: items and bytes read and not yet acknowledged
  std::vector<std::string> collections = {};      ///< for refusing requests; empty: any
  std::optional<std::uint32_t> max_attempts = {}; ///< returns before an item is a dead letter; absent: never
  dead_letter_policy dead_letters = dead_letter_policy::stop_lane;
  durable_settings log = {};
  std::shared_ptr<shared_wiring> wiring = {}; ///< shared by streams that feed each other; absent: the stream's own
};

/// A lane of the stream.
struct opened_lane {
  lane_id id;
  std::optional<position> floor = {}; ///< what it won't bring again
  bool is_asked_for = true; ///< false: it was there, and the options don't name it; its items are kept until it is retired
  bool has_expired = false; ///< something behind its floor is gone: retire it, and add it again with that floor
};

/// What is there.
struct seen {
  std::vector<opened_lane> lanes = {};

  /// The last position that ends a transaction and is stored for every lane of the options, or acknowledged by one that has
  /// expired: the source goes on behind it. Not below the options' floor: what an expired lane lacks up to there is gone for
  /// good, and its sink needs a backfill. Absent: there is none.
  std::optional<position> resume = {};
};

struct opened : seen {
  weir::stream stream;
};

/// Opens the stream in that log and starts its actors in that system, which must outlive the stream; whoever had it open is
/// fenced. Blocks the calling thread until the log has answered; never call it on an actor's turn. Fails with invalid_argument,
/// duplicate_lane, with what the log says (layout_mismatch, corrupt_entry, its own), and with newer_format or corrupt where the
/// topic has something else; then nothing was started.
result<opened> open(caf::actor_system& system, std::shared_ptr<log_store> log, options wanted);

/// The same for a coroutine. Cancellation point.
task<result<opened>> open_in(self me, caf::actor_system* system, std::shared_ptr<log_store> log, options wanted);

/// What `open` would find, without a trace; fails as that would, but for what can be told by writing alone. A null log: there
/// is none yet. Cancellation point.
task<result<seen>> look(self me, std::shared_ptr<log_store> log, options wanted);

} // namespace weir::durable
