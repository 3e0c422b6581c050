#pragma once

#include <weir/error.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

inline constexpr std::size_t max_group_members = 64;
inline constexpr std::uint32_t max_group_shards = 2048;

/// A member of a consumer group.
struct group_seat {
  std::uint64_t id = 0;    ///< drawn when it joined; not 0
  std::uint64_t beats = 0; ///< grows whenever it writes
  std::chrono::milliseconds lease{};

  friend bool operator==(const group_seat&, const group_seat&) = default;
};

/// Who is in a consumer group, and whose the topic's shards are.
struct group_table {
  static constexpr std::uint64_t nobody = 0;

  std::uint64_t term = 0;             ///< grows with each change of seats and owners
  std::vector<group_seat> seats = {}; ///< by the order in which they joined
  std::vector<std::uint64_t> owners;  ///< of each shard: a seat's id, or nobody

  explicit group_table(std::uint32_t shards) : owners(shards, nobody) {}

  const group_seat* find(std::uint64_t id) const noexcept;
  group_seat* find(std::uint64_t id) noexcept;

  /// By number.
  std::vector<std::uint32_t> shards_of(std::uint64_t id) const;

  /// How many shards that member has when all are shared out: of those that have most, as many as there must be keep one more
  /// than the others. 0: it is no member.
  std::size_t share_of(std::uint64_t id) const;

  /// The member goes, and its shards are nobody's.
  void remove(std::uint64_t id);

  friend bool operator==(const group_table&, const group_table&) = default;
};

/// The message weir.log.v1.GroupTable of src/group.proto, serialised as protobuf: what a group's checkpoint has as its
/// metadata. At most max_group_members seats and max_group_shards shards, which fits.
std::string encode_group_table(const group_table& given);

/// Reads what encode_group_table wrote for a topic of so many shards, and nothing else. Fails with newer_format (the facts: its
/// version, the known one) and corrupt (no such message: the checkpoint is another consumer's).
result<group_table> decode_group_table(std::string_view bytes, std::uint32_t shards);

} // namespace weir
