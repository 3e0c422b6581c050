#include "jsonl_log.hpp"

#include "file_access.hpp"
#include "log_tail.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace weir {

namespace {

constexpr std::size_t buffer_size = 256U << 10U;

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
}

/// The file's size; refuses what is no regular file.
result<std::uint64_t> size_of(int file, const std::filesystem::path& path) {
  struct stat about{};
  if (::fstat(file, &about) != 0)
    return system_error(errno, "look at", path);
  if (!S_ISREG(about.st_mode))
    return error{errc::invalid_argument, fmt::format("{} is no regular file", path.string()), {{"path", path.string()}}};
  return static_cast<std::uint64_t>(about.st_size);
}

/// A file that was just made is only there to stay when its directory says so.
result<void> sync_directory(const std::filesystem::path& path) {
  const auto directory = directory_of(path);
  posix::file_descriptor opened{::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!opened.is_open() || ::fsync(opened.number()) != 0)
    return system_error(errno, "sync the directory", directory);
  return success();
}

result<void> check_owner(const log_tail& tail, const jsonl_sink_options& options) {
  if (!tail.last || tail.last->pipeline == options.pipeline)
    return success();
  const auto whose = tail.last->pipeline.empty() ? std::string{"no pipeline"} : "the pipeline " + tail.last->pipeline;
  return error{errc::wrong_owner, fmt::format("{} is the log of {}", options.path.string(), whose),
    {{"path", options.path.string()}, {"pipeline", tail.last->pipeline}, {"expected", options.pipeline}}};
}

sink_state state_of(const log_tail& tail) {
  sink_state state;
  state.is_exact = tail.last.has_value(); // a log that has no line yet begins with what comes next
  if (tail.last)
    state.committed = tail.last->at;
  return state;
}

} // namespace

result<sink_state> jsonl_log::open() {
  close();
  auto opened = open_file();
  if (!opened)
    close();
  return opened;
}

void jsonl_log::close() noexcept {
  // Unlocked by name: a child process that is just being started may hold a copy of the descriptor, and so of the lock.
  if (file_.is_open())
    ::flock(file_.number(), LOCK_UN);
  file_.close();
  buffer_.clear();
}

result<sink_state> jsonl_log::open_file() {
  file_ = posix::file_descriptor{::open(path().c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666)};
  if (!file_.is_open())
    return system_error(errno, "open", path());
  auto size = size_of(file_.number(), path());
  if (!size)
    return std::move(size).error();
  if (::flock(file_.number(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK)
      return error{errc::in_use, fmt::format("another process writes to {}", path().string()), {{"path", path().string()}}};
    return system_error(errno, "lock", path());
  }
  auto tail = read_log_tail(file_.number(), size.value(), path());
  if (!tail)
    return std::move(tail).error();
  if (auto ours = check_owner(tail.value(), options_); !ours)
    return std::move(ours).error();
  const auto& [last, end] = tail.value();
  if (end < size.value() && ::ftruncate(file_.number(), static_cast<off_t>(end)) != 0)
    return system_error(errno, "cut off the broken end of", path());
  if (size.value() == 0)
    if (auto synced = sync_directory(path()); !synced)
      return std::move(synced).error();

  written_end_ = end;
  durable_end_ = end;
  is_durable_ = false; // what an earlier process wrote may still be on its way to the disk
  lines_.go_on(last);
  return state_of(tail.value());
}

result<void> jsonl_log::write(std::span<const lane_item> items) {
  if (!file_.is_open())
    return error{errc::closed, "the log is not open", {{"path", path().string()}}};
  for (const auto& item : items) {
    const auto* carried = std::get_if<batch>(&item);
    if (carried == nullptr || carried->is_snapshot())
      continue;
    if (auto appended = lines_.append(buffer_, *carried); !appended)
      return give_up(std::move(appended).error());
    if (buffer_.size() >= buffer_size)
      if (auto written = write_buffer(); !written)
        return written;
  }
  return success();
}

result<void> jsonl_log::flush() {
  if (!file_.is_open())
    return error{errc::closed, "the log is not open", {{"path", path().string()}}};
  lines_.append_position(buffer_);
  if (auto written = write_buffer(); !written)
    return written;
  if (is_durable_)
    return success();
  if (::fdatasync(file_.number()) != 0)
    return give_up(system_error(errno, "sync", path()));
  durable_end_ = written_end_;
  is_durable_ = true;
  return success();
}

result<void> jsonl_log::write_buffer() {
  std::string_view left{buffer_};
  while (!left.empty()) {
    is_durable_ = false;
    const auto put = ::write(file_.number(), left.data(), left.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return give_up(system_error(errno, "write to", path()));
    written_end_ += static_cast<std::uint64_t>(put);
    left.remove_prefix(static_cast<std::size_t>(put));
  }
  buffer_.clear();
  return success();
}

error jsonl_log::give_up(error why) {
  // What was written since the last flush was not acknowledged: it comes again. If this fails, open() cuts what is broken.
  const bool is_cut = ::ftruncate(file_.number(), static_cast<off_t>(durable_end_)) == 0;
  close();
  return is_cut ? why : std::move(why).with("left_behind", "what was not flushed");
}

result<sink_state> jsonl_log::check(const jsonl_sink_options& options) {
  const auto& path = options.path;
  posix::file_descriptor file{::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (!file.is_open()) {
    if (errno != ENOENT)
      return system_error(errno, "open", path);
    const auto directory = directory_of(path);
    if (::faccessat(AT_FDCWD, directory.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
      return system_error(errno, "create a file in", directory);
    return sink_state{};
  }
  auto size = size_of(file.number(), path);
  if (!size)
    return std::move(size).error();
  auto tail = read_log_tail(file.number(), size.value(), path);
  if (!tail)
    return std::move(tail).error();
  if (auto ours = check_owner(tail.value(), options); !ours)
    return std::move(ours).error();
  return state_of(tail.value());
}

} // namespace weir
