#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace weir {

/// Appends the text as a JSON string, quotes included. Bytes that are no UTF-8 become U+FFFD: ask is_utf8() first where they
/// must survive.
void append_json_string(std::string& out, std::string_view text);

/// Where a text stops being JSON.
struct json_fault {
  std::size_t at = 0;        ///< byte offset in the text
  std::string_view expected; ///< what should stand there; static text
};

/// Walks over one JSON text (RFC 8259) and builds nothing: the exact bytes of a value are what lies between two offsets. Strict
/// where parsers differ: UTF-8 only, escaped surrogates in pairs, at most max_depth arrays and objects inside one another.
///
/// Every function that returns false has set fault(); nothing may be called after that.
class json_cursor {
public:
  static constexpr std::size_t max_depth = 256;

  explicit json_cursor(std::string_view text) noexcept : text_{text} {}

  std::size_t offset() const noexcept { return at_; }
  std::string_view between(std::size_t begin, std::size_t end) const noexcept { return text_.substr(begin, end - begin); }
  const json_fault& fault() const noexcept { return fault_; }

  void skip_space() noexcept;
  bool at_end() const noexcept { return at_ == text_.size(); }

  /// The byte ahead; NUL at the end.
  char peek() const noexcept { return at_end() ? '\0' : text_[at_]; }

  /// Steps over `wanted`; `expected` is what the fault says if another byte is ahead.
  bool take(char wanted, std::string_view expected) noexcept;

  /// Steps over one value, which must begin right here.
  bool skip_value() noexcept;

  /// Steps over one string, which must begin right here, and decodes it into `text`.
  bool read_string(std::string& text);

  /// Steps over one whole number from 0 to 2^64 − 1, which must begin right here.
  bool read_number(std::uint64_t& number) noexcept;

private:
  bool fail(std::string_view expected) noexcept;
  bool skip_string(bool& has_escapes) noexcept;
  bool skip_escape() noexcept;
  bool skip_number() noexcept;
  bool skip_word(std::string_view word) noexcept;
  bool skip_member_name() noexcept;
  bool skip_scalar() noexcept;

  /// Which of the open arrays and objects are objects, innermost last.
  class nesting {
  public:
    std::size_t depth() const noexcept { return depth_; }
    bool in_object() const noexcept { return (is_object_[(depth_ - 1) / 64] >> ((depth_ - 1) % 64) & 1U) != 0; }
    void enter(bool is_object) noexcept;
    void leave() noexcept { --depth_; }

  private:
    std::size_t depth_ = 0;
    std::array<std::uint64_t, max_depth / 64> is_object_{};
  };
  bool after_value(nesting& open, bool& is_complete) noexcept;

  std::string_view text_;
  std::size_t at_ = 0;
  json_fault fault_;
};

/// Whether the bytes can stand as a value inside one line of JSON and be found there again byte for byte: one JSON value with
/// nothing around it and no line break in it.
bool is_json_on_one_line(std::string_view bytes) noexcept;

} // namespace weir
