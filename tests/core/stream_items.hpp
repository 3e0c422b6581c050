#pragma once

#include <weir/lane_checkpoint.hpp>
#include <weir/stored_requests.hpp>
#include <weir/stream_item.hpp>

#include "seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// Items of all shapes, and what is the same: everything, where positions compare by epoch and seq alone.

namespace core_tests {

inline bool is_same(const weir::position& left, const weir::position& right) {
  return left == right && left.stamp == right.stamp && left.time == right.time
         && left.ends_transaction == right.ends_transaction;
}

inline bool is_same(const std::optional<weir::position>& left, const std::optional<weir::position>& right) {
  return left && right ? is_same(*left, *right) : !left && !right;
}

inline bool is_same(const weir::envelope& left, const weir::envelope& right) {
  return left.collection == right.collection && left.key == right.key && left.operation == right.operation
         && left.payload == right.payload && left.headers == right.headers;
}

inline bool is_same(const weir::transaction_part& left, const weir::transaction_part& right) {
  return is_same(left.at, right.at) && left.begin == right.begin && left.count == right.count
         && left.first_index == right.first_index;
}

inline bool is_same(const weir::block_ptr& left, const weir::block_ptr& right) {
  const auto same = [](const auto& one, const auto& other) { return is_same(one, other); };
  return left && right ? std::ranges::equal(left->envelopes(), right->envelopes(), same)
                           && std::ranges::equal(left->parts(), right->parts(), same)
                       : !left && !right;
}

inline bool is_same(const weir::lane_item& left, const weir::lane_item& right) {
  if (left.index() != right.index())
    return false;
  if (const auto* marker = std::get_if<weir::snapshot_complete>(&left)) {
    const auto& other = std::get<weir::snapshot_complete>(right);
    return marker->request == other.request && marker->collections == other.collections;
  }
  const auto& one = std::get<weir::batch>(left);
  const auto& other = std::get<weir::batch>(right);
  return is_same(one.at, other.at) && one.changes == other.changes && is_same(one.envelopes, other.envelopes)
         && one.request == other.request && one.walked == other.walked;
}

inline bool is_same(const weir::stored_item& left, const weir::stored_item& right) {
  return left.lanes == right.lanes && is_same(left.item, right.item);
}

inline bool is_same(const weir::lane_checkpoint& left, const weir::lane_checkpoint& right) {
  return is_same(left.floor.reached, right.floor.reached) && is_same(left.floor.confirmable, right.floor.confirmable)
         && left.acknowledged == right.acknowledged && left.settled_below == right.settled_below
         && left.has_lost == right.has_lost;
}

inline bool is_same(const weir::request& left, const weir::request& right) {
  return left.id == right.id && left.sink == right.sink && left.collections == right.collections && left.after == right.after
         && is_same(left.not_before, right.not_before);
}

inline bool is_same(const std::vector<weir::request>& left, const std::vector<weir::request>& right) {
  return std::ranges::equal(left, right, [](const auto& one, const auto& other) { return is_same(one, other); });
}

/// Numbers of every size, the smallest and the largest more often.
inline std::uint64_t any_number(random_source& random) {
  if (random.chance(20))
    return random.chance(50) ? 0 : std::numeric_limits<std::uint64_t>::max();
  return random.next() >> random.below(64);
}

inline std::string any_bytes(random_source& random, std::size_t most) {
  std::string bytes(random.chance(30) ? 0 : static_cast<std::size_t>(random.between(1, most)), '\0');
  for (auto& one : bytes)
    one = static_cast<char>(random.next());
  return bytes;
}

inline std::optional<std::string> maybe_bytes(random_source& random, std::size_t most) {
  return random.chance(40) ? std::nullopt : std::optional{any_bytes(random, most)};
}

inline weir::position any_position(random_source& random) {
  weir::position at;
  at.epoch = any_number(random);
  at.seq = any_number(random);
  at.stamp = weir::stamp::from(any_bytes(random, weir::stamp::max_size)).value();
  at.time = static_cast<std::int64_t>(any_number(random));
  at.ends_transaction = random.chance(70);
  return at;
}

inline weir::request_id any_request_id(random_source& random) {
  return {any_number(random), any_number(random)};
}

inline weir::envelope any_envelope(random_source& random) {
  weir::envelope change;
  change.collection = any_bytes(random, 20);
  change.key = any_bytes(random, 40);
  change.operation = random.chance(70) ? weir::operation::upsert : weir::operation::erase;
  change.payload = maybe_bytes(random, random.chance(5) ? 20'000 : 300);
  for (auto headers = random.chance(70) ? 0 : random.between(1, 4); headers > 0; --headers)
    change.headers.push_back({any_bytes(random, 10), any_bytes(random, 200)});
  return change;
}

/// A block whose parts, if any, are sound: some of them empty, some that go on with an earlier batch's transaction.
inline weir::block_ptr any_block(random_source& random) {
  std::vector<weir::envelope> changes(random.chance(20) ? 0 : static_cast<std::size_t>(random.between(1, 5)));
  for (auto& change : changes)
    change = any_envelope(random);
  std::vector<weir::transaction_part> parts;
  if (random.chance(40))
    for (std::size_t next = 0; next < changes.size() || random.chance(30);) {
      const auto count = static_cast<std::size_t>(random.below(changes.size() - next + 1));
      parts.push_back({any_position(random), next, count, any_number(random)});
      next += count;
    }
  return weir::make_block(std::move(changes), std::move(parts));
}

inline weir::lane_item any_content(random_source& random) {
  if (random.chance(15)) {
    weir::snapshot_complete marker{any_request_id(random), {}};
    for (auto collections = random.below(4); collections > 0; --collections)
      marker.collections.push_back(any_bytes(random, 20));
    return marker;
  }
  weir::batch carried;
  carried.changes = any_number(random);
  if (random.chance(80))
    carried.envelopes = any_block(random);
  if (random.chance(60)) {
    carried.at = any_position(random);
  } else {
    carried.request = any_request_id(random);
    carried.walked = maybe_bytes(random, 200);
  }
  return carried;
}

inline weir::lane_id any_lane(random_source& random) {
  const auto collection = maybe_bytes(random, 20);
  return collection ? weir::lane_id{any_bytes(random, 20), *collection} : weir::lane_id{any_bytes(random, 20)};
}

inline weir::stored_item any_item(random_source& random) {
  weir::stored_item made{{}, any_content(random)};
  for (auto lanes = random.chance(60) ? 0 : random.between(1, 4); lanes > 0; --lanes)
    made.lanes.push_back(any_lane(random));
  return made;
}

inline std::string encoded(const weir::stored_item& given) {
  std::string bytes;
  weir::encode_item(bytes, given.lanes, given.item);
  return bytes;
}

/// A floor as a lane has it.
inline weir::lane_floor any_floor(random_source& random) {
  weir::lane_floor floor;
  if (random.chance(20))
    return floor;
  floor.reached = any_position(random);
  if (floor.reached->ends_transaction) {
    floor.confirmable = floor.reached;
  } else if (random.chance(60)) {
    floor.confirmable = any_position(random);
    floor.confirmable->ends_transaction = true;
    if (floor.confirmable->epoch >= floor.reached->epoch) {
      floor.confirmable->epoch = floor.reached->epoch;
      floor.confirmable->seq = floor.reached->seq / 2;
    }
    if (!weir::covers(*floor.reached, *floor.confirmable))
      floor.confirmable.reset();
  }
  return floor;
}

/// At most so many runs, far apart or near each other, up to the largest offset.
inline weir::lane_checkpoint any_checkpoint(random_source& random, std::size_t most_runs) {
  constexpr auto largest = std::numeric_limits<std::int64_t>::max();
  weir::lane_checkpoint made{any_floor(random), {}, 0};
  const auto near = random.chance(70);
  const auto step = [&](std::int64_t room) {
    const auto any = near ? random.below(300) : any_number(random) >> random.between(1, 30);
    return std::min(static_cast<std::int64_t>(any), room);
  };
  std::int64_t last = -1;
  for (auto runs = random.below(most_runs + 1); runs > 0 && last < largest; --runs) {
    const auto first = last + 1 + step(largest - (last + 1));
    last = first + step(largest - first);
    made.acknowledged.emplace_back(first, last);
  }
  if (random.chance(60))
    made.settled_below = static_cast<std::int64_t>(any_number(random) >> 1U);
  made.has_lost = random.chance(20);
  return made;
}

inline weir::request any_request(random_source& random) {
  weir::request asked;
  asked.id = any_request_id(random);
  asked.sink = any_bytes(random, 20);
  for (auto collections = random.between(1, 4); collections > 0; --collections)
    asked.collections.push_back(any_bytes(random, 20));
  asked.after = maybe_bytes(random, 200);
  if (random.chance(60))
    asked.not_before = any_position(random);
  return asked;
}

/// At most so many.
inline std::vector<weir::request> any_requests(random_source& random, std::size_t most) {
  std::vector<weir::request> made(static_cast<std::size_t>(random.below(most + 1)));
  for (auto& asked : made)
    asked = any_request(random);
  return made;
}

} // namespace core_tests
