#include "relay.hpp"

#include <arpa/inet.h>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

namespace postgres_tests {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  return at;
}

} // namespace

relay::relay(std::uint16_t to)
  : to_{to},
    listener_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)},
    woken_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)} {
  auto at = loopback(0);
  socklen_t size = sizeof at;
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&at), size) != 0 || ::listen(listener_, SOMAXCONN) != 0
      || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error{"no relay"};
  port_ = ntohs(at.sin_port);
  thread_ = std::thread{[this] { run(); }};
}

relay::~relay() {
  {
    const std::lock_guard lock{mutex_};
    is_over_ = true;
  }
  wake();
  thread_.join();
  for (auto& one : links_)
    close(one);
  ::close(listener_);
  ::close(woken_);
}

void relay::stall(links which) {
  const std::lock_guard lock{mutex_};
  for (auto& one : links_)
    one.is_stalled = one.is_stalled || which == links::all || one.listens;
}

void relay::greet(greeting how) {
  const std::lock_guard lock{mutex_};
  greeting_ = how;
}

void relay::go_on() {
  {
    const std::lock_guard lock{mutex_};
    greeting_ = greeting::forward;
    for (auto& one : links_) {
      one.is_stalled = false;
      if (one.server < 0)
        one.server = connect_on();
    }
  }
  wake();
}

void relay::cut() {
  const std::lock_guard lock{mutex_};
  for (auto& one : links_)
    close(one);
  links_.clear();
}

void relay::wake() const {
  const std::uint64_t one = 1;
  (void)!::write(woken_, &one, sizeof one);
}

/// Between two rounds somebody may cut links: each round looks at what is there now, and a socket that is another one by then
/// is at worst looked at for nothing.
void relay::run() {
  for (;;) {
    std::vector<pollfd> all{{listener_, POLLIN, 0}, {woken_, POLLIN, 0}};
    {
      const std::lock_guard lock{mutex_};
      if (is_over_)
        return;
      const auto watch = [&](int socket, const way& out, const way& in) {
        const auto reads = out.waiting.empty() && !out.has_ended ? POLLIN : 0;
        all.push_back({socket, static_cast<short>(reads | (in.waiting.empty() ? 0 : POLLOUT)), 0});
      };
      for (const auto& one : links_)
        if (!one.is_stalled) {
          watch(one.client, one.up, one.down);
          watch(one.server, one.down, one.up);
        }
    }
    ::poll(all.data(), all.size(), 1000);
    const std::lock_guard lock{mutex_};
    std::uint64_t count = 0;
    (void)!::read(woken_, &count, sizeof count);
    const auto events = [&](int socket) -> short {
      for (const auto& one : all)
        if (one.fd == socket)
          return one.revents;
      return 0;
    };
    for (auto& one : links_) {
      if (one.is_stalled)
        continue;
      carry(one.client, one.server, one.up, events(one.client), events(one.server));
      carry(one.server, one.client, one.down, events(one.server), events(one.client));
      one.listens = one.listens || one.up.waiting.find("LISTEN \"") != std::string::npos;
    }
    for (auto& one : links_) // what was read just now goes on at once
      if (!one.is_stalled) {
        carry(one.client, one.server, one.up, 0, POLLOUT);
        carry(one.server, one.client, one.down, 0, POLLOUT);
      }
    std::erase_if(links_, [](link& one) {
      const bool is_done = (one.up.has_ended && one.up.waiting.empty()) || (one.down.has_ended && one.down.waiting.empty());
      if (is_done)
        close(one);
      return is_done;
    });
    accept_one();
  }
}

void relay::accept_one() {
  const auto client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (client < 0)
    return;
  switch (greeting_) {
  case greeting::forward: links_.push_back({.client = client, .server = connect_on()}); break;
  case greeting::swallow: links_.push_back({.client = client, .is_stalled = true}); break;
  case greeting::refuse: ::close(client); break;
  }
  ++accepted_;
}

/// Where nobody listens, the link ends with the first byte.
int relay::connect_on() const {
  const auto socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto at = loopback(to_);
  (void)::connect(socket, reinterpret_cast<const sockaddr*>(&at), sizeof at);
  ::fcntl(socket, F_SETFL, O_NONBLOCK);
  return socket;
}

void relay::carry(int from, int to, way& through, short from_events, short to_events) {
  if ((from_events & (POLLIN | POLLHUP | POLLERR)) != 0 && through.waiting.empty() && !through.has_ended) {
    std::array<char, 65536> some{};
    const auto got = ::recv(from, some.data(), some.size(), 0);
    if (got > 0)
      through.waiting.assign(some.data(), static_cast<std::size_t>(got));
    else if (got == 0 || errno != EAGAIN)
      through.has_ended = true;
  }
  if ((to_events & POLLOUT) != 0 && !through.waiting.empty()) {
    const auto sent = ::send(to, through.waiting.data(), through.waiting.size(), MSG_NOSIGNAL);
    if (sent > 0)
      through.waiting.erase(0, static_cast<std::size_t>(sent));
    else if (errno != EAGAIN) {
      through.waiting.clear();
      through.has_ended = true;
    }
  }
}

void relay::close(link& one) {
  ::close(one.client);
  if (one.server >= 0)
    ::close(one.server);
}

} // namespace postgres_tests
