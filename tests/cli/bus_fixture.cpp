#include "bus_fixture.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>

#include <cerrno>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace weir::cli::test {

namespace json = boost::json;

postgres_tests::postgres_server& server() {
  static postgres_tests::postgres_server started;
  return started;
}

void stopped_server::start() {
  if (std::exchange(is_stopped_, false))
    server().start();
}

pipe_ends::pipe_ends() {
  int ends[2];
  REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
  reading_ = posix::file_descriptor{ends[0]};
  writing_ = posix::file_descriptor{ends[1]};
}

void pipe_ends::write(std::string_view text) const {
  REQUIRE(write_all(writing_.number(), text) == 0);
}

bool pipe_ends::is_empty() const {
  int waiting = -1;
  REQUIRE(::ioctl(reading_.number(), FIONREAD, &waiting) == 0);
  return waiting == 0;
}

std::string pipe_ends::rest() {
  close_writing();
  std::string all;
  char bytes[65536];
  for (ssize_t got = 0; (got = ::read(reading_.number(), bytes, sizeof bytes)) > 0 || (got < 0 && errno == EINTR);)
    all.append(bytes, got > 0 ? static_cast<std::size_t>(got) : 0);
  return all;
}

std::string bus_fixture::new_channel() {
  static int number = 0;
  return "weir_cli_" + std::to_string(++number);
}

std::string bus_fixture::url(const std::string& name, const std::string& user) const {
  return server().url("postgres", user) + "?application_name=" + name;
}

std::unique_ptr<process> bus_fixture::start_at(
  const std::string& url, std::vector<std::string> words, process::streams given) const {
  words.insert(words.begin(), {WEIR_PROGRAM, "bus"});
  words.insert(words.end(), {"--bus", url, "--channel", channel_});
  return std::make_unique<process>(std::move(words), path(), std::move(given));
}

said bus_fixture::run_at(const std::string& url, std::vector<std::string> words, std::string_view input) const {
  put(directory_ / "input", input);
  const posix::file_descriptor from{::open((directory_ / "input").c_str(), O_RDONLY | O_CLOEXEC)};
  const auto running = start_at(url, std::move(words), {.input = from.number()});
  const auto end = running->wait();
  return {end, running->output(), running->errors()};
}

void bus_fixture::publish(std::string_view input, std::vector<std::string> words) const {
  words.insert(words.begin(), "publish");
  const auto ended = run(std::move(words), input);
  REQUIRE_MESSAGE(ended.end == exited(0), ended.errors);
  CHECK_MESSAGE(ended.errors.empty(), ended.errors);
}

std::unique_ptr<process> bus_fixture::subscribe_at(
  const std::string& url, std::vector<std::string> words, process::streams given) const {
  words.insert(words.begin(), "subscribe");
  auto running = start_at(url, std::move(words), std::move(given));
  const bool listens = comes_true([&] { return says(*running, "weir bus subscribe: listening to "); });
  REQUIRE_MESSAGE(listens, running->errors());
  return running;
}

std::unique_ptr<process> bus_fixture::shell(const std::string& line, process::streams given) const {
  const auto folder = std::filesystem::path{WEIR_PROGRAM}.parent_path().native();
  const auto before = "set -o pipefail; PATH=" + folder + ":$PATH; BUS='--bus " + url() + " --channel " + channel_ + "'; ";
  return std::make_unique<process>(std::vector<std::string>{"bash", "-c", before + line}, path(), std::move(given));
}

std::size_t bus_fixture::listeners(const std::string& name) const {
  return std::stoul(server().sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = '" + name
                                 + "' AND query = 'LISTEN \"" + channel_ + "\"' AND state = 'idle'"));
}

std::vector<json::value> objects_in(const std::string& lines) {
  std::vector<json::value> all;
  for (const auto& line : lines_of(lines))
    all.push_back(json::parse(line));
  return all;
}

std::vector<std::string> payloads_in(const std::string& lines) {
  std::vector<std::string> all;
  for (const auto& one : objects_in(lines))
    if (one.at("type") == "hint")
      all.push_back(json::value_to<std::string>(one.at("payload")));
  return all;
}

bool says(const process& running, std::string_view text) {
  return running.errors().find(text) != std::string::npos;
}

} // namespace weir::cli::test
