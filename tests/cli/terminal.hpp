#pragma once

#include <weir/cli/files.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

namespace weir::cli::test {

/// Both ends of a terminal that has no screen.
class terminal {
public:
  terminal() : screen_{::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)} {
    REQUIRE(screen_.is_open());
    REQUIRE(::grantpt(screen_.number()) == 0);
    REQUIRE(::unlockpt(screen_.number()) == 0);
    std::array<char, 64> name{};
    REQUIRE(::ptsname_r(screen_.number(), name.data(), name.size()) == 0);
    line_ = posix::file_descriptor{::open(name.data(), O_RDWR | O_NOCTTY | O_CLOEXEC)};
    REQUIRE(line_.is_open());
    // As it is written, without the line discipline's carriage returns.
    termios settings{};
    REQUIRE(::tcgetattr(line_.number(), &settings) == 0);
    ::cfmakeraw(&settings);
    REQUIRE(::tcsetattr(line_.number(), TCSANOW, &settings) == 0);
    ::setenv("TERM", "xterm", 1);
  }

  int line() const { return line_.number(); }

  void set_width(unsigned short columns) {
    winsize size{};
    size.ws_row = 24;
    size.ws_col = columns;
    REQUIRE(::ioctl(screen_.number(), TIOCSWINSZ, &size) == 0);
  }

  /// What was written since the last call.
  std::string shown() {
    std::string text;
    pollfd waited{screen_.number(), POLLIN, 0};
    std::array<char, 4096> piece{};
    while (::poll(&waited, 1, 0) > 0 && (waited.revents & POLLIN) != 0) {
      const auto count = ::read(screen_.number(), piece.data(), piece.size());
      REQUIRE(count > 0);
      text.append(piece.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

private:
  posix::file_descriptor screen_;
  posix::file_descriptor line_;
};

} // namespace weir::cli::test
