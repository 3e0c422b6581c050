#pragma once

#include <weir/envelope.hpp>
#include <weir/json_text.hpp>
#include <weir/position.hpp>

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

// Changes as text, one JSON object per line. A log of changes writes these members, in this order:
//
//   epoch, seq      whole numbers: the position of the transaction
//   index           whole number: which change of its transaction, from 0; counts on where a batch boundary cuts a transaction
//   stamp           hexadecimal digits: the position's stamp, "" if the source gives none
//   time            RFC 3339 in UTC with 0, 3, 6 or 9 decimals: commit time at the source; absent if the source gives none (0)
//   pipeline        string: whose log this is; absent if it is nobody's
//   collection      string
//   key             string
//   op              "upsert" or "delete"
//   payload         the payload's own bytes, which are a JSON value; absent on delete
//   headers         object of strings; absent if there are none
//   ends_transaction  true on the last change of its transaction; absent on all others
//
// A collection or key that is not UTF-8 is `collection_base64` or `key_base64` instead, a payload that is not one JSON value
// without anything around it and without line breaks is `payload_base64` (standard base64 with padding), so that all of
// them come back byte for byte. (Headers are text: what is not UTF-8 in them becomes U+FFFD.)
//
// Two kinds of lines carry no change. {"epoch":2,"seq":7,"event":"epoch","stamp":…,"time":…,…} says that the source opened an
// epoch there: what follows goes on behind that place. {"epoch":2,"seq":9,"event":"position",…} says that the log is complete
// up to there, where the line before does not say so, because what followed it changed nothing.
//
// A source of changes reads the same lines and needs less: collection, key, op and, unless op is "delete", the payload. It
// reads headers, ignores all other members, and takes a line with `event` and without `op` for one that carries no change.

/// Where a line of a log of changes stands. An absent index stands before all changes of its seq, the highest behind them.
struct change_place {
  std::uint64_t epoch = 0;
  std::uint64_t seq = 0;
  std::optional<std::uint64_t> index;

  friend auto operator<=>(const change_place&, const change_place&) = default;
};

/// Appends the line of one change, line feed included.
/// @param at right behind this change: it ends the transaction where no other change of it follows
void append_change(
  std::string& out, const position& at, std::uint64_t index, const envelope& change, std::string_view pipeline = {});

enum class log_event {
  epoch,    ///< an epoch was opened here: before all changes of its seq
  position, ///< everything up to here is in: behind all changes of its seq, where that is complete
};

/// Where the line of an event stands.
/// @param at what is in with it
change_place place_of(log_event what, const position& at) noexcept;

/// Appends the line of an event, line feed included.
/// @param at what is in with this line
void append_event(std::string& out, log_event what, const position& at, std::string_view pipeline = {});

/// Appends a time as RFC 3339 in UTC, with as many of 0, 3, 6 or 9 decimals as it needs.
/// @param time nanoseconds since the Unix epoch
void append_time(std::string& out, std::int64_t time);

/// How every line of a log of changes begins.
inline constexpr std::string_view log_line_start = "{\"epoch\":";

/// What a line of a log of changes says about where it stands.
struct log_line {
  change_place place;
  position at; ///< what is in with this line; its time is not read
  std::string pipeline;
};

/// Reads a whole line (without its line feed) of a log of changes. Absent if it is none: broken off, or something else.
std::optional<log_line> read_log_line(std::string_view line);

/// What a line of input holds: a change; or neither (a blank line, an event); or a fault.
struct change_line {
  std::optional<envelope> change;
  std::optional<json_fault> fault;
};

/// Reads one line, with or without its line feed. Any bytes are safe to read; memory is bounded by the line's length.
change_line read_change(std::string_view line);

} // namespace weir
