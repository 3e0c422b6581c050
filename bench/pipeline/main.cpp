#include "../harness/options.hpp"
#include "histories.hpp"
#include "table_check.hpp"
#include "watched_process.hpp"

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <unistd.h>
#include <vector>

namespace weir_bench {

namespace {

/// A directory of one run, gone with it.
class scratch {
public:
  scratch() : path_{bench_directory() / ("run-" + std::to_string(::getpid()))} {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  std::filesystem::path file(const char* name) const { return path_ / name; }

private:
  std::filesystem::path path_;
};

std::string program_of(const char* variable, const char* built) {
  const char* given = std::getenv(variable);
  return given != nullptr ? given : built;
}

void write_configuration(const scratch& place, const history& read, const std::string& policy) {
  std::ofstream file{place.file("pipeline.toml")};
  file << "name = \"bench\"\nstate = \"state\"\n\n[source]\ntype = \"git\"\nrepository = \"" << read.repository.string()
       << "\"\n\n[[sink]]\nname = \"files\"\ntype = \"sqlite\"\npath = \"files.db\"\n\n[scheduler]\npolicy = \"" << policy
       << "\"\n";
}

figures figures_of(const process_use& used, const history& read) {
  figures found;
  found.items = static_cast<double>(read.changes);
  found.seconds = used.seconds;
  found.cpu_seconds = used.cpu_seconds;
  found.peak_rss_bytes = used.peak_rss_bytes;
  return found;
}

/// git → channel → sqlite.
figures run_weir(std::uint64_t changes, const std::string& policy) {
  const auto read = find_history(changes);
  const scratch place;
  write_configuration(place, read, policy);
  const auto used =
    run_watched({program_of("WEIR_PROGRAM", WEIR_BENCH_PROGRAM), "run", "--quiet", place.file("pipeline.toml").string()});
  check_table(place.file("files.db"), read.repository);
  return figures_of(used, read);
}

figures run_baseline(std::uint64_t changes) {
  const auto read = find_history(changes);
  const scratch place;
  const auto used = run_watched({program_of("WEIR_BENCH_BASELINE", WEIR_BENCH_BASELINE_PROGRAM), read.repository.string(),
    place.file("files.db").string()});
  check_table(place.file("files.db"), read.repository);
  return figures_of(used, read);
}

std::vector<bench_case> pipeline_cases() {
  std::vector<bench_case> cases;
  for (const auto changes : std::initializer_list<std::uint64_t>{10'000, 50'000, 100'000, 1'000'000}) {
    // Under the other policy only once: the scheduler is not what a pipeline waits for.
    cases.push_back({"pipeline.weir." + std::to_string(changes), changes == 50'000,
      [changes](const run_settings& settings) { return run_weir(changes, settings.policy); }});
    cases.push_back({"pipeline.baseline." + std::to_string(changes), false,
      [changes](const run_settings&) { return run_baseline(changes); }});
  }
  return cases;
}

} // namespace

} // namespace weir_bench

int main(int count, char** words) {
  return weir_bench::bench_main(count, words, "pipeline", weir_bench::pipeline_cases());
}
