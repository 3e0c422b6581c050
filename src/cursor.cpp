#include <weir/crc32c.hpp>
#include <weir/cursor.hpp>
#include <weir/topic_name.hpp>

#include "excerpt.hpp"
#include "hex_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <utility>

namespace weir {

namespace {

constexpr std::string_view text_version = "w1";

/// What stands between the colons of a cursor's text.
struct part {
  enum name : std::size_t { version, store, topic, epoch, offsets, check };
};
constexpr auto part_names = std::to_array<std::string_view>({"version", "store", "topic", "epoch", "offsets", "check"});
using parts = std::array<std::string_view, part_names.size()>;

/// What a shell, a URL and a mail leave as it is. `~` is not among them: a shell takes it for somebody's home behind a colon.
bool is_plain(char one) noexcept {
  return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') || one == '-' || one == '.'
         || one == '_';
}

void append_escaped(std::string& out, std::string_view name) {
  for (const auto one : name)
    if (is_plain(one)) {
      out += one;
    } else {
      out += '%';
      detail::append_hex(out, static_cast<unsigned char>(one), 2, detail::hex_case::upper);
    }
}

std::optional<std::string> read_escaped(std::string_view text) {
  std::string name;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text[0] != '%') {
      name += text[0];
      continue;
    }
    const auto high = text.size() < 3 ? -1 : detail::hex_value(text[1]);
    const auto low = text.size() < 3 ? -1 : detail::hex_value(text[2]);
    if (high < 0 || low < 0)
      return std::nullopt;
    name += static_cast<char>(high << 4 | low);
    text.remove_prefix(2);
  }
  return name;
}

template <class Number>
std::optional<Number> read_number(std::string_view digits, int base = 10) {
  Number number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (failure != std::errc{} || end != digits.data() + digits.size())
    return std::nullopt;
  return number;
}

error refused(std::string_view sentence, std::size_t which, std::string_view given) {
  return error{
    errc::invalid_cursor, std::string{sentence}, {{"part", std::string{part_names[which]}}, {"given", detail::excerpt(given)}}};
}

/// The parts of a text, which stay its own.
result<parts> split(std::string_view text) {
  parts all;
  for (std::size_t index = 0; index < all.size(); ++index) {
    const auto colon = text.find(':');
    all[index] = text.substr(0, colon);
    if (index == part::version && all[index] != text_version)
      return refused("the text is no cursor of a version that is known here", index, all[index])
        .with("expected", std::string{text_version});
    const auto is_last = index == part::check;
    if (is_last && colon != std::string_view::npos)
      return refused("the cursor goes on behind its checksum", index, text);
    if (!is_last && colon == std::string_view::npos)
      return refused("the cursor is cut short", index, text);
    text.remove_prefix(is_last ? text.size() : colon + 1);
  }
  return all;
}

result<std::vector<std::int64_t>> read_offsets(std::string_view text) {
  const auto shards = static_cast<std::size_t>(std::ranges::count(text, ',')) + 1;
  if (shards > cursor::max_shards)
    return refused("a cursor has at most 4096 shards", part::offsets, text).with("shards", std::to_string(shards));
  std::vector<std::int64_t> all;
  all.reserve(shards);
  while (all.size() < shards) {
    const auto digits = text.substr(0, text.find(','));
    const auto offset = read_number<std::int64_t>(digits);
    if (!offset || *offset < -1 || *offset > cursor::max_offset)
      return refused("an offset is not a number from -1 to 2^62", part::offsets, digits)
        .with("shard", std::to_string(all.size()));
    all.push_back(*offset);
    text.remove_prefix(std::min(digits.size() + 1, text.size()));
  }
  return all;
}

/// Reads the parts with an open mind; what can be written in several ways is compared with the one way later.
result<cursor> read(const parts& from) {
  cursor at;
  const auto store_id = read_number<std::uint64_t>(from[part::store], 16);
  if (!store_id)
    return refused("the store's id is not 16 hexadecimal digits", part::store, from[part::store]);
  at.store = *store_id;
  auto name = read_escaped(from[part::topic]);
  if (!name)
    return refused("the topic has a % without two hexadecimal digits", part::topic, from[part::topic]);
  if (const auto checked = check_topic_name(*name); !checked)
    return refused(checked.error().sentence(), part::topic, from[part::topic]);
  at.topic = std::move(*name);
  const auto number = read_number<std::uint64_t>(from[part::epoch]);
  if (!number)
    return refused("the epoch is not a number from 0 to 2^64-1", part::epoch, from[part::epoch]);
  at.epoch = *number;
  auto all = read_offsets(from[part::offsets]);
  if (!all)
    return std::move(all).error();
  at.offsets = std::move(all).value();
  return at;
}

std::string hex(std::uint64_t number) {
  std::string text;
  detail::append_hex(text, number, 16);
  return text;
}

error other(errc code, std::string_view sentence, std::string given, std::string expected) {
  return error{code, std::string{sentence}, {{"given", std::move(given)}, {"expected", std::move(expected)}}};
}

} // namespace

std::string to_text(const cursor& at) {
  std::string text{text_version};
  text += ':';
  detail::append_hex(text, at.store, 16);
  text += ':';
  append_escaped(text, at.topic);
  text += ':';
  text += std::to_string(at.epoch);
  text += ':';
  for (std::size_t shard = 0; shard < at.offsets.size(); ++shard) {
    if (shard > 0)
      text += ',';
    text += std::to_string(at.offsets[shard]);
  }
  const auto sum = crc32c(text);
  text += ':';
  detail::append_hex(text, sum, 8);
  return text;
}

result<cursor> parse_cursor(std::string_view text) {
  if (text.size() > cursor::max_text)
    return error{errc::invalid_cursor, "no cursor is longer than 96 KiB",
      {{"given", detail::excerpt(text)}, {"size", std::to_string(text.size())}}};
  const auto given = split(text);
  if (!given)
    return given.error();
  auto at = read(given.value());
  if (!at)
    return at;
  const auto written = to_text(at.value());
  const auto expected = split(written).value();
  for (std::size_t index = 0; index < expected.size(); ++index)
    if (const auto one = given.value()[index]; one != expected[index]) {
      if (index == part::check)
        return refused("the checksum does not fit: the cursor was cut or changed", index, one);
      return refused("a cursor is written in one way only", index, one).with("expected", detail::excerpt(expected[index]));
    }
  return at;
}

result<void> check_source(const cursor& given, const cursor& there) {
  if (given.store != there.store)
    return other(errc::wrong_source, "the cursor is of another store", hex(given.store), hex(there.store));
  if (given.topic != there.topic)
    return other(
      errc::wrong_source, "the cursor is of another topic", detail::excerpt(given.topic), detail::excerpt(there.topic));
  if (given.epoch != there.epoch)
    return other(errc::stale_epoch, "the cursor is of another epoch of the topic", std::to_string(given.epoch),
      std::to_string(there.epoch));
  if (given.offsets.size() != there.offsets.size())
    return other(errc::layout_mismatch, "the cursor has another number of shards", std::to_string(given.offsets.size()),
      std::to_string(there.offsets.size()));
  return success();
}

} // namespace weir
