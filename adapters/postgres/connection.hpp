#pragma once

#include <weir/error.hpp>

#include "wake_event.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

struct pg_conn;
struct pg_result;

namespace weir::postgres {

using clock = std::chrono::steady_clock;

/// What libpq is told, and what messages may say of it: never a password.
struct server_settings {
  std::vector<std::pair<std::string, std::string>> words;
  std::string place; ///< "localhost:5432/app as weir"
};

/// Fails with invalid_argument.
result<server_settings> read_server(const std::string& server);

struct drop_result {
  void operator()(pg_result* one) const noexcept;
};

/// Rows of text.
class rows {
public:
  explicit rows(pg_result* result) noexcept : result_{result} {}

  /// Of the first row; empty where there is none.
  std::string first() const;

private:
  std::unique_ptr<pg_result, drop_result> result_;
};

/// Whether a statement failed because the server said no: it did not happen, and the connection goes on.
bool is_refusal(const error& why);

/// One connection, on one thread at a time. Every wait ends at its deadline, and when `stop` is set.
class connection {
public:
  /// Fails with permission_denied, not_found, disconnected, timed_out and cancelled (stop was set).
  static result<connection> open(const server_settings& to, const wake_event& stop, clock::time_point until);

  /// One statement. Fails with what the server says, and with disconnected, timed_out and cancelled: then nobody knows whether
  /// it happened, and the connection is of no use any more.
  result<rows> run(const char* sql, const std::vector<std::string>& values, const wake_event& stop, clock::time_point until);

  /// The first half of run(), which does not wait. False: finish() has to send some of it.
  result<bool> start(const char* sql, const std::vector<std::string>& values);

  /// The second half.
  result<rows> finish(const wake_event& stop, clock::time_point until);

  /// Waits until something came, or `also` or `stop` was set, or the time is over. Fails with disconnected.
  result<void> wait(const wake_event& also, const wake_event& stop, clock::time_point until);

  /// What wait() polls, for whoever waits otherwise, …
  int socket() const noexcept;

  /// … and takes in what came. Fails with disconnected.
  result<void> take_in();

  /// What came on any channel, and was not taken yet.
  std::optional<std::string> take_notification();

  int server_version() const noexcept;
  std::string parameter(const char* name) const;

private:
  struct close {
    void operator()(pg_conn* one) const noexcept;
  };

  connection(pg_conn* opened, std::string place) noexcept : handle_{opened}, place_{std::move(place)} {}
  error refusal() const;
  error failure(std::string_view what) const;

  std::unique_ptr<pg_conn, close> handle_;
  std::string place_;
};

} // namespace weir::postgres
