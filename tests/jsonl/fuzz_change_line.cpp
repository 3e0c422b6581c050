#include <weir/change_text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as a line of input. Whatever is read as a change must be written, and read again, as the same change.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view line{reinterpret_cast<const char*>(data), size}; // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  const auto read = weir::read_change(line);
  require(!(read.change && read.fault));
  if (read.fault)
    require(read.fault->at <= size && !read.fault->expected.empty());
  if (!read.change)
    return 0;
  const weir::position at{1, 2, {}, 3, true};
  std::string written;
  weir::append_change(written, at, 4, *read.change);
  require(written.find('\n') == written.size() - 1);
  const auto again = weir::read_change(written);
  require(again.change.has_value());
  require(again.change->collection == read.change->collection && again.change->key == read.change->key
          && again.change->operation == read.change->operation && again.change->payload == read.change->payload
          && again.change->headers == read.change->headers);
  const auto place = weir::read_log_line(std::string_view{written}.substr(0, written.size() - 1));
  require(place && place->place == weir::change_place{1, 2, 4});
  return 0;
}
