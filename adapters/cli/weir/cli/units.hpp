#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir::cli {

/// Bytes from "4096", "64KiB", "16 MiB", "2GiB": a whole number, and B, KiB, MiB or GiB. Absent for anything else, and for
/// what exceeds 64 bits.
std::optional<std::uint64_t> parse_size(std::string_view text) noexcept;

/// The shortest exact form that parse_size() reads: "16MiB", "1025B".
std::string exact_size(std::uint64_t bytes);

/// For people, four characters and a unit at most: "0 B", "820 KiB", "3.1 MiB".
std::string rounded_size(std::uint64_t bytes);

/// Milliseconds from "250ms", "1s", "2 min", "1h": a whole number and ms, s, min or h. Absent for anything else, and for what
/// exceeds 2^53 ms.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) noexcept;

/// The shortest exact form that parse_duration() reads: "250ms", "60s" is "1min".
std::string exact_duration(std::chrono::milliseconds duration);

/// For people: "0.4 s", "12.3 s", "4 min 5 s", "3 h 7 min".
std::string rounded_duration(std::chrono::milliseconds duration);

/// With a comma between thousands: "1,234,567".
std::string grouped(std::uint64_t number);

/// "1 change", "2 changes", "1,234 changes".
std::string counted(std::uint64_t number, std::string_view singular, std::string_view plural);

} // namespace weir::cli
