#pragma once

#include "process.hpp"
#include "temporary_directory.hpp"

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weir::cli::test {

/// A directory with a pipeline's file and whatever it reads and writes.
class pipeline_fixture {
public:
  const std::filesystem::path& path() const { return directory_.path(); }
  std::filesystem::path operator/(std::string_view name) const { return directory_ / name; }

  /// Writes pipeline.toml.
  void configure(std::string_view text) const { put(directory_ / "pipeline.toml", text); }

  /// A pipeline from changes.jsonl to audit.jsonl; the lines go to [source] and to the sink.
  void configure_lines(std::string_view source = "", std::string_view sink = "") const;

  /// Writes changes.jsonl with so many changes, each of a key of its own.
  void put_changes(int count) const;

  /// weir ARGUMENT…, in the directory.
  std::unique_ptr<process> start(std::vector<std::string> arguments, process::streams given = {}) const;

  /// weir run pipeline.toml.
  std::unique_ptr<process> run(process::streams given = {}) const { return start({"run", "pipeline.toml"}, given); }

  /// Runs git in the directory's subdirectory "repository", which the first call makes.
  std::string git(std::vector<std::string> arguments) const;

  std::size_t lines_in(std::string_view file) const;

private:
  temporary_directory directory_;
};

} // namespace weir::cli::test
