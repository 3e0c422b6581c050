#include "pooler.hpp"

#include <csignal>
#include <fstream>
#include <postgresql/libpq-fe.h>
#include <stdexcept>
#include <sys/wait.h>
#include <vector>

namespace postgres_tests {

namespace {

constexpr auto program = "/usr/sbin/pgbouncer";

/// As many transactions at once as there are to be sessions.
void warm_up(const std::string& url, int sessions) {
  std::vector<PGconn*> all;
  bool works = true;
  for (int one = 0; one < sessions; ++one) {
    all.push_back(PQconnectdb(url.c_str()));
    auto* const begun = PQexec(all.back(), "BEGIN");
    works = works && PQresultStatus(begun) == PGRES_COMMAND_OK;
    PQclear(begun);
  }
  for (auto* const one : all) {
    PQclear(PQexec(one, "ROLLBACK"));
    PQfinish(one);
  }
  if (!works)
    throw std::runtime_error{"the pooler does not work"};
}

} // namespace

pooler::pooler(std::uint16_t to) : to_{to}, port_{free_port()} {
  if (!std::filesystem::exists(program))
    throw std::runtime_error{"there is no PgBouncer on this machine: apt-get install pgbouncer"};
}

pooler::~pooler() {
  stop();
}

void pooler::start(const settings& how) {
  const auto file = directory_ / "pgbouncer.ini";
  const std::string users = directory_ / "users";
  std::ofstream{users} << "\"weir\" \"\"\n";
  std::ofstream{file} << "[databases]\n"
                      << (how.knows_all ? "*" : "postgres") << " = host=127.0.0.1 port=" << to_
                      << (how.knows_all ? " user=weir" : "")
                      << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
                      << "\nunix_socket_dir =\nauth_type = " << (how.knows_all ? "any" : "trust\nauth_file = " + users)
                      << "\npool_mode = " << how.mode << "\ndefault_pool_size = " << how.sessions
                      << "\nserver_round_robin = " << (how.takes_turns ? 1 : 0) << '\n';
  running_ = launch(program, {file}, directory_);
  wait_until_ready(running_, url(), directory_);
  warm_up(url(), how.warm);
}

void pooler::stop() {
  if (running_ <= 0)
    return;
  ::kill(running_, SIGTERM); // at once
  ::waitpid(running_, nullptr, 0);
  running_ = -1;
}

} // namespace postgres_tests
