#pragma once

#include "server_process.hpp"

#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <sys/types.h>

/// A PostgreSQL server of the test's own, on a free port of the loopback, in a directory that goes with it.
namespace postgres_tests {

class postgres_server {
public:
  /// Makes the directory and starts the server; throws where there is none on this machine.
  postgres_server();
  ~postgres_server();
  postgres_server(const postgres_server&) = delete;
  postgres_server& operator=(const postgres_server&) = delete;

  /// Blocks until it takes connections.
  void start();

  /// In good order, or with SIGKILL to all of it.
  void stop();
  void kill();

  /// SIGSTOP and SIGCONT to all of it: connections stay, and nothing answers.
  void freeze();
  void thaw();

  std::uint16_t port() const noexcept { return port_; }

  /// From now on TLS is spoken to whoever wants it, with a certificate that it signs itself, for the host "elsewhere". Returns
  /// the certificate's file.
  std::string use_tls();

  /// From now on it is a standby, of nobody: it can be read, and nothing more.
  void become_standby();

  /// For libpq.
  std::string url(const std::string& database = "postgres", const std::string& user = "weir") const;

  /// Runs SQL on a connection of its own; returns the first column of the first row.
  std::string sql(const std::string& statement, const std::string& database = "postgres") const;

  /// What it has said so far.
  std::string log() const;

private:
  void signal_all(int number) const;
  void run(const std::string& program, std::initializer_list<std::string> words) const;

  std::filesystem::path programs_;
  server_directory directory_;
  std::uint16_t port_ = 0;
  pid_t running_ = -1;
};

} // namespace postgres_tests
