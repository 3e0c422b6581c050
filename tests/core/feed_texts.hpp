#pragma once

#include <weir/feed_machine.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace core_tests {

// What a feed's machine answers, for a person who reads why a check failed.

std::string text_of(std::uint64_t number);
std::string text_of(weir::credit amount);
std::string text_of(weir::feed_machine::next_is next);
std::string text_of(weir::feed_machine::read_was was);
std::string text_of(const weir::feed_machine::handed_out& one);
std::string text_of(const std::optional<weir::feed_machine::read_order>& order);
std::string text_of(const std::optional<std::pair<std::int64_t, std::int64_t>>& missed);
std::string text_of(const weir::result<weir::acknowledged>& answer);
std::string text_of(const std::vector<weir::shard_progress>& all);

/// Whether two of its answers are the same.
template <class T>
bool is_same(const T& left, const T& right) {
  return left == right;
}
inline bool is_same(
  const std::optional<weir::feed_machine::read_order>& left, const std::optional<weir::feed_machine::read_order>& right) {
  return left.has_value() == right.has_value()
         && (!left
             || (left->number == right->number && left->shard == right->shard && left->after == right->after
                 && left->limits.entries == right->limits.entries && left->limits.bytes == right->limits.bytes));
}

} // namespace core_tests
