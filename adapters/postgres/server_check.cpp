#include "server_check.hpp"

#include <boost/outcome/try.hpp>

#include <string>
#include <utility>

namespace weir::postgres {

namespace {

constexpr int oldest_server = 130000;

result<std::string> session_of(connection& one, const wake_event& stop, clock::time_point until) {
  BOOST_OUTCOME_TRY(const auto answer, one.run("SELECT pg_backend_pid()", {}, stop, until));
  return answer.first();
}

/// Whether each of two connections keeps a session of its own. A transaction pooler gives the one whose transaction has just
/// ended to whoever asks next, the last one first or all in turn: then two meet in one, or one of them meets another. In turn
/// that could be hidden from any fixed number of statements; from one and then two it can't.
result<bool> keep_their_sessions(connection& first, connection& second, const wake_event& stop, clock::time_point until) {
  BOOST_OUTCOME_TRY(const auto own, session_of(first, stop, until));
  for (int statements = 1; statements <= 2; ++statements) {
    for (int one = 0; one < statements; ++one) {
      BOOST_OUTCOME_TRY(const auto other, session_of(second, stop, until));
      if (other == own)
        return false;
    }
    BOOST_OUTCOME_TRY(const auto again, session_of(first, stop, until));
    if (again != own)
      return false;
  }
  return true;
}

} // namespace

result<void> check_server(const server_settings& at, const wake_event& stop, clock::time_point until) {
  BOOST_OUTCOME_TRY(auto first, connection::open(at, stop, until));
  if (first.server_version() < oldest_server)
    return error{errc::unsupported, "a bus needs PostgreSQL 13 or later",
      {{"server", at.place}, {"version", std::to_string(first.server_version())}}};
  if (const auto encoding = first.parameter("server_encoding"); encoding != "UTF8")
    return error{
      errc::unsupported, "a bus needs a database that is stored as UTF-8", {{"server", at.place}, {"encoding", encoding}}};
  BOOST_OUTCOME_TRY(const auto is_standby, first.run("SELECT pg_is_in_recovery()", {}, stop, until));
  if (is_standby.first() == "t")
    return error{errc::unsupported, "the server is a standby, on which nobody can publish or listen; a bus needs the primary",
      {{"server", at.place}}};
  BOOST_OUTCOME_TRY(auto second, connection::open(at, stop, until));
  BOOST_OUTCOME_TRY(const auto are_kept, keep_their_sessions(first, second, stop, until));
  if (!are_kept)
    return error{errc::unsupported,
      "there is a pooler in the way that gives each transaction another session; a bus needs one that keeps them, or none",
      {{"server", at.place}}};
  return success();
}

} // namespace weir::postgres
