#include <weir/json_text.hpp>
#include <weir/utf8.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace weir {

namespace {

constexpr auto byte(char one) noexcept {
  return static_cast<unsigned char>(one);
}

/// Whether eight bytes at once are all plain in a JSON string: ASCII, no control characters, no quote, no backslash.
bool are_eight_plain(const char* at) noexcept {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t tops = 0x8080808080808080U;
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const auto has_zero = [](std::uint64_t bytes) { return (bytes - ones) & ~bytes & tops; };
  const auto below_space = (word - ones * 0x20) & ~word & tops;
  return ((word & tops) | below_space | has_zero(word ^ (ones * '"')) | has_zero(word ^ (ones * '\\'))) == 0;
}

/// How many bytes at the front are plain in a JSON string.
std::size_t plain_length(std::string_view bytes) noexcept {
  std::size_t at = 0;
  while (at + 8 <= bytes.size() && are_eight_plain(bytes.data() + at))
    at += 8;
  while (at < bytes.size() && byte(bytes[at]) >= 0x20 && byte(bytes[at]) < 0x80 && bytes[at] != '"' && bytes[at] != '\\')
    ++at;
  return at;
}

void append_escaped(std::string& out, char control) {
  static constexpr char digits[] = "0123456789abcdef";
  switch (control) {
  case '"': out += "\\\""; return;
  case '\\': out += "\\\\"; return;
  case '\b': out += "\\b"; return;
  case '\f': out += "\\f"; return;
  case '\n': out += "\\n"; return;
  case '\r': out += "\\r"; return;
  case '\t': out += "\\t"; return;
  default:
    out += "\\u00";
    out += digits[byte(control) >> 4U];
    out += digits[byte(control) & 0xFU];
  }
}

void append_utf8(std::string& out, std::uint32_t point) {
  const auto tail = [&](unsigned shift) { out += static_cast<char>(0x80U | (point >> shift & 0x3FU)); };
  if (point < 0x80) {
    out += static_cast<char>(point);
  } else if (point < 0x800) {
    out += static_cast<char>(0xC0U | point >> 6U);
    tail(0);
  } else if (point < 0x10000) {
    out += static_cast<char>(0xE0U | point >> 12U);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0U | point >> 18U);
    tail(12);
    tail(6);
    tail(0);
  }
}

constexpr int hex_value(char digit) noexcept {
  if (digit >= '0' && digit <= '9')
    return digit - '0';
  if (digit >= 'a' && digit <= 'f')
    return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F')
    return digit - 'A' + 10;
  return -1;
}

/// The 16-bit unit of "uXXXX" at the front; -1 if it is something else.
int escaped_unit(std::string_view text) noexcept {
  if (text.size() < 5 || text[0] != 'u')
    return -1;
  int unit = 0;
  for (std::size_t index = 1; index < 5; ++index) {
    const auto digit = hex_value(text[index]);
    if (digit < 0)
      return -1;
    unit = unit * 16 + digit;
  }
  return unit;
}

constexpr bool is_high_surrogate(int unit) noexcept {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
constexpr bool is_low_surrogate(int unit) noexcept {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

/// Decodes what stands between the quotes of a string that was checked before.
void decode(std::string_view inside, std::string& text) {
  for (std::size_t at = 0; at < inside.size();) {
    if (inside[at] != '\\') {
      const auto next = std::min(inside.find('\\', at), inside.size());
      text.append(inside, at, next - at);
      at = next;
      continue;
    }
    const auto kind = inside[at + 1];
    at += 2;
    switch (kind) {
    case 'b': text += '\b'; break;
    case 'f': text += '\f'; break;
    case 'n': text += '\n'; break;
    case 'r': text += '\r'; break;
    case 't': text += '\t'; break;
    case 'u': {
      auto point = static_cast<std::uint32_t>(escaped_unit(inside.substr(at - 1)));
      at += 4;
      if (is_high_surrogate(static_cast<int>(point))) {
        const auto low = static_cast<std::uint32_t>(escaped_unit(inside.substr(at + 1)));
        point = 0x10000U + ((point - 0xD800U) << 10U) + (low - 0xDC00U);
        at += 6;
      }
      append_utf8(text, point);
      break;
    }
    default: text += kind; // quote, backslash, slash
    }
  }
}

} // namespace

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const auto plain = plain_length(text);
    out.append(text, 0, plain);
    text.remove_prefix(plain);
    if (text.empty())
      break;
    auto length = std::size_t{1};
    if (byte(text[0]) < 0x80)
      append_escaped(out, text[0]);
    else if (length = utf8_length(text); length != 0)
      out.append(text, 0, length);
    else {
      out += "\xEF\xBF\xBD"; // U+FFFD
      length = 1;
    }
    text.remove_prefix(length);
  }
  out += '"';
}

void json_cursor::nesting::enter(bool is_object) noexcept {
  const auto bit = std::uint64_t{1} << (depth_ % 64);
  auto& word = is_object_[depth_ / 64];
  word = is_object ? word | bit : word & ~bit;
  ++depth_;
}

bool json_cursor::fail(std::string_view expected) noexcept {
  fault_ = {at_, expected};
  return false;
}

void json_cursor::skip_space() noexcept {
  while (!at_end() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
}

bool json_cursor::take(char wanted, std::string_view expected) noexcept {
  if (at_end() || text_[at_] != wanted)
    return fail(expected);
  ++at_;
  return true;
}

bool json_cursor::skip_escape() noexcept {
  ++at_; // the backslash
  const auto kind = peek();
  if (kind != 'u') {
    if (at_end() || std::string_view{"\"\\/bfnrt"}.find(kind) == std::string_view::npos)
      return fail("one of \" \\ / b f n r t u after a backslash");
    ++at_;
    return true;
  }
  const auto unit = escaped_unit(text_.substr(at_));
  if (unit < 0)
    return fail("four hexadecimal digits after \\u");
  if (is_low_surrogate(unit))
    return fail("no low surrogate without a high one before it");
  at_ += 5;
  if (!is_high_surrogate(unit))
    return true;
  if (peek() != '\\' || !is_low_surrogate(escaped_unit(text_.substr(at_ + 1))))
    return fail("a low surrogate after a high one");
  at_ += 6;
  return true;
}

bool json_cursor::skip_string(bool& has_escapes) noexcept {
  if (!take('"', "a string"))
    return false;
  for (;;) {
    at_ += plain_length(text_.substr(at_));
    if (at_end())
      return fail("the quote that ends the string");
    if (text_[at_] == '"')
      break;
    if (text_[at_] == '\\') {
      has_escapes = true;
      if (!skip_escape())
        return false;
    } else if (byte(text_[at_]) < 0x20) {
      return fail("no control character in a string");
    } else {
      const auto length = utf8_length(text_.substr(at_));
      if (length == 0)
        return fail("well-formed UTF-8");
      at_ += length;
    }
  }
  ++at_;
  return true;
}

bool json_cursor::read_string(std::string& text) {
  auto has_escapes = false;
  const auto begin = at_ + 1;
  if (!skip_string(has_escapes))
    return false;
  const auto inside = between(begin, at_ - 1);
  text.clear();
  if (has_escapes)
    decode(inside, text);
  else
    text = inside;
  return true;
}

bool json_cursor::read_number(std::uint64_t& number) noexcept {
  const auto begin = at_;
  if (peek() < '0' || peek() > '9')
    return fail("a whole number");
  if (!skip_number())
    return false;
  const auto digits = between(begin, at_);
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure == std::errc{} && end == digits.data() + digits.size())
    return true;
  at_ = begin;
  return fail("a whole number below 2^64");
}

bool json_cursor::skip_number() noexcept {
  const auto skip_digits = [this] {
    const auto begin = at_;
    while (peek() >= '0' && peek() <= '9')
      ++at_;
    return at_ != begin;
  };
  if (peek() == '-')
    ++at_;
  if (peek() == '0')
    ++at_;
  else if (!skip_digits())
    return fail("a digit");
  if (peek() == '.') {
    ++at_;
    if (!skip_digits())
      return fail("a digit after the decimal point");
  }
  if (peek() == 'e' || peek() == 'E') {
    ++at_;
    if (peek() == '+' || peek() == '-')
      ++at_;
    if (!skip_digits())
      return fail("a digit in the exponent");
  }
  return true;
}

bool json_cursor::skip_word(std::string_view word) noexcept {
  if (!text_.substr(at_).starts_with(word))
    return fail("a JSON value");
  at_ += word.size();
  return true;
}

bool json_cursor::skip_scalar() noexcept {
  auto has_escapes = false;
  switch (peek()) {
  case '"': return skip_string(has_escapes);
  case 't': return skip_word("true");
  case 'f': return skip_word("false");
  case 'n': return skip_word("null");
  default:
    if (peek() == '-' || (peek() >= '0' && peek() <= '9'))
      return skip_number();
    return fail("a JSON value");
  }
}

bool json_cursor::skip_member_name() noexcept {
  auto has_escapes = false;
  if (peek() != '"')
    return fail("a member's name in quotes");
  if (!skip_string(has_escapes))
    return false;
  skip_space();
  if (!take(':', "a colon after the member's name"))
    return false;
  skip_space();
  return true;
}

/// Steps over what may stand behind a value: the ends of what it closes, then a comma, unless that was the whole.
bool json_cursor::after_value(nesting& open, bool& is_complete) noexcept {
  while (open.depth() > 0) {
    skip_space();
    if (peek() == ',') {
      ++at_;
      skip_space();
      return !open.in_object() || skip_member_name();
    }
    if (!take(open.in_object() ? '}' : ']', open.in_object() ? "a comma or }" : "a comma or ]"))
      return false;
    open.leave();
  }
  is_complete = true;
  return true;
}

bool json_cursor::skip_value() noexcept {
  nesting open;
  for (auto is_complete = false; !is_complete;) {
    const auto opener = peek();
    if (opener != '{' && opener != '[') {
      if (!skip_scalar() || !after_value(open, is_complete))
        return false;
      continue;
    }
    if (open.depth() == max_depth)
      return fail("no more than 256 arrays and objects inside one another");
    const auto is_object = opener == '{';
    open.enter(is_object);
    ++at_;
    skip_space();
    if (peek() == (is_object ? '}' : ']')) {
      if (!after_value(open, is_complete))
        return false;
    } else if (is_object && !skip_member_name()) {
      return false;
    }
  }
  return true;
}

bool is_json_on_one_line(std::string_view bytes) noexcept {
  if (bytes.find('\n') != std::string_view::npos || bytes.find('\r') != std::string_view::npos)
    return false;
  json_cursor cursor{bytes};
  return cursor.skip_value() && cursor.at_end();
}

} // namespace weir
