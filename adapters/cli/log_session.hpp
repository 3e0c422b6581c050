#pragma once

#include <weir/cli/exit_code.hpp>
#include <weir/cli/log_arguments.hpp>
#include <weir/cli/stop_switch.hpp>
#include <weir/log.hpp>
#include <weir/spawn.hpp>
#include <weir/sqlite_log.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace caf {
class actor_system;
} // namespace caf

namespace weir::cli {

class command_system;

enum class log_access {
  read,  ///< also where it can't be written
  write, ///< it must be there
  create,
};

/// Says on standard error what went wrong; returns how the program ends by it.
exit_code tell_failure(const log_arguments& given, const error& why);

/// Opens to read, as open(how) does: as everybody who may write does, for then it is seen what others write; where writing is
/// not permitted or there is no room for it, without a trace.
template <class F>
auto read_somehow(F open) {
  using opening = sqlite::log_options::opening;
  auto opened = open(opening::must_exist);
  if (opened)
    return opened;
  switch (opened.error().code()) {
  case errc::permission_denied:
  case errc::read_only:
  case errc::storage_full: return open(opening::look_only);
  default: return opened;
  }
}

/// An open log, and the actor system in which it is used.
class log_session {
public:
  static result<log_session> open(const std::filesystem::path& file, log_access wanted);
  ~log_session();
  log_session(log_session&&) noexcept;
  log_session& operator=(log_session&&) = delete;

  /// Runs a command, function(self, store, arguments…), which returns task<result<exit_code>>, to its end. The switch stops its
  /// coroutine.
  template <class F, class... Args>
  result<exit_code> run(stop_switch* stop, F function, Args... args) {
    auto into = std::make_shared<std::optional<result<exit_code>>>();
    auto running = spawn(system(), &keep<F, Args...>, into, function, store_, std::move(args)...);
    if (stop != nullptr)
      stop->attach([running] { running.request_stop(); });
    auto ended = running.wait();
    if (stop != nullptr)
      stop->attach({});
    if (!ended)
      return std::move(ended).error();
    return std::move(**into);
  }

private:
  log_session(std::unique_ptr<command_system> made, std::shared_ptr<log_store> store) noexcept;
  caf::actor_system& system() noexcept;

  template <class F, class... Args>
  static task<> keep(self me, std::shared_ptr<std::optional<result<exit_code>>> into, F function,
    std::shared_ptr<log_store> store, Args... args) {
    auto called = function(me, std::move(store), std::move(args)...);
    auto value = co_await std::move(called);
    into->emplace(std::move(value));
  }

  std::unique_ptr<command_system> system_;
  std::shared_ptr<log_store> store_; // last: it is let go of before the actors' system
};

/// The topic of that name, or the only one. Fails with unknown_topic, which names those there are.
task<result<std::shared_ptr<log_topic>>> choose_topic(
  self me, std::shared_ptr<log_store> store, std::optional<std::string> name);

/// Runs function(self, topic, arguments…), which returns task<result<exit_code>>.
template <class F, class... Args>
task<result<exit_code>> on_topic(
  self me, std::shared_ptr<log_store> store, std::optional<std::string> name, F function, Args... args) {
  auto choosing = choose_topic(me, std::move(store), std::move(name));
  auto chosen = co_await std::move(choosing);
  if (!chosen) {
    result<exit_code> failed = std::move(chosen).error();
    co_return failed;
  }
  auto running = function(me, std::move(chosen).value(), std::move(args)...);
  auto done = co_await std::move(running);
  co_return done;
}

/// Opens the log, finds the topic, and runs function(self, topic, arguments…) on it; says what went wrong.
template <class F, class... Args>
exit_code run_on_topic(const log_arguments& given, log_access wanted, stop_switch* stop, F function, Args... args) {
  auto session = log_session::open(given.file, wanted);
  if (!session)
    return tell_failure(given, session.error());
  auto done = session.value().run(stop, &on_topic<F, Args...>, given.topic, function, std::move(args)...);
  return done ? done.value() : tell_failure(given, done.error());
}

} // namespace weir::cli
