#pragma once

#include "process.hpp"
#include "temporary_directory.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct sqlite3;

namespace weir::cli::test {

/// What a program that has ended said.
struct said {
  process_end end = {};
  std::string output = {};
  std::string errors = {};
};

/// A directory with logs, and `weir log` to work on them.
class log_fixture {
public:
  const std::filesystem::path& path() const { return directory_.path(); }
  std::filesystem::path operator/(std::string_view name) const { return directory_ / name; }

  /// weir log WORD…, in the directory, with that standard input, to its end.
  said run(std::vector<std::string> words, std::string_view input = {}) const;

  /// The same for what must end with 0; returns its output.
  std::string done(std::vector<std::string> words, std::string_view input = {}) const;

  std::unique_ptr<process> start(std::vector<std::string> words, process::streams given = {}) const;

  /// A line of bash, where `weir` is the program.
  said shell(const std::string& line, process::streams given = {}) const;

  /// The cursor at the head of a log's only topic.
  std::string head(const std::string& file) const;

  /// Runs SQL on a file, behind the back of whoever has it.
  void sql(const std::string& file, const std::string& statements) const;

  /// Changes one bit of a stored entry's payload; the payload is unlike all others.
  void damage(const std::string& file, std::string_view payload) const;

private:
  temporary_directory directory_;
};

/// Changes one byte of the one entry that has this in its payload.
void damage_entry(const std::filesystem::path& file, std::string_view payload);

std::vector<std::string> lines_of(const std::string& text);

/// "line 1\nline 2\n…".
std::string numbered_lines(std::uint64_t count);

} // namespace weir::cli::test
