#include <weir/cli/bus_place.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/hint.hpp>

#include <fmt/format.h>

namespace weir::cli {

namespace {

/// What stands before "://", where it can be shown: otherwise it may have a password.
std::string_view scheme_of(std::string_view url) noexcept {
  constexpr std::string_view letters{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-."};
  const auto end = url.find("://");
  const auto scheme = url.substr(0, end == url.npos ? 0 : end);
  return scheme.find_first_not_of(letters) == scheme.npos ? scheme : std::string_view{};
}

} // namespace

result<void> check_bus_url(std::string_view url) {
  if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
    return success();
  if (url.starts_with("memory:"))
    return error{errc::invalid_argument, "a bus in memory ends with its process, and nobody outside would hear it"};
  const auto scheme = scheme_of(url);
  return error{
    errc::invalid_argument, scheme.empty() ? "it is no URL" : fmt::format("{} is no kind of bus", in_quotes(scheme))};
}

result<void> check_bus_channel(std::string_view channel) {
  constexpr std::size_t longest = 63;
  if (check_bus_topic(channel) && channel.size() <= longest)
    return success();
  return error{errc::invalid_argument, "a channel has 1 to 63 bytes of UTF-8 without NUL"};
}

} // namespace weir::cli
