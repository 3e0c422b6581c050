#include "histories.hpp"

#include "../../tests/history/history.hpp"
#include "log_reader.hpp"

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace weir_bench {

namespace {

constexpr std::uint64_t changes_per_ten_commits = 48; // what the generator makes with its defaults

std::uint64_t count_changes(const std::filesystem::path& repository) {
  std::uint64_t count = 0;
  read_log(repository.string(), [&](const log_commit&, const log_entry&) { ++count; });
  return count;
}

} // namespace

std::filesystem::path bench_directory() {
  const char* wanted = std::getenv("WEIR_BENCH_DIRECTORY");
  auto directory = wanted != nullptr && *wanted != '\0'
                     ? std::filesystem::path{wanted}
                     : std::filesystem::temp_directory_path() / ("weir-bench-" + std::to_string(::getuid()));
  std::filesystem::create_directories(directory);
  return directory;
}

history find_history(std::uint64_t changes) {
  const auto place = bench_directory() / ("history-" + std::to_string(changes));
  const auto counted = place / "weir-bench-changes";
  history found{place, 0};
  if (std::ifstream known{counted}; known >> found.changes)
    return found;
  // Made elsewhere and then renamed, so that an interrupted run leaves nothing that looks whole.
  const auto unfinished = place.string() + "." + std::to_string(::getpid());
  std::filesystem::remove_all(unfinished);
  weir_test::history_options options;
  options.commits = static_cast<std::size_t>(changes * 10 / changes_per_ten_commits);
  weir_test::make_history(unfinished, options);
  found.changes = count_changes(unfinished);
  std::ofstream{std::filesystem::path{unfinished} / "weir-bench-changes"} << found.changes << '\n';
  std::filesystem::remove_all(place);
  std::filesystem::rename(unfinished, place);
  return found;
}

} // namespace weir_bench
