#include <weir/channel.hpp>
#include <weir/jsonl.hpp>
#include <weir/pipeline.hpp>

#include "scratch.hpp"
#include "threaded.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <fcntl.h>
#include <memory>
#include <string>
#include <thread>
#include <unistd.h>

// The source and the sink as what they are for: coroutines of a pipeline, over threads.

using namespace adapter_tests;
using namespace std::chrono_literals;
using weir::errc;

namespace {

std::string line(std::string_view key, std::string_view payload = "1") {
  return "{\"collection\":\"c\",\"key\":\"" + std::string{key} + "\",\"op\":\"upsert\",\"payload\":" + std::string{payload}
         + "}\n";
}

std::size_t lines_in(const std::filesystem::path& path) {
  const auto content = read_file(path);
  return static_cast<std::size_t>(std::count(content.begin(), content.end(), '\n'));
}

/// Copies the lines of one file into another.
class copying {
public:
  copying(weir::jsonl_source_options from, std::filesystem::path to) : from_{std::move(from)}, to_{std::move(to)} {}

  weir::result<weir::pipeline> start() {
    auto stream = weir::channel::open(actors_.system, {.lanes = {"audit"}, .floor = *kept_});
    REQUIRE(stream);
    weir::pipeline_options options{.from = std::make_unique<weir::jsonl_source>(from_)};
    options.to.push_back({.name = "audit", .destination = std::make_unique<weir::jsonl_sink>(weir::jsonl_sink_options{to_})});
    options.confirmed = *kept_;
    options.store = std::make_unique<kept_position>(kept_);
    return weir::pipeline::start(actors_.system, std::move(stream).value(), std::move(options));
  }

  weir::result<void> run() {
    auto started = start();
    if (!started)
      return std::move(started).error();
    return started.value().wait();
  }

  const std::optional<weir::position>& confirmed() const noexcept { return *kept_; }

private:
  weir::jsonl_source_options from_;
  std::filesystem::path to_;
  std::shared_ptr<std::optional<weir::position>> kept_ = std::make_shared<std::optional<weir::position>>();
  threaded actors_;
};

} // namespace

TEST_CASE("a file flows through a pipeline, and the next run goes on where this one stopped") {
  const scratch_directory scratch;
  const auto from = scratch / "changes.jsonl";
  const auto to = scratch / "audit.jsonl";
  std::string content;
  for (int number = 0; number < 3000; ++number)
    content += line(std::to_string(number), std::to_string(number));
  write_file(from, content);
  copying copy{{.path = from}, to};
  REQUIRE(copy.run());
  CHECK(lines_in(to) == 3000);
  REQUIRE(copy.confirmed());
  CHECK(copy.confirmed()->seq == 3000);
  append_to_file(from, line("more"));
  REQUIRE(copy.run());
  CHECK(lines_in(to) == 3001);
  const auto all = read_file(to);
  CHECK(all.find("\"seq\":3001,\"index\":0") != std::string::npos);
  // Started over from nothing, it writes nothing twice.
  copying again{{.path = from}, to};
  REQUIRE(again.run());
  CHECK(read_file(to) == all);
}

TEST_CASE("what the ends refuse comes out of the pipeline") {
  const scratch_directory scratch;
  write_file(scratch / "changes.jsonl", line("a") + "bad\n");
  CHECK(copying({.path = scratch / "absent.jsonl"}, scratch / "audit.jsonl").run().error() == errc::not_found);
  CHECK(copying({.path = scratch / "changes.jsonl"}, scratch / "no/such/audit.jsonl").run().error() == errc::not_found);
  const auto failed = copying{{.path = scratch / "changes.jsonl"}, scratch / "audit.jsonl"}.run();
  REQUIRE_FALSE(failed);
  CHECK(failed.error() == errc::bad_record);
  CHECK(failed.error().fact_of("line") == "2");
}

TEST_CASE("a followed file is followed until the stop is asked for") {
  const scratch_directory scratch;
  const auto from = scratch / "changes.jsonl";
  const auto to = scratch / "audit.jsonl";
  write_file(from, line("a"));
  copying copy{{.path = from, .follow = true}, to};
  auto running = copy.start();
  REQUIRE(running);
  for (const auto* key : {"b", "c"}) {
    append_to_file(from, line(key));
    while (read_file(to).find("\"key\":\"" + std::string{key}) == std::string::npos) // the test's time limit ends this
      std::this_thread::yield();
  }
  running.value().request_stop();
  CHECK(running.value().wait());
  CHECK(copy.confirmed()->seq == 3);
}

TEST_CASE("a pipeline that waits for standard input can be stopped and aborted") {
  std::array<int, 2> ends{};
  REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
  const auto before = ::dup(STDIN_FILENO);
  REQUIRE(::dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
  const scratch_directory scratch;
  {
    copying copy{{.path = "-"}, scratch / "audit.jsonl"};
    auto running = copy.start();
    REQUIRE(running);
    running.value().request_stop();
    CHECK(running.value().wait());
  }
  {
    copying copy{{.path = "-"}, scratch / "audit.jsonl"};
    auto running = copy.start();
    REQUIRE(running);
    running.value().abort();
    (void)running.value().wait();
  }
  {
    copying copy{{.path = "-"}, scratch / "audit.jsonl"};
    const auto bytes = line("a");
    REQUIRE(::write(ends[1], bytes.data(), bytes.size()) > 0);
    ::close(ends[1]);
    CHECK(copy.run());
    CHECK(lines_in(scratch / "audit.jsonl") == 1);
  }
  ::dup2(before, STDIN_FILENO);
  ::close(before);
  ::close(ends[0]);
}
