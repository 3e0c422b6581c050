#pragma once

#include <weir/cli/files.hpp>

#include "../../adapters/posix/file_descriptor.hpp"
#include "log_fixture.hpp"
#include "postgres/postgres_server.hpp"
#include "process.hpp"
#include "temporary_directory.hpp"

#include <boost/json/value.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli::test {

/// The PostgreSQL server of all tests of this program. It runs, but while a test has it stopped.
postgres_tests::postgres_server& server();

/// The server is stopped until it is started, at the latest at the end of the test.
class stopped_server {
public:
  stopped_server() { server().stop(); }
  ~stopped_server() { start(); }
  stopped_server(const stopped_server&) = delete;
  stopped_server& operator=(const stopped_server&) = delete;
  void start();

private:
  bool is_stopped_ = true;
};

/// The server answers nobody until then.
class frozen_server {
public:
  frozen_server() { server().freeze(); }
  ~frozen_server() { server().thaw(); }
  frozen_server(const frozen_server&) = delete;
  frozen_server& operator=(const frozen_server&) = delete;
};

class pipe_ends {
public:
  pipe_ends();

  int reading() const noexcept { return reading_.number(); }
  int writing() const noexcept { return writing_.number(); }
  void close_writing() { writing_ = posix::file_descriptor{}; }

  void write(std::string_view text) const;

  /// Whether everything was taken out of it.
  bool is_empty() const;

  /// What can be read until the writers have gone.
  std::string rest();

private:
  posix::file_descriptor reading_;
  posix::file_descriptor writing_;
};

/// A directory, a channel on the server for one test alone, and `weir bus` to work on it.
class bus_fixture {
public:
  const std::filesystem::path& path() const { return directory_.path(); }
  const std::string& channel() const noexcept { return channel_; }

  /// Of the server; its connections have that name in pg_stat_activity.
  std::string url(const std::string& name = "weir-test", const std::string& user = "weir") const;

  /// weir bus WORD…, the first of which is the command, with --bus and --channel.
  std::unique_ptr<process> start(std::vector<std::string> words, process::streams given = {}) const {
    return start_at(url(), std::move(words), given);
  }
  std::unique_ptr<process> start_at(const std::string& url, std::vector<std::string> words, process::streams given = {}) const;

  /// The same with that standard input, to its end.
  said run(std::vector<std::string> words, std::string_view input = {}) const { return run_at(url(), std::move(words), input); }
  said run_at(const std::string& url, std::vector<std::string> words, std::string_view input = {}) const;

  /// weir bus publish, for what must end with 0.
  void publish(std::string_view input, std::vector<std::string> words = {"t"}) const;

  /// weir bus subscribe WORD…, which listens already.
  std::unique_ptr<process> subscribe(std::vector<std::string> words, process::streams given = {}) const {
    return subscribe_at(url(), std::move(words), given);
  }
  std::unique_ptr<process> subscribe_at(
    const std::string& url, std::vector<std::string> words, process::streams given = {}) const;

  /// A line of bash, where `weir` is the program and $BUS what names this bus.
  std::unique_ptr<process> shell(const std::string& line, process::streams given = {}) const;

  /// How many connections of that name listen on the channel.
  std::size_t listeners(const std::string& name = "weir-test") const;

private:
  static std::string new_channel();

  temporary_directory directory_;
  std::string channel_ = new_channel();
};

/// Each line of it.
std::vector<boost::json::value> objects_in(const std::string& lines);

/// The payloads of the hints among them.
std::vector<std::string> payloads_in(const std::string& lines);

bool says(const process& running, std::string_view text);

} // namespace weir::cli::test
