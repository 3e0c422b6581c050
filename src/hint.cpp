#include <weir/hint.hpp>

#include "hex_text.hpp"
#include "name_rule.hpp"

namespace weir {

result<void> check_bus_topic(std::string_view topic) {
  return detail::check_name(topic, max_bus_topic, errc::bad_topic, "a bus topic");
}

result<void> check_hint_size(std::string_view key, std::string_view payload) {
  if (key.size() <= max_hint_bytes && payload.size() <= max_hint_bytes - key.size())
    return success();
  return error{errc::too_large, "a hint has at most 5800 bytes, key and payload together",
    {{"key", std::to_string(key.size())}, {"payload", std::to_string(payload.size())}}};
}

std::string to_string(bus_id id) {
  std::string text;
  detail::append_hex(text, id.number, 16);
  return text;
}

std::string_view name_of(loss_cause cause) noexcept {
  switch (cause) {
  case loss_cause::buffer_full: return "buffer_full";
  case loss_cause::conflated: return "conflated";
  case loss_cause::link_gap: return "link_gap";
  case loss_cause::publisher: return "publisher";
  case loss_cause::undecodable: return "undecodable";
  case loss_cause::several: break;
  }
  return "several";
}

void lost::add(const lost& other) {
  count += other.count;
  is_exact = is_exact && other.is_exact;
  if (publisher != other.publisher)
    publisher.reset();
  if (cause != other.cause)
    cause = loss_cause::several;
}

} // namespace weir
