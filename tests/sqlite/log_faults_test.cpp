#include <weir/sqlite_log.hpp>

#include "core/seeds.hpp"
#include "jsonl/scratch.hpp"
#include "log_reading.hpp"
#include "log_script.hpp"

#include <doctest/doctest.h>
#include <sqlite3.h>

#include <array>
#include <cstdio>
#include <map>
#include <set>
#include <sstream>
#include <sys/wait.h>

using namespace sqlite_tests;

namespace {

/// What a process said, and how it ended.
struct told {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::string> stored; // payloads
  std::uint64_t revision = 0;
  std::array<std::int64_t, script_shards> trimmed{-1, -1};
  std::set<std::pair<std::uint32_t, std::int64_t>> effects;
  std::uint64_t calls = 0;
  bool has_ended = false;
  bool was_killed = false;
  std::string failure;
};

told run(const std::string& what, const adapter_tests::scratch_directory& in, const std::string& fault, std::uint64_t at) {
  const auto command =
    std::string{"exec " WEIR_LOG_PROCESS " "} + what + " " + in.path().string() + " " + fault + " " + std::to_string(at);
  auto* output = ::popen(command.c_str(), "r");
  REQUIRE(output != nullptr);
  std::string text;
  std::array<char, 4096> buffer{};
  for (std::size_t size = 0; (size = ::fread(buffer.data(), 1, buffer.size(), output)) > 0;)
    text.append(buffer.data(), size);
  const auto status = ::pclose(output);
  told all;
  all.was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; // exec: the process is the shell's own
  std::istringstream lines{text};
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words{line};
    std::string kind;
    words >> kind;
    if (kind == "stored") {
      std::uint64_t number = 0;
      std::size_t index = 0;
      std::pair<std::uint32_t, std::int64_t> place;
      words >> number >> index >> place.first >> place.second;
      all.stored[place] = script_payload(number, index);
    } else if (kind == "checkpoint") {
      words >> all.revision;
    } else if (kind == "trimmed") {
      words >> all.trimmed[0] >> all.trimmed[1];
    } else if (kind == "effect") {
      std::pair<std::uint32_t, std::int64_t> place;
      words >> place.first >> place.second;
      all.effects.insert(place);
    } else if (kind == "calls") {
      words >> all.calls;
    } else if (kind == "failed") {
      all.failure = line;
    } else if (kind == "end") {
      all.has_ended = true;
    }
  }
  return all;
}

/// Everything that the process was told is stored is there, and nothing that was never appended.
void check(log_opener& opener, const told& said, const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) {
    CHECK(said.stored.empty());
    return;
  }
  const auto found = opener.read(path, "script");
  if (found.failure) {
    INFO(found.failure->to_string());
    CHECK(said.stored.empty()); // killed before the topic was made
    return;
  }
  std::int64_t acknowledged[script_shards] = {-1, -1};
  for (const auto& one : found.checkpoints) {
    CHECK(one.revision >= said.revision);
    for (std::size_t shard = 0; shard < script_shards; ++shard)
      acknowledged[shard] = one.offsets[shard];
  }
  CHECK((said.revision == 0 || found.checkpoints.size() == 1));
  std::map<std::pair<std::uint32_t, std::int64_t>, std::string> there;
  std::set<std::string> payloads;
  for (std::uint32_t shard = 0; shard < script_shards; ++shard) {
    CHECK_FALSE(found.ends[shard]);
    CHECK(found.bounds[shard].earliest > said.trimmed[shard]);
    CHECK(found.bounds[shard].earliest <= acknowledged[shard] + 1);
    CHECK(static_cast<std::int64_t>(found.shards[shard].size()) == found.bounds[shard].head - found.bounds[shard].earliest);
    for (const auto& one : found.shards[shard]) {
      std::uint64_t number = 0;
      std::size_t index = 0;
      REQUIRE(std::sscanf(one.payload.c_str(), "%lu/%zu:", &number, &index) == 2);
      CHECK(one.payload == script_payload(number, index));
      CHECK(payloads.insert(one.payload).second); // once
      there[{shard, one.offset}] = one.payload;
    }
  }
  for (const auto& [place, payload] : said.stored)
    if (place.second >= found.bounds[place.first].earliest)
      CHECK(there[place] == payload);
  const auto scrubbed = weir::sqlite::scrub_log({.path = path});
  REQUIRE_MESSAGE(scrubbed, scrubbed.error().to_string());
  CHECK(scrubbed.value().is_sound());
  for (const auto& one : scrubbed.value().others)
    MESSAGE(one);
  CHECK(opener.append(path, "script", script_shards, {{.payload = "more", .shard = 0}}));
}

std::uint64_t calls_of_a_whole_run(log_opener& opener) {
  adapter_tests::scratch_directory in;
  const auto said = run("write", in, "none", 0);
  REQUIRE(said.has_ended);
  check(opener, said, in / "log.db");
  return said.calls;
}

void check_every_point(const std::string& fault, std::uint64_t first, std::uint64_t step) {
  log_opener opener;
  const auto calls = calls_of_a_whole_run(opener);
  REQUIRE(calls > 50);
  for (auto at = first; at <= calls; at += step) {
    CAPTURE(fault);
    CAPTURE(at);
    adapter_tests::scratch_directory in;
    const auto said = run("write", in, fault, at);
    CHECK((said.was_killed || said.has_ended || !said.failure.empty()));
    check(opener, said, in / "log.db");
  }
}

} // namespace

TEST_CASE("a log's process is killed at every write, sync, truncation and deletion: what it was told is stored is there") {
  check_every_point("kill", 1, 1);
}

TEST_CASE("a log's process is killed in the middle of every write: what it was told is stored is there") {
  check_every_point("torn", 1, 1);
}

TEST_CASE("the power fails at every write and sync of a log: what its process was told is stored is there") {
  check_every_point("power", 1, 1);
}

TEST_CASE("every write and sync of a log fails once: nothing is lost, nothing is wrong") {
  check_every_point("fail-once", 1, 1);
}

TEST_CASE("from some write on, nothing can be written any more: nothing that was stored is lost") {
  check_every_point("fail", 1, 1);
  check_every_point("full", 1, 1);
}

TEST_CASE("a consumer that is killed 200 times has each effect exactly once") {
  for (const auto seed : core_tests::seeds(1)) {
    core_tests::random_source random{seed};
    log_opener opener;
    adapter_tests::scratch_directory in;
    const auto path = in / "log.db";
    std::uint64_t appended = 0;
    const auto append = [&](std::size_t count) {
      std::vector<weir::new_entry> entries;
      for (std::size_t one = 0; one < count; ++one, ++appended)
        entries.push_back({.payload = std::to_string(appended), .shard = static_cast<std::uint32_t>(appended % script_shards)});
      REQUIRE(opener.append(path, "script", script_shards, std::move(entries)));
    };
    append(20);
    std::set<std::pair<std::uint32_t, std::int64_t>> said;
    for (int kills = 0, runs = 0; kills < 200; ++runs) {
      REQUIRE(runs < 2000);
      const auto one = run("consume", in, random.chance(50) ? "kill" : "torn", random.between(1, 24));
      said.insert(one.effects.begin(), one.effects.end());
      kills += one.was_killed ? 1 : 0;
      if (!one.was_killed)
        append(6);
    }
    REQUIRE(run("consume", in, "none", 0).has_ended);
    sqlite3* file = nullptr;
    REQUIRE(sqlite3_open(path.c_str(), &file) == SQLITE_OK);
    sqlite3_stmt* query = nullptr;
    REQUIRE(sqlite3_prepare_v2(file, "SELECT shard, first FROM effect", -1, &query, nullptr) == SQLITE_OK);
    std::map<std::pair<std::uint32_t, std::int64_t>, int> effects;
    while (sqlite3_step(query) == SQLITE_ROW)
      ++effects[{static_cast<std::uint32_t>(sqlite3_column_int64(query, 0)), sqlite3_column_int64(query, 1)}];
    sqlite3_finalize(query);
    sqlite3_close(file);
    CHECK(effects.size() == appended);
    for (const auto& [place, count] : effects)
      CHECK(count == 1);
    for (const auto& place : said)
      CHECK(effects.contains(place));
  }
}
