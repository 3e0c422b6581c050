#include "line_input.hpp"

#include "file_access.hpp"
#include "line_stamp.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How often a file that is followed is looked at.
constexpr milliseconds glance{50};

milliseconds time_until(steady_clock::time_point then) noexcept {
  return std::max(milliseconds{0}, std::chrono::ceil<milliseconds>(then - steady_clock::now()));
}

} // namespace

line_input::line_input(std::filesystem::path path, bool follow, int standard_input)
  : path_{std::move(path)},
    follow_{follow},
    standard_input_{standard_input},
    wake_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {}

result<void> line_input::open() {
  opened_.close();
  next_file_.close();
  is_file_ = false;
  was_at_end_ = true;
  file_ = standard_input_;
  if (path_ == "-")
    return success();
  opened_ = posix::file_descriptor{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  file_ = opened_.number();
  struct stat about{};
  if (!opened_.is_open() || ::fstat(file_, &about) != 0)
    return system_error(errno, "open", path_);
  if (S_ISDIR(about.st_mode))
    return error{errc::invalid_argument, fmt::format("{} is a directory", path_.string()), {{"path", path_.string()}}};
  is_file_ = S_ISREG(about.st_mode);
  return success();
}

result<std::optional<std::string>> line_input::find(std::uint64_t offset, std::uint64_t seam) const {
  const auto size = std::min<std::uint64_t>(offset, line_buffer::seam_size);
  auto before = read_at(file_, offset - size, size, path_);
  if (!before)
    return std::move(before).error();
  if (before.value().size() != size || line_stamp::of(offset, before.value()).seam != seam)
    return std::optional<std::string>{};
  return std::optional{std::move(before).value()};
}

result<line_input::outcome> line_input::fill(line_buffer& buffer, milliseconds patience) {
  return is_file_ ? fill_from_file(buffer, patience) : fill_from_pipe(buffer, patience);
}

result<line_input::outcome> line_input::fill_from_file(line_buffer& buffer, milliseconds patience) {
  const auto until = steady_clock::now() + patience;
  for (;;) {
    if (was_at_end_) {
      auto same = goes_on(buffer);
      if (!same)
        return std::move(same).error();
      if (!same.value())
        return outcome::rewritten;
    }
    auto got = read_on(buffer);
    if (!got)
      return std::move(got).error();
    was_at_end_ = got.value() == 0;
    if (!was_at_end_)
      return outcome::filled;
    if (!follow_)
      return outcome::ended;
    // Seen first and read once more after: what was written before the file was moved away is ours to read.
    if (next_file_.is_open())
      return outcome::next_file;
    if (has_next_file())
      continue;
    const auto time = std::min(glance, time_until(until));
    if (time.count() == 0 || !wait(time))
      return outcome::nothing_yet;
  }
}

result<std::size_t> line_input::read_on(line_buffer& buffer) {
  const auto room = buffer.room();
  for (;;) {
    const auto got = is_file_ ? ::pread(file_, room.data(), room.size(), static_cast<off_t>(buffer.received()))
                              : ::read(file_, room.data(), room.size());
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return system_error(errno, "read", path_);
    buffer.filled(static_cast<std::size_t>(got));
    return static_cast<std::size_t>(got);
  }
}

/// Whether the file still is what was read, and may be read on. Behind a last line that was taken without its line feed,
/// nothing but that may follow.
result<bool> line_input::goes_on(line_buffer& buffer) {
  const auto before = buffer.before_received();
  auto there = read_at(file_, buffer.received() - before.size(), before.size() + 1, path_);
  if (!there)
    return std::move(there).error();
  if (!there.value().starts_with(before))
    return false;
  const auto is_between_lines = buffer.received() == buffer.offset();
  if (there.value().size() == before.size() || !is_between_lines || before.empty() || before.back() == '\n')
    return true;
  if (there.value().back() != '\n')
    return false;
  buffer.pass_line_feed('\n');
  return true;
}

bool line_input::has_next_file() {
  struct stat ours{};
  struct stat theirs{};
  if (::fstat(file_, &ours) != 0 || ::stat(path_.c_str(), &theirs) != 0)
    return false;
  if ((ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino) || !S_ISREG(theirs.st_mode))
    return false;
  next_file_ = posix::file_descriptor{::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  return next_file_.is_open(); // if not, it is gone again, or will be readable later
}

void line_input::go_to_next_file() noexcept {
  opened_ = std::move(next_file_);
  next_file_.close();
  file_ = opened_.number();
  was_at_end_ = true;
}

result<line_input::outcome> line_input::fill_from_pipe(line_buffer& buffer, milliseconds patience) {
  std::array<pollfd, 2> watched{{{file_, POLLIN, 0}, {wake_.number(), POLLIN, 0}}};
  const auto ready = ::poll(watched.data(), watched.size(), static_cast<int>(patience.count()));
  if (ready < 0 && errno != EINTR)
    return system_error(errno, "wait for", path_);
  if (ready <= 0 || watched[0].revents == 0)
    return outcome::nothing_yet;
  auto got = read_on(buffer);
  if (got)
    return got.value() > 0 ? outcome::filled : outcome::ended;
  if (got.error().fact_of("errno") == std::to_string(EAGAIN)) // another reader was faster
    return outcome::nothing_yet;
  return std::move(got).error();
}

bool line_input::wait(milliseconds time) noexcept {
  pollfd watched{wake_.number(), POLLIN, 0};
  return ::poll(&watched, 1, static_cast<int>(time.count())) == 0;
}

void line_input::stop() noexcept {
  ::eventfd_write(wake_.number(), 1);
}

} // namespace weir
