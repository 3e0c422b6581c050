#include <weir/cli/plain_text.hpp>
#include <weir/utf8.hpp>

#include <fmt/format.h>

#include <algorithm>

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

constexpr std::string_view spaces{" \t\r\n"};
constexpr std::string_view ellipsis{"…"};

/// What stands between scheme://USER: and the last @ of the word: more than a password, where that has an @ or the path does.
std::string without_userinfo(std::string_view text) {
  constexpr std::string_view mark{"://"};
  std::string made;
  for (;;) {
    const auto at = text.find(mark);
    if (at == text.npos)
      return made.append(text);
    made.append(text.substr(0, at + mark.size()));
    text.remove_prefix(at + mark.size());
    const auto word = text.substr(0, text.find_first_of(spaces));
    const auto colon = word.find(':');
    const auto end = word.rfind('@');
    if (colon > word.size() || end > word.size() || colon > end)
      continue;
    made.append(text.substr(0, colon + 1)).append(ellipsis);
    text.remove_prefix(end);
  }
}

/// What stands behind password= and sslpassword=: a word, or something in single quotes.
std::string without_words(std::string_view text) {
  constexpr std::string_view mark{"password="};
  std::string made;
  for (;;) {
    const auto at = text.find(mark);
    if (at == text.npos)
      return made.append(text);
    made.append(text.substr(0, at + mark.size())).append(ellipsis);
    text.remove_prefix(at + mark.size());
    const bool is_quoted = text.starts_with('\'');
    const auto end = is_quoted ? text.find('\'', 1) : text.find_first_of(" \t\r\n&");
    text.remove_prefix(std::min(end == text.npos ? end : end + (is_quoted ? 1 : 0), text.size()));
  }
}

} // namespace

std::string in_quotes(std::string_view text, std::size_t longest) {
  const auto shown = without_passwords(text);
  text = shown;
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

std::string without_passwords(std::string_view text) {
  return without_words(without_userinfo(text));
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
