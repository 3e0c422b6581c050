#pragma once

#include <weir/error.hpp>

#include <string>

namespace weir::git {

/// Looks for what keeps git from reading the repository, when git itself says no more than that it finds none, or no commit:
/// permission_denied or io_failed where a part of git's directory can't be read, not_a_repository where the file `.git` names
/// a directory that does not exist. Facts: `repository`, `path`, `reason`. Succeeds where there is nothing of the kind, also
/// where `path` is no repository.
result<void> check_git_directory(const std::string& path);

} // namespace weir::git
