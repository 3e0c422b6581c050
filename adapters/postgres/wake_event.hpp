#pragma once

#include "../posix/file_descriptor.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace weir::postgres {

/// Wakes a thread that polls. Any thread.
class wake_event {
public:
  wake_event() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
    if (!event_.is_open())
      throw std::system_error{errno, std::generic_category(), "eventfd"};
  }

  void set() noexcept {
    const std::uint64_t one = 1;
    (void)!::write(event_.number(), &one, sizeof one);
  }

  void clear() noexcept {
    std::uint64_t count = 0;
    (void)!::read(event_.number(), &count, sizeof count);
  }

  int number() const noexcept { return event_.number(); }

private:
  posix::file_descriptor event_;
};

} // namespace weir::postgres
