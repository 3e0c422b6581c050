#pragma once

#include "../core/seeds.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weir_test {

/// Every random choice of a history.
class dice : public core_tests::random_source {
public:
  using random_source::random_source;
  bool one_in(std::uint64_t bound) noexcept { return below(bound) == 0; }
};

/// The files of the generated tree: enough of it to choose a path that is there, or one whose creation turns a file into a
/// directory or back.
class tree_model {
public:
  struct file {
    std::string path;
    std::string mode;
    std::size_t content = 0; ///< which blob of the pool; for a submodule, which commit
  };

  std::size_t size() const noexcept { return files_.size(); }
  const file& at(std::size_t index) const noexcept { return files_[index]; }
  const file* find(const std::string& path) const;

  /// Sets the file, as fast-import's `M` does: a file in the way of one of its directories, or a directory in its own place,
  /// is gone.
  void set(file made);
  void erase(const std::string& path);

  /// A directory that holds at least one file, or "" when there is none.
  std::string any_directory(dice& draw) const;

  std::size_t files_below(const std::string& directory) const;

private:
  void erase_below(const std::string& directory);
  void count_directories(std::string_view path, int change);

  std::vector<file> files_;
  std::unordered_map<std::string, std::size_t> index_;
  std::unordered_map<std::string, std::size_t> directories_; ///< files below each, at any depth
};

/// A file or directory name, plain or of the kind that breaks a careless reader.
std::string draw_name(dice& draw);

} // namespace weir_test
