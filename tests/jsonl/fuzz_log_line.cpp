#include <weir/base64.hpp>
#include <weir/change_text.hpp>
#include <weir/json_text.hpp>
#include <weir/utf8.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

// Any bytes as the last line of a log, and as what stands in one.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes{
    reinterpret_cast<const char*>(data), size}; // NOLINT(cppcoreguidelines-pro-type-reinterpret-cast)
  (void)weir::read_log_line(bytes);
  (void)weir::read_log_line(std::string{weir::log_line_start}.append(bytes));
  std::string text;
  weir::append_json_string(text, bytes);
  weir::json_cursor cursor{text};
  std::string back;
  if (!cursor.read_string(back) || !cursor.at_end() || (weir::is_utf8(bytes) && back != bytes))
    std::abort();
  text.clear();
  weir::append_base64(text, bytes);
  if (weir::decode_base64(text) != bytes)
    std::abort();
  if (const auto decoded = weir::decode_base64(bytes)) {
    text.clear();
    weir::append_base64(text, *decoded);
    if (text != bytes) // strict: one text for one string of bytes
      std::abort();
  }
  return 0;
}
