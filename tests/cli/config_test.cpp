#include <weir/cli/config.hpp>

#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <algorithm>

namespace {

using namespace weir;
using namespace weir::cli;
using namespace std::chrono_literals;

constexpr auto smallest = R"(
name = "quickstart"
state = "state"

[source]
type = "git"
repository = "."

[[sink]]
name = "files"
type = "sqlite"
path = "files.db"
)";

constexpr auto everything = R"(
name = "everything"
state = "/var/lib/weir/everything"

[source]
type = "jsonl"
path = "in/changes.jsonl"
follow = true
on_bad_record = "dead-letter"
on_restart = "skip-confirmed"
max_line = "1MiB"
max_changes = 100
max_bytes = "64KiB"

[stream]
type = "channel"
items = 7
bytes = 1048576
budget = "2 MiB"

[[sink]]
name = "rows"
type = "sqlite"
path = "../rows.db"
on_failure = "dead-letter"
dead_letter_after = 3
backoff_min = "250ms"
backoff_max = "2min"

[[sink]]
name = "audit.log-1"
type = "jsonl"
path = "audit.jsonl"

[[sink]]
name = "screen"
type = "stdout"

[scheduler]
threads = 3
policy = "sharing"
)";

config read(std::string_view text) {
  auto parsed = parse_config(text, "/etc/weir");
  if (!parsed)
    FAIL(to_string(parsed.error(), "pipeline.toml"));
  return std::move(parsed).value();
}

TEST_CASE("the smallest configuration has the documented defaults") {
  const auto one = read(smallest);
  CHECK(one.name == "quickstart");
  CHECK(one.state == "/etc/weir/state");
  const auto& git = std::get<git_options>(one.source.from);
  CHECK(git.repository == "/etc/weir");
  CHECK(git.ref == "HEAD");
  CHECK(git.collection == "files");
  CHECK_FALSE(git.follow);
  CHECK(one.source.max_changes == 512);
  CHECK(one.source.max_bytes == 1'048'576);
  CHECK(one.stream.items == 1024);
  CHECK(one.stream.bytes == 16 * 1'048'576);
  CHECK(one.stream.budget == 32 * 1'048'576);
  REQUIRE(one.sinks.size() == 1);
  CHECK(one.sinks[0].name == "files");
  CHECK(std::get<sqlite_sink_options>(one.sinks[0].to).path == "/etc/weir/files.db");
  CHECK(one.sinks[0].policy.on_failure == failure_policy::stop);
  CHECK(one.sinks[0].policy.failures_before_dead_letter == 5);
  CHECK(one.sinks[0].policy.first_pause == 1s);
  CHECK(one.sinks[0].policy.longest_pause == 60s);
  CHECK(one.scheduler.threads == 0);
  CHECK(one.scheduler.policy == scheduler_policy::stealing);
}

TEST_CASE("every key is read") {
  const auto one = read(everything);
  CHECK(one.name == "everything");
  CHECK(one.state == "/var/lib/weir/everything");
  const auto& jsonl = std::get<jsonl_source_options>(one.source.from);
  CHECK(jsonl.path == "/etc/weir/in/changes.jsonl");
  CHECK(jsonl.follow);
  CHECK(jsonl.on_bad == bad_record_policy::dead_letter);
  CHECK(jsonl.on_restart == pipe_restart::skip_confirmed);
  CHECK(jsonl.max_line == 1'048'576);
  CHECK(one.source.max_changes == 100);
  CHECK(one.source.max_bytes == 65'536);
  CHECK(one.stream.items == 7);
  CHECK(one.stream.bytes == 1'048'576);
  CHECK(one.stream.budget == 2'097'152);
  REQUIRE(one.sinks.size() == 3);
  CHECK(one.sinks[0].name == "rows");
  CHECK(std::get<sqlite_sink_options>(one.sinks[0].to).path == "/etc/rows.db");
  CHECK(one.sinks[0].policy.on_failure == failure_policy::dead_letter);
  CHECK(one.sinks[0].policy.failures_before_dead_letter == 3);
  CHECK(one.sinks[0].policy.first_pause == 250ms);
  CHECK(one.sinks[0].policy.longest_pause == 2min);
  CHECK(one.sinks[1].name == "audit.log-1");
  CHECK(std::get<jsonl_sink_options>(one.sinks[1].to).path == "/etc/weir/audit.jsonl");
  CHECK(std::holds_alternative<stdout_sink_options>(one.sinks[2].to));
  CHECK(one.scheduler.threads == 3);
  CHECK(one.scheduler.policy == scheduler_policy::sharing);
}

TEST_CASE("a durable stream is read") {
  const auto least =
    read(std::string{smallest}.append("[stream]\ntype = \"durable\"\nlog = {type = \"sqlite\", path = \"lanes.db\"}\n"));
  REQUIRE(least.stream.log);
  CHECK(least.stream.log->path == "/etc/weir/lanes.db");
  CHECK(least.topic_of_stream() == "quickstart");
  CHECK(least.stream.log->floors == weir::lane_floors::sink);
  CHECK_FALSE(least.stream.log->retention.bytes);
  CHECK_FALSE(least.stream.log->retention.age);
  const auto all = read(std::string{smallest}.append(
    "[stream]\ntype = \"durable\"\nfloor = \"log\"\nretain_bytes = \"2GiB\"\nretain_age = \"36h\"\nitems = 9\n"
    "[stream.log]\ntype = \"sqlite\"\npath = \"/var/lanes.db\"\ntopic = \"lanes of x\"\n"));
  REQUIRE(all.stream.log);
  CHECK(all.stream.items == 9);
  CHECK(all.stream.log->path == "/var/lanes.db");
  CHECK(all.topic_of_stream() == "lanes of x");
  CHECK(all.stream.log->floors == weir::lane_floors::log);
  CHECK(all.stream.log->retention.bytes == std::uint64_t{2} << 30U);
  CHECK(all.stream.log->retention.age == 36h);
}

TEST_CASE("where a sink announces is read") {
  CHECK_FALSE(read(smallest).sinks[0].announce);
  const auto least =
    read(std::string{smallest}.append("announce = {bus = \"postgres://localhost/app\", topic = \"changed/{collection}\"}\n"));
  REQUIRE(least.sinks[0].announce);
  CHECK(least.sinks[0].announce->where == bus_place{"postgres://localhost/app", "weir_bus"});
  CHECK(least.sinks[0].announce->topic == "changed/{collection}");
  CHECK(least.sinks[0].announce->per == announce_per::key);
  const auto most = read(std::string{smallest}.append(
    "[sink.announce]\nbus = \"postgresql://u@h:1/d?sslmode=require\"\ntopic = \"t\"\nper = \"batch\"\nchannel = \"c\"\n"));
  REQUIRE(most.sinks[0].announce);
  CHECK(most.sinks[0].announce->where == bus_place{"postgresql://u@h:1/d?sslmode=require", "c"});
  CHECK(most.sinks[0].announce->topic == "t");
  CHECK(most.sinks[0].announce->per == announce_per::batch);
  CHECK(read(std::string{smallest}.append("announce = {bus = \"postgres://h\", topic = \"t\", per = \"key\"}\n"))
          .sinks[0]
          .announce->per
        == announce_per::key);
}

TEST_CASE("a path of - is standard input, and ./- is a file of that name") {
  const auto with = [](std::string_view path) {
    std::string text{smallest};
    const std::string_view git = "type = \"git\"\nrepository = \".\"";
    text.replace(text.find(git), git.size(), std::string{"type = \"jsonl\"\npath = \""}.append(path).append("\""));
    return std::get<jsonl_source_options>(read(text).source.from).path;
  };
  CHECK(with("-") == "-");
  CHECK(with("./-") == "/etc/weir/-");
}

TEST_CASE("a default makes room for what is given") {
  const auto with = [](std::string_view stream) { return read(std::string{smallest}.append(stream)); };
  SUBCASE("a small lane makes batches small") {
    const auto one = with("[stream]\nbytes = \"4KiB\"\n");
    CHECK(one.stream.bytes == 4096);
    CHECK(one.source.max_bytes == 4096);
    CHECK(one.stream.budget == 32 * 1'048'576);
  }
  SUBCASE("a large lane makes the budget large") {
    const auto one = with("[stream]\nbytes = \"64MiB\"\n");
    CHECK(one.stream.budget == 64 * 1'048'576);
  }
  SUBCASE("a small budget makes lanes and batches small") {
    const auto one = with("[stream]\nbudget = \"64KiB\"\n");
    CHECK(one.stream.budget == 65'536);
    CHECK(one.stream.bytes == 65'536);
    CHECK(one.source.max_bytes == 65'536);
  }
  SUBCASE("a first wait longer than the longest makes that one as long") {
    const auto one = with("backoff_min = \"2min\"\n");
    CHECK(one.sinks[0].policy.first_pause == 2min);
    CHECK(one.sinks[0].policy.longest_pause == 2min);
  }
  SUBCASE("a longest wait shorter than the first makes that one as short") {
    const auto one = with("backoff_max = \"100ms\"\n");
    CHECK(one.sinks[0].policy.first_pause == 100ms);
    CHECK(one.sinks[0].policy.longest_pause == 100ms);
  }
  SUBCASE("waits that fit leave each other alone") {
    const auto shorter = with("backoff_min = \"5s\"\n");
    CHECK(shorter.sinks[0].policy.first_pause == 5s);
    CHECK(shorter.sinks[0].policy.longest_pause == 60s);
    const auto longer = with("backoff_max = \"5s\"\n");
    CHECK(longer.sinks[0].policy.first_pause == 1s);
    CHECK(longer.sinks[0].policy.longest_pause == 5s);
  }
}

TEST_CASE("places say where a key stands, or the table that would hold it") {
  const auto one = read(everything);
  const auto shown = [&](std::string_view key) { return std::pair{one.where(key).line, one.where(key).column}; };
  CHECK(shown("name") == std::pair{2U, 8U});
  CHECK(shown("source.path") == std::pair{7U, 8U});
  CHECK(shown("source") == std::pair{5U, 1U});
  CHECK(shown("source.nothing") == std::pair{5U, 1U});
  CHECK(shown("sink[1].path") == std::pair{33U, 8U});
  CHECK(shown("sink[2].path") == std::pair{35U, 1U});
  CHECK(shown("nowhere") == std::pair{1U, 1U});
}

TEST_CASE("a configuration file is read whole, or refused by what it is") {
  const weir::cli::test::temporary_directory directory;
  const auto file = directory / "pipeline.toml";
  test::put(file, smallest);
  CHECK(read_config_file(file).value() == smallest);
  CHECK(read_config_file(directory / "none.toml").error() == errc::not_found);
  CHECK(read_config_file(directory.path()).error() == errc::invalid_argument);
  CHECK(read_config_file("/dev/zero").error() == errc::invalid_argument);
  test::put(file, std::string(65'536, '#'));
  CHECK(read_config_file(file).has_value());
  test::put(file, std::string(65'537, '#'));
  const auto refused = read_config_file(file);
  CHECK(refused.error() == errc::invalid_argument);
  CHECK(refused.error().sentence().ends_with("has more than 65536 bytes"));
}

} // namespace
