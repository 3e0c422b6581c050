#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace weir::git {

/// Writes the payloads of one commit's upserts: {"mode":…,"blob":…,"commit":…,"time":…}. Their common end is written once.
class entry_payload {
public:
  entry_payload() = default;

  /// @param commit hexadecimal
  /// @param time   nanoseconds since the Unix epoch
  entry_payload(std::string_view commit, std::int64_t time);

  /// @param mode octal digits
  /// @param blob hexadecimal
  std::string of(std::string_view mode, std::string_view blob) const;
  std::size_t size_of(std::string_view mode, std::string_view blob) const noexcept;

private:
  std::string end_;
};

/// Whole seconds as nanoseconds; what lies beyond the years that fit becomes the last whole second that does.
std::int64_t nanoseconds_of(std::int64_t seconds) noexcept;

} // namespace weir::git
