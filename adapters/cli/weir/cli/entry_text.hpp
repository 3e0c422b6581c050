#pragma once

#include <weir/cursor.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli {

/// Nanoseconds since the Unix epoch as RFC 3339 in UTC, always with nine decimals: "2026-01-02T03:04:05.678901234Z".
std::string nanosecond_time(std::int64_t time);

/// Appends an entry as one line of JSON, line feed included: {"shard","offset","time","key","dedupe","payload","cursor"}. What
/// is no UTF-8 is key_base64, dedupe_base64, payload_base64; an empty key or dedupe key is left out. read_entry() reads it.
/// @param at acknowledges this entry
void append_entry(std::string& out, std::uint32_t shard, const entry& one, const cursor& at);

/// Reads such a line; payload (or payload_base64) alone is needed, and offset, time and cursor are passed over. Absent: a blank
/// line. Fails with bad_record, and says what is wrong where.
result<std::optional<new_entry>> read_entry(std::string_view line);

/// What a user means by a CURSOR of a topic: the text of a cursor or, where the topic has one shard, an offset. Fails with
/// invalid_cursor, wrong_source, stale_epoch and layout_mismatch.
/// @param origin of the topic
result<std::vector<std::int64_t>> place_in(const cursor& origin, std::string_view text);

} // namespace weir::cli
