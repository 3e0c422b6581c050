#include <weir/sqlite_log.hpp>

#include "core/seeds.hpp"
#include "jsonl/scratch.hpp"
#include "log_reading.hpp"
#include "log_script.hpp"

#include <doctest/doctest.h>

#include <map>

using namespace sqlite_tests;

namespace {

constexpr int flips_per_seed = 1500;

/// A log of both shards with small and large entries, trimmed a little, and closed in good order: all of it is in one file.
std::string make_log(log_opener& opener, const std::filesystem::path& path) {
  for (std::uint64_t number = 0; number < script_appends; ++number)
    REQUIRE(opener.append(path, "script", script_shards, script_entries(number)));
  return adapter_tests::read_file(path);
}

} // namespace

TEST_CASE("one bit of a log's file is another: no wrong entry is returned, and what is missing is said") {
  for (const auto seed : core_tests::seeds(1)) {
    core_tests::random_source random{seed};
    log_opener opener;
    adapter_tests::scratch_directory in;
    const auto bytes = make_log(opener, in / "whole.db");
    const auto whole = opener.read(in / "whole.db", "script");
    REQUIRE_FALSE(whole.failure);
    std::map<std::string, int> outcomes;
    for (int flip = 0; flip < flips_per_seed; ++flip) {
      const auto at = random.below(bytes.size());
      const auto bit = static_cast<int>(random.below(8));
      CAPTURE(at);
      CAPTURE(bit);
      auto damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      const auto path = in / ("damaged" + std::to_string(flip) + ".db");
      adapter_tests::write_file(path, damaged);
      const auto found = opener.read(path, "script");
      std::filesystem::remove(path);
      std::filesystem::remove(path.string() + "-wal");
      std::filesystem::remove(path.string() + "-shm");
      if (found.failure) {
        ++outcomes[std::string{name_of(found.failure->code())}];
        continue;
      }
      CHECK(found.bounds == whole.bounds);
      bool is_whole = true;
      for (std::uint32_t shard = 0; shard < script_shards; ++shard) {
        const auto& read = found.shards[shard];
        const auto& expected = whole.shards[shard];
        REQUIRE(read.size() <= expected.size());
        for (std::size_t one = 0; one < read.size(); ++one) {
          CHECK(read[one].offset == expected[one].offset);
          CHECK(read[one].key == expected[one].key);
          CHECK(read[one].dedupe == expected[one].dedupe);
          CHECK(read[one].payload == expected[one].payload);
          CHECK(read[one].time == expected[one].time);
        }
        if (read.size() < expected.size()) {
          is_whole = false;
          REQUIRE(found.ends[shard]);
          ++outcomes[std::string{name_of(found.ends[shard]->code())}];
        }
      }
      if (is_whole)
        ++outcomes["whole"];
    }
    CHECK(outcomes["whole"] > 0);
    CHECK(outcomes["corrupt_entry"] > 0);
    CHECK(outcomes["corrupt"] > 0);
  }
}

TEST_CASE("a damaged entry that is given up is passed over, and everything else is there") {
  for (const auto seed : core_tests::seeds(3)) {
    core_tests::random_source random{seed};
    log_opener opener;
    adapter_tests::scratch_directory in;
    const auto path = in / "log.db";
    auto bytes = make_log(opener, path);
    const auto whole = opener.read(path, "script");
    // Somewhere in the payload of the large entry that has this text: no other structure is in there.
    const auto inside = bytes.find(script_payload(9, 0).substr(0, 10'000));
    const auto at = inside == std::string::npos ? bytes.find("9/0:") + 4 : inside + random.below(4'000);
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    adapter_tests::write_file(path, bytes);
    const auto report = weir::sqlite::scrub_log({.path = path});
    REQUIRE_MESSAGE(report, report.error().to_string());
    REQUIRE(report.value().damaged.size() == 1);
    CHECK_FALSE(report.value().is_sound());
    const auto lost = report.value().damaged.front();
    CHECK(lost.first == lost.last);
    const auto repaired = weir::sqlite::repair_log({.path = path});
    REQUIRE_MESSAGE(repaired, repaired.error().to_string());
    CHECK(repaired.value().is_sound());
    const auto found = opener.read(path, "script");
    REQUIRE_FALSE(found.failure);
    for (std::uint32_t shard = 0; shard < script_shards; ++shard) {
      CHECK_FALSE(found.ends[shard]);
      auto expected = whole.shards[shard];
      if (shard == lost.shard)
        std::erase_if(expected, [&](const weir::entry& one) { return one.offset == lost.first; });
      REQUIRE(found.shards[shard].size() == expected.size());
      for (std::size_t one = 0; one < expected.size(); ++one)
        CHECK(found.shards[shard][one].payload == expected[one].payload);
    }
    const auto again = weir::sqlite::scrub_log({.path = path});
    REQUIRE(again);
    CHECK(again.value().is_sound());
    CHECK(again.value().damaged.size() == 1);
    CHECK(again.value().damaged.front().is_given_up);
  }
}
