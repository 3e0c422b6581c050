#pragma once

#include <weir/position.hpp>

#include "protobuf_fields.hpp"

#include <cstdint>

namespace weir::detail {

/// The message Position of stream_item.proto.
struct position_fields {
  static constexpr auto epoch = tag_of(1, wire_type::varint);
  static constexpr auto seq = tag_of(2, wire_type::varint);
  static constexpr auto stamp = tag_of(3, wire_type::bytes);
  static constexpr auto time = tag_of(4, wire_type::fixed64);
  static constexpr auto transaction_open = tag_of(5, wire_type::varint);

  static void put(auto& out, const position& at) {
    out.number(transaction_open, at.ends_transaction ? 0 : 1);
    out.fixed64(time, static_cast<std::uint64_t>(at.time));
    out.bytes(stamp, at.stamp.bytes());
    out.number(seq, at.seq);
    out.number(epoch, at.epoch);
  }

  static position read(field_reader from) {
    position at;
    at.epoch = from.number(epoch);
    at.seq = from.number(seq);
    if (const auto held = weir::stamp::from(from.bytes(stamp)))
      at.stamp = held.value();
    else
      from.fail("a position's stamp holds at most 64 bytes");
    at.time = static_cast<std::int64_t>(from.fixed64(time));
    at.ends_transaction = from.number(transaction_open, 1) == 0;
    from.finish();
    return at;
  }
};

} // namespace weir::detail
