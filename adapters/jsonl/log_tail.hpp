#pragma once

#include <weir/change_text.hpp>
#include <weir/error.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>

namespace weir {

/// How a log of changes ends.
struct log_tail {
  std::optional<log_line> last; ///< the last complete line; absent when there is none
  std::uint64_t end = 0;        ///< the offset behind it: whatever follows was broken off by a crash
};

/// Reads how the log ends, from its end: cost and memory go with the last two lines' length, not with the file's.
///
/// Broken off is what has no line feed, and at most one line that begins like a line of a log and can't be read. Anything else
/// is not ours to cut: wrong_owner when it does not look like a log of changes, corrupt when it does; the facts say at which
/// offset.
result<log_tail> read_log_tail(int file, std::uint64_t size, const std::filesystem::path& path);

} // namespace weir
