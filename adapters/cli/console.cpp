#include <weir/cli/console.hpp>
#include <weir/cli/files.hpp>

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weir::cli {

namespace {

/// Back to the first column, and erase what is there (ECMA-48: EL).
constexpr std::string_view erase_line = "\r\x1b[2K";

bool takes_commands(int descriptor) {
  if (::isatty(descriptor) == 0)
    return false;
  const auto* kind = std::getenv("TERM"); // NOLINT(concurrency-mt-unsafe): read before any thread is started
  return kind != nullptr && std::string_view{kind} != "dumb" && *kind != '\0';
}

} // namespace

console::console(int descriptor) : descriptor_{descriptor}, is_terminal_{takes_commands(descriptor)} {}

std::optional<std::size_t> console::width() const noexcept {
  if (!is_terminal_)
    return std::nullopt;
  struct winsize size{};
  if (::ioctl(descriptor_, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return 80;
  return size.ws_col;
}

void console::line(std::string_view text) {
  const std::lock_guard lock{mutex_};
  std::string bytes;
  if (!status_.empty())
    bytes += erase_line;
  bytes.append(text).append("\n").append(status_);
  write(bytes);
}

void console::status(std::string_view text) {
  const std::lock_guard lock{mutex_};
  if (!is_terminal_ || text == status_)
    return;
  status_ = text;
  write(std::string{erase_line} + status_);
}

void console::abandon() noexcept {
  if (!is_terminal_)
    return;
  write(erase_line);
}

void console::write(std::string_view bytes) const noexcept {
  write_all(descriptor_, bytes);
}

} // namespace weir::cli
