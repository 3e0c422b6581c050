#include "connection.hpp"

#include <boost/outcome/try.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <poll.h>
#include <postgresql/libpq-fe.h>
#include <sstream>

namespace weir::postgres {

namespace {

/// Words that a person may set, and that are set otherwise: a dead peer is noticed, and by whom the server is used is seen
/// there.
constexpr std::array<std::pair<const char*, const char*>, 7> defaults{
  {{"keepalives", "1"}, {"keepalives_idle", "5"}, {"keepalives_interval", "2"}, {"keepalives_count", "3"},
    {"tcp_user_timeout", "10000"}, {"application_name", "weir bus"}, {"connect_timeout", "10"}}};

/// libpq's text on one line, without the place in the server's source that verbosity adds.
std::string one_line(std::string_view text) {
  std::string line;
  for (const auto one : text.substr(0, text.find("\nLOCATION:")))
    if (one != '\n' && one != '\t')
      line += one;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  while (!line.empty() && line.back() == ' ')
    line.pop_back();
  return line;
}

/// The five characters behind "FATAL:  " or "ERROR:  ", which stand there because the verbosity is set so.
std::string state_in(std::string_view message) {
  for (const auto* severity : {"FATAL:  ", "ERROR:  "}) {
    const auto at = message.find(severity);
    if (at == std::string_view::npos)
      continue;
    const auto state = message.substr(at + 8, 5);
    if (state.size() == 5
        && std::ranges::all_of(state, [](unsigned char one) { return std::isdigit(one) || std::isupper(one); }))
      return std::string{state};
  }
  return {};
}

errc code_of(std::string_view state) noexcept {
  if (state.starts_with("28"))
    return errc::permission_denied;
  if (state == "3D000")
    return errc::not_found;
  if (state == "42501")
    return errc::permission_denied;
  if (state.empty() || state.starts_with("08") || state.starts_with("57P") || state.starts_with("53"))
    return errc::disconnected;
  return errc::io_failed;
}

/// Why there is no connection.
std::string_view refusal_of(errc code) noexcept {
  switch (code) {
  case errc::permission_denied: return "the server does not let this user in";
  case errc::not_found: return "the server has no such database";
  default: return "can't connect to the server";
  }
}

/// What libpq and poolers say without a code of the server's, and no time changes. Where a message reads otherwise (libpq
/// speaks the process's language), it is taken for a server that is down: tried again, and told in libpq's words.
struct lasting_refusal {
  std::string_view words;
  errc code;
  std::string_view sentence;
};

constexpr std::array<lasting_refusal, 8> lasting_refusals{{
  {"server does not support SSL", errc::unsupported, "the server has no TLS, and sslmode wants it"},
  {"certificate verify failed", errc::permission_denied, "the server's certificate is not signed by whom sslrootcert says"},
  {"does not match host name", errc::permission_denied, "the server's certificate is another host's"},
  {"root certificate file", errc::invalid_argument, "there is no file of root certificates, and sslmode wants one"},
  {"no such database", errc::not_found, "the server has no such database"},
  {"does not exist", errc::not_found, "the server behind the pooler has no such database or user"},
  {"authentication failed", errc::permission_denied, "the pooler does not let this user in"},
  {"bouncer config error", errc::not_found, "the pooler does not know this database or this user"},
}};

/// Null where it may go away by itself: with several hosts, every one of them has to say so.
const lasting_refusal* lasting_refusal_in(std::string_view said) {
  constexpr std::string_view one_host = "connection to server";
  const lasting_refusal* found = nullptr;
  while (!said.empty()) {
    const auto end = said.find(one_host, said.starts_with(one_host) ? one_host.size() : 0);
    const auto of_one = said.substr(0, end);
    said.remove_prefix(of_one.size());
    const auto* const why = std::ranges::find_if(
      lasting_refusals, [&](const lasting_refusal& one) { return of_one.find(one.words) != std::string_view::npos; });
    if (why == lasting_refusals.end())
      return nullptr;
    found = why;
  }
  return found;
}

int milliseconds_until(clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now()).count();
  return static_cast<int>(std::clamp<std::int64_t>(left, 0, 60'000));
}

/// Polls the socket for `events`. False: the time is over. Fails with cancelled.
result<bool> poll_socket(int socket, short events, const wake_event& stop, clock::time_point until) {
  for (;;) {
    std::array waited{pollfd{socket, events, 0}, pollfd{stop.number(), POLLIN, 0}};
    const auto ready = ::poll(waited.data(), waited.size(), milliseconds_until(until));
    if (waited[1].revents != 0)
      return error{errc::cancelled, "the bus is closing"};
    if (ready > 0)
      return true;
    if (clock::now() >= until)
      return false;
  }
}

/// One, or one for each host.
bool are_ports(const std::string& text) {
  std::istringstream all{text};
  for (std::string one; std::getline(all, one, ',');) {
    std::uint16_t number = 0;
    const auto [end, failure] = std::from_chars(one.data(), one.data() + one.size(), number);
    if (!one.empty() && (failure != std::errc{} || end != one.data() + one.size() || number == 0))
      return false;
  }
  return true;
}

} // namespace

result<server_settings> read_server(const std::string& server) {
  char* complaint = nullptr;
  const std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)> given{
    PQconninfoParse(server.c_str(), &complaint), &PQconninfoFree};
  const std::unique_ptr<char, decltype(&PQfreemem)> freed{complaint, &PQfreemem};
  if (!given) // the complaint may quote a password
    return error{errc::invalid_argument, "the server is a postgres:// URL, or words such as host=localhost dbname=app",
      {{"option", "server"}}};
  server_settings read;
  const auto value = [&](std::string_view name) -> std::string {
    for (const auto& [word, text] : read.words)
      if (word == name)
        return text;
    return {};
  };
  for (const auto* one = given.get(); one->keyword != nullptr; ++one)
    if (one->val != nullptr)
      read.words.emplace_back(one->keyword, one->val);
  for (const auto* part : {"host", "dbname"})
    if (value(part).find('@') != std::string::npos) // it may be part of a password
      return error{errc::invalid_argument,
        std::string{"the server's "} + part + " has an @ in it; in a password, @ is written as %40, and / as %2F",
        {{"option", "server"}}};
  if (!are_ports(value("port")))
    return error{errc::invalid_argument, "the server's port is a number from 1 to 65535", {{"option", "server"}}};
  for (const auto& [word, text] : defaults)
    if (value(word).empty())
      read.words.emplace_back(word, text);
  std::erase_if(read.words, [](const auto& one) { return one.first == "client_encoding"; });
  read.words.emplace_back("client_encoding", "UTF8");
  const auto or_else = [](std::string text, const char* otherwise) { return text.empty() ? std::string{otherwise} : text; };
  read.place = or_else(value("host"), "the local server");
  if (const auto port = value("port"); !port.empty())
    read.place += ':' + port;
  if (const auto database = value("dbname"); !database.empty())
    read.place += '/' + database;
  if (const auto user = value("user"); !user.empty())
    read.place += " as " + user;
  return read;
}

bool is_refusal(const error& why) {
  return !why.fact_of("sqlstate").empty();
}

void drop_result::operator()(pg_result* one) const noexcept {
  PQclear(one);
}

void connection::close::operator()(pg_conn* one) const noexcept {
  PQfinish(one);
}

std::string rows::first() const {
  if (!result_ || PQntuples(result_.get()) == 0 || PQnfields(result_.get()) == 0)
    return {};
  return PQgetvalue(result_.get(), 0, 0);
}

error connection::refusal() const {
  const auto why = failure({});
  const auto code = PQconnectionNeedsPassword(handle_.get()) == 1 ? errc::permission_denied : why.code();
  if (code == errc::disconnected)
    if (const auto* lasting = lasting_refusal_in(one_line(PQerrorMessage(handle_.get()))))
      return error{lasting->code, std::string{lasting->sentence}, why.facts()};
  return error{code, std::string{refusal_of(code)}, why.facts()};
}

error connection::failure(std::string_view what) const {
  const auto said = one_line(PQerrorMessage(handle_.get()));
  const auto state = state_in(said);
  std::vector<error::fact> facts{{"server", place_}};
  if (!state.empty())
    facts.emplace_back("sqlstate", state);
  if (!said.empty())
    facts.emplace_back("said", said.substr(0, 300));
  return error{code_of(state), std::string{what}, std::move(facts)};
}

result<connection> connection::open(const server_settings& to, const wake_event& stop, clock::time_point until) {
  std::vector<const char*> words;
  std::vector<const char*> values;
  for (const auto& [word, value] : to.words) {
    words.push_back(word.c_str());
    values.push_back(value.c_str());
  }
  words.push_back(nullptr);
  values.push_back(nullptr);
  connection made{PQconnectStartParams(words.data(), values.data(), 0), to.place};
  auto* handle = made.handle_.get();
  if (handle == nullptr)
    return error{errc::io_failed, "libpq has no memory for a connection"};
  PQsetErrorVerbosity(handle, PQERRORS_VERBOSE);
  if (PQstatus(handle) == CONNECTION_BAD) {
    if (PQpingParams(words.data(), values.data(), 0) != PQPING_NO_ATTEMPT) // asks nobody where the words are to blame
      return made.refusal();
    const auto why = made.failure({});
    return error{errc::invalid_argument, "libpq does not take what is said of the server", why.facts()}.with(
      "option", "server");
  }
  for (auto wanted = PGRES_POLLING_WRITING; wanted != PGRES_POLLING_OK; wanted = PQconnectPoll(handle)) {
    if (wanted == PGRES_POLLING_FAILED)
      return made.refusal();
    const auto events = static_cast<short>(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT);
    auto ready = poll_socket(PQsocket(handle), events, stop, until);
    if (!ready)
      return std::move(ready).error();
    if (!ready.value())
      return error{errc::timed_out, "the server does not answer", {{"server", to.place}}};
  }
  if (PQsetnonblocking(handle, 1) != 0)
    return made.failure("can't use the connection");
  PQsetNoticeProcessor(handle, [](void*, const char*) {}, nullptr);
  return made;
}

result<rows> connection::run(
  const char* sql, const std::vector<std::string>& values, const wake_event& stop, clock::time_point until) {
  BOOST_OUTCOME_TRY(start(sql, values));
  return finish(stop, until);
}

result<bool> connection::start(const char* sql, const std::vector<std::string>& values) {
  auto* handle = handle_.get();
  std::vector<const char*> given;
  for (const auto& one : values)
    given.push_back(one.c_str());
  if (PQsendQueryParams(handle, sql, static_cast<int>(given.size()), nullptr, given.data(), nullptr, nullptr, 0) != 1)
    return failure("can't send a statement to the server");
  const auto unsent = PQflush(handle);
  if (unsent < 0)
    return failure("the connection to the server is lost");
  return unsent == 0;
}

result<rows> connection::finish(const wake_event& stop, clock::time_point until) {
  auto* handle = handle_.get();
  std::unique_ptr<pg_result, drop_result> last;
  for (;;) {
    const auto unsent = PQflush(handle);
    if (unsent < 0)
      return failure("the connection to the server is lost");
    if (unsent == 0 && PQisBusy(handle) == 0) {
      auto* next = PQgetResult(handle);
      if (next == nullptr)
        break;
      last.reset(next);
      continue;
    }
    auto ready = poll_socket(PQsocket(handle), static_cast<short>(unsent > 0 ? POLLIN | POLLOUT : POLLIN), stop, until);
    if (!ready)
      return std::move(ready).error();
    if (!ready.value())
      return error{errc::timed_out, "the server does not answer", {{"server", place_}}};
    if (PQconsumeInput(handle) != 1)
      return failure("the connection to the server is lost");
  }
  const auto status = PQresultStatus(last.get());
  if (status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK)
    return rows{last.release()};
  if (PQstatus(handle) == CONNECTION_BAD)
    return failure("the connection to the server is lost");
  const auto* state = PQresultErrorField(last.get(), PG_DIAG_SQLSTATE);
  const auto* text = PQresultErrorField(last.get(), PG_DIAG_MESSAGE_PRIMARY);
  return error{code_of(state == nullptr ? "" : state), "the server refuses a statement",
    {{"server", place_}, {"sqlstate", state == nullptr ? "" : state}, {"said", text == nullptr ? "" : one_line(text)}}};
}

result<void> connection::wait(const wake_event& also, const wake_event& stop, clock::time_point until) {
  std::array waited{
    pollfd{PQsocket(handle_.get()), POLLIN, 0}, pollfd{also.number(), POLLIN, 0}, pollfd{stop.number(), POLLIN, 0}};
  ::poll(waited.data(), waited.size(), milliseconds_until(until));
  return waited[0].revents == 0 ? result<void>{success()} : take_in();
}

int connection::socket() const noexcept {
  return PQsocket(handle_.get());
}

result<void> connection::take_in() {
  if (PQconsumeInput(handle_.get()) != 1)
    return failure("the connection to the server is lost");
  return success();
}

std::optional<std::string> connection::take_notification() {
  const std::unique_ptr<PGnotify, decltype(&PQfreemem)> one{PQnotifies(handle_.get()), &PQfreemem};
  return one ? std::optional<std::string>{one->extra} : std::nullopt;
}

int connection::server_version() const noexcept {
  return PQserverVersion(handle_.get());
}

std::string connection::parameter(const char* name) const {
  const auto* value = PQparameterStatus(handle_.get(), name);
  return value == nullptr ? std::string{} : std::string{value};
}

} // namespace weir::postgres
