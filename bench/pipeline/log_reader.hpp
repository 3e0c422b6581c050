#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

namespace weir_bench {

/// One line of `git log --raw`.
struct log_entry {
  std::string_view mode; ///< the new one; "000000" where the path is gone
  std::string_view blob;
  std::string_view path;
};

struct log_commit {
  std::uint64_t number = 0; ///< from the root, 1
  std::string id;
  std::int64_t time = 0; ///< seconds since the Unix epoch
};

/// Reads the first-parent history of a repository's HEAD from `git log`, oldest commit first, and calls for every changed path
/// in order. What the views point to is valid during the call. Throws std::runtime_error when git fails.
void read_log(const std::string& repository, const std::function<void(const log_commit&, const log_entry&)>& on_change);

/// A word for the shell.
std::string quoted(const std::string& word);

} // namespace weir_bench
