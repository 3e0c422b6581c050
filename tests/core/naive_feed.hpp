#pragma once

#include <weir/feed_machine.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace core_tests {

/// What a feed is by its contract, written down as plainly as possible: for each shard a list of everything that was read, and
/// what became of it. Every question is answered by looking through the list. feed_machine must give the same answers in
/// continued mode.
class naive_feed {
public:
  using machine = weir::feed_machine;

  naive_feed(const std::vector<machine::shard_start>& shards, machine::settings how);

  weir::credit grant(weir::credit more);
  weir::credit revoke();
  weir::credit granted() const;
  weir::credit charged() const { return charged_; }
  weir::credit available() const { return available_; }
  weir::credit revoked() const;

  std::optional<machine::read_order> next_read();
  machine::read_was on_read(
    const machine::read_order& asked, const weir::shard_bounds& bounds, const std::vector<machine::read_entry>& entries);
  void on_read_failed(const machine::read_order& asked);
  void on_head(std::uint32_t shard, std::int64_t head);
  std::optional<std::pair<std::int64_t, std::int64_t>> skip_to(std::uint32_t shard, std::int64_t earliest);

  machine::next_is next() const;
  std::uint64_t next_bytes() const;
  machine::handed_out deliver();

  weir::result<weir::acknowledged> acknowledge(std::uint32_t shard, std::int64_t offset);
  weir::result<weir::acknowledged> acknowledge_through(std::uint32_t shard, std::int64_t offset);
  void rewind();

  std::vector<weir::shard_progress> progress() const;

  /// The offsets that are delivered and not acknowledged.
  std::vector<std::int64_t> in_flight(std::uint32_t shard) const;

private:
  enum class place : std::uint8_t { passed, in_line, in_flight, acknowledged };

  struct step {
    std::int64_t offset = 0;
    std::uint64_t bytes = 0;
    naive_feed::place place = place::passed; // it does not match, or is the last of offsets where nothing is
  };

  struct shard_list {
    std::uint32_t shard = 0;
    std::int64_t start = -1;
    std::vector<step> steps = {};
    std::int64_t earliest = 0;
    std::int64_t head = 0;
    std::int64_t head_since_asked = 0;
    bool head_is_known = false;

    std::int64_t scanned() const { return steps.empty() ? start : steps.back().offset; }
    std::int64_t delivered() const;
    std::int64_t acked() const;
  };

  const step* first_in_line() const;
  shard_list* find(std::uint32_t shard);

  machine::settings how_;
  std::vector<shard_list> shards_;
  std::size_t turn_ = 0;
  std::uint64_t reads_ = 0;
  std::optional<machine::read_order> under_way_;
  weir::credit charged_;
  weir::credit available_;
  weir::credit ever_revoked_;
};

} // namespace core_tests
