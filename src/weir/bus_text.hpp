#pragma once

#include <weir/hint.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// What buses tell each other, as one line of printable ASCII without quotes and backslashes, shorter than the 8000 bytes that
/// a NOTIFY of PostgreSQL takes. No two hints are the same: equal ones in one transaction would become one there.
///
///     W1h TOPIC PUBLISHER NUMBER ON_TOPIC TIME KEY PAYLOAD     a hint
///     W1b PUBLISHER NUMBER MILLISECONDS TIME                   a beacon: its number, and when the next one comes
///     W1a ASKER NUMBER PUBLISHER SINCE                         an ask: what has moved behind that number?
///     W1s PUBLISHER NUMBER SINCE PART/PARTS TOPIC:ON_TOPIC …   an answer, of which this is a part, from 0; an x behind PARTS:
///     it
///                                                              has forgotten topics that moved since
///     W1l PUBLISHER NUMBER TIME                                a leave: the bus was closed
///
/// Numbers are decimal, ids 16 hexadecimal digits, topics, keys and payloads base85; an empty one is a dot.
namespace weir {

inline constexpr std::size_t max_bus_text = 7999; ///< bytes

struct bus_beacon {
  bus_id publisher;
  std::uint64_t number = 0; ///< of the last hint that it published
  std::chrono::milliseconds interval{};
  std::int64_t at = 0; ///< by its clock, nanoseconds since 1970

  friend bool operator==(const bus_beacon&, const bus_beacon&) = default;
};

struct bus_ask {
  bus_id asker;
  std::uint64_t number = 0; ///< of its asks
  bus_id publisher;
  std::uint64_t since = 0;

  friend bool operator==(const bus_ask&, const bus_ask&) = default;
};

struct bus_answer {
  bus_id publisher;
  std::uint64_t number = 0; ///< of the last hint that it published
  std::uint64_t since = 0;
  std::uint32_t part = 0;
  std::uint32_t parts = 1;
  bool has_forgotten = false;
  std::vector<std::pair<std::string, std::uint64_t>> topics = {}; ///< and the number of the last hint on each

  friend bool operator==(const bus_answer&, const bus_answer&) = default;
};

struct bus_leave {
  bus_id publisher;
  std::uint64_t number = 0;
  std::int64_t at = 0;

  friend bool operator==(const bus_leave&, const bus_leave&) = default;
};

/// A hint whose key and payload are still text: whoever does not listen to its topic need not decode them.
struct hint_text {
  std::string topic;
  hint_place at;
  std::string_view key;
  std::string_view payload;
};

using bus_text = std::variant<hint_text, bus_beacon, bus_ask, bus_answer, bus_leave>;

std::string encode_hint(std::string_view topic, std::string_view key, std::string_view payload, const hint_place& at);
std::string encode(const bus_beacon& one);
std::string encode(const bus_ask& one);
std::string encode(const bus_leave& one);

/// In as many parts as it takes.
std::vector<std::string> encode(const bus_answer& whole);

/// Fails with newer_format (a later version of this text) and corrupt (anything else). What it returns refers to `text`.
result<bus_text> parse_bus_text(std::string_view text);

/// Fails with corrupt.
result<hint> decode(const hint_text& one);

} // namespace weir
