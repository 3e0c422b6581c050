#pragma once

#include <weir/error.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

inline constexpr std::size_t max_topic_name = 249; ///< bytes

/// The one rule for topic names: 1 to 249 bytes of valid UTF-8 without NUL. Fails with invalid_argument, which says what is
/// wrong and at which byte.
result<void> check_topic_name(std::string_view name);

/// A valid topic name in an alphabet that every backend takes, for brokers, tables and files: "w1", the codec's version, and
/// then lowercase letters and digits as they are and every other byte as `_` and two lowercase hexadecimal digits. Injective,
/// also where the backend does not tell capital letters from small ones: no two topics get the same name. It can stand unquoted
/// in SQL. At most 3 bytes for each of the name's, and 2 more: longer than some backends' names may be.
std::string encode_topic_name(std::string_view name);

/// Back again; nothing where the text is not what encode_topic_name() returns for a valid name.
std::optional<std::string> decode_topic_name(std::string_view encoded);

} // namespace weir
