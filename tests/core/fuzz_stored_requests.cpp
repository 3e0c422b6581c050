#include <weir/stored_requests.hpp>

#include "stream_items.hpp"
#include "stream_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as stored requests: read are exactly those that protobuf's own class reads and writes again in the same way, as the
// same. And requests made from the first bytes, damaged by the others: the same holds.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

void check_bytes(std::string_view bytes) {
  const auto decoded = weir::decode_requests(bytes);
  const auto expected = core_tests::requests_of(bytes);
  require(decoded.has_value() == expected.has_value());
  if (!decoded) {
    require(decoded.error() == weir::errc::corrupt || decoded.error() == weir::errc::newer_format);
    require(!decoded.error().sentence().empty());
    return;
  }
  require(core_tests::is_same(decoded.value(), *expected));
  require(weir::encode_requests(decoded.value()) == bytes);
}

void check_requests(std::string_view bytes) {
  std::uint64_t seed = 0;
  for (const auto one : bytes.substr(0, 4))
    seed = seed << 8U | static_cast<unsigned char>(one);
  bytes.remove_prefix(std::min<std::size_t>(bytes.size(), 4));
  core_tests::random_source random{seed};
  const auto given = core_tests::any_requests(random, 5);
  auto written = weir::encode_requests(given);
  check_bytes(written);
  const auto decoded = weir::decode_requests(written);
  require(decoded && core_tests::is_same(decoded.value(), given));
  for (; bytes.size() >= 2; bytes.remove_prefix(2)) // where, and what to put there
    written[static_cast<unsigned char>(bytes[0]) % written.size()] = bytes[1];
  check_bytes(written);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_bytes(bytes);
  check_requests(bytes);
  return 0;
}
