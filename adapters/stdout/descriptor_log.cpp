#include "descriptor_log.hpp"

#include <climits>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace weir {

namespace {

constexpr std::size_t buffer_size = 256U << 10U;

bool is_file(int descriptor) noexcept {
  struct stat about{};
  return ::fstat(descriptor, &about) == 0 && S_ISREG(about.st_mode);
}

/// Writes, and keeps the SIGPIPE of a reader that has gone from the process: it is raised for this thread, blocked here, and
/// taken off again, unless one was pending before.
ssize_t write_without_signal(int descriptor, std::string_view bytes) noexcept {
  sigset_t pipe_signal;
  sigset_t before;
  sigset_t pending;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before);
  ::sigpending(&pending);
  const auto put = ::write(descriptor, bytes.data(), bytes.size());
  const auto number = errno;
  if (put < 0 && number == EPIPE && ::sigismember(&pending, SIGPIPE) == 0) {
    constexpr std::timespec at_once{};
    while (::sigtimedwait(&pipe_signal, nullptr, &at_once) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = number;
  return put;
}

} // namespace

descriptor_log::descriptor_log(int descriptor) noexcept
  : descriptor_{descriptor},
    wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

descriptor_log::~descriptor_log() {
  ::close(wake_);
}

result<void> descriptor_log::open() {
  struct stat about{};
  const auto flags = ::fcntl(descriptor_, F_GETFL);
  if (flags < 0 || ::fstat(descriptor_, &about) != 0)
    return failure(errno);
  if ((flags & O_ACCMODE) == O_RDONLY)
    return failure(EBADF);
  buffer_.clear();
  return success();
}

result<void> descriptor_log::write(std::span<const lane_item> items) {
  for (const auto& item : items) {
    const auto* carried = std::get_if<batch>(&item);
    if (carried == nullptr || carried->is_snapshot())
      continue;
    if (auto appended = lines_.append(buffer_, *carried); !appended)
      return appended;
    if (buffer_.size() >= buffer_size)
      if (auto written = write_buffer(); !written)
        return written;
  }
  return success();
}

result<void> descriptor_log::flush() {
  if (auto written = write_buffer(); !written)
    return written;
  if (is_file(descriptor_) && ::fdatasync(descriptor_) != 0)
    return failure(errno);
  return success();
}

result<void> descriptor_log::write_buffer() {
  if (is_inside_line_)
    buffer_.insert(buffer_.begin(), '\n');
  // A pipe that is ready takes PIPE_BUF bytes without blocking, so that only the wait, which stop() ends, ever waits.
  const auto most = is_file(descriptor_) ? buffer_.size() : std::size_t{PIPE_BUF};
  std::string_view left{buffer_};
  while (!left.empty()) {
    if (auto ready = wait_for_room(); !ready)
      return ready;
    const auto put = write_without_signal(descriptor_, left.substr(0, most));
    if (put < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (put < 0)
      return failure(errno);
    if (put > 0)
      is_inside_line_ = left[static_cast<std::size_t>(put) - 1] != '\n';
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  buffer_.clear();
  return success();
}

result<void> descriptor_log::wait_for_room() const {
  std::array<pollfd, 2> watched{{{descriptor_, POLLOUT, 0}, {wake_, POLLIN, 0}}};
  while (::poll(watched.data(), watched.size(), -1) < 0)
    if (errno != EINTR)
      return failure(errno);
  if (watched[0].revents == 0)
    return error{errc::cancelled, "the sink was stopped while it waited for the reader of its output"};
  return success();
}

error descriptor_log::failure(int number) const {
  const auto name = descriptor_ == STDOUT_FILENO ? std::string{"standard output"} : "descriptor " + std::to_string(descriptor_);
  std::vector<error::fact> facts{{"descriptor", std::to_string(descriptor_)}, {"errno", std::to_string(number)}};
  if (number == EPIPE)
    return error{errc::sink_failed, "the reader of " + name + " has gone", std::move(facts)};
  const auto code = number == ENOSPC || number == EDQUOT || number == EFBIG ? errc::storage_full : errc::io_failed;
  return error{code, "can't write to " + name + ": " + std::generic_category().message(number), std::move(facts)};
}

void descriptor_log::stop() noexcept {
  ::eventfd_write(wake_, 1);
}

} // namespace weir
