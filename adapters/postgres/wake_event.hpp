#pragma once

#include "../posix/file_descriptor.hpp"

#include <atomic>
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
    if (is_set_.exchange(true))
      return;
    const std::uint64_t one = 1;
    (void)!::write(event_.number(), &one, sizeof one);
  }

  /// Whoever clears it looks for news behind that, and not before: a call that comes in between has no effect.
  void clear() noexcept {
    std::uint64_t count = 0;
    (void)!::read(event_.number(), &count, sizeof count);
    is_set_.store(false);
  }

  int number() const noexcept { return event_.number(); }

private:
  posix::file_descriptor event_;
  std::atomic<bool> is_set_{false};
};

} // namespace weir::postgres
