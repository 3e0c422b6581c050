#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// The message weir.stream.v1.Requests of src/stream_item.proto, serialised as protobuf: the backfills that a durable stream's
/// sinks wait for, in the order that is given. Each of them is for at least one collection. The same requests always give the
/// same bytes.
std::string encode_requests(const std::vector<request>& all);

/// Reads what encode_requests wrote, and nothing else: what can be read gives the same bytes when it is written again. Fails
/// with newer_format (the facts: its version, the known one) or corrupt (no such message, written in another way, cut short,
/// longer, or a request without an id or a collection; the facts say what and where).
result<std::vector<request>> decode_requests(std::string_view bytes);

} // namespace weir
