#include <weir/crc32c.hpp>
#include <weir/record_codec.hpp>

#include "hex_text.hpp"
#include "little_endian.hpp"
#include "protobuf_fields.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace weir {

namespace {

// Read with protobuf's own stream and not with the class that protoc makes of record.proto: that one takes a field that is
// there twice. The tests hold the two against each other.
using google::protobuf::io::CodedInputStream;

constexpr std::uint64_t newest_version = 1;

using detail::tag_of;
using detail::wire_type;

// The fields of record.proto.
constexpr auto version_tag = tag_of(1, wire_type::varint);
constexpr auto key_tag = tag_of(2, wire_type::bytes);
constexpr auto dedupe_tag = tag_of(3, wire_type::bytes);
constexpr auto payload_tag = tag_of(4, wire_type::bytes);
constexpr auto crc32c_tag = tag_of(5, wire_type::fixed32);

/// A record's fields; the bytes are somebody else's.
struct record_fields {
  std::uint64_t version = 0;
  std::string_view key = {};
  std::string_view dedupe = {};
  std::string_view payload = {};
  std::uint32_t crc32c = 0;
};

/// The checksum as record.proto defines it.
std::uint32_t checksum_of(const record_fields& of) noexcept {
  std::array<char, 32> numbers;
  detail::store_little(numbers.data(), of.version);
  detail::store_little(numbers.data() + 8, std::uint64_t{of.key.size()});
  detail::store_little(numbers.data() + 16, std::uint64_t{of.dedupe.size()});
  detail::store_little(numbers.data() + 24, std::uint64_t{of.payload.size()});
  auto sum = crc32c({numbers.data(), numbers.size()});
  sum = crc32c(of.key, sum);
  sum = crc32c(of.dedupe, sum);
  return crc32c(of.payload, sum);
}

/// The last field first, as they are written.
void put(auto& out, const record_fields& fields) {
  out.fixed32(crc32c_tag, fields.crc32c);
  out.bytes(payload_tag, fields.payload);
  out.bytes(dedupe_tag, fields.dedupe);
  out.bytes(key_tag, fields.key);
  out.number(version_tag, fields.version);
}

bool read(CodedInputStream& from, std::string_view& bytes) {
  int size = 0;
  if (!from.ReadVarintSizeAsInt(&size))
    return false;
  const void* data = nullptr;
  int there = 0;
  if (size > 0 && (!from.GetDirectBufferPointer(&data, &there) || there < size || !from.Skip(size)))
    return false;
  bytes = {static_cast<const char*>(data), static_cast<std::size_t>(size)};
  return true;
}

/// Reads up to the end, or up to a version that is newer. Says what is wrong, or nothing.
std::string_view read(CodedInputStream& from, record_fields& into) {
  std::uint32_t seen = 0;
  while (const auto tag = from.ReadTag()) {
    auto is_whole = false;
    switch (tag) {
    case version_tag: is_whole = from.ReadVarint64(&into.version); break;
    case key_tag: is_whole = read(from, into.key); break;
    case dedupe_tag: is_whole = read(from, into.dedupe); break;
    case payload_tag: is_whole = read(from, into.payload); break;
    case crc32c_tag: is_whole = from.ReadLittleEndian32(&into.crc32c); break;
    default: return "the record has a field that version 1 does not have";
    }
    if (!is_whole)
      return "a field of the record is cut short";
    if (into.version > newest_version)
      return {};
    const auto field = 1U << (tag >> 3U);
    if ((seen & field) != 0)
      return "the record has a field twice";
    seen |= field;
  }
  return from.ConsumedEntireMessage() ? std::string_view{} : "the record ends in what is no field";
}

error corrupt(std::string_view sentence, std::string_view record) {
  return error{errc::corrupt, std::string{sentence}, {{"size", std::to_string(record.size())}}};
}

std::string hex(std::uint32_t sum) {
  std::string text;
  detail::append_hex(text, sum, 8);
  return text;
}

} // namespace

void encode_record(std::string& out, const new_entry& given) {
  record_fields fields{newest_version, given.key, given.dedupe, given.payload};
  fields.crc32c = checksum_of(fields);
  detail::append_message(out, [&](auto& to) { put(to, fields); });
}

result<void> decode_record(std::string_view bytes, entry& into) {
  // What protobuf's streams count with is an int.
  if (bytes.size() >= static_cast<std::size_t>(std::numeric_limits<int>::max()))
    return corrupt("no record is as large", bytes);
  CodedInputStream from{reinterpret_cast<const std::uint8_t*>(bytes.data()), static_cast<int>(bytes.size())};
  record_fields fields;
  if (const auto fault = read(from, fields); !fault.empty())
    return corrupt(fault, bytes).with("at", std::to_string(from.CurrentPosition()));
  if (fields.version > newest_version)
    return error{errc::newer_format, "the record is of a newer version",
      {{"version", std::to_string(fields.version)}, {"known", std::to_string(newest_version)}}};
  if (fields.version == 0)
    return corrupt("the record does not say its version", bytes);
  if (const auto computed = checksum_of(fields); computed != fields.crc32c)
    return corrupt("the record's content does not fit its checksum", bytes)
      .with("crc32c", hex(fields.crc32c))
      .with("computed", hex(computed));
  into.key = fields.key;
  into.dedupe = fields.dedupe;
  into.payload = fields.payload;
  return success();
}

} // namespace weir
