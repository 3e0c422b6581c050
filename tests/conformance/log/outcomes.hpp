#pragma once

#include <weir/credit.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

namespace doctest {

template <>
struct StringMaker<std::optional<weir::errc>> {
  static String convert(const std::optional<weir::errc>& code) {
    return String{code ? std::string{name_of(*code)}.c_str() : "success"};
  }
};

template <>
struct StringMaker<weir::shard_bounds> {
  static String convert(const weir::shard_bounds& there) {
    return String{("[" + std::to_string(there.earliest) + ", " + std::to_string(there.head) + ")").c_str()};
  }
};

template <>
struct StringMaker<weir::entry_place> {
  static String convert(const weir::entry_place& at) {
    const auto text = std::to_string(at.shard) + "/" + std::to_string(at.offset) + (at.was_there ? " (was there)" : "");
    return String{text.c_str()};
  }
};

template <>
struct StringMaker<weir::credit> {
  static String convert(const weir::credit& amount) {
    return String{(std::to_string(amount.items) + " entries, " + std::to_string(amount.bytes) + " bytes").c_str()};
  }
};

template <class T>
struct StringMaker<std::vector<T>> {
  static String convert(const std::vector<T>& all) {
    String text = "{";
    for (std::size_t one = 0; one < all.size(); ++one)
      text = text + (one > 0 ? ", " : "") + toString(all[one]);
    return text + "}";
  }
};

} // namespace doctest

namespace log_suite {

using offsets = std::vector<std::int64_t>;
using texts = std::vector<std::string>;

/// The code of what went wrong; absent when nothing did.
template <class T>
std::optional<weir::errc> fault(const weir::result<T>& ended) {
  return ended ? std::nullopt : std::optional{ended.error().code()};
}

/// What a fault says under that name; empty where there is none.
template <class T>
std::string fact(const weir::result<T>& ended, std::string_view name) {
  return ended ? std::string{} : std::string{ended.error().fact_of(name)};
}

/// The value, which must be there.
template <class T>
T must(weir::result<T> ended) {
  REQUIRE_MESSAGE(ended, ended.error().to_string());
  return std::move(ended).value();
}

inline void must(const weir::result<void>& ended) {
  REQUIRE_MESSAGE(ended, ended.error().to_string());
}

/// Whether the running test can't be shown on this adapter: then it is listed as skipped, by its name.
bool lacks(bool capability, const char* reason);

} // namespace log_suite
