#include <weir/cli/files.hpp>
#include <weir/cli/plain_text.hpp>

#include "../posix/error_code.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace weir::cli {

namespace {

/// Directories hold their own name's durability: a new file is there for good only once its directory is synced.
std::filesystem::path directory_of(const std::filesystem::path& path) {
  auto directory = path.parent_path();
  return directory.empty() ? std::filesystem::path{"."} : directory;
}

result<void> refuse_what_is_no_file(const struct stat& status, const std::filesystem::path& path) {
  if (S_ISREG(status.st_mode))
    return success();
  const auto* kind = S_ISDIR(status.st_mode) ? "a directory" : "a device, a socket or a pipe";
  return error{errc::invalid_argument, fmt::format("{} is {}, not a regular file", in_quotes(path.native()), kind),
    {{"path", path.native()}}};
}

} // namespace

error system_failure(int error_number, std::string_view action, const std::filesystem::path& path) {
  const auto reason = std::generic_category().message(error_number);
  return error{posix::code_of(error_number), fmt::format("can't {} {}: {}", action, in_quotes(path.native()), reason),
    {{"path", path.native()}, {"reason", reason}}};
}

result<std::optional<std::string>> read_file_if_there(const std::filesystem::path& path, std::size_t limit) {
  const posix::file_descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)};
  if (!file.is_open()) {
    if (errno == ENOENT)
      return std::optional<std::string>{};
    return system_failure(errno, "open", path);
  }
  struct stat status{};
  if (::fstat(file.number(), &status) != 0)
    return system_failure(errno, "read", path);
  if (auto refused = refuse_what_is_no_file(status, path); !refused)
    return std::move(refused).error();
  std::string content;
  std::array<char, 16384> piece{};
  for (;;) {
    const auto count = ::read(file.number(), piece.data(), piece.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return system_failure(errno, "read", path);
    if (count == 0)
      return std::optional{std::move(content)};
    content.append(piece.data(), static_cast<std::size_t>(count));
    if (content.size() > limit)
      return error{errc::invalid_argument, fmt::format("{} has more than {} bytes", in_quotes(path.native()), limit),
        {{"path", path.native()}, {"limit", std::to_string(limit)}}};
  }
}

result<std::string> read_file(const std::filesystem::path& path, std::size_t limit) {
  auto content = read_file_if_there(path, limit);
  if (!content)
    return std::move(content).error();
  if (!content.value())
    return system_failure(ENOENT, "open", path);
  return std::move(*content.value());
}

int write_all(int descriptor, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return errno;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return 0;
}

result<void> sync_directory(const std::filesystem::path& path) {
  const posix::file_descriptor directory{::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (!directory.is_open())
    return system_failure(errno, "open", path);
  // Some file systems can't sync a directory and say so with EINVAL; there is nothing more to be done on them.
  if (::fsync(directory.number()) != 0 && errno != EINVAL)
    return system_failure(errno, "sync", path);
  return success();
}

result<void> replace_file(const std::filesystem::path& path, std::string_view content) {
  // One name for all attempts: what a crash leaves behind is overwritten by the next. Its user holds the directory's lock.
  auto unfinished = path;
  unfinished += ".new";
  posix::file_descriptor file{::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
  if (!file.is_open())
    return system_failure(errno, "write", unfinished);
  auto failure = write_all(file.number(), content);
  if (failure == 0 && ::fsync(file.number()) != 0)
    failure = errno;
  file.close();
  if (failure == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0)
    failure = errno;
  if (failure != 0) {
    ::unlink(unfinished.c_str());
    return system_failure(failure, "write", path);
  }
  return sync_directory(directory_of(path));
}

result<void> make_directory(const std::filesystem::path& path) {
  std::error_code failure;
  std::filesystem::create_directories(path, failure);
  if (failure)
    return system_failure(failure.value(), "create the directory", path);
  return success();
}

} // namespace weir::cli
