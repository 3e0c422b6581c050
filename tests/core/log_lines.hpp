#pragma once

#include <weir/change_text.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace core_tests {

/// The last line of a log of changes; absent where it is empty.
inline std::optional<weir::log_line> last_line_of(std::string_view log) {
  if (log.empty())
    return std::nullopt;
  log.remove_suffix(1);
  return weir::read_log_line(log.substr(log.rfind('\n') + 1));
}

/// The log without the lines that only say up to where it is complete.
inline std::string without_positions(const std::string& log) {
  std::string kept;
  for (std::size_t begin = 0, end = 0; begin < log.size(); begin = end) {
    end = log.find('\n', begin) + 1;
    const auto line = log.substr(begin, end - begin);
    if (line.find("\"event\":\"position\"") == std::string::npos)
      kept += line;
  }
  return kept;
}

} // namespace core_tests
