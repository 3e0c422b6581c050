#include <weir/cli/plain_text.hpp>
#include <weir/utf8.hpp>

#include <fmt/format.h>

namespace weir::cli {

namespace {

/// The character that the text begins with, and whether it is one: a single byte where it is no UTF-8.
struct character {
  std::string_view bytes;
  bool is_utf8;
};

character first_of(std::string_view text) noexcept {
  const auto length = utf8_length(text);
  return {text.substr(0, length == 0 ? 1 : length), length != 0};
}

bool is_safe(const character& one) noexcept {
  const auto first = static_cast<unsigned char>(one.bytes[0]);
  if (one.bytes.size() == 1)
    return one.is_utf8 && first >= 0x20 && first != 0x7F;
  // U+0080 to U+009F: terminals may take them for the start of a command.
  return one.bytes.size() != 2 || first != 0xC2 || static_cast<unsigned char>(one.bytes[1]) >= 0xA0;
}

void append_escaped(std::string& made, std::string_view bytes) {
  for (const auto byte : bytes)
    made += fmt::format("\\x{:02X}", static_cast<unsigned char>(byte));
}

} // namespace

std::string in_quotes(std::string_view text, std::size_t longest) {
  std::string made{'"'};
  while (!text.empty() && made.size() <= longest) {
    const auto one = first_of(text);
    if (!is_safe(one))
      append_escaped(made, one.bytes);
    else if (one.bytes == "\"" || one.bytes == "\\")
      made.append("\\").append(one.bytes);
    else
      made += one.bytes;
    text.remove_prefix(one.bytes.size());
  }
  return made + (text.empty() ? "\"" : "…\"");
}

std::string printable(std::string_view text) {
  std::string made;
  while (!text.empty()) {
    const auto one = first_of(text);
    if (is_safe(one))
      made += one.bytes;
    else
      append_escaped(made, one.bytes);
    text.remove_prefix(one.bytes.size());
  }
  return made;
}

std::string one_of(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (at > 0)
      text += at + 1 == names.size() ? " or " : ", ";
    text += in_quotes(names[at]);
  }
  return text;
}

std::string escaped_utf8(std::string_view bytes) {
  std::string made;
  while (!bytes.empty()) {
    const auto one = first_of(bytes);
    if (!one.is_utf8)
      append_escaped(made, one.bytes);
    else if (one.bytes == "\\")
      made += "\\\\";
    else
      made += one.bytes;
    bytes.remove_prefix(one.bytes.size());
  }
  return made;
}

} // namespace weir::cli
