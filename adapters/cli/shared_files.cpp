#include "shared_files.hpp"

#include <weir/cli/plain_text.hpp>

#include "cross_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <vector>

namespace weir::cli {

namespace {

namespace fs = std::filesystem;

struct comparison {
  bool (*are_same)(const fs::path& left, const fs::path& right);
  bool (*lies_in)(const fs::path& path, const fs::path& directory);
};

bool are_equal(const fs::path& left, const fs::path& right) {
  return left == right;
}

bool begins_with(const fs::path& path, const fs::path& directory) {
  const auto inner = path.lexically_normal();
  const auto outer = (directory / "").lexically_normal(); // ends with an empty name, whether it was given with a slash or not
  return !directory.empty() && std::distance(inner.begin(), inner.end()) >= std::distance(outer.begin(), outer.end())
         && std::equal(outer.begin(), std::prev(outer.end()), inner.begin());
}

/// The file that is written when the path is, also where that is behind a symbolic link and not there yet.
fs::path target_of(fs::path path) {
  constexpr int most_links = 40; // as many as Linux follows
  std::error_code failure;
  for (int links = 0; links < most_links && fs::is_symlink(fs::symlink_status(path, failure)); ++links)
    path = path.parent_path() / fs::read_symlink(path, failure);
  auto real = fs::weakly_canonical(path, failure);
  return failure ? path : real;
}

bool are_one_file(const fs::path& left, const fs::path& right) {
  std::error_code failure;
  return fs::equivalent(left, right, failure) || target_of(left) == target_of(right);
}

bool lies_really_in(const fs::path& path, const fs::path& directory) {
  return begins_with(target_of(path), target_of(directory));
}

/// A SQLite database, and what it keeps beside it.
std::vector<fs::path> database_files(const fs::path& path) {
  std::vector<fs::path> files;
  for (const auto* suffix : {"", "-wal", "-shm", "-journal"})
    files.emplace_back(path.native() + suffix);
  return files;
}

/// What the source reads; none where those are not single files.
std::vector<fs::path> files_of(const source_config& source) {
  if (const auto* jsonl = std::get_if<jsonl_source_options>(&source.from))
    return {jsonl->path == "-" ? "/dev/stdin" : jsonl->path};
  if (const auto* log = std::get_if<log_source_config>(&source.from))
    return database_files(log->path);
  return {};
}

/// Two topics of one log don't come into each other's way.
bool are_topics_of_one_log(const sink_config& sink, const source_config& source) {
  const auto* written = std::get_if<log_sink_config>(&sink.to);
  const auto* read = std::get_if<log_source_config>(&source.from);
  return written != nullptr && read != nullptr && written->topic != read->topic;
}

bool are_topics_of_one_log(const sink_config& sink, const sink_config& other) {
  const auto* one = std::get_if<log_sink_config>(&sink.to);
  const auto* two = std::get_if<log_sink_config>(&other.to);
  return one != nullptr && two != nullptr && one->topic != two->topic;
}

/// What the sink writes: the file that it is given first, and what SQLite keeps beside it.
std::vector<fs::path> files_of(const sink_config& sink) {
  if (const auto* jsonl = std::get_if<jsonl_sink_options>(&sink.to))
    return {jsonl->path};
  if (const auto* sqlite = std::get_if<sqlite_sink_options>(&sink.to))
    return database_files(sqlite->path);
  if (const auto* log = std::get_if<log_sink_config>(&sink.to))
    return database_files(log->path);
  return {};
}

/// What the stream keeps its lanes in.
std::vector<fs::path> files_of(const stream_config& stream) {
  return stream.log ? database_files(stream.log->path) : std::vector<fs::path>{};
}

config_errors compare(const config& read, const key_places& places, const comparison& compared) {
  config_errors errors;
  const auto place_of = [&](const std::string& key) {
    const auto found = places.find(key);
    return found == places.end() ? location{} : found->second;
  };
  // The first of the files that is one of the others, too.
  const auto shared = [&](const std::vector<fs::path>& files, const std::vector<fs::path>& others) {
    return std::ranges::find_if(files, [&](const fs::path& file) {
      return std::ranges::any_of(others, [&](const fs::path& other) { return compared.are_same(other, file); });
    });
  };
  const auto source = files_of(read.source);
  const auto stream = files_of(read.stream);
  if (!stream.empty() && !stream.front().empty()) {
    const auto report = [&](const fs::path& file, std::string_view wrong, std::string expected) {
      errors.push_back({place_of("stream.log.path"), "stream.log.path", fmt::format("{} {}", in_quotes(file.native()), wrong),
        std::move(expected)});
    };
    if (const auto read_too = shared(stream, source); read_too != stream.end())
      report(*read_too, "is the file that the source reads", "another file");
    if (!read.state.empty() && compared.lies_in(stream.front(), read.state))
      report(stream.front(), "lies in the state directory, which is the program's own", "a file somewhere else");
  }
  for (std::size_t index = 0; index < read.sinks.size(); ++index) {
    const auto files = files_of(read.sinks[index]);
    if (files.empty() || files.front().empty())
      continue;
    const auto key = path_of_sink(index) + ".path";
    const auto report = [&](const fs::path& file, std::string_view wrong, std::string expected) {
      errors.push_back({place_of(key), key, fmt::format("{} {}", in_quotes(file.native()), wrong), std::move(expected)});
    };
    const auto read_too = shared(files, source);
    if (read_too != files.end() && !are_topics_of_one_log(read.sinks[index], read.source))
      report(*read_too, "is the file that the source reads", "another file");
    if (!read.state.empty() && compared.lies_in(files.front(), read.state))
      report(files.front(), "lies in the state directory, which is the program's own", "a file somewhere else");
    if (const auto kept = shared(files, stream); kept != files.end())
      report(*kept, "is the file that the stream is kept in", "another file");
    for (std::size_t other = 0; other < index; ++other)
      if (const auto file = shared(files, files_of(read.sinks[other]));
        file != files.end() && !are_topics_of_one_log(read.sinks[index], read.sinks[other])) {
        report(*file, fmt::format("is written by the sink in line {} already", place_of(path_of_sink(other)).line),
          "a file of its own for each sink");
        break;
      }
  }
  return errors;
}

} // namespace

config_errors compare_paths(const config& read, const key_places& places) {
  return compare(read, places, {are_equal, begins_with});
}

config_errors compare_files(const config& read) {
  return compare(read, read.places, {are_one_file, lies_really_in});
}

} // namespace weir::cli
