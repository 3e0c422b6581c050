#pragma once

#include <weir/group_table.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace weir {

/// One member of a consumer group: what it writes next over the table that it has read, whose seats it takes away, which shards
/// it may deliver from. Pure: the time is the caller's, by a clock that never goes back; no two members' clocks are compared.
///
/// Nobody delivers from a shard while somebody else may: a shard is gained when a write that says so has succeeded, is not
/// delivered from any more once it is to be given up, whatever becomes of the write that does so, and a member that could not
/// write delivers nothing by the time at which the others may take its seat away.
class group_machine {
public:
  using time = std::chrono::nanoseconds;

  /// @param id drawn by chance, not 0
  /// @param lease 1 ms to 1 h
  group_machine(std::uint64_t id, std::chrono::milliseconds lease) noexcept : id_{id}, lease_{lease} {}

  /// The table as it is; returns the shards that are its own no more.
  std::vector<std::uint32_t> on_read(group_table table, time now);

  /// What to write over the table that was read last: one beat more, the seats of the dead taken away, free shards taken, and
  /// those that it has too many given up where nothing is in flight of them. Fails with fenced (its seat was taken away) and
  /// group_full.
  result<group_table> next(time now, const std::function<bool(std::uint32_t)>& is_idle);

  /// What to write when it leaves.
  result<group_table> farewell() const;

  /// What next() returned was written; it was read and written since `began`. Returns the shards that it has gained.
  std::vector<std::uint32_t> on_written(group_table table, time began);

  /// Its own, those that it has had for longest first.
  const std::vector<std::uint32_t>& own() const noexcept { return own_; }

  /// It is to be given up: nothing more of it is delivered.
  bool is_leaving(std::uint32_t shard) const { return leaving_.contains(shard); }

  /// Until when it may deliver from its own shards; absent: it is no member.
  std::optional<time> may_deliver_until() const noexcept { return valid_until_; }

  /// When it is to write again, at the latest.
  time beat_at() const noexcept { return beat_at_; }

  std::uint64_t id() const noexcept { return id_; }
  bool is_member() const noexcept { return valid_until_.has_value(); }
  const group_table* table() const noexcept { return table_ ? &*table_ : nullptr; }

private:
  struct seen {
    std::uint64_t beats = 0;
    time since = {};
  };

  void choose_leaving(const group_table& in);

  std::uint64_t id_;
  std::chrono::milliseconds lease_;
  std::optional<group_table> table_; // as it was read or written last
  std::map<std::uint64_t, seen> others_;
  std::vector<std::uint32_t> own_;
  std::set<std::uint32_t> leaving_; // grows with what next() chooses, and is that when it was written
  std::set<std::uint32_t> chosen_;
  std::uint64_t beats_ = 0;
  std::optional<time> valid_until_;
  time beat_at_{};
};

} // namespace weir
