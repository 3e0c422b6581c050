#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir::cli {

/// What a lane is doing, for people.
enum class lane_state {
  flowing,
  filling, ///< a backfill is under way
  waiting, ///< its sink failed or asked to be left alone; it will be tried again
};

struct lane_standing {
  std::string name;
  std::uint64_t backlog = 0; ///< items published and not yet acknowledged
  lane_state state = lane_state::flowing;

  friend bool operator==(const lane_standing&, const lane_standing&) = default;
};

/// How a pipeline stands at one moment.
struct figures {
  std::chrono::milliseconds elapsed{0}; ///< since the start
  std::uint64_t changes = 0;            ///< read from the source since the start
  std::vector<lane_standing> lanes;
  std::optional<std::uint64_t> lag; ///< how far the watermark is behind what was read last, in transactions; absent: unknown
  std::uint64_t bytes_held = 0;     ///< by all lanes together

  /// Whether anything but the time is different.
  bool same_but_for_time(const figures& other) const;
};

/// Changes per second over the last moments: what is shown should neither jump nor lag by minutes. Give it the figures at any
/// pace; the rate is over the last five seconds, or since the start.
class rate_meter {
public:
  double per_second() const noexcept { return rate_; }
  void on(std::chrono::milliseconds elapsed, std::uint64_t changes);

private:
  std::vector<std::pair<std::chrono::milliseconds, std::uint64_t>> samples_;
  double rate_ = 0;
};

/// The progress line, at most `width` characters of one column each. Where there is not room for all of it, the less important
/// parts go first: the bytes, the lag, then the lanes from the last; the count of changes stays, cut if need be.
std::string progress_line(const figures& now, double changes_per_second, std::size_t width);

/// The same as names and values, for the log.
std::vector<std::pair<std::string, std::string>> progress_facts(const figures& now, double changes_per_second);

} // namespace weir::cli
