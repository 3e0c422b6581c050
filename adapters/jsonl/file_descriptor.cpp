#include "file_descriptor.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace weir {

namespace {

errc code_of(int number) noexcept {
  switch (number) {
  case ENOENT:
  case ENOTDIR: return errc::not_found;
  case EACCES:
  case EPERM:
  case EROFS: return errc::permission_denied;
  case ENOSPC:
  case EDQUOT:
  case EFBIG: return errc::storage_full;
  case EISDIR: return errc::invalid_argument;
  default: return errc::io_failed;
  }
}

} // namespace

void file_descriptor::close() noexcept {
  if (is_open())
    ::close(std::exchange(number_, -1));
}

error system_error(int number, std::string_view what, const std::filesystem::path& path) {
  const auto reason = std::generic_category().message(number);
  return error{code_of(number), fmt::format("can't {} {}: {}", what, path.string(), reason),
    {{"path", path.string()}, {"errno", std::to_string(number)}}};
}

result<std::string> read_at(int file, std::uint64_t offset, std::size_t size, const std::filesystem::path& path) {
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < size) {
    const auto got = ::pread(file, bytes.data() + done, size - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return system_error(errno, "read", path);
    if (got == 0)
      break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

} // namespace weir
