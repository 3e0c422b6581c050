#include "log_fixture.hpp"

#include <weir/cli/files.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <sqlite3.h>

#include <fcntl.h>
#include <sstream>
#include <stdexcept>

namespace weir::cli::test {

namespace {

/// A descriptor from which the text can be read.
posix::file_descriptor holding(std::string_view text) {
  const temporary_directory outside;
  put(outside / "input", text);
  return posix::file_descriptor{::open((outside / "input").c_str(), O_RDONLY | O_CLOEXEC)};
}

said wait_for(process& running) {
  const auto end = running.wait();
  return {end, running.output(), running.errors()};
}

} // namespace

std::unique_ptr<process> log_fixture::start(std::vector<std::string> words, process::streams given) const {
  words.insert(words.begin(), {WEIR_PROGRAM, "log"});
  return std::make_unique<process>(std::move(words), path(), std::move(given));
}

said log_fixture::run(std::vector<std::string> words, std::string_view input) const {
  const auto from = holding(input);
  return wait_for(*start(std::move(words), {.input = from.number()}));
}

std::string log_fixture::done(std::vector<std::string> words, std::string_view input) const {
  const auto what = words.front();
  const auto ended = run(std::move(words), input);
  REQUIRE_MESSAGE(ended.end == exited(0), what, ": ", ended.errors);
  CHECK_MESSAGE(ended.errors.empty(), ended.errors);
  return ended.output;
}

said log_fixture::shell(const std::string& line, process::streams given) const {
  const auto folder = std::filesystem::path{WEIR_PROGRAM}.parent_path().native();
  process running{{"bash", "-c", "set -o pipefail; PATH=" + folder + ":$PATH; " + line}, path(), std::move(given)};
  return wait_for(running);
}

std::string log_fixture::head(const std::string& file) const {
  return boost::json::value_to<std::string>(boost::json::parse(done({"head", file, "--json"})).at("cursor"));
}

void log_fixture::sql(const std::string& file, const std::string& statements) const {
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open((directory_ / file).c_str(), &opened) == SQLITE_OK);
  char* why = nullptr;
  sqlite3_exec(opened, statements.c_str(), nullptr, nullptr, &why);
  const std::string failure{why == nullptr ? "" : why};
  sqlite3_free(why);
  sqlite3_close(opened);
  REQUIRE_MESSAGE(failure.empty(), failure);
}

void log_fixture::damage(const std::string& file, std::string_view payload) const {
  damage_entry(directory_ / file, payload);
}

void damage_entry(const std::filesystem::path& file, std::string_view payload) {
  sqlite3* opened = nullptr;
  REQUIRE(sqlite3_open(file.c_str(), &opened) == SQLITE_OK);
  sqlite3_stmt* blocks = nullptr;
  REQUIRE(sqlite3_prepare_v2(opened, "SELECT place, records FROM weir_block", -1, &blocks, nullptr) == SQLITE_OK);
  std::vector<std::pair<std::int64_t, int>> places;
  while (sqlite3_step(blocks) == SQLITE_ROW) {
    const std::string_view records{
      static_cast<const char*>(sqlite3_column_blob(blocks, 1)), static_cast<std::size_t>(sqlite3_column_bytes(blocks, 1))};
    if (const auto at = records.find(payload); at != records.npos)
      places.emplace_back(sqlite3_column_int64(blocks, 0), static_cast<int>(at));
  }
  sqlite3_finalize(blocks);
  REQUIRE(places.size() == 1);
  sqlite3_blob* records = nullptr;
  const auto [place, at] = places.front();
  REQUIRE(sqlite3_blob_open(opened, "main", "weir_block", "records", place, 1, &records) == SQLITE_OK);
  const char changed = static_cast<char>(payload[0] ^ 1);
  REQUIRE(sqlite3_blob_write(records, &changed, 1, at) == SQLITE_OK);
  sqlite3_blob_close(records);
  sqlite3_close(opened);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream from{text};
  for (std::string line; std::getline(from, line);)
    all.push_back(line);
  return all;
}

std::string numbered_lines(std::uint64_t count) {
  std::string text;
  for (std::uint64_t number = 1; number <= count; ++number)
    text += "line " + std::to_string(number) + "\n";
  return text;
}

} // namespace weir::cli::test
