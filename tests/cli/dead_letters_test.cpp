#include <weir/change_text.hpp>
#include <weir/cli/dead_letters.hpp>

#include "temporary_directory.hpp"

#include <doctest/doctest.h>

#include <vector>

namespace {

using namespace weir;
using namespace weir::cli;
using namespace std::chrono_literals;
using weir::cli::test::content_of;
using weir::cli::test::put;
using weir::cli::test::temporary_directory;

constexpr auto when = std::chrono::sys_days{std::chrono::January / 2 / 2026} + 3h + 67ms;

dead_letter rejection(std::string key) {
  return {"rows", error{errc::rejected, "the row is too large", {{"limit", "5"}}}, position{1, 7, {}, 0, true},
    envelope{"files", std::move(key), operation::upsert, "{}", {}}, {}};
}

dead_letter bad_record(std::string bytes) {
  return {"source", error{errc::bad_record, "line 5: expected a value", {{"line", "5"}}}, std::nullopt, std::nullopt,
    std::move(bytes)};
}

TEST_CASE("a change that a sink can't take is kept with everything that brings it back") {
  CHECK(to_json(rejection("a"), when)
        == R"({"time":"2026-01-02T03:00:00.067Z","lane":"rows","code":"rejected","reason":"the row is too large",)"
           R"("facts":{"limit":"5"},"epoch":1,"seq":7,"change":{"collection":"files","key":"a","op":"upsert","payload":{}}})"
           "\n");
  auto letter = rejection("\xff");
  letter.record->payload = "not JSON";
  letter.record->headers = {{"a", "b"}};
  CHECK(to_json(letter, when)
      .ends_with(
        R"("change":{"collection":"files","key_base64":"/w==","op":"upsert","payload_base64":"bm90IEpTT04=","headers":{"a":"b"}}})"
        "\n"));
  letter.record = envelope{"files", "gone", operation::erase, std::nullopt, {}};
  CHECK(to_json(letter, when)
      .ends_with(R"("change":{"collection":"files","key":"gone","op":"delete"}})"
                 "\n"));
}

TEST_CASE("a kept change is a line that can be read again") {
  auto letter = rejection("k\"\n");
  letter.record->headers = {{"a", "b"}};
  const auto line = to_json(letter, when);
  const auto begin = line.find("\"change\":") + 9;
  const auto read = read_change(line.substr(begin, line.size() - begin - 2));
  REQUIRE(read.change.has_value());
  CHECK(read.change->key == letter.record->key);
  CHECK(read.change->payload == letter.record->payload);
  CHECK(read.change->headers == letter.record->headers);
}

TEST_CASE("a bad record is kept as it came") {
  CHECK(to_json(bad_record("{\"no\n"), when)
        == R"({"time":"2026-01-02T03:00:00.067Z","lane":"source","code":"bad_record","reason":"line 5: expected a value",)"
           R"("facts":{"line":"5"},"record":"{\"no\n"})"
           "\n");
  CHECK(to_json(bad_record("\xff"), when).ends_with(",\"record_base64\":\"/w==\"}\n"));
}

TEST_CASE("the file is there with the first letter, and grows") {
  const temporary_directory directory;
  const auto path = directory / "dead-letters.jsonl";
  dead_letter_file file{path};
  CHECK(file.append({}).has_value());
  CHECK_FALSE(std::filesystem::exists(path));
  CHECK(file.append(std::vector{rejection("a"), bad_record("x")}, when).has_value());
  CHECK(file.append(std::vector{rejection("b")}, when).has_value());
  CHECK(content_of(path) == to_json(rejection("a"), when) + to_json(bad_record("x"), when) + to_json(rejection("b"), when));
}

TEST_CASE("a torn last line is cut off before the next letter") {
  const temporary_directory directory;
  const auto path = directory / "dead-letters.jsonl";
  for (const auto torn : {1U, 4095U, 4096U, 4097U, 20'000U}) {
    for (const auto* whole : {"", "{}\n"}) {
      put(path, whole + std::string(torn, 'x'));
      dead_letter_file file{path};
      REQUIRE(file.append(std::vector{rejection("a")}, when).has_value());
      CHECK(content_of(path) == whole + to_json(rejection("a"), when));
    }
  }
}

TEST_CASE("a file that can't be written says so, and nothing counts as kept") {
  const temporary_directory directory;
  std::filesystem::create_directory(directory / "d");
  dead_letter_file file{directory / "d"};
  const auto refused = file.append(std::vector{rejection("a")}, when);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().fact_of("path") == (directory / "d").native());
  dead_letter_file full{"/dev/full"};
  CHECK_FALSE(full.append(std::vector{rejection("a")}, when).has_value());
}

} // namespace
