#include "postgres_server.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <netinet/in.h>
#include <postgresql/libpq-fe.h>
#include <pwd.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace postgres_tests {

namespace {

using namespace std::chrono_literals;

/// The newest that is installed.
std::filesystem::path find_programs() {
  std::filesystem::path found;
  std::error_code none;
  for (const auto& one : std::filesystem::directory_iterator{"/usr/lib/postgresql", none})
    if (std::filesystem::exists(one.path() / "bin/postgres"))
      found = std::max(found, one.path() / "bin");
  if (found.empty())
    throw std::runtime_error{"there is no PostgreSQL server on this machine: apt-get install postgresql"};
  return found;
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

/// PostgreSQL does not run as root.
const passwd* other_user() {
  if (::geteuid() != 0)
    return nullptr;
  for (const auto* name : {"postgres", "nobody"})
    if (const auto* found = ::getpwnam(name))
      return found;
  throw std::runtime_error{"no user to run PostgreSQL as"};
}

} // namespace

postgres_server::postgres_server() : programs_{find_programs()}, port_{free_port()} {
  auto name = (std::filesystem::temp_directory_path() / "weir-postgres-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw std::runtime_error{"no temporary directory"};
  directory_ = name;
  if (const auto* user = other_user(); user != nullptr && ::chown(name.c_str(), user->pw_uid, user->pw_gid) != 0)
    throw std::runtime_error{"the directory can't be given away"};
  run("initdb", {"-D", directory_ / "data", "-U", "weir", "--auth=trust", "-E", "UTF8", "--locale=C.UTF-8", "--no-sync"});
  std::ofstream{directory_ / "data/postgresql.auto.conf", std::ios::app}
    << "listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nfsync = off\nmax_connections = 100\n";
  std::ofstream{directory_ / "data/pg_hba.conf"}
    << "host all locked 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n";
  start();
  sql("CREATE ROLE locked LOGIN PASSWORD 'right'");
  sql("CREATE DATABASE bytes TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C'");
}

postgres_server::~postgres_server() {
  if (running_ > 0)
    kill();
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

void postgres_server::start() {
  running_ = launch("postgres", {"-D", directory_ / "data", "-p", std::to_string(port_)});
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (PQping(url().c_str()) != PQPING_OK) {
    if (std::chrono::steady_clock::now() > until || ::waitpid(running_, nullptr, WNOHANG) != 0)
      throw std::runtime_error{"the server did not start; see " + (directory_ / "log").string()};
    std::this_thread::sleep_for(20ms);
  }
}

void postgres_server::stop() {
  ::kill(running_, SIGINT); // fast: connections are ended
  ::waitpid(running_, nullptr, 0);
  running_ = -1;
}

/// Each of its processes leads a session of its own.
void postgres_server::signal_all(int number) const {
  for (const auto& one : std::filesystem::directory_iterator{"/proc"}) {
    std::ifstream about{one.path() / "stat"};
    std::string pid;
    std::string name;
    std::string state;
    pid_t parent = 0;
    if (about >> pid >> name >> state >> parent && parent == running_)
      ::kill(static_cast<pid_t>(std::stol(pid)), number);
  }
  ::kill(running_, number);
}

void postgres_server::kill() {
  signal_all(SIGKILL);
  ::waitpid(running_, nullptr, 0);
  running_ = -1;
}

void postgres_server::freeze() {
  signal_all(SIGSTOP);
}

void postgres_server::thaw() {
  signal_all(SIGCONT);
}

std::string postgres_server::url(const std::string& database, const std::string& user) const {
  return "postgres://" + user + "@127.0.0.1:" + std::to_string(port_) + "/" + database;
}

std::string postgres_server::sql(const std::string& statement, const std::string& database) const {
  auto* connection = PQconnectdb(url(database).c_str());
  auto* result = PQexec(connection, statement.c_str());
  const auto status = PQresultStatus(result);
  std::string said = PQerrorMessage(connection);
  std::string first = status == PGRES_TUPLES_OK && PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(connection);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
    throw std::runtime_error{statement + ": " + said};
  return first;
}

void postgres_server::run(const std::string& program, std::initializer_list<std::string> words) const {
  int status = 0;
  if (::waitpid(launch(program, words), &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error{program + " failed; see " + (directory_ / "log").string()};
}

/// In a process group of its own, so that all of its processes can be signalled.
pid_t postgres_server::launch(const std::string& program, const std::vector<std::string>& words) const {
  const auto path = (programs_ / program).string();
  const auto log = (directory_ / "log").string();
  std::vector<char*> given{const_cast<char*>(path.c_str())};
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
  if (::chdir(directory_.c_str()) != 0)
    ::_exit(126);
  ::execv(path.c_str(), given.data());
  ::_exit(127);
}

} // namespace postgres_tests
