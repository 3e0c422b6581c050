#pragma once

#include <weir/lane_machine.hpp>

#include "naive_lane.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace core_tests {

/// A lane_machine and the naive lane side by side: every event goes to both, every answer is compared, and after each event
/// so is everything that can be asked. What differs first is kept as a sentence.
class checked_lane {
public:
  checked_lane(weir::lane_policy policy, weir::lane_floor start);

  std::uint64_t attach_producer();
  bool receive(std::uint64_t generation, std::uint64_t first, std::vector<weir::lane_item> items);
  void on_probe(std::uint64_t generation, weir::credit wanted);
  void detach_producer(std::uint64_t generation);
  std::optional<weir::credit> take_grant(bool has_starved = false);

  std::uint64_t attach_consumer(weir::outlet out, weir::credit window);
  void detach_consumer(weir::outlet out, std::uint64_t generation, std::uint64_t taken);
  void on_grant(weir::outlet out, std::uint64_t generation, weir::credit up_to);
  bool on_acknowledged_below(weir::outlet out, std::uint64_t generation, std::uint64_t through, std::uint64_t taken);
  bool on_acknowledged(weir::outlet out, std::uint64_t generation, std::uint64_t ordinal);
  bool on_returned(weir::outlet out, std::uint64_t generation, std::uint64_t ordinal, std::uint64_t due);
  void return_untaken(weir::outlet out, std::uint64_t generation, std::uint64_t taken);
  std::vector<delivered> deliver(weir::outlet out, std::uint64_t now);
  void drop_all();

  /// Compares everything that can be asked; `now` only matters for next_due().
  void compare(std::uint64_t now);

  const weir::lane_machine& machine() const { return machine_; }
  const naive_lane& naive() const { return naive_; }

  /// Empty as long as both agree.
  const std::string& difference() const { return difference_; }

private:
  template <class T>
  T same(std::string_view what, T found, T expected);

  weir::lane_machine machine_;
  naive_lane naive_;
  std::size_t deliveries_ = 0;
  std::string difference_;
};

} // namespace core_tests
