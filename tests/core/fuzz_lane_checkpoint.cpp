#include <weir/checkpoint.hpp>
#include <weir/lane_checkpoint.hpp>

#include "stream_items.hpp"
#include "stream_messages.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as a lane's checkpoint: read are exactly those that protobuf's own class reads and writes again in the same way, as
// the same. And checkpoints with the runs that the bytes say, and with any: they come back but for the furthest runs, of which
// not one more would have fitted.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

void check_bytes(std::string_view bytes) {
  const auto decoded = weir::decode_lane_checkpoint(bytes);
  const auto expected = core_tests::checkpoint_of(bytes);
  require(decoded.has_value() == expected.has_value());
  if (!decoded) {
    require(decoded.error() == weir::errc::corrupt || decoded.error() == weir::errc::newer_format);
    require(!decoded.error().sentence().empty());
    return;
  }
  require(core_tests::is_same(decoded.value(), *expected));
  require(weir::encode_lane_checkpoint(decoded.value()) == bytes);
}

void check_checkpoint(const weir::lane_checkpoint& given) {
  const auto written = weir::encode_lane_checkpoint(given);
  require(written.size() <= weir::max_checkpoint_metadata);
  check_bytes(written);
  const auto decoded = weir::decode_lane_checkpoint(written);
  auto kept = given;
  kept.acknowledged.resize(std::min(given.acknowledged.size(), decoded.value().acknowledged.size()));
  require(core_tests::is_same(decoded.value(), kept));
  if (kept.acknowledged.size() < given.acknowledged.size()) {
    kept.acknowledged.push_back(given.acknowledged[kept.acknowledged.size()]);
    require(core_tests::message_of(kept).SerializeAsString().size() > weir::max_checkpoint_metadata);
  }
}

/// Two bytes for each run: the distance to it, and its length less one; both grow fast.
void check_runs(std::string_view bytes) {
  core_tests::random_source random{bytes.size()};
  weir::lane_checkpoint given{core_tests::any_floor(random), {}, 0};
  std::int64_t next = 0;
  for (; bytes.size() >= 2; bytes.remove_prefix(2)) {
    const auto step = [](char one) {
      const auto number = static_cast<unsigned char>(one);
      return static_cast<std::int64_t>(std::uint64_t{number & 0xFU} << 3U * (number >> 4U));
    };
    const auto first = next + step(bytes[0]);
    const auto last = first + step(bytes[1]);
    given.acknowledged.emplace_back(first, last);
    next = last + 1;
  }
  check_checkpoint(given);
}

void check_any(std::string_view bytes) {
  std::uint64_t seed = bytes.size();
  for (const auto one : bytes.substr(0, 4))
    seed = seed << 8U | static_cast<unsigned char>(one);
  core_tests::random_source random{seed};
  check_checkpoint(core_tests::any_checkpoint(random, 20));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_bytes(bytes);
  check_runs(bytes);
  check_any(bytes);
  return 0;
}
