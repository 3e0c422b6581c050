#pragma once

#include "little_endian.hpp"

#include <google/protobuf/io/coded_stream.h>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace weir::detail {

// Messages of protobuf, written and read field by field: the classes that protoc makes of a schema copy every string once more,
// and allocate one for each. A message is described once, by a function that puts its fields: field_counter then says how large
// it is, and field_writer writes it.

/// How protobuf writes a field's value.
enum class wire_type : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

/// What stands before the value of a field from 1 to 15, which is one byte.
consteval std::uint8_t tag_of(unsigned field, wire_type type) {
  if (field < 1 || field > 15)
    throw "the tag has more than one byte";
  return static_cast<std::uint8_t>(field << 3U | static_cast<unsigned>(type));
}

inline std::size_t varint_size(std::uint64_t number) noexcept {
  return google::protobuf::io::CodedOutputStream::VarintSize64(number);
}

/// Counts the bytes of fields.
class field_counter {
public:
  // Left out where they are 0 or empty, as every writer of proto3 does.
  void number(std::uint8_t, std::uint64_t value) noexcept { size_ += value == 0 ? 0 : 1 + varint_size(value); }
  void fixed64(std::uint8_t, std::uint64_t value) noexcept { size_ += value == 0 ? 0 : 1 + sizeof value; }
  void bytes(std::uint8_t tag, std::string_view value) noexcept {
    if (!value.empty())
      present(tag, value);
  }

  // There whatever they are.
  void fixed32(std::uint8_t, std::uint32_t value) noexcept { size_ += 1 + sizeof value; }
  void present(std::uint8_t, std::string_view value) noexcept { size_ += 1 + varint_size(value.size()) + value.size(); }
  template <class F>
  void message(std::uint8_t, F&& put_fields) {
    const auto before = size_;
    put_fields(*this);
    size_ += 1 + varint_size(size_ - before);
  }

  /// A number without a tag, in a packed field.
  void varint(std::uint64_t value) noexcept { size_ += varint_size(value); }

  std::size_t size() const noexcept { return size_; }

private:
  std::size_t size_ = 0;
};

/// Writes fields, the last one first: so a message's length is known when it is its turn, and nothing is counted again for
/// each message around it. What puts fields therefore puts those of the highest number first.
class field_writer {
public:
  explicit field_writer(char* end) noexcept : to_{reinterpret_cast<std::uint8_t*>(end)} {}

  void number(std::uint8_t tag, std::uint64_t value) noexcept {
    if (value == 0)
      return;
    varint(value);
    *--to_ = tag;
  }
  void fixed64(std::uint8_t tag, std::uint64_t value) noexcept {
    if (value != 0)
      fixed(tag, value);
  }
  void bytes(std::uint8_t tag, std::string_view value) noexcept {
    if (!value.empty())
      present(tag, value);
  }

  void fixed32(std::uint8_t tag, std::uint32_t value) noexcept { fixed(tag, value); }
  void present(std::uint8_t tag, std::string_view value) noexcept {
    to_ -= value.size();
    value.copy(reinterpret_cast<char*>(to_), value.size());
    varint(value.size());
    *--to_ = tag;
  }
  template <class F>
  void message(std::uint8_t tag, F&& put_fields) {
    const auto* end = to_;
    put_fields(*this);
    varint(static_cast<std::uint64_t>(end - to_));
    *--to_ = tag;
  }

  void varint(std::uint64_t value) noexcept {
    to_ -= varint_size(value);
    google::protobuf::io::CodedOutputStream::WriteVarint64ToArray(value, to_);
  }

  const char* begin() const noexcept { return reinterpret_cast<const char*>(to_); }

private:
  template <class T>
  void fixed(std::uint8_t tag, T value) noexcept {
    to_ -= sizeof value;
    store_little(to_, value);
    *--to_ = tag;
  }

  std::uint8_t* to_;
};

/// Appends the message whose fields `put_fields` puts, to a field_counter and to a field_writer.
template <class F>
void append_message(std::string& out, F&& put_fields) {
  field_counter counted;
  put_fields(counted);
  const auto before = out.size();
  out.resize(before + counted.size());
  field_writer writing{out.data() + out.size()};
  put_fields(writing);
  assert(writing.begin() == out.data() + before);
}

/// What is wrong with bytes that should be a message: the first thing that was found.
struct field_fault {
  std::string_view sentence = {}; ///< empty: nothing
  const char* at = nullptr;       ///< in those bytes

  explicit operator bool() const noexcept { return !sentence.empty(); }
};

/// Reads a message's fields where they are written in the one way in which field_writer writes them: by growing number, each
/// once but for repeated ones, in as few bytes as they need, and none that could be left out. So different bytes never say the
/// same. What is not there reads as 0, empty or absent; so does everything as soon as a fault was found, in this message or in
/// another one that shares the fault. All bytes stay those that were given.
class field_reader {
public:
  field_reader(std::string_view message, field_fault& fault) noexcept
    : at_{message.data()},
      end_{at_ + message.size()},
      fault_{&fault} {}

  std::uint64_t number(std::uint8_t tag, std::uint64_t most = std::numeric_limits<std::uint64_t>::max()) noexcept {
    if (!pass(tag))
      return 0;
    const auto value = varint();
    if (value > most) {
      fail("a number is larger than any that may be there");
      return 0;
    }
    return not_left_out(value);
  }

  std::uint64_t fixed64(std::uint8_t tag) noexcept {
    if (!pass(tag))
      return 0;
    if (rest() < sizeof(std::uint64_t)) {
      fail(cut_short);
      return 0;
    }
    const auto value = load_little<std::uint64_t>(at_);
    at_ += sizeof value;
    return not_left_out(value);
  }

  std::string_view bytes(std::uint8_t tag) noexcept {
    const auto value = present(tag);
    if (value && value->empty())
      fail(says_nothing);
    return value.value_or(std::string_view{});
  }

  /// Bytes that may be there and empty, or are one of a repeated field.
  std::optional<std::string_view> present(std::uint8_t tag) noexcept {
    if (!pass(tag))
      return std::nullopt;
    const auto size = varint();
    if (size > rest()) {
      fail(cut_short);
      return std::nullopt;
    }
    const std::string_view value{at_, static_cast<std::size_t>(size)};
    at_ += size;
    return value;
  }

  std::optional<field_reader> message(std::uint8_t tag) noexcept {
    if (const auto value = present(tag))
      return field_reader{*value, *fault_};
    return std::nullopt;
  }

  /// How many fields of that tag follow, one behind the other.
  std::size_t count(std::uint8_t tag) const noexcept {
    field_fault found;
    field_reader ahead{{at_, rest()}, found};
    std::size_t fields = 0;
    while (ahead.present(tag))
      ++fields;
    return fields;
  }

  /// A number without a tag, in a packed field.
  std::uint64_t varint() noexcept {
    std::uint64_t number = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(*at_++);
      number |= std::uint64_t{byte & 0x7FU} << shift;
      if (byte >= 0x80)
        continue;
      if ((byte > 0 || shift == 0) && (byte <= 1 || shift < 63))
        return number;
      fail("a number is not written in as few bytes as it needs, or has more than 64 bits");
      return 0;
    }
    fail(cut_short);
    return 0;
  }

  bool is_done() const noexcept { return at_ == end_ || *fault_; }

  /// To be called behind the last field.
  void finish() noexcept {
    if (!is_done())
      fail("a field is not known, or not where it belongs");
  }

  /// The sentence is a literal: it outlives the fault.
  template <std::size_t Size>
  void fail(const char (&sentence)[Size]) noexcept {
    if (!*fault_)
      *fault_ = {sentence, at_};
  }

private:
  static constexpr char cut_short[] = "a field is cut short";
  static constexpr char says_nothing[] = "a field is there and says no more than if it were not";

  std::size_t rest() const noexcept { return static_cast<std::size_t>(end_ - at_); }

  bool pass(std::uint8_t tag) noexcept {
    if (is_done() || static_cast<std::uint8_t>(*at_) != tag)
      return false;
    ++at_;
    return true;
  }

  std::uint64_t not_left_out(std::uint64_t value) noexcept {
    if (value == 0)
      fail(says_nothing);
    return value;
  }

  const char* at_;
  const char* end_;
  field_fault* fault_;
};

} // namespace weir::detail
