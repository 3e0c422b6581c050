#include "server_process.hpp"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <netinet/in.h>
#include <postgresql/libpq-fe.h>
#include <pwd.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace postgres_tests {

namespace {

using namespace std::chrono_literals;

/// Neither PostgreSQL nor PgBouncer runs as root.
const passwd* other_user() {
  if (::geteuid() != 0)
    return nullptr;
  for (const auto* name : {"postgres", "nobody"})
    if (const auto* found = ::getpwnam(name))
      return found;
  throw std::runtime_error{"no user to run servers as"};
}

} // namespace

server_directory::server_directory() {
  auto name = (std::filesystem::temp_directory_path() / "weir-postgres-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw std::runtime_error{"no temporary directory"};
  path_ = name;
  if (const auto* user = other_user(); user != nullptr && ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0)
    throw std::runtime_error{"the directory can't be given away"};
}

server_directory::~server_directory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::uint16_t free_port() {
  const auto socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (socket < 0 || ::bind(socket, reinterpret_cast<sockaddr*>(&at), size) != 0
      || ::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error{"no free port"};
  ::close(socket);
  return ntohs(at.sin_port);
}

pid_t launch(const std::filesystem::path& program, const std::vector<std::string>& words, const server_directory& in) {
  const auto log = (in / "log").string();
  std::vector<char*> given{const_cast<char*>(program.c_str())};
  for (const auto& one : words)
    given.push_back(const_cast<char*>(one.c_str()));
  given.push_back(nullptr);
  const auto* user = other_user();
  const auto child = ::fork();
  if (child != 0) {
    ::setpgid(child, child);
    return child;
  }
  ::setpgid(0, 0);
  if (user != nullptr && (::setgid(user->pw_gid) != 0 || ::setuid(user->pw_uid) != 0))
    ::_exit(126);
  const auto to = ::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  ::dup2(to, STDOUT_FILENO);
  ::dup2(to, STDERR_FILENO);
  if (::chdir(in.path().c_str()) != 0)
    ::_exit(126);
  ::execv(program.c_str(), given.data());
  ::_exit(127);
}

void wait_until_ready(pid_t process, const std::string& url, const server_directory& in) {
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (PQping(url.c_str()) != PQPING_OK) {
    if (std::chrono::steady_clock::now() > until || ::waitpid(process, nullptr, WNOHANG) != 0)
      throw std::runtime_error{"the server did not start; see " + (in / "log").string()};
    std::this_thread::sleep_for(20ms);
  }
}

} // namespace postgres_tests
