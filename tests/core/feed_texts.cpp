#include "feed_texts.hpp"

namespace core_tests {

using weir::feed_machine;

std::string text_of(std::uint64_t number) {
  return std::to_string(number);
}

std::string text_of(weir::credit amount) {
  return std::to_string(amount.items) + " entries/" + std::to_string(amount.bytes) + " bytes";
}

std::string text_of(feed_machine::next_is next) {
  switch (next) {
  case feed_machine::next_is::deliverable: return "deliverable";
  case feed_machine::next_is::absent: return "absent";
  case feed_machine::next_is::uncredited: return "uncredited";
  case feed_machine::next_is::oversize: return "oversize";
  }
  return "unknown";
}

std::string text_of(feed_machine::read_was was) {
  switch (was) {
  case feed_machine::read_was::taken: return "taken";
  case feed_machine::read_was::superseded: return "superseded";
  case feed_machine::read_was::disordered: return "disordered";
  }
  return "unknown";
}

std::string text_of(const feed_machine::handed_out& one) {
  return std::to_string(one.offset) + " of shard " + std::to_string(one.shard);
}

std::string text_of(const std::optional<feed_machine::read_order>& order) {
  if (!order)
    return "none";
  return "#" + std::to_string(order->number) + " of shard " + std::to_string(order->shard) + " behind "
         + std::to_string(order->after) + ", up to " + text_of(weir::credit{order->limits.entries, order->limits.bytes});
}

std::string text_of(const std::optional<std::pair<std::int64_t, std::int64_t>>& missed) {
  return missed ? std::to_string(missed->first) + ".." + std::to_string(missed->second - 1) : "none";
}

std::string text_of(const weir::result<weir::acknowledged>& answer) {
  if (answer.has_error())
    return std::string{name_of(answer.error().code())};
  switch (answer.value()) {
  case weir::acknowledged::moved: return "moved";
  case weir::acknowledged::kept: return "kept";
  case weir::acknowledged::nothing: return "nothing";
  }
  return "unknown";
}

std::string text_of(const std::vector<weir::shard_progress>& all) {
  std::string text;
  for (const auto& one : all)
    text += (text.empty() ? "shard " : "; shard ") + std::to_string(one.shard) + " acked " + std::to_string(one.acked)
            + " delivered " + std::to_string(one.delivered) + " earliest " + std::to_string(one.earliest) + " head "
            + std::to_string(one.head) + " in flight " + std::to_string(one.in_flight);
  return text;
}

} // namespace core_tests
