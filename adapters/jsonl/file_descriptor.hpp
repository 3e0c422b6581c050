#pragma once

#include <weir/error.hpp>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

namespace weir {

/// Owns an open file.
class file_descriptor {
public:
  file_descriptor() = default;
  explicit file_descriptor(int number) noexcept : number_{number} {}
  ~file_descriptor() { close(); }
  file_descriptor(file_descriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  file_descriptor& operator=(file_descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }

  int get() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }
  void close() noexcept;

private:
  int number_ = -1;
};

/// What the operating system refused, as a typed error: not_found, permission_denied, storage_full,
/// invalid_argument (a directory), or io_failed.
/// @param number the errno of the call
/// @param what   what could not be done, as "open the log"
error system_error(int number, std::string_view what, const std::filesystem::path& path);

/// Reads `size` bytes from `offset` on, fewer only where the file ends.
result<std::string> read_at(int file, std::uint64_t offset, std::size_t size, const std::filesystem::path& path);

} // namespace weir
