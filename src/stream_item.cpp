#include <weir/batch_parts.hpp>
#include <weir/stream_item.hpp>

#include "position_fields.hpp"
#include "protobuf_fields.hpp"
#include "request_id_fields.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <utility>

namespace weir {

namespace {

using detail::field_reader;
using detail::position_fields;
using detail::request_id_fields;
using detail::tag_of;
using detail::wire_type;

constexpr std::uint64_t newest_version = 1;

// One struct for each message of stream_item.proto: its fields, how they are put (the last one first), and how they are read.

struct lane_fields {
  static constexpr auto sink = tag_of(1, wire_type::bytes);
  static constexpr auto collection = tag_of(2, wire_type::bytes);

  /// A lane_id whose bytes are somebody else's.
  struct view {
    std::string_view sink;
    std::optional<std::string_view> collection;

    bool is(const lane_id& lane) const noexcept { return sink == lane.sink && collection == lane.collection; }
    lane_id copy() const {
      return collection ? lane_id{std::string{sink}, std::string{*collection}} : lane_id{std::string{sink}};
    }
  };

  static void put(auto& out, const lane_id& lane) {
    if (lane.collection)
      out.present(collection, *lane.collection);
    out.bytes(sink, lane.sink);
  }

  static view read(field_reader from) noexcept {
    view lane;
    lane.sink = from.bytes(sink);
    lane.collection = from.present(collection);
    from.finish();
    return lane;
  }
};

struct header_fields {
  static constexpr auto name = tag_of(1, wire_type::bytes);
  static constexpr auto value = tag_of(2, wire_type::bytes);

  static void put(auto& out, const std::pair<std::string, std::string>& header) {
    out.bytes(value, header.second);
    out.bytes(name, header.first);
  }

  static void read(field_reader from, std::pair<std::string, std::string>& into) {
    into.first = from.bytes(name);
    into.second = from.bytes(value);
    from.finish();
  }
};

struct envelope_fields {
  static constexpr auto collection = tag_of(1, wire_type::bytes);
  static constexpr auto key = tag_of(2, wire_type::bytes);
  static constexpr auto operation = tag_of(3, wire_type::varint);
  static constexpr auto payload = tag_of(4, wire_type::bytes);
  static constexpr auto headers = tag_of(5, wire_type::bytes);

  static void put(auto& out, const envelope& change) {
    for (const auto& header : std::views::reverse(change.headers))
      out.message(headers, [&](auto& to) { header_fields::put(to, header); });
    if (change.payload)
      out.present(payload, *change.payload);
    out.number(operation, static_cast<std::uint64_t>(change.operation));
    out.bytes(key, change.key);
    out.bytes(collection, change.collection);
  }

  static void read(field_reader from, envelope& into) {
    into.collection = from.bytes(collection);
    into.key = from.bytes(key);
    into.operation = static_cast<weir::operation>(from.number(operation, static_cast<std::uint64_t>(operation::erase)));
    if (const auto there = from.present(payload))
      into.payload.emplace(*there);
    into.headers.reserve(from.count(headers));
    while (const auto header = from.message(headers))
      header_fields::read(*header, into.headers.emplace_back());
    from.finish();
  }
};

struct transaction_part_fields {
  static constexpr auto at = tag_of(1, wire_type::bytes);
  static constexpr auto begin = tag_of(2, wire_type::varint);
  static constexpr auto count = tag_of(3, wire_type::varint);
  static constexpr auto first_index = tag_of(4, wire_type::varint);

  static void put(auto& out, const transaction_part& part) {
    out.number(first_index, part.first_index);
    out.number(count, part.count);
    out.number(begin, part.begin);
    out.message(at, [&](auto& to) { position_fields::put(to, part.at); });
  }

  static void read(field_reader from, transaction_part& into) {
    constexpr std::uint64_t most = std::numeric_limits<std::size_t>::max();
    if (const auto place = from.message(at))
      into.at = position_fields::read(*place);
    else
      from.fail("a transaction's part has no position");
    into.begin = static_cast<std::size_t>(from.number(begin, most));
    into.count = static_cast<std::size_t>(from.number(count, most));
    into.first_index = from.number(first_index);
    from.finish();
  }
};

struct block_fields {
  static constexpr auto envelopes = tag_of(1, wire_type::bytes);
  static constexpr auto parts = tag_of(2, wire_type::bytes);

  static void put(auto& out, const block& of) {
    for (const auto& part : std::views::reverse(of.parts()))
      out.message(parts, [&](auto& to) { transaction_part_fields::put(to, part); });
    for (const auto& change : std::views::reverse(of.envelopes()))
      out.message(envelopes, [&](auto& to) { envelope_fields::put(to, change); });
  }

  static block_ptr read(field_reader from) {
    // What is counted is there: no more is allocated than the bytes stand for.
    std::vector<envelope> changes;
    changes.reserve(from.count(envelopes));
    while (const auto change = from.message(envelopes))
      envelope_fields::read(*change, changes.emplace_back());
    std::vector<transaction_part> shares;
    shares.reserve(from.count(parts));
    while (const auto share = from.message(parts))
      transaction_part_fields::read(*share, shares.emplace_back());
    from.finish();
    return make_block(std::move(changes), std::move(shares));
  }
};

struct batch_fields {
  static constexpr auto at = tag_of(1, wire_type::bytes);
  static constexpr auto changes = tag_of(2, wire_type::varint);
  static constexpr auto envelopes = tag_of(3, wire_type::bytes);
  static constexpr auto request = tag_of(4, wire_type::bytes);
  static constexpr auto walked = tag_of(5, wire_type::bytes);

  static void put(auto& out, const batch& carried) {
    if (carried.walked)
      out.present(walked, *carried.walked);
    if (carried.request)
      out.message(request, [&](auto& to) { request_id_fields::put(to, *carried.request); });
    if (carried.envelopes)
      out.message(envelopes, [&](auto& to) { block_fields::put(to, *carried.envelopes); });
    out.number(changes, carried.changes);
    if (carried.at)
      out.message(at, [&](auto& to) { position_fields::put(to, *carried.at); });
  }

  static void read(field_reader from, batch& into) {
    if (const auto place = from.message(at))
      into.at = position_fields::read(*place);
    into.changes = from.number(changes);
    if (const auto held = from.message(envelopes))
      into.envelopes = block_fields::read(*held);
    if (const auto id = from.message(request))
      into.request = request_id_fields::read(*id);
    if (const auto key = from.present(walked))
      into.walked.emplace(*key);
    from.finish();
  }
};

struct snapshot_complete_fields {
  static constexpr auto request = tag_of(1, wire_type::bytes);
  static constexpr auto collections = tag_of(2, wire_type::bytes);

  static void put(auto& out, const snapshot_complete& marker) {
    for (const auto& name : std::views::reverse(marker.collections))
      out.present(collections, name);
    out.message(request, [&](auto& to) { request_id_fields::put(to, marker.request); });
  }

  static void read(field_reader from, snapshot_complete& into) {
    if (const auto id = from.message(request))
      into.request = request_id_fields::read(*id);
    else
      from.fail("a snapshot's end does not name its request");
    into.collections.reserve(from.count(collections));
    while (const auto name = from.present(collections))
      into.collections.emplace_back(*name);
    from.finish();
  }
};

struct item_fields {
  static constexpr auto version = tag_of(1, wire_type::varint);
  static constexpr auto lanes = tag_of(2, wire_type::bytes);
  static constexpr auto carried = tag_of(3, wire_type::bytes);
  static constexpr auto marker = tag_of(4, wire_type::bytes);

  static void put(auto& out, const std::vector<lane_id>& targets, const lane_item& item) {
    if (const auto* complete = std::get_if<snapshot_complete>(&item))
      out.message(marker, [&](auto& to) { snapshot_complete_fields::put(to, *complete); });
    if (const auto* changes = std::get_if<batch>(&item))
      out.message(carried, [&](auto& to) { batch_fields::put(to, *changes); });
    for (const auto& lane : std::views::reverse(targets))
      out.message(lanes, [&](auto& to) { lane_fields::put(to, lane); });
    out.number(version, newest_version);
  }

  /// What is behind the version.
  static void read(field_reader from, stored_item& into) {
    into.lanes.reserve(from.count(lanes));
    while (const auto lane = from.message(lanes))
      into.lanes.push_back(lane_fields::read(*lane).copy());
    if (const auto changes = from.message(carried))
      batch_fields::read(*changes, into.item.emplace<batch>());
    else if (const auto complete = from.message(marker))
      snapshot_complete_fields::read(*complete, into.item.emplace<snapshot_complete>());
    else
      from.fail("the item is neither a batch nor a snapshot's end");
    from.finish();
  }
};

error corrupt(std::string_view sentence, std::string_view bytes) {
  return error{errc::corrupt, std::string{sentence}, {{"size", std::to_string(bytes.size())}}};
}

} // namespace

result<void> check_item(const lane_item& item) {
  const auto* carried = std::get_if<batch>(&item);
  if (carried == nullptr)
    return success();
  if (carried->is_snapshot() && carried->at)
    return error{errc::position_unexpected, "a snapshot batch has no position"};
  if (!carried->is_snapshot() && carried->walked)
    return error{errc::request_missing, "a batch that has walked a snapshot names its request"};
  if (!carried->is_snapshot() && !carried->at)
    return error{errc::position_missing, "a live batch has a position, even with no envelopes"};
  return check_parts(*carried);
}

void encode_item(std::string& out, const std::vector<lane_id>& lanes, const lane_item& item) {
  detail::append_message(out, [&](auto& to) { item_fields::put(to, lanes, item); });
}

result<stored_item> decode_item(std::string_view bytes) {
  detail::field_fault fault;
  field_reader from{bytes, fault};
  const auto version = from.number(item_fields::version);
  if (version > newest_version)
    return error{errc::newer_format, "the item is of a newer version",
      {{"version", std::to_string(version)}, {"known", std::to_string(newest_version)}}};
  if (version == 0)
    from.fail("the item does not say its version");
  stored_item read;
  item_fields::read(from, read);
  if (fault)
    return corrupt(fault.sentence, bytes).with("at", std::to_string(fault.at - bytes.data()));
  if (const auto sound = check_item(read.item); !sound)
    return corrupt(sound.error().sentence(), bytes);
  return read;
}

bool is_for(std::string_view bytes, const lane_id& lane) noexcept {
  detail::field_fault fault;
  field_reader from{bytes, fault};
  if (from.number(item_fields::version) != newest_version)
    return true;
  auto is_for_some = false;
  while (const auto named = from.message(item_fields::lanes)) {
    if (lane_fields::read(*named).is(lane))
      return true;
    is_for_some = true;
  }
  return !is_for_some || fault;
}

} // namespace weir
