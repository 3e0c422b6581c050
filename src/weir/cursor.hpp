#pragma once

#include <weir/error.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir {

/// A place in a topic: for each shard the offset acknowledged last; -1 is "nothing yet". Says whose it is, so that it can't be
/// used elsewhere.
struct cursor {
  static constexpr std::size_t max_shards = 4096;
  static constexpr std::int64_t max_offset = std::int64_t{1} << 62;
  static constexpr std::size_t max_text = 96 * 1024; ///< bytes; what is within the other limits is shorter

  std::uint64_t store = 0;
  std::string topic = {};
  std::uint64_t epoch = 0;
  std::vector<std::int64_t> offsets = {};

  friend bool operator==(const cursor&, const cursor&) = default;
};

/// The text form: one word of printable ASCII that shells and mail leave as it is, versioned and checksummed:
/// `w1:STORE:TOPIC:EPOCH:OFFSETS:CHECK` with the store in 16 hexadecimal digits, the topic with everything but letters, digits,
/// `-`, `.` and `_` in URL escapes (RFC 3986, capital digits), the epoch in decimals, the offsets in decimals separated by
/// commas, and CRC-32C of all that comes before the last colon in 8 hexadecimal digits.
std::string to_text(const cursor& at);

/// Reads exactly what to_text() writes of a cursor with a valid topic, 1 to 4096 shards and offsets from -1 to 2^62. Fails with
/// invalid_cursor for everything else: cut short, changed, of another version, written in another way, with absurd numbers. The
/// facts say which part is wrong, what was given and, where it is known, what was expected.
result<cursor> parse_cursor(std::string_view text);

/// Whether the cursor can be used there: wrong_source (another store or topic), stale_epoch, or layout_mismatch (another number
/// of shards), with what was given and expected. Offsets are not compared.
result<void> check_source(const cursor& given, const cursor& there);

} // namespace weir
