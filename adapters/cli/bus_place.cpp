#include <weir/cli/bus_place.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/hint.hpp>

#include <fmt/format.h>

namespace weir::cli {

result<void> check_bus_url(std::string_view url) {
  if (url.starts_with("postgres://") || url.starts_with("postgresql://"))
    return success();
  if (url.starts_with("memory:"))
    return error{errc::invalid_argument, "a bus in memory ends with its process, and nobody outside would hear it"};
  const auto scheme = url.find("://");
  return error{errc::invalid_argument,
    scheme == url.npos ? "it is no URL" : fmt::format("{} is no kind of bus", in_quotes(url.substr(0, scheme)))};
}

result<void> check_bus_channel(std::string_view channel) {
  constexpr std::size_t longest = 63;
  if (check_bus_topic(channel) && channel.size() <= longest)
    return success();
  return error{errc::invalid_argument, "a channel has 1 to 63 bytes of UTF-8 without NUL"};
}

} // namespace weir::cli
