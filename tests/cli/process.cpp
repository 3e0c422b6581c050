#include "process.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration): not in every unistd.h

namespace weir::cli::test {

namespace {

using namespace std::chrono_literals;

process_end end_of(int status) {
  return WIFEXITED(status) ? process_end{WEXITSTATUS(status), 0} : process_end{-1, WTERMSIG(status)};
}

void attach(posix_spawn_file_actions_t& actions, int given, int wanted, const std::string& file) {
  if (given >= 0)
    ::posix_spawn_file_actions_adddup2(&actions, given, wanted);
  else
    ::posix_spawn_file_actions_addopen(
      &actions, wanted, file.c_str(), wanted == STDIN_FILENO ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC, 0600);
}

} // namespace

process::process(std::vector<std::string> arguments, const std::filesystem::path& directory, streams given) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());
  attach(actions, given.input, STDIN_FILENO, "/dev/null");
  attach(actions, given.output, STDOUT_FILENO, (files_ / "out").native());
  attach(actions, given.errors, STDERR_FILENO, (files_ / "err").native());
  std::vector<char*> pointers;
  for (auto& one : arguments)
    pointers.push_back(one.data());
  pointers.push_back(nullptr);
  std::vector<std::string> variables;
  for (auto** one = environ; *one != nullptr; ++one)
    if (!std::string_view{*one}.starts_with("TERM=") && !std::string_view{*one}.starts_with("GIT_"))
      variables.emplace_back(*one);
  variables.push_back("TERM=" + given.terminal);
  for (const auto* one : {"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b",
         "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@b"})
    variables.emplace_back(one);
  std::vector<char*> environment;
  for (auto& one : variables)
    environment.push_back(one.data());
  environment.push_back(nullptr);
  const auto failure = ::posix_spawnp(&id_, pointers.front(), &actions, nullptr, pointers.data(), environment.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0)
    throw std::system_error{failure, std::generic_category(), "can't start " + arguments.front()};
}

process::~process() {
  if (!end_ && id_ > 0) {
    ::kill(id_, SIGKILL);
    wait();
  }
}

void process::send(int signal) const {
  if (!end_)
    ::kill(id_, signal);
}

process_end process::wait() {
  int status = 0;
  while (!end_) {
    if (::waitpid(id_, &status, 0) == id_)
      end_ = end_of(status);
    else if (errno != EINTR)
      throw std::system_error{errno, std::generic_category(), "can't wait"};
  }
  return *end_;
}

std::optional<process_end> process::wait_for(std::chrono::milliseconds longest) {
  const auto until = std::chrono::steady_clock::now() + longest;
  int status = 0;
  while (!end_) {
    if (::waitpid(id_, &status, WNOHANG) == id_)
      end_ = end_of(status);
    else if (std::chrono::steady_clock::now() >= until)
      return std::nullopt;
    else
      std::this_thread::sleep_for(2ms);
  }
  return end_;
}

std::string process::output() const {
  return content_of(files_ / "out");
}

std::string process::errors() const {
  return content_of(files_ / "err");
}

bool comes_true(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() >= until)
      return false;
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

} // namespace weir::cli::test
