#include "child_pipeline.hpp"

#include "../posix/error_code.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace weir::git {

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kept_errors = 8192;
constexpr int pipe_size = 1 << 20;
constexpr int status_of_broken_pipe = 128 + SIGPIPE;

error system_error(int number, const char* sentence) {
  return error{posix::code_of(number), sentence, {{"reason", std::generic_category().message(number)}}};
}

struct pipe_ends {
  posix::file_descriptor read;
  posix::file_descriptor write;
};

/// Both ends close on exec, and are none of 0, 1 and 2, which the children's own are made from.
result<pipe_ends> make_pipe() {
  std::array<int, 2> made{};
  if (::pipe2(made.data(), O_CLOEXEC) != 0)
    return system_error(errno, "can't make a pipe");
  pipe_ends ends{posix::file_descriptor{made[0]}, posix::file_descriptor{made[1]}};
  for (auto* end : {&ends.read, &ends.write})
    if (end->number() <= STDERR_FILENO) {
      posix::file_descriptor moved{::fcntl(end->number(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1)};
      if (!moved.is_open())
        return system_error(errno, "can't make a pipe");
      *end = std::move(moved);
    }
  return ends;
}

void set_non_blocking(const posix::file_descriptor& file) noexcept {
  ::fcntl(file.number(), F_SETFL, ::fcntl(file.number(), F_GETFL) | O_NONBLOCK);
}

std::vector<char*> pointers_to(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  pointers.reserve(strings.size() + 1);
  for (const auto& one : strings)
    pointers.push_back(const_cast<char*>(one.c_str())); // NOLINT: posix_spawn changes nothing behind them
  pointers.push_back(nullptr);
  return pointers;
}

/// What a child starts with besides its arguments: its three files, its process group, no inherited signal state.
class spawn_setup {
public:
  spawn_setup(int input, int output, int errors) noexcept {
    ::posix_spawn_file_actions_init(&files_);
    if (input >= 0)
      ::posix_spawn_file_actions_adddup2(&files_, input, STDIN_FILENO);
    else
      ::posix_spawn_file_actions_addopen(&files_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_adddup2(&files_, output, STDOUT_FILENO);
    ::posix_spawn_file_actions_adddup2(&files_, errors, STDERR_FILENO);
    sigset_t none;
    sigset_t usual;
    ::sigemptyset(&none);
    ::sigemptyset(&usual);
    for (const int number : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD})
      ::sigaddset(&usual, number);
    ::posix_spawnattr_init(&attributes_);
    ::posix_spawnattr_setsigmask(&attributes_, &none);
    ::posix_spawnattr_setsigdefault(&attributes_, &usual);
    ::posix_spawnattr_setpgroup(&attributes_, 0);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~spawn_setup() {
    ::posix_spawn_file_actions_destroy(&files_);
    ::posix_spawnattr_destroy(&attributes_);
  }
  spawn_setup(const spawn_setup&) = delete;
  spawn_setup& operator=(const spawn_setup&) = delete;

  int start(pid_t& id, const command& started, const std::vector<std::string>& environment) const {
    const auto arguments = pointers_to(started.arguments);
    const auto variables = pointers_to(environment);
    return ::posix_spawnp(&id, arguments.front(), &files_, &attributes_, arguments.data(), variables.data());
  }

private:
  posix_spawn_file_actions_t files_;
  posix_spawnattr_t attributes_;
};

int status_of(int waited) noexcept {
  return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
}

/// A child's exit status; absent while it runs. 0 when somebody else has reaped it (SIGCHLD ignored): what it wrote is checked
/// for being complete anyway.
std::optional<int> exit_status(pid_t id, int options) noexcept {
  int waited = 0;
  pid_t ended = 0;
  do
    ended = ::waitpid(id, &waited, options);
  while (ended < 0 && errno == EINTR);
  if (ended == 0)
    return std::nullopt;
  return ended < 0 ? 0 : status_of(waited);
}

error cancelled() {
  return error{errc::cancelled, "reading from git was interrupted"};
}

} // namespace

interruption::interruption() : event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  // Without one (no file left to open) nothing can be interrupted, and nothing started either.
}

void interruption::raise() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(event_.number(), &one, sizeof one);
}

result<child_pipeline> child_pipeline::start(
  const std::vector<command>& commands, const std::vector<std::string>& environment, const interruption& interrupted) {
  auto errors = make_pipe();
  if (!errors)
    return std::move(errors).error();
  child_pipeline made;
  made.interrupted_ = interrupted.file();
  made.errors_ = std::move(errors.value().read);
  posix::file_descriptor input;
  for (const auto& one : commands) {
    auto output = make_pipe();
    if (!output)
      return std::move(output).error();
    child started{0, one.name, std::nullopt};
    const auto& program = one.arguments.front();
    const spawn_setup setup{input.number(), output.value().write.number(), errors.value().write.number()};
    const int failure = setup.start(started.id, one, environment);
    if (failure == ENOENT || failure == ENOTDIR)
      return error{errc::not_found, "the program " + program + " is not there", {{"program", program}}};
    if (failure != 0)
      return system_error(failure, "can't start a program").with("program", program);
    made.children_.push_back(std::move(started));
    input = std::move(output.value().read);
  }
  made.output_ = std::move(input);
  ::fcntl(made.output_.number(), F_SETPIPE_SZ, pipe_size); // more room lets the programs run ahead; less is no failure
  set_non_blocking(made.output_);
  set_non_blocking(made.errors_);
  return made;
}

child_pipeline::child_pipeline(child_pipeline&& other) noexcept
  : children_{std::exchange(other.children_, {})},
    output_{std::move(other.output_)},
    errors_{std::move(other.errors_)},
    interrupted_{other.interrupted_},
    standard_error_{std::move(other.standard_error_)} {}

child_pipeline& child_pipeline::operator=(child_pipeline&& other) noexcept {
  std::swap(children_, other.children_);
  std::swap(output_, other.output_);
  std::swap(errors_, other.errors_);
  std::swap(interrupted_, other.interrupted_);
  std::swap(standard_error_, other.standard_error_);
  return *this;
}

child_pipeline::~child_pipeline() {
  kill_all();
}

void child_pipeline::kill_all() noexcept {
  for (const auto& one : children_)
    if (!one.status)
      ::kill(one.id, SIGKILL);
  reap(0);
}

bool child_pipeline::reap(int options) noexcept {
  bool all_ended = true;
  for (auto& one : children_) {
    if (!one.status)
      one.status = exit_status(one.id, options);
    all_ended = all_ended && one.status;
  }
  return all_ended;
}

result<child_pipeline::piece> child_pipeline::read(char* into, std::size_t room, milliseconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  for (;;) {
    const auto got = ::read(output_.number(), into, room);
    if (got > 0)
      return piece{readiness::data, static_cast<std::size_t>(got)};
    if (got == 0)
      return piece{readiness::end};
    if (errno == EINTR)
      continue;
    if (errno != EAGAIN && errno != EWOULDBLOCK)
      return system_error(errno, "can't read what a program writes");
    const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
    if (left <= milliseconds::zero())
      return piece{readiness::quiet};
    std::array<pollfd, 3> waited{{{output_.number(), POLLIN, 0}, {errors_.number(), POLLIN, 0}, {interrupted_, POLLIN, 0}}};
    if (::poll(waited.data(), waited.size(), static_cast<int>(left.count())) < 0 && errno != EINTR)
      return system_error(errno, "can't wait for a program");
    if (waited[2].revents != 0)
      return cancelled();
    if (waited[1].revents != 0)
      drain_errors();
  }
}

void child_pipeline::drain_errors() noexcept {
  std::array<char, 4096> bytes;
  while (errors_.is_open()) {
    const auto got = ::read(errors_.number(), bytes.data(), bytes.size());
    if (got > 0) {
      const auto kept = std::min(static_cast<std::size_t>(got), kept_errors - standard_error_.size());
      standard_error_.append(bytes.data(), kept);
    } else if (got == 0) {
      errors_.close();
    } else if (errno != EINTR) {
      return;
    }
  }
}

result<pipeline_end> child_pipeline::finish() {
  output_.close();
  // A program that has closed its output may still write to its standard error. A process that one of them left behind may hold
  // that open for ever, so its end is not waited for; but where it comes, they are ending.
  for (drain_errors(); !reap(errors_.is_open() ? WNOHANG : 0); drain_errors()) {
    std::array<pollfd, 2> waited{{{errors_.number(), POLLIN, 0}, {interrupted_, POLLIN, 0}}};
    ::poll(waited.data(), waited.size(), 20);
    if (waited[1].revents != 0)
      return cancelled();
  }
  drain_errors();
  pipeline_end end;
  for (const auto& one : children_) {
    // A program dies of SIGPIPE when its successor ends early: then that one's failure is the one to tell.
    const bool is_first = end.exit_status == 0 || end.exit_status == status_of_broken_pipe;
    if (is_first && *one.status != 0)
      end = {*one.status, one.name, {}};
  }
  end.standard_error = std::move(standard_error_);
  return end;
}

} // namespace weir::git
