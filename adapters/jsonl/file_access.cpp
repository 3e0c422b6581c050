#include "file_access.hpp"

#include "../posix/error_code.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <unistd.h>

namespace weir {

error system_error(int number, std::string_view what, const std::filesystem::path& path) {
  const auto reason = std::generic_category().message(number);
  return error{posix::code_of(number), fmt::format("can't {} {}: {}", what, path.string(), reason),
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
