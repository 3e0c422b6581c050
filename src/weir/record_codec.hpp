#pragma once

#include <weir/error.hpp>
#include <weir/log_entry.hpp>

#include <string>
#include <string_view>

namespace weir {

/// Appends an entry's record: the message weir.log.v1.Record of src/record.proto, serialised as protobuf. It holds key, dedupe
/// and payload, and a CRC-32C over them that does not depend on how protobuf writes them; not the offset and not the time,
/// which are the store's. The same entry always gives the same bytes. Protobuf ends below 2 GiB: what is larger can't be read
/// back.
void encode_record(std::string& out, const new_entry& given);

/// Reads a record's key, dedupe and payload into `into`; its other members, and all where it fails, stay as they are. Takes the
/// fields in any order, as protobuf does, but each once and no others. Fails with newer_format (the facts: its version, the
/// known one) or corrupt (no protobuf, cut short, other fields, another checksum; the facts say what and where).
result<void> decode_record(std::string_view bytes, entry& into);

} // namespace weir
