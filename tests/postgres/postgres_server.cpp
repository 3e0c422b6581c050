#include "postgres_server.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <postgresql/libpq-fe.h>
#include <stdexcept>
#include <sys/wait.h>

namespace postgres_tests {

namespace {

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

} // namespace

postgres_server::postgres_server() : programs_{find_programs()}, port_{free_port()} {
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
}

void postgres_server::start() {
  running_ = launch(programs_ / "postgres", {"-D", directory_ / "data", "-p", std::to_string(port_)}, directory_);
  wait_until_ready(running_, url(), directory_);
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

std::string postgres_server::use_tls() {
  const auto certificate = (directory_ / "data/server.crt").string();
  run("/usr/bin/openssl", {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj",
                            "/CN=elsewhere", "-days", "2", "-keyout", directory_ / "data/server.key", "-out", certificate});
  std::filesystem::permissions(directory_ / "data/server.key", std::filesystem::perms::owner_read);
  sql("ALTER SYSTEM SET ssl = on");
  stop();
  start();
  return certificate;
}

void postgres_server::become_standby() {
  stop();
  std::ofstream{directory_ / "data/standby.signal"};
  start();
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

std::string postgres_server::log() const {
  std::ifstream from{directory_ / "log"};
  return {std::istreambuf_iterator<char>{from}, {}};
}

void postgres_server::run(const std::string& program, std::initializer_list<std::string> words) const {
  int status = 0;
  if (::waitpid(launch(programs_ / program, words, directory_), &status, 0) < 0 || !WIFEXITED(status)
      || WEXITSTATUS(status) != 0)
    throw std::runtime_error{program + " failed; see " + (directory_ / "log").string()};
}

} // namespace postgres_tests
