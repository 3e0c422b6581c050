#include "../core/log_lines.hpp"
#include "../core/seeds.hpp"
#include "batches.hpp"
#include "jsonl_log.hpp"
#include "log_tail.hpp"
#include "scratch.hpp"

#include <doctest/doctest.h>

#include <fcntl.h>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace adapter_tests;
using weir::errc;
using weir::jsonl_log;
using weir::lane_item;

namespace {

/// Three transactions; the second has three changes and was cut by a batch boundary.
std::vector<lane_item> some_items() {
  return {live(at(1, 1), {upsert("c", "a", R"({"n":1})")}),
    live(at(1, 2, false), {upsert("c", "b\n\"", "not JSON"), erase("c", "a")}),
    live(at(1, 2), {upsert("c", "\xFF\xFE", "[1]")}, 2), live(at(1, 4), {upsert("d", "e", "1")})};
}

std::string lines_of(const std::vector<lane_item>& items) {
  weir::change_lines lines{weir::change_lines::repeats::skip};
  std::string out;
  for (const auto& item : items)
    REQUIRE(lines.append(out, std::get<weir::batch>(item)));
  return out;
}

/// Opens, writes, flushes.
void append_all(const std::filesystem::path& path, const std::vector<lane_item>& items) {
  jsonl_log log{{path}};
  REQUIRE(log.open());
  REQUIRE(log.write(items));
  REQUIRE(log.flush());
}

errc open_failure(const std::filesystem::path& path) {
  const auto checked = jsonl_log::check({path});
  const auto opened = jsonl_log{{path}}.open();
  REQUIRE_FALSE(opened);
  REQUIRE_FALSE(checked);
  CHECK(checked.error() == opened.error().code());
  return opened.error().code();
}

/// Bytes that this process has read from files so far.
std::uint64_t bytes_read() {
  std::ifstream io{"/proc/self/io"};
  std::string name;
  std::uint64_t value = 0;
  while (io >> name >> value)
    if (name == "rchar:")
      return value;
  return 0;
}

} // namespace

TEST_CASE("a log holds one line per change, and says where it ends") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const auto items = some_items();
  {
    jsonl_log log{{path}};
    CHECK(log.write(items).error() == errc::closed);
    CHECK(log.flush().error() == errc::closed);
    const auto opened = log.open();
    REQUIRE(opened);
    CHECK_FALSE(opened.value().committed);
    REQUIRE(log.write(items));
    REQUIRE(log.flush());
    CHECK(read_file(path) == lines_of(items));
  }
  const auto opened = jsonl_log{{path}}.open();
  REQUIRE(opened);
  REQUIRE(opened.value().committed);
  CHECK(*opened.value().committed == at(1, 4));
  CHECK(opened.value().committed->ends_transaction);
  CHECK(opened.value().is_exact);
  CHECK_FALSE(opened.value().seeded_epoch);
}

TEST_CASE("the last line says up to where the log is complete") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const auto held = [&] { return jsonl_log{{path}}.open().value(); };
  append_all(path, {snapshot(weir::request_id{1, 2}, {upsert("c", "a", "1")}, "a")});
  CHECK(read_file(path).empty());
  CHECK_FALSE(held().is_exact); // a new log lacks nothing
  const std::vector<lane_item> quiet{live(at(1, 1), {}), live(at(1, 2), {})};
  append_all(path, quiet);
  const auto first = read_file(path);
  CHECK(first
        == R"({"epoch":1,"seq":2,"event":"position","stamp":"","ends_transaction":true})"
           "\n");
  CHECK(held().is_exact);
  CHECK(*held().committed == at(1, 2));
  append_all(path, quiet);
  CHECK(read_file(path) == first);

  append_all(path, {live(at(1, 3, false), {upsert("c", "a", "1")})});
  CHECK(*held().committed == at(1, 3));
  CHECK_FALSE(held().committed->ends_transaction);
  append_all(path, {live(at(1, 3), {}, 1)}); // the last part changes nothing
  CHECK(held().committed->ends_transaction);
  const auto changed = read_file(path);
  CHECK(changed.ends_with(R"({"epoch":1,"seq":3,"event":"position","stamp":"","ends_transaction":true})"
                          "\n"));
  append_all(path, {live(at(1, 3), {upsert("c", "a", "1")})}); // all of it again, in one piece
  CHECK(read_file(path) == changed);

  append_all(path, {live(at(2, 0), {})});
  CHECK(read_file(path).ends_with(R"({"epoch":2,"seq":0,"event":"epoch","stamp":"","ends_transaction":true})"
                                  "\n"));
  CHECK(*held().committed == at(2, 0));
  append_all(path, {live(at(3, 1), {upsert("c", "a", "1"), upsert("c", "b", "2")})});
  CHECK(*held().committed == at(3, 1));
  const auto all = read_file(path);
  write_file(path, std::string_view{all}.substr(0, all.rfind('{', all.rfind("\"index\":1"))));
  CHECK(*held().committed == at(3, 1));
  CHECK_FALSE(held().committed->ends_transaction); // it was cut inside of a transaction
}

TEST_CASE("another pipeline's log is refused and left alone") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const weir::jsonl_sink_options ours{path, "our \"own\""};
  {
    jsonl_log log{ours};
    REQUIRE(log.open());
    REQUIRE(log.write(some_items()));
    REQUIRE(log.flush());
  }
  REQUIRE(jsonl_log::check(ours));
  REQUIRE(jsonl_log{ours}.open());
  const auto content = read_file(path);
  for (const auto& theirs : {weir::jsonl_sink_options{path, "other"}, weir::jsonl_sink_options{path, ""}}) {
    const auto opened = jsonl_log{theirs}.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error() == errc::wrong_owner);
    CHECK(opened.error().fact_of("pipeline") == ours.pipeline);
    CHECK(jsonl_log::check(theirs).error() == errc::wrong_owner);
    CHECK(read_file(path) == content);
  }
  write_file(path, "");
  CHECK(jsonl_log{{path, "other"}}.open()); // an empty file is nobody's
}

TEST_CASE("after a crash at any byte the log ends with a whole line, and what is missing comes again") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const auto items = some_items();
  const auto whole = lines_of(items);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    write_file(path, std::string_view{whole}.substr(0, size));
    REQUIRE(jsonl_log::check({path}));
    REQUIRE(read_file(path).size() == size); // check() changes nothing
    jsonl_log log{{path}};
    REQUIRE(log.open());
    const auto kept = whole.rfind('\n', size == 0 ? 0 : size - 1);
    REQUIRE(read_file(path) == (size == 0 || kept == std::string::npos ? "" : whole.substr(0, kept + 1)));
    REQUIRE(log.write(items));
    REQUIRE(log.flush());
    REQUIRE(read_file(path) == whole);
  }
}

TEST_CASE("a last line that is broken inside is cut off, two are not") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const auto whole = lines_of(some_items());
  write_file(path, whole + "{\"epoch\":1,\"seq\":9,\"ind\n");
  {
    jsonl_log log{{path}};
    REQUIRE(log.open());
    CHECK(read_file(path) == whole);
  }
  write_file(path, whole + "{\"epoch\":1,\"seq\":9,\"ind\n{\"epoch\":1,\"se");
  {
    jsonl_log log{{path}};
    REQUIRE(log.open());
    CHECK(read_file(path) == whole);
  }
  write_file(path, "{\"epoch\":1,\"seq\":9,\"ind\n");
  {
    jsonl_log log{{path}};
    const auto opened = log.open();
    REQUIRE(opened);
    CHECK_FALSE(opened.value().committed);
    CHECK(read_file(path).empty());
  }
  const auto broken = whole + "{\"epoch\":1,\"seq\":9,\"ind\n{\"epoch\":1,\n";
  write_file(path, broken);
  const auto opened = jsonl_log{{path}}.open();
  REQUIRE_FALSE(opened);
  CHECK(opened.error() == errc::corrupt);
  CHECK(opened.error().fact_of("offset") == std::to_string(whole.size()));
  CHECK(jsonl_log::check({path}).error() == errc::corrupt);
  CHECK(read_file(path) == broken);
}

TEST_CASE("a file of something else is refused and left alone") {
  const scratch_directory scratch;
  const auto path = scratch / "other";
  const auto ours = lines_of(some_items());
  const std::vector<std::pair<std::string, std::string>> samples{{"hello\n", "0"}, {"hello", "0"}, {"\n", "0"}, {"{}\n", "0"},
    {"{\"level\":\"info\"}\n", "0"}, {std::string(100, '\0'), "0"}, {ours + "hello\n", std::to_string(ours.size())},
    {ours + "\n", std::to_string(ours.size())}, {ours + "{\"epoch\":}\n\n", std::to_string(ours.size() + 11)}};
  for (const auto& [content, offset] : samples) {
    CAPTURE(content);
    write_file(path, content);
    const auto opened = jsonl_log{{path}}.open();
    REQUIRE_FALSE(opened);
    CHECK(opened.error() == errc::wrong_owner);
    CHECK(opened.error().fact_of("offset") == offset);
    CHECK(open_failure(path) == errc::wrong_owner);
    CHECK(read_file(path) == content);
  }
}

TEST_CASE("paths that can't be used are refused with their reason") {
  const scratch_directory scratch;
  CHECK(open_failure(scratch / "no/such/directory.jsonl") == errc::not_found);
  CHECK(open_failure(scratch.path()) == errc::invalid_argument);
  const auto fifo = scratch / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(open_failure(fifo) == errc::invalid_argument);
  REQUIRE(jsonl_log::check({scratch / "new.jsonl"}));
  CHECK_FALSE(std::filesystem::exists(scratch / "new.jsonl"));
}

TEST_CASE("a file or a directory that may not be written is refused") {
  const scratch_directory scratch;
  std::filesystem::create_directory(scratch / "sealed");
  write_file(scratch / "sealed/audit.jsonl", "");
  std::filesystem::permissions(scratch.path(), std::filesystem::perms{0755});
  std::filesystem::permissions(scratch / "sealed", std::filesystem::perms{0555});
  std::filesystem::permissions(scratch / "sealed/audit.jsonl", std::filesystem::perms{0444});
  const without_rights dropped;
  if (!dropped.is_on_for("a file or a directory that may not be written is refused"))
    return;
  CHECK(jsonl_log{{scratch / "sealed/audit.jsonl"}}.open().error() == errc::permission_denied);
  CHECK(jsonl_log::check({scratch / "sealed/audit.jsonl"}).error() == errc::permission_denied);
  CHECK(jsonl_log{{scratch / "sealed/new.jsonl"}}.open().error() == errc::permission_denied);
}

TEST_CASE("one process at a time writes a log") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  jsonl_log first{{path}};
  REQUIRE(first.open());
  jsonl_log second{{path}};
  CHECK(second.open().error() == errc::in_use);
  REQUIRE(first.open());           // itself again, after a failure
  CHECK(jsonl_log::check({path})); // looking is allowed
}

TEST_CASE("the end is found without reading the file") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const auto lines = lines_of(some_items());
  write_file(path, lines);
  constexpr off_t far = 1LL << 33;
  REQUIRE(::truncate(path.c_str(), far) == 0); // a hole of eight gigabytes
  append_to_file(path, "\n" + lines);
  const auto before = bytes_read();
  jsonl_log log{{path}};
  const auto opened = log.open();
  REQUIRE(opened);
  CHECK(*opened.value().committed == at(1, 4));
  const auto used = bytes_read() - before;
  CHECK(used > 0);
  CHECK(used < 1U << 20U);
}

TEST_CASE("a last line of any length is found") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  for (const auto size : {65'000U, 65'536U, 131'072U, 1'000'000U}) {
    const std::vector<lane_item> items{
      live(at(1, 1), {upsert("c", "a", "1")}), live(at(1, 2), {upsert("c", "b", std::string(size, 'x'))})};
    std::filesystem::remove(path);
    append_all(path, items);
    jsonl_log log{{path}};
    const auto opened = log.open();
    REQUIRE(opened);
    CHECK(*opened.value().committed == at(1, 2));
    CHECK(read_file(path) == lines_of(items));
  }
}

TEST_CASE("snapshot rows and markers are no changes") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const weir::request_id request{1, 2};
  append_all(path, {snapshot(request, {upsert("c", "a", "1")}, "a"), weir::snapshot_complete{request, {"c"}},
                     live(at(1, 1), {upsert("c", "a", "2")})});
  CHECK(read_file(path) == lines_of({live(at(1, 1), {upsert("c", "a", "2")})}));
}

TEST_CASE("a new epoch is told once, across crashes at any byte") {
  const scratch_directory scratch;
  const auto path = scratch / "audit.jsonl";
  const std::vector<lane_item> items{
    live(at(1, 5), {upsert("c", "a", "1")}), live(at(2, 0), {}), live(at(2, 1), {upsert("c", "a", "2")}), live(at(3, 0), {})};
  const auto whole = lines_of(items);
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    CAPTURE(size);
    write_file(path, std::string_view{whole}.substr(0, size));
    append_all(path, items);
    append_all(path, items);
    REQUIRE(read_file(path) == whole);
  }
}

TEST_CASE("a log written in rounds, with crashes and other batch boundaries, holds every change once") {
  for (const auto seed : core_tests::seeds(4)) {
    CAPTURE(core_tests::replay(seed));
    core_tests::random_source random{seed};
    for (int log_number = 0; log_number < 20; ++log_number) {
      const scratch_directory scratch;
      const auto path = scratch / "audit.jsonl";
      // Transactions of up to six changes; a batch may end inside of one.
      std::vector<std::vector<weir::envelope>> transactions(20);
      for (auto& changes : transactions)
        for (auto left = random.below(7); left > 0; --left)
          changes.push_back(upsert("c", std::to_string(random.below(9)), std::to_string(random.next())));
      const auto items_from = [&](std::size_t first) {
        std::vector<lane_item> items;
        for (auto number = first; number < transactions.size(); ++number) {
          const auto& changes = transactions[number];
          const auto cut = changes.empty() || random.chance(50) ? 0 : random.below(changes.size());
          const auto middle = changes.begin() + static_cast<std::ptrdiff_t>(cut);
          if (cut > 0)
            items.emplace_back(live(at(1, number + 1, false), {changes.begin(), middle}));
          items.emplace_back(live(at(1, number + 1), {middle, changes.end()}, cut));
        }
        return items;
      };
      const auto expected = lines_of(items_from(0));
      for (int round = 0; round < 8; ++round) {
        jsonl_log log{{path}};
        const auto opened = log.open();
        REQUIRE(opened);
        const auto held = opened.value().committed ? opened.value().committed->seq - 1 : 0;
        const auto items = items_from(random.below(held + 1));
        const auto count = round == 7 ? items.size() : random.below(items.size() + 1);
        REQUIRE(log.write(std::span{items}.first(count)));
        if (random.chance(70) || round == 7) {
          REQUIRE(log.flush());
          const auto* reached = count == 0 ? nullptr : weir::position_of(items[count - 1]);
          REQUIRE((reached == nullptr || !weir::lacks(core_tests::last_line_of(read_file(path))->at, *reached)));
        }
        if (round < 7 && random.chance(40)) { // killed: some of what was written last is not there
          const auto size = std::filesystem::file_size(path);
          std::filesystem::resize_file(path, size - random.below(std::min<std::uint64_t>(size, 300) + 1));
        }
      }
      REQUIRE(core_tests::without_positions(read_file(path)) == expected);
    }
  }
}

TEST_CASE("a full disk is reported, leaves no half line, and goes on when there is room again") {
  const small_disk disk{1U << 20U};
  if (!disk.is_there_for("a full disk is reported, leaves no half line, and goes on when there is room again"))
    return;
  const auto path = disk / "audit.jsonl";
  jsonl_log log{{path}};
  REQUIRE(log.open());
  const std::vector<lane_item> first{live(at(1, 1), {upsert("c", "a", "1")})};
  REQUIRE(log.write(first));
  REQUIRE(log.flush());
  disk.fill(40'000);
  std::vector<lane_item> many;
  for (std::uint64_t seq = 2; seq < 2000; ++seq)
    many.emplace_back(live(at(1, seq), {upsert("c", std::to_string(seq), std::string(100, 'x'))}));
  auto written = log.write(many);
  if (written)
    written = log.flush();
  REQUIRE_FALSE(written);
  CHECK(written.error() == errc::storage_full);
  CHECK(read_file(path) == lines_of(first));
  CHECK(log.write(many).error() == errc::closed);

  auto reopened = log.open();
  REQUIRE(reopened);
  CHECK(*reopened.value().committed == at(1, 1));
  disk.empty();
  REQUIRE(log.write(many));
  REQUIRE(log.flush());
  auto all = first;
  all.insert(all.end(), many.begin(), many.end());
  CHECK(read_file(path) == lines_of(all));
}
