#include <weir/checkpoint.hpp>
#include <weir/lane_checkpoint.hpp>

#include "position_fields.hpp"
#include "protobuf_fields.hpp"

#include <cassert>
#include <cstddef>
#include <limits>
#include <ranges>
#include <span>

namespace weir {

namespace {

using detail::field_reader;
using detail::position_fields;
using detail::tag_of;
using detail::wire_type;

constexpr std::uint64_t newest_version = 1;

// The fields of LaneCheckpoint in stream_item.proto.
constexpr auto version_tag = tag_of(1, wire_type::varint);
constexpr auto reached_tag = tag_of(2, wire_type::bytes);
constexpr auto confirmable_tag = tag_of(3, wire_type::bytes);
constexpr auto acknowledged_tag = tag_of(4, wire_type::bytes);
constexpr auto settled_below_tag = tag_of(5, wire_type::varint);
constexpr auto has_lost_tag = tag_of(6, wire_type::varint);

using run = std::pair<std::int64_t, std::int64_t>;

constexpr std::int64_t before_all = -1; ///< what the first run's distance is counted from

// Of offsets from 0, up to the largest number: unsigned, the differences fit.

/// How many offsets lie between the one before a run and the run.
std::uint64_t distance_of(std::int64_t before, const run& one) noexcept {
  return static_cast<std::uint64_t>(one.first) - static_cast<std::uint64_t>(before) - 1;
}
std::uint64_t length_of(const run& one) noexcept {
  return static_cast<std::uint64_t>(one.second) - static_cast<std::uint64_t>(one.first) + 1;
}

/// A lane confirms what it has reached, and only what ends a transaction.
bool is_sound(const lane_floor& floor) noexcept {
  return !floor.confirmable
         || (floor.confirmable->ends_transaction && floor.reached && covers(*floor.reached, *floor.confirmable));
}

[[maybe_unused]] bool are_ascending(std::span<const run> runs) noexcept {
  auto last = before_all;
  for (const auto& [first, end] : runs) {
    if (first <= last || end < first)
      return false;
    last = end;
  }
  return true;
}

void put_runs(auto& out, std::span<const run> runs) {
  for (auto left = runs.size(); left > 0; --left) {
    out.varint(length_of(runs[left - 1]));
    out.varint(distance_of(left > 1 ? runs[left - 2].second : before_all, runs[left - 1]));
  }
}

void put(auto& out, const lane_checkpoint& given, std::span<const run> runs) {
  const auto& floor = given.floor;
  out.number(has_lost_tag, given.has_lost ? 1 : 0);
  out.number(settled_below_tag, static_cast<std::uint64_t>(given.settled_below));
  if (!runs.empty())
    out.message(acknowledged_tag, [&](auto& to) { put_runs(to, runs); });
  if (floor.confirmable)
    out.message(confirmable_tag, [&](auto& to) { position_fields::put(to, *floor.confirmable); });
  if (floor.reached)
    out.message(reached_tag, [&](auto& to) { position_fields::put(to, *floor.reached); });
  out.number(version_tag, newest_version);
}

/// The first ones, as many as fit beside the floor.
std::span<const run> fitting(const lane_checkpoint& given) {
  const std::span<const run> runs{given.acknowledged};
  detail::field_counter around;
  put(around, given, {});
  detail::field_counter within;
  auto before = before_all;
  std::size_t count = 0;
  for (const auto& one : runs) {
    within.varint(distance_of(before, one));
    within.varint(length_of(one));
    if (around.size() + 1 + detail::varint_size(within.size()) + within.size() > max_checkpoint_metadata)
      break;
    before = one.second;
    ++count;
  }
  return runs.first(count);
}

/// The runs of a packed field.
void read_runs(field_reader from, std::vector<run>& into) {
  constexpr std::uint64_t end = std::uint64_t{1} << 63U;
  std::uint64_t next = 0;
  while (!from.is_done()) {
    const auto distance = from.varint();
    const auto length = from.varint();
    if (length == 0 || distance > end - next || length > end - next - distance) {
      from.fail("a run of offsets has none, or goes beyond the largest one");
      return;
    }
    const auto first = next + distance;
    next = first + length;
    into.emplace_back(static_cast<std::int64_t>(first), static_cast<std::int64_t>(next - 1));
  }
}

error corrupt(std::string_view sentence, std::string_view bytes) {
  return error{errc::corrupt, std::string{sentence}, {{"size", std::to_string(bytes.size())}}};
}

} // namespace

std::string encode_lane_checkpoint(const lane_checkpoint& given) {
  assert(is_sound(given.floor) && are_ascending(given.acknowledged) && given.settled_below >= 0);
  const auto runs = fitting(given);
  std::string bytes;
  detail::append_message(bytes, [&](auto& to) { put(to, given, runs); });
  return bytes;
}

result<lane_checkpoint> decode_lane_checkpoint(std::string_view bytes) {
  if (bytes.size() > max_checkpoint_metadata)
    return corrupt("a lane's checkpoint has at most 4096 bytes", bytes);
  detail::field_fault fault;
  field_reader from{bytes, fault};
  const auto version = from.number(version_tag);
  if (version > newest_version)
    return error{errc::newer_format, "the lane's checkpoint is of a newer version",
      {{"version", std::to_string(version)}, {"known", std::to_string(newest_version)}}};
  if (version == 0)
    from.fail("the lane's checkpoint does not say its version");
  lane_checkpoint read;
  if (const auto place = from.message(reached_tag))
    read.floor.reached = position_fields::read(*place);
  if (const auto place = from.message(confirmable_tag))
    read.floor.confirmable = position_fields::read(*place);
  if (const auto runs = from.message(acknowledged_tag)) {
    if (runs->is_done())
      from.fail("a lane's checkpoint leaves out runs where there are none");
    read_runs(*runs, read.acknowledged);
  }
  read.settled_below = static_cast<std::int64_t>(from.number(settled_below_tag, std::numeric_limits<std::int64_t>::max()));
  read.has_lost = from.number(has_lost_tag, 1) == 1;
  from.finish();
  if (fault)
    return corrupt(fault.sentence, bytes).with("at", std::to_string(fault.at - bytes.data()));
  if (!is_sound(read.floor))
    return corrupt("a lane confirms no more than it has reached, and only what ends a transaction", bytes);
  return read;
}

} // namespace weir
