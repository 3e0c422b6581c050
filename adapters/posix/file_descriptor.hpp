#pragma once

#include <unistd.h>
#include <utility>

namespace weir::posix {

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

  int number() const noexcept { return number_; }
  bool is_open() const noexcept { return number_ >= 0; }

  void close() noexcept {
    if (is_open())
      ::close(std::exchange(number_, -1));
  }

private:
  int number_ = -1;
};

} // namespace weir::posix
