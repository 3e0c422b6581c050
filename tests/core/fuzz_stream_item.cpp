#include <weir/stream_item.hpp>

#include "stream_items.hpp"
#include "stream_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as an item: read are exactly those that protobuf's own class reads and writes again in the same way, as the same.
// And an item made from the first bytes, damaged by the others: the same holds, and which lanes it is for is seen as it is
// decoded.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

void check_targets(std::string_view bytes, const weir::stored_item& read) {
  require(weir::is_for(bytes, "search") == (read.lanes.empty() || std::ranges::count(read.lanes, weir::lane_id{"search"}) > 0));
  for (const auto& lane : read.lanes)
    require(weir::is_for(bytes, lane));
}

void check_bytes(std::string_view bytes) {
  const auto decoded = weir::decode_item(bytes);
  const auto expected = core_tests::item_of(bytes);
  require(decoded.has_value() == expected.has_value());
  if (!decoded) {
    require(decoded.error() == weir::errc::corrupt || decoded.error() == weir::errc::newer_format);
    require(!decoded.error().sentence().empty());
    weir::is_for(bytes, "search");
    return;
  }
  require(core_tests::is_same(decoded.value(), *expected));
  require(core_tests::encoded(decoded.value()) == bytes);
  require(weir::check_item(decoded.value().item).has_value());
  check_targets(bytes, decoded.value());
}

void check_item(std::string_view bytes) {
  std::uint64_t seed = 0;
  for (const auto one : bytes.substr(0, 4))
    seed = seed << 8U | static_cast<unsigned char>(one);
  bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 4));
  core_tests::random_source random{seed};
  const auto given = core_tests::any_item(random);
  auto written = core_tests::encoded(given);
  check_bytes(written);
  const auto decoded = weir::decode_item(written);
  require(decoded && core_tests::is_same(decoded.value(), given));
  for (; bytes.size() >= 2; bytes.remove_prefix(2)) // where, and what to put there
    written[static_cast<unsigned char>(bytes[0]) % written.size()] = bytes[1];
  check_bytes(written);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_bytes(bytes);
  check_item(bytes);
  return 0;
}
