#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace adapter_tests {

/// A directory of its own, removed at the end.
class scratch_directory {
public:
  scratch_directory();
  ~scratch_directory();
  scratch_directory(const scratch_directory&) = delete;
  scratch_directory& operator=(const scratch_directory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path operator/(std::string_view name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

/// A file system of a given size, to fill up. Not mounted where that is not allowed.
class small_disk {
public:
  explicit small_disk(std::uint64_t bytes);
  ~small_disk();
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;

  /// False where it can't be had; `SKIP name: reason` is printed then.
  bool is_there_for(std::string_view test) const;

  std::filesystem::path operator/(std::string_view name) const { return directory_ / name; }

  /// Fills what is left, but for so many bytes.
  void fill(std::uint64_t but) const;
  void empty() const;

private:
  scratch_directory directory_;
  bool is_mounted_ = false;
  std::string reason_;
};

/// As long as it lives, the thread's file accesses are those of a user without rights. Absent rights to do that: is_on() is
/// false.
class without_rights {
public:
  without_rights();
  ~without_rights();
  without_rights(const without_rights&) = delete;
  without_rights& operator=(const without_rights&) = delete;
  bool is_on() const noexcept { return is_on_; }

  /// As is_on(); prints `SKIP name: reason` if not.
  bool is_on_for(std::string_view test) const;

private:
  bool is_on_ = false;
};

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, std::string_view bytes);
void append_to_file(const std::filesystem::path& path, std::string_view bytes);

} // namespace adapter_tests
