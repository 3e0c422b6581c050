#include <weir/topic_name.hpp>

#include "hex_text.hpp"
#include "name_rule.hpp"

namespace weir {

namespace {

constexpr std::string_view codec_version = "w1";
constexpr char escape = '_';

/// What every backend takes and none folds: not the capital letters, which some file systems and SQL names do not keep apart.
constexpr bool is_plain(char one) noexcept {
  return (one >= 'a' && one <= 'z') || (one >= '0' && one <= '9');
}

} // namespace

result<void> check_topic_name(std::string_view name) {
  return detail::check_name(name, max_topic_name, errc::invalid_argument, "a topic's name");
}

std::string encode_topic_name(std::string_view name) {
  std::string encoded{codec_version};
  for (const auto one : name)
    if (is_plain(one)) {
      encoded += one;
    } else {
      encoded += escape;
      detail::append_hex(encoded, static_cast<unsigned char>(one), 2);
    }
  return encoded;
}

std::optional<std::string> decode_topic_name(std::string_view encoded) {
  if (!encoded.starts_with(codec_version))
    return std::nullopt;
  std::string name;
  for (auto rest = encoded.substr(codec_version.size()); !rest.empty();) {
    if (rest[0] != escape) {
      name += rest[0];
      rest.remove_prefix(1);
      continue;
    }
    const auto high = rest.size() < 3 ? -1 : detail::hex_value(rest[1]);
    const auto low = rest.size() < 3 ? -1 : detail::hex_value(rest[2]);
    if (high < 0 || low < 0)
      return std::nullopt;
    name += static_cast<char>(high << 4 | low);
    rest.remove_prefix(3);
  }
  // Whatever can be read in a second way (capital digits, an escape that is not needed) is written in one.
  if (!check_topic_name(name) || encode_topic_name(name) != encoded)
    return std::nullopt;
  return name;
}

} // namespace weir
