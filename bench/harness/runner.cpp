#include "runner.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace weir_bench {

namespace {

constexpr int patience_ms = 600'000; // of one run

/// What a process hands to the one that started it: numbers, -1 for what is absent.
std::string to_text(const figures& found) {
  std::ostringstream text;
  text.precision(17);
  text << found.items << ' ' << found.seconds << ' ' << found.cpu_seconds << ' ' << found.peak_rss_bytes;
  for (const auto& one : {found.allocations_per_item, found.bytes_copied_per_item, found.p50_ns, found.p99_ns, found.p999_ns})
    text << ' ' << one.value_or(-1);
  text << '\n';
  return text.str();
}

std::optional<figures> from_text(const std::string& text) {
  std::istringstream words{text};
  figures found;
  words >> found.items >> found.seconds >> found.cpu_seconds >> found.peak_rss_bytes;
  for (auto* one : {&found.allocations_per_item, &found.bytes_copied_per_item, &found.p50_ns, &found.p99_ns, &found.p999_ns}) {
    double value = -1;
    words >> value;
    if (value >= 0)
      *one = value;
  }
  if (!words)
    return std::nullopt;
  return found;
}

/// Reads until the other side closes; nothing when that takes too long.
std::optional<std::string> read_all(int descriptor) {
  std::string text;
  for (;;) {
    pollfd watched{descriptor, POLLIN, 0};
    if (const int ready = poll(&watched, 1, patience_ms); ready < 0 && errno == EINTR)
      continue;
    else if (ready <= 0)
      return std::nullopt;
    std::array<char, 1024> bytes{};
    const auto count = read(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return text;
    text.append(bytes.data(), static_cast<std::size_t>(count));
  }
}

std::optional<figures> run_in_child(const std::string& name, const std::string& policy, double seconds) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0)
    return std::nullopt;
  constexpr int result_descriptor = 3;
  std::vector<std::string> words{"weir-bench", "--run-one", name, "--policy", policy, "--seconds", std::to_string(seconds),
    "--result-descriptor", std::to_string(result_descriptor)};
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addclose(&actions, ends[0]);
  if (ends[1] != result_descriptor) {
    posix_spawn_file_actions_adddup2(&actions, ends[1], result_descriptor);
    posix_spawn_file_actions_addclose(&actions, ends[1]);
  }
  pid_t child = 0;
  const int failed = posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    std::fprintf(stderr, "%s: could not be started: %s\n", name.c_str(), std::strerror(failed));
    return std::nullopt;
  }
  const auto text = read_all(ends[0]);
  close(ends[0]);
  if (!text)
    kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  auto found = text && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? from_text(*text) : std::nullopt;
  if (!found)
    std::fprintf(stderr, "%s (%s): %s\n", name.c_str(), policy.c_str(),
      !text                 ? "hung and was killed"
      : WIFSIGNALED(status) ? strsignal(WTERMSIG(status))
                            : "failed");
  return found;
}

} // namespace

std::string name_under(const bench_case& one, const std::string& policy) {
  return one.uses_scheduler && policy != "stealing" ? one.name + "@" + policy : one.name;
}

std::vector<measured_case> run_all(const std::vector<bench_case>& cases, const plan& wanted) {
  struct chosen {
    const bench_case* what;
    std::string policy;
  };
  std::vector<chosen> runs;
  std::vector<measured_case> measured;
  for (const auto& policy : wanted.policies)
    for (const auto& one : cases) {
      const auto name = name_under(one, policy);
      const bool is_known = std::ranges::any_of(measured, [&](const measured_case& other) { return other.name == name; });
      if (is_known || name.find(wanted.filter) == std::string::npos)
        continue;
      runs.push_back({&one, policy});
      measured.push_back({name, {}});
    }
  std::vector<std::string> names;
  for (const auto& one : measured)
    names.push_back(one.name);
  const auto order = beside_peers(names, wanted.ratios);
  const bool is_watched = isatty(STDERR_FILENO) != 0;
  for (int repetition = 1; repetition <= wanted.repetitions; ++repetition)
    for (const auto index : order) {
      if (measured[index].repetitions.size() + 1 != static_cast<std::size_t>(repetition))
        continue; // it has failed before, and would again
      if (is_watched)
        std::fprintf(stderr, "\r\033[K%d/%d %s ", repetition, wanted.repetitions, measured[index].name.c_str());
      if (auto found = run_in_child(runs[index].what->name, runs[index].policy, wanted.seconds))
        measured[index].repetitions.push_back(*found);
    }
  if (is_watched)
    std::fputs("\r\033[K", stderr);
  return measured;
}

int run_one(const std::vector<bench_case>& cases, const std::string& name, const run_settings& settings, int descriptor) {
  const auto found = std::ranges::find(cases, name, &bench_case::name);
  if (found == cases.end()) {
    std::fprintf(stderr, "no case %s\n", name.c_str());
    return 2;
  }
  const auto text = to_text(found->run(settings));
  return write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1;
}

} // namespace weir_bench
