#pragma once

#include <weir/sqlite_log.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// What `weir log verify` and `weir log repair` say. Pure.
namespace weir::cli {

/// Each damage on one line, and a last line with what was looked at.
std::string scrub_text(const sqlite::scrub_report& found, std::string_view file, bool is_sound);

/// One line of JSON with its line feed: {"file","sound","entries","bytes","snapshots","damaged","others"}.
std::string scrub_json(const sqlite::scrub_report& found, std::string_view file, bool is_sound);

/// "[#####-----] 50%  1.2 GiB of 2.4 GiB", at most `width` characters of one column each: without the bar, and then without the
/// sizes, where there is no room.
std::string progress_bar(std::uint64_t done, std::uint64_t total, std::size_t width);

} // namespace weir::cli
