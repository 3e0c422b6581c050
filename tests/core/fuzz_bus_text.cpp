#include <weir/base85.hpp>
#include <weir/bus_text.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as what a bus says: what is taken is written in the same way again, and within its limits.

namespace {

void require(bool holds) {
  if (!holds)
    std::abort();
}

std::string written(const weir::hint_text& one) {
  const auto read = weir::decode(one);
  if (!read)
    return {};
  const auto& hint = read.value();
  require(weir::check_bus_topic(hint.topic()) && weir::check_hint_size(hint.key(), hint.payload()));
  return weir::encode_hint(hint.topic(), hint.key(), hint.payload(), hint.at());
}

std::string written(const weir::bus_answer& one) {
  auto whole = one;
  whole.part = 0;
  whole.parts = 1;
  const auto parts = weir::encode(whole);
  return one.parts == 1 && parts.size() == 1 ? parts.front() : std::string{};
}

template <class T>
std::string written(const T& one) {
  return weir::encode(one);
}

void check_text(std::string_view text) {
  const auto parsed = weir::parse_bus_text(text);
  if (!parsed) {
    require(parsed.error() == weir::errc::corrupt || parsed.error() == weir::errc::newer_format);
    require(parsed.error().to_string().find('\n') == std::string::npos);
    return;
  }
  require(text.size() <= weir::max_bus_text);
  const auto again = std::visit([](const auto& one) { return written(one); }, parsed.value());
  require(again.empty() || again == text);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  check_text(bytes);
  for (const auto kind : {'h', 'b', 'a', 's', 'l'})
    check_text(std::string{"W1"} + kind + ' ' + std::string{bytes});
  std::string text;
  weir::append_base85(text, bytes);
  require(weir::decode_base85(text) == bytes);
  if (const auto decoded = weir::decode_base85(bytes)) {
    text.clear();
    weir::append_base85(text, *decoded);
    require(text == bytes);
  }
  return 0;
}
