#include <weir/cli/reader_watch.hpp>

#include <array>
#include <cerrno>
#include <cstdint>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace weir::cli {

reader_watch::reader_watch(int descriptor, std::function<void()> on_gone)
  : on_gone_{std::move(on_gone)},
    ending_{::eventfd(0, EFD_CLOEXEC)} {
  if (!ending_.is_open())
    throw std::system_error{errno, std::generic_category(), "can't watch the output"};
  thread_ = std::thread{[this, descriptor] { watch(descriptor); }};
}

reader_watch::~reader_watch() {
  const std::uint64_t one = 1;
  while (::write(ending_.number(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void reader_watch::watch(int descriptor) {
  ::pthread_setname_np(::pthread_self(), "weir-reader");
  // Without any event asked for, what is left is POLLERR (a pipe) and POLLHUP (a terminal, a socket).
  std::array waited{pollfd{descriptor, 0, 0}, pollfd{ending_.number(), POLLIN, 0}};
  for (;;) {
    if (::poll(waited.data(), waited.size(), -1) < 0)
      continue; // EINTR is all that there is
    if (waited[1].revents != 0)
      return;
    on_gone_();
    waited[0].fd = -1; // it would tell for ever
  }
}

} // namespace weir::cli
