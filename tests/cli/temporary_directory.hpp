#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weir::cli::test {

/// An empty directory that is gone when the test is.
class temporary_directory {
public:
  temporary_directory() {
    auto pattern = (std::filesystem::temp_directory_path() / "weir-cli-XXXXXX").native();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::runtime_error{"no temporary directory: " + pattern};
    path_ = pattern;
  }
  ~temporary_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_directory(const temporary_directory&) = delete;
  temporary_directory& operator=(const temporary_directory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

inline void put(const std::filesystem::path& file, std::string_view content) {
  std::ofstream{file, std::ios::binary} << content;
}

inline std::string content_of(const std::filesystem::path& file) {
  std::ifstream from{file, std::ios::binary};
  return {std::istreambuf_iterator<char>{from}, {}};
}

} // namespace weir::cli::test
