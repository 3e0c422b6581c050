#include <weir/cli/signals.hpp>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <system_error>
#include <unistd.h>

namespace weir::cli {

namespace {

constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP};

/// Some programs that end others signal the process, and then the group that it is in: that is one signal.
constexpr std::chrono::milliseconds same_signal{100};

bool is_ignored(int number) noexcept {
  struct sigaction now{};
  return ::sigaction(number, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == SIG_IGN;
}

posix::file_descriptor checked(int number) {
  // Out of descriptors before anything has begun: nothing sensible is left to do.
  if (number < 0)
    throw std::system_error{errno, std::generic_category(), "can't watch for signals"};
  return posix::file_descriptor{number};
}

} // namespace

signal_watch::signal_watch(std::function<void(int, int)> on_signal) : on_signal_{std::move(on_signal)} {
  ::sigemptyset(&watched_);
  for (const auto number : ending_signals)
    if (!is_ignored(number))
      ::sigaddset(&watched_, number);
  ::pthread_sigmask(SIG_BLOCK, &watched_, &before_);
  signals_ = checked(::signalfd(-1, &watched_, SFD_CLOEXEC));
  ending_ = checked(::eventfd(0, EFD_CLOEXEC));
  thread_ = std::thread{[this] { watch(); }};
}

signal_watch::~signal_watch() {
  const std::uint64_t one = 1;
  while (::write(ending_.number(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void signal_watch::watch() {
  ::pthread_setname_np(::pthread_self(), "weir-signals");
  std::array waited{pollfd{signals_.number(), POLLIN, 0}, pollfd{ending_.number(), POLLIN, 0}};
  int first = 0;
  std::chrono::steady_clock::time_point first_came;
  for (int count = 0;;) {
    if (::poll(waited.data(), waited.size(), -1) < 0)
      continue; // EINTR is all that there is
    if (waited[0].revents != 0) {
      signalfd_siginfo came{};
      if (::read(signals_.number(), &came, sizeof came) != static_cast<ssize_t>(sizeof came))
        continue;
      const auto number = static_cast<int>(came.ssi_signo);
      const auto now = std::chrono::steady_clock::now();
      if (count == 1 && number == first && now - first_came < same_signal)
        continue;
      if (count == 0) {
        first = number;
        first_came = now;
      }
      on_signal_(number, ++count);
    } else if (waited[1].revents != 0) {
      return;
    }
  }
}

const char* name_of_signal(int number) noexcept {
  switch (number) {
  case SIGINT: return "SIGINT";
  case SIGTERM: return "SIGTERM";
  case SIGHUP: return "SIGHUP";
  default: return "a signal";
  }
}

void let_writes_fail() noexcept {
  struct sigaction ignored{};
  ignored.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignored, nullptr);
  ::sigaction(SIGXFSZ, &ignored, nullptr);
}

} // namespace weir::cli
