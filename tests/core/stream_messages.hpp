#pragma once

#include <weir/batch_parts.hpp>
#include <weir/checkpoint.hpp>
#include <weir/lane_checkpoint.hpp>
#include <weir/stored_requests.hpp>
#include <weir/stream_item.hpp>

#include "stream_item.pb.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Items, lanes' checkpoints and requests as the classes that protoc makes of src/stream_item.proto: protobuf's own code, which
// the codecs do not use. And with these, once more and slowly, which bytes are an item, a checkpoint or requests.

namespace core_tests {

namespace messages = weir::stream::v1;

inline void fill(messages::Position& to, const weir::position& from) {
  to.set_epoch(from.epoch);
  to.set_seq(from.seq);
  to.set_stamp(std::string{from.stamp.bytes()});
  to.set_time(from.time);
  to.set_transaction_open(!from.ends_transaction);
}

inline void fill(messages::RequestId& to, const weir::request_id& from) {
  to.set_high(from.high);
  to.set_low(from.low);
}

inline void fill(messages::Block& to, const weir::block& from) {
  for (const auto& change : from.envelopes()) {
    auto& envelope = *to.add_envelopes();
    envelope.set_collection(change.collection);
    envelope.set_key(change.key);
    envelope.set_operation(change.operation == weir::operation::erase ? messages::OPERATION_ERASE : messages::OPERATION_UPSERT);
    if (change.payload)
      envelope.set_payload(*change.payload);
    for (const auto& [name, value] : change.headers) {
      auto& header = *envelope.add_headers();
      header.set_name(name);
      header.set_value(value);
    }
  }
  for (const auto& part : from.parts()) {
    auto& share = *to.add_parts();
    fill(*share.mutable_position(), part.at);
    share.set_begin(part.begin);
    share.set_count(part.count);
    share.set_first_index(part.first_index);
  }
}

inline messages::Item message_of(const weir::stored_item& given) {
  messages::Item made;
  made.set_version(1);
  for (const auto& lane : given.lanes) {
    auto& named = *made.add_lanes();
    named.set_sink(lane.sink);
    if (lane.collection)
      named.set_collection(*lane.collection);
  }
  if (const auto* marker = std::get_if<weir::snapshot_complete>(&given.item)) {
    auto& complete = *made.mutable_snapshot_complete();
    fill(*complete.mutable_request(), marker->request);
    for (const auto& name : marker->collections)
      complete.add_collections(name);
    return made;
  }
  const auto& carried = std::get<weir::batch>(given.item);
  auto& batch = *made.mutable_batch();
  if (carried.at)
    fill(*batch.mutable_position(), *carried.at);
  batch.set_changes(carried.changes);
  if (carried.envelopes)
    fill(*batch.mutable_block(), *carried.envelopes);
  if (carried.request)
    fill(*batch.mutable_request(), *carried.request);
  if (carried.walked)
    batch.set_walked(*carried.walked);
  return made;
}

inline std::optional<weir::position> position_of(const messages::Position& from) {
  if (from.stamp().size() > weir::stamp::max_size)
    return std::nullopt;
  return weir::position{
    from.epoch(), from.seq(), weir::stamp::from(from.stamp()).value(), from.time(), !from.transaction_open()};
}

inline weir::request_id request_id_of(const messages::RequestId& from) {
  return {from.high(), from.low()};
}

inline std::optional<weir::block_ptr> block_of(const messages::Block& from) {
  std::vector<weir::envelope> changes;
  for (const auto& one : from.envelopes()) {
    if (one.operation() != messages::OPERATION_UPSERT && one.operation() != messages::OPERATION_ERASE)
      return std::nullopt;
    auto& change = changes.emplace_back();
    change.collection = one.collection();
    change.key = one.key();
    change.operation = one.operation() == messages::OPERATION_ERASE ? weir::operation::erase : weir::operation::upsert;
    if (one.has_payload())
      change.payload = one.payload();
    for (const auto& header : one.headers())
      change.headers.emplace_back(header.name(), header.value());
  }
  std::vector<weir::transaction_part> parts;
  for (const auto& one : from.parts()) {
    const auto at = position_of(one.position());
    if (!at || !one.has_position())
      return std::nullopt;
    parts.push_back({*at, static_cast<std::size_t>(one.begin()), static_cast<std::size_t>(one.count()), one.first_index()});
  }
  return weir::make_block(std::move(changes), std::move(parts));
}

inline std::optional<weir::batch> batch_of(const messages::Batch& from) {
  weir::batch made;
  made.changes = from.changes();
  if (from.has_position() == from.has_request() || (from.has_position() && from.has_walked()))
    return std::nullopt;
  if (from.has_position() && !(made.at = position_of(from.position())))
    return std::nullopt;
  if (from.has_block()) {
    auto block = block_of(from.block());
    if (!block)
      return std::nullopt;
    made.envelopes = std::move(*block);
  }
  if (from.has_request())
    made.request = request_id_of(from.request());
  if (from.has_walked())
    made.walked = from.walked();
  if (!weir::check_parts(made))
    return std::nullopt;
  return made;
}

/// The item that these bytes are, if they are what message_of gives for it.
inline std::optional<weir::stored_item> item_of(std::string_view bytes) {
  messages::Item parsed;
  if (!parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return std::nullopt;
  weir::stored_item made;
  for (const auto& lane : parsed.lanes())
    made.lanes.push_back(lane.has_collection() ? weir::lane_id{lane.sink(), lane.collection()} : weir::lane_id{lane.sink()});
  if (parsed.has_batch()) {
    auto carried = batch_of(parsed.batch());
    if (!carried)
      return std::nullopt;
    made.item = std::move(*carried);
  } else {
    const auto& complete = parsed.snapshot_complete();
    made.item = weir::snapshot_complete{
      request_id_of(complete.request()), {complete.collections().begin(), complete.collections().end()}};
  }
  return message_of(made).SerializeAsString() == bytes ? std::optional{std::move(made)} : std::nullopt;
}

inline messages::LaneCheckpoint message_of(const weir::lane_checkpoint& given) {
  messages::LaneCheckpoint made;
  made.set_version(1);
  if (given.floor.reached)
    fill(*made.mutable_reached(), *given.floor.reached);
  if (given.floor.confirmable)
    fill(*made.mutable_confirmable(), *given.floor.confirmable);
  std::uint64_t next = 0;
  for (const auto& [first, last] : given.acknowledged) {
    made.add_acknowledged(static_cast<std::uint64_t>(first) - next);
    made.add_acknowledged(static_cast<std::uint64_t>(last) - static_cast<std::uint64_t>(first) + 1);
    next = static_cast<std::uint64_t>(last) + 1;
  }
  made.set_settled_below(static_cast<std::uint64_t>(given.settled_below));
  made.set_has_lost(given.has_lost);
  return made;
}

/// The checkpoint that these bytes are, if they are what message_of gives for it.
inline std::optional<weir::lane_checkpoint> checkpoint_of(std::string_view bytes) {
  messages::LaneCheckpoint parsed;
  if (bytes.size() > weir::max_checkpoint_metadata || !parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return std::nullopt;
  weir::lane_checkpoint made;
  if (parsed.has_reached() && !(made.floor.reached = position_of(parsed.reached())))
    return std::nullopt;
  if (parsed.has_confirmable()) {
    made.floor.confirmable = position_of(parsed.confirmable());
    if (!made.floor.confirmable || !made.floor.confirmable->ends_transaction || !made.floor.reached
        || !weir::covers(*made.floor.reached, *made.floor.confirmable))
      return std::nullopt;
  }
  constexpr auto largest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  std::uint64_t next = 0;
  for (int at = 0; at + 1 < parsed.acknowledged_size(); at += 2) {
    const auto distance = parsed.acknowledged(at);
    const auto length = parsed.acknowledged(at + 1);
    if (next > largest || distance > largest - next || length == 0 || length - 1 > largest - next - distance)
      return std::nullopt;
    const auto first = next + distance;
    next = first + length;
    made.acknowledged.emplace_back(static_cast<std::int64_t>(first), static_cast<std::int64_t>(next - 1));
  }
  if (parsed.settled_below() > largest)
    return std::nullopt;
  made.settled_below = static_cast<std::int64_t>(parsed.settled_below());
  made.has_lost = parsed.has_lost();
  return message_of(made).SerializeAsString() == bytes ? std::optional{std::move(made)} : std::nullopt;
}

inline messages::Requests message_of(const std::vector<weir::request>& given) {
  messages::Requests made;
  made.set_version(1);
  for (const auto& one : given) {
    auto& asked = *made.add_requests();
    fill(*asked.mutable_id(), one.id);
    asked.set_sink(one.sink);
    for (const auto& name : one.collections)
      asked.add_collections(name);
    if (one.after)
      asked.set_after(*one.after);
    if (one.not_before)
      fill(*asked.mutable_not_before(), *one.not_before);
  }
  return made;
}

/// The requests that these bytes are, if they are what message_of gives for them.
inline std::optional<std::vector<weir::request>> requests_of(std::string_view bytes) {
  messages::Requests parsed;
  if (!parsed.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return std::nullopt;
  std::vector<weir::request> made;
  for (const auto& one : parsed.requests()) {
    if (one.collections().empty())
      return std::nullopt;
    auto& asked = made.emplace_back();
    asked.id = request_id_of(one.id());
    asked.sink = one.sink();
    asked.collections = {one.collections().begin(), one.collections().end()};
    if (one.has_after())
      asked.after = one.after();
    if (one.has_not_before() && !(asked.not_before = position_of(one.not_before())))
      return std::nullopt;
  }
  return message_of(made).SerializeAsString() == bytes ? std::optional{std::move(made)} : std::nullopt;
}

} // namespace core_tests
