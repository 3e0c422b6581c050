#pragma once

#include <filesystem>

namespace weir_bench {

/// Whether the database's table `files` says what `git ls-tree -r HEAD` says of the repository: the same paths, each with its
/// mode and blob. Throws std::runtime_error with the first difference: a figure of a wrong result is none.
void check_table(const std::filesystem::path& database, const std::filesystem::path& repository);

} // namespace weir_bench
