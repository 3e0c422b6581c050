#pragma once

#include <weir/bus_text.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

namespace weir {

/// What a bus has published: gives each hint its numbers, and answers what has moved since. It knows up to `most` topics, and
/// forgets of more those that have been silent for longest. Pure.
class hint_numbers {
public:
  explicit hint_numbers(bus_id publisher, std::size_t most = 65536) : publisher_{publisher}, most_{most} {}

  /// The place of the next hint on that topic.
  hint_place next(std::string_view topic, std::int64_t now);

  /// Every topic that moved behind that number, the one that is silent for longest first; where they are more than go into one
  /// answer (2 MiB of text), those that moved last, and that it has forgotten the others.
  bus_answer since(std::uint64_t number) const;

  /// Says how far it is, and remembers that for last_answer().
  bus_beacon beacon(std::chrono::milliseconds interval, std::int64_t now);

  /// Says the same to somebody who asks, and remembers nothing.
  bus_beacon beacon_on_demand(std::chrono::milliseconds interval, std::int64_t now) const {
    return {publisher_, last_, interval, now};
  }

  /// The first word of a bus, and said again until somebody may have heard it: that it has published nothing yet. Whoever has
  /// heard that misses nothing of it silently, however late the next word comes.
  bus_beacon first_beacon(std::chrono::milliseconds interval, std::int64_t now) const { return {publisher_, 0, interval, now}; }

  /// What has moved in the last eight beacons, by which a link that was down is up again: said before it leaves, for whoever
  /// lacks something and can't ask any more.
  bus_answer last_answer() const { return since(at_beacons_.size() < most_beacons ? 0 : at_beacons_.front()); }

  bus_leave leave(std::int64_t now) const { return {publisher_, last_, now}; }

  bus_id publisher() const noexcept { return publisher_; }
  std::uint64_t last() const noexcept { return last_; }

private:
  static constexpr std::size_t most_beacons = 8;
  static constexpr std::size_t most_answer_bytes = std::size_t{2} << 20U;

  struct topic_state {
    std::string name;
    std::uint64_t on_topic = 0;
    std::uint64_t last = 0; // its last hint's number
  };

  bus_id publisher_;
  std::size_t most_;
  std::uint64_t last_ = 0;
  std::deque<std::uint64_t> at_beacons_; // last_ at each of the last few
  std::uint64_t forgotten_ = 0;          // the last number of the topics that were forgotten
  std::list<topic_state> topics_;        // by their last numbers
  std::unordered_map<std::string_view, std::list<topic_state>::iterator> by_name_;
};

} // namespace weir
