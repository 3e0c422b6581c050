#include "git_directory.hpp"

#include "../posix/error_code.hpp"

#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace weir::git {

namespace {

namespace fs = std::filesystem;

bool is_there(const fs::path& path) {
  std::error_code failure;
  return fs::exists(fs::symlink_status(path, failure));
}

bool is_file(const fs::path& path) {
  std::error_code failure;
  return fs::is_regular_file(path, failure);
}

/// The first line of one of git's small files, without its end. Empty where there is no such file.
std::string line_in(const fs::path& file) {
  std::array<char, 8192> line{};
  if (is_file(file))
    std::ifstream{file, std::ios::binary}.getline(line.data(), line.size());
  return line.data();
}

/// One look at a repository's files.
class look {
public:
  explicit look(fs::path repository) : repository_{std::move(repository)} {}

  result<void> everywhere() const {
    const auto entry = repository_ / ".git";
    if (!is_there(entry))
      return is_bare() ? inside(repository_) : success();
    if (auto checked = readable(entry); !checked)
      return checked;
    // A linked working tree and a submodule have a file there.
    constexpr std::string_view begin = "gitdir: ";
    const auto line = line_in(entry);
    if (!line.starts_with(begin))
      return inside(entry);
    const auto named = repository_ / line.substr(begin.size());
    if (auto checked = readable(named); !checked)
      return checked;
    if (!is_there(named))
      return error{errc::not_a_repository,
        "the file " + entry.string() + " names the directory " + named.string() + ", which does not exist",
        {{"repository", repository_.string()}, {"path", named.string()}}};
    return inside(named);
  }

private:
  bool is_bare() const {
    return is_there(repository_ / "HEAD") && is_there(repository_ / "objects") && is_there(repository_ / "refs");
  }

  result<void> inside(const fs::path& directory) const {
    const auto common_file = directory / "commondir";
    for (const auto& needed : {directory, directory / "HEAD", common_file})
      if (auto checked = readable(needed); !checked)
        return checked;
    const auto common = is_there(common_file) ? directory / line_in(common_file) : directory;
    for (const auto& needed : {common, common / "HEAD", common / "config", common / "packed-refs"})
      if (auto checked = readable(needed); !checked)
        return checked;
    for (const auto& needed : {directory / "refs", common / "refs"})
      if (auto checked = readable_throughout(needed, 16); !checked)
        return checked;
    return readable_throughout(common / "objects", 2);
  }

  /// Succeeds also where there is nothing of that name.
  result<void> readable(const fs::path& path) const {
    const bool file = is_file(path);
    if (::access(path.c_str(), file ? R_OK : R_OK | X_OK) == 0 || errno == ENOENT || errno == ENOTDIR)
      return success();
    const auto number = errno;
    return error{posix::code_of(number), (file ? "git's file " : "git's directory ") + path.string() + " can't be read",
      {{"repository", repository_.string()}, {"path", path.string()}, {"reason", std::generic_category().message(number)}}};
  }

  /// The directory and what is in it, so many levels down.
  result<void> readable_throughout(const fs::path& directory, int levels) const {
    if (auto checked = readable(directory); !checked)
      return checked;
    std::error_code failure;
    for (fs::recursive_directory_iterator at{directory, failure}, end; !failure && at != end; at.increment(failure)) {
      if (auto checked = readable(at->path()); !checked)
        return checked;
      if (at.depth() + 1 >= levels)
        at.disable_recursion_pending();
    }
    return success();
  }

  fs::path repository_;
};

} // namespace

result<void> check_git_directory(const std::string& path) {
  return look{path}.everywhere();
}

} // namespace weir::git
