#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace postgres_tests {

/// Stands between a bus and its server, on a free port of the loopback, and can fail as networks do.
class relay {
public:
  enum class links {
    listening, ///< those through which LISTEN went
    all,
  };

  /// What becomes of connections that are made from now on.
  enum class greeting {
    forward,
    swallow, ///< they are taken, and nothing goes through them until go_on()
    refuse,  ///< they are cut at once
  };

  explicit relay(std::uint16_t to);
  ~relay();
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;

  std::uint16_t port() const noexcept { return port_; }
  std::string url() const { return "postgres://weir@127.0.0.1:" + std::to_string(port_) + "/postgres"; }

  /// Those that are there stay open, and from the return on nothing goes through them.
  void stall(links which);

  void greet(greeting how);

  /// Everything goes through again, also what has waited.
  void go_on();

  /// Those that are there are closed on both sides.
  void cut();

  /// Connections that were ever made to it.
  std::size_t accepted() const noexcept { return accepted_; }

private:
  /// One way of a link.
  struct way {
    std::string waiting = {};
    bool has_ended = false;
  };

  struct link {
    int client = -1;
    int server = -1; // -1: swallowed
    way up = {};
    way down = {};
    bool listens = false;
    bool is_stalled = false;
  };

  void run();
  void accept_one();
  int connect_on() const;
  void carry(int from, int to, way& through, short from_events, short to_events);
  static void close(link& one);
  void wake() const;

  const std::uint16_t to_;
  int listener_ = -1;
  int woken_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_; // held while anything is carried
  std::vector<link> links_;
  greeting greeting_ = greeting::forward;
  bool is_over_ = false;
  std::atomic<std::size_t> accepted_{0};
  std::thread thread_; // last: it uses the others
};

} // namespace postgres_tests
