#pragma once

#include "server_process.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>

namespace postgres_tests {

/// PgBouncer in front of a server, on a free port of the loopback, in a directory of its own.
class pooler {
public:
  struct settings {
    std::string mode = {};    ///< "session" or "transaction"
    int sessions = 20;        ///< with the server, at most
    bool takes_turns = false; ///< uses them in turn; otherwise the last one first
    int warm = 0;             ///< sessions that exist before anybody comes
    bool knows_all = true;    ///< databases and users; otherwise "postgres" and "weir" alone
  };

  /// Does not start it; throws where there is none on this machine.
  explicit pooler(std::uint16_t to);
  ~pooler();
  pooler(const pooler&) = delete;
  pooler& operator=(const pooler&) = delete;

  /// Blocks until it takes connections.
  void start(const settings& how);
  void stop();

  std::string url() const { return "postgres://weir@127.0.0.1:" + std::to_string(port_) + "/postgres"; }

private:
  const std::uint16_t to_;
  const std::uint16_t port_;
  server_directory directory_;
  pid_t running_ = -1;
};

} // namespace postgres_tests
