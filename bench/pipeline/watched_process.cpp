#include "watched_process.hpp"

#include "../harness/measure.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace weir_bench {

namespace {

/// The kernel's own high-water mark, while the process lives: what wait4() tells instead is that of its children too.
double peak_rss_of(pid_t process) {
  std::ifstream status{"/proc/" + std::to_string(process) + "/status"};
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:"))
      return std::stod(line.substr(6)) * 1024;
  return 0;
}

/// Waits for the process for so long; true when it has ended.
bool wait_briefly(int process_file, int milliseconds) {
  pollfd watched{process_file, POLLIN, 0};
  return poll(&watched, 1, milliseconds) > 0;
}

} // namespace

process_use run_watched(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (auto& word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  const auto begin = now_ns();
  pid_t child = 0;
  const int failed = posix_spawn(&child, words.front().c_str(), &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0)
    throw std::runtime_error{words.front() + ": " + std::strerror(failed)};
  const auto process_file = static_cast<int>(syscall(SYS_pidfd_open, child, 0));
  if (process_file < 0)
    throw std::runtime_error{std::string{"pidfd_open: "} + std::strerror(errno)};
  process_use used;
  do
    used.peak_rss_bytes = std::max(used.peak_rss_bytes, peak_rss_of(child));
  while (!wait_briefly(process_file, 5));
  used.seconds = static_cast<double>(now_ns() - begin) * 1e-9;
  close(process_file);
  int status = 0;
  rusage usage{};
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw std::runtime_error{words.front() + " did not end well"};
  for (const auto& time : {usage.ru_utime, usage.ru_stime})
    used.cpu_seconds += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  return used;
}

} // namespace weir_bench
