#pragma once

#include <weir/batch.hpp>

#include "protobuf_fields.hpp"

namespace weir::detail {

/// The message RequestId of stream_item.proto.
struct request_id_fields {
  static constexpr auto high = tag_of(1, wire_type::fixed64);
  static constexpr auto low = tag_of(2, wire_type::fixed64);

  static void put(auto& out, const request_id& id) {
    out.fixed64(low, id.low);
    out.fixed64(high, id.high);
  }

  static request_id read(field_reader from) noexcept {
    request_id id;
    id.high = from.fixed64(high);
    id.low = from.fixed64(low);
    from.finish();
    return id;
  }
};

} // namespace weir::detail
