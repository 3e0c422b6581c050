#include "log_watch.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <poll.h>
#include <pthread.h>
#include <string_view>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <unistd.h>

namespace weir::sqlite_log {

namespace {

constexpr int first_pause_ms = 2;
constexpr int longest_pause_ms = 1000;
constexpr int looks_after_change = 40; // half a minute: a sync that takes longer is followed by another write
constexpr int pause_without_events_ms = 50;

std::filesystem::path directory_of(const std::filesystem::path& path) {
  return path.has_parent_path() ? path.parent_path() : std::filesystem::path{"."};
}

posix::file_descriptor watch_directory(const std::filesystem::path& path) {
  posix::file_descriptor changes{::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
  if (changes.is_open()
      && ::inotify_add_watch(changes.number(), directory_of(path).c_str(), IN_MODIFY | IN_CREATE | IN_MOVED_TO) < 0)
    changes.close();
  return changes;
}

} // namespace

log_watch::log_watch(std::filesystem::path path, std::function<bool()> look)
  : path_{std::move(path)},
    look_{std::move(look)},
    changes_{watch_directory(path_)},
    wakes_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)},
    thread_{[this] { run(); }} {
  pthread_setname_np(thread_.native_handle(), "weir.log.watch");
}

log_watch::~log_watch() {
  ending_ = true;
  wake();
  thread_.join();
}

void log_watch::look_soon() noexcept {
  wake();
}

void log_watch::wake() noexcept {
  const std::uint64_t one = 1;
  (void)!::write(wakes_.number(), &one, sizeof one);
}

/// Whether one of the events is about the log's files.
bool log_watch::read_events() noexcept {
  alignas(inotify_event) std::array<char, 4096> buffer;
  const auto name = path_.filename().string();
  bool is_ours = false;
  for (;;) {
    const auto size = ::read(changes_.number(), buffer.data(), buffer.size());
    if (size <= 0)
      return is_ours;
    for (std::ptrdiff_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
      is_ours =
        is_ours || (event->mask & IN_Q_OVERFLOW) != 0 || (event->len > 0 && std::string_view{event->name}.starts_with(name));
      at += static_cast<std::ptrdiff_t>(sizeof(inotify_event) + event->len);
    }
  }
}

void log_watch::run() {
  int pause = changes_.is_open() ? first_pause_ms : pause_without_events_ms;
  int looks_left = looks_after_change; // what was being written before the kernel was asked to tell may show only now
  while (!ending_) {
    std::array<pollfd, 2> from{{{wakes_.number(), POLLIN, 0}, {changes_.number(), POLLIN, 0}}};
    ::poll(from.data(), from.size(), pause);
    if (ending_)
      return;
    std::uint64_t wakes = 0;
    const bool is_asked = ::read(wakes_.number(), &wakes, sizeof wakes) == sizeof wakes;
    if (changes_.is_open() && read_events()) {
      looks_left = looks_after_change;
      pause = first_pause_ms; // whatever is being written shows then
      if (!is_asked) {
        ::poll(from.data(), 1, first_pause_ms); // and what comes at once is looked at together
        if (ending_)
          return;
      }
    }
    const bool has_more = look_();
    if (!changes_.is_open()) {
      pause = pause_without_events_ms;
    } else if (looks_left > 0 && --looks_left > 0) {
      pause = has_more ? first_pause_ms : std::min(std::max(pause, first_pause_ms) * 2, longest_pause_ms);
    } else {
      pause = -1;
    }
  }
}

} // namespace weir::sqlite_log
