#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <sys/types.h>
#include <vector>

/// Programs that a test starts for itself: servers, and what stands in front of them.
namespace postgres_tests {

/// A temporary directory that goes with its owner, and belongs to who runs servers.
class server_directory {
public:
  server_directory();
  ~server_directory();
  server_directory(const server_directory&) = delete;
  server_directory& operator=(const server_directory&) = delete;

  const std::filesystem::path& path() const noexcept { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

/// Of the loopback.
std::uint16_t free_port();

/// Starts a program in that directory, in a process group of its own, and never as root; what it says goes into the file "log"
/// there.
pid_t launch(const std::filesystem::path& program, const std::vector<std::string>& words, const server_directory& in);

/// Blocks until something at that URL takes connections. Throws when the process ends instead, or a minute has passed.
void wait_until_ready(pid_t process, const std::string& url, const server_directory& in);

} // namespace postgres_tests
