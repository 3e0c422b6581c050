#pragma once

#include <weir/lane_machine.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace core_tests {

/// One delivery as both sides of a comparison name it.
struct delivered {
  std::uint64_t ordinal = 0;
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 0;

  friend bool operator==(const delivered&, const delivered&) = default;
};

/// What a lane is by its contract, written down as plainly as possible: a list of all items ever published, and for each
/// where it is. Every question is answered by looking through the list. lane_machine must give the same answers.
class naive_lane {
public:
  enum class place : std::uint8_t { queued, lent, returned, acknowledged };

  struct item {
    std::optional<weir::position> at;
    std::uint64_t bytes = 0;
    std::uint32_t attempts = 0;
    naive_lane::place place = place::queued;
    weir::outlet out = weir::outlet::main;
    std::uint64_t due = 0; // where it was returned
  };

  struct lease {
    std::uint64_t sequence = 0;
    bool active = true;
  };

  struct consumer {
    bool attached = false;
    std::uint64_t generation = 0;
    std::uint64_t seen = 0; // deliveries that its code is known to have seen
    weir::credit window;
    weir::credit granted;
    weir::credit spent;
    std::vector<lease> leases; // by ordinal, all of this generation
  };

  naive_lane(weir::lane_policy policy, weir::lane_floor start);

  std::uint64_t attach_producer();
  bool receive(std::uint64_t generation, std::uint64_t first, const std::vector<weir::lane_item>& items);
  void on_probe(std::uint64_t generation, weir::credit wanted);
  void detach_producer(std::uint64_t generation);
  std::optional<weir::credit> take_grant(bool has_starved);

  std::uint64_t attach_consumer(weir::outlet out, weir::credit window);
  void detach_consumer(weir::outlet out, std::uint64_t generation, std::uint64_t taken);
  void on_grant(weir::outlet out, std::uint64_t generation, weir::credit up_to);
  bool on_acknowledged_below(weir::outlet out, std::uint64_t generation, std::uint64_t through, std::uint64_t taken);
  bool on_acknowledged(weir::outlet out, std::uint64_t generation, std::uint64_t ordinal);
  bool on_returned(weir::outlet out, std::uint64_t generation, std::uint64_t ordinal, std::uint64_t due);
  void return_untaken(weir::outlet out, std::uint64_t generation, std::uint64_t taken);
  std::vector<delivered> deliver(weir::outlet out, std::uint64_t now);
  void drop_all();

  weir::lane_floor floor() const;
  std::optional<weir::position> last_position() const;
  std::uint64_t prefix_end() const;
  std::uint64_t end() const { return items_.size(); }
  std::uint64_t held_bytes() const;
  std::uint64_t parked() const;
  bool is_stopped() const { return stopped_; }
  bool has_producer() const { return has_producer_; }
  bool is_producer_starved() const;
  bool all_delivered(weir::outlet out) const;
  bool waits_for_time() const;
  std::optional<std::uint64_t> next_due(std::uint64_t now) const;
  bool all_acknowledged() const { return prefix_end() == end(); }

  const consumer& at(weir::outlet out) const { return consumers_[static_cast<std::size_t>(out)]; }
  const item& at(std::uint64_t sequence) const { return items_[sequence]; }

  /// What the producer's credit must be: as totals since the lane began.
  weir::credit granted() const { return granted_; }
  weir::credit received() const;

  /// The item that would go out next if there were credit for it; for probes.
  std::optional<std::uint64_t> next_sequence(weir::outlet out, std::uint64_t now) const;

  /// Everything that decides what can still happen, as a text: two lanes with the same one behave alike.
  std::string fingerprint(std::uint64_t now) const;

private:
  consumer& link(weir::outlet out) { return consumers_[static_cast<std::size_t>(out)]; }
  bool is_current(weir::outlet out, std::uint64_t generation) const;
  bool end_lease(consumer& of, std::uint64_t ordinal);
  void give_back(weir::outlet out, std::uint64_t ordinal, std::uint64_t due);
  void return_all(weir::outlet out);
  weir::credit done() const;

  weir::lane_policy policy_;
  weir::lane_floor start_;
  std::vector<item> items_;
  std::uint64_t producer_generation_ = 0;
  bool has_producer_ = false;
  weir::credit granted_;
  std::optional<weir::credit> wanted_;
  consumer consumers_[2];
  bool stopped_ = false;
  mutable std::uint64_t prefix_ = 0; // never goes back, so it is looked for from here; so is the floor
  mutable std::uint64_t floor_end_ = 0;
  mutable weir::lane_floor floor_;
};

} // namespace core_tests
