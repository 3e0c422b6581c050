#include <weir/crc32c.hpp>
#include <weir/cursor.hpp>
#include <weir/topic_name.hpp>

#include "hex_text.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as a cursor's text, with the checksum that they have and with the one that they should have: what is accepted is
// written in the same way again. And any bytes as a topic's name, plain and encoded.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

void check_text(std::string_view text) {
  const auto parsed = weir::parse_cursor(text);
  if (parsed) {
    const auto& at = parsed.value();
    require(weir::to_text(at) == text);
    require(weir::check_topic_name(at.topic) && !at.offsets.empty() && at.offsets.size() <= weir::cursor::max_shards);
    require(weir::check_source(at, at).has_value());
    return;
  }
  const auto said = parsed.error().to_string();
  require(parsed.error() == weir::errc::invalid_cursor && !parsed.error().sentence().empty());
  require(said.size() < 1000 && said.find('\n') == std::string::npos);
}

void check_name(std::string_view bytes) {
  const auto encoded = weir::encode_topic_name(bytes);
  const auto decoded = weir::decode_topic_name(encoded);
  require(weir::check_topic_name(bytes) ? decoded == bytes : !decoded.has_value());
  for (const auto& text : {std::string{bytes}, "w1" + std::string{bytes}})
    if (const auto name = weir::decode_topic_name(text))
      require(weir::check_topic_name(*name) && weir::encode_topic_name(*name) == text);
  if (!decoded)
    return;
  const weir::cursor at{.store = bytes.size(), .topic = *decoded, .epoch = 7, .offsets = {-1, weir::cursor::max_offset}};
  const auto back = weir::parse_cursor(weir::to_text(at));
  require(back && back.value() == at);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_text(bytes);
  for (const auto* start : {"", "w1:", "w1:00000000000000ab:"}) {
    auto text = start + std::string{bytes};
    const auto sum = weir::crc32c(text);
    text += ':';
    weir::detail::append_hex(text, sum, 8);
    check_text(text);
  }
  check_name(bytes);
  return 0;
}
