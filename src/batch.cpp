#include <weir/batch.hpp>

#include <charconv>

namespace weir {

std::size_t envelope::size_in_bytes() const noexcept {
  auto bytes = sizeof(envelope) + collection.size() + key.size() + (payload ? payload->size() : 0);
  for (const auto& [name, value] : headers)
    bytes += sizeof(headers.front()) + name.size() + value.size();
  return bytes;
}

block::block(std::vector<envelope> envelopes, std::vector<transaction_part> parts)
  : envelopes_{std::move(envelopes)},
    parts_{std::move(parts)},
    bytes_{sizeof(block) + parts_.size() * sizeof(transaction_part)} {
  for (const auto& one : envelopes_)
    bytes_ += one.size_in_bytes();
}

block::~block() {
  auto* held = attachments_.load(std::memory_order_acquire);
  while (held != nullptr)
    delete std::exchange(held, held->next_);
}

bool block::attach(std::unique_ptr<block_attachment> held) const noexcept {
  auto* head = attachments_.load(std::memory_order_acquire);
  do {
    for (auto* one = head; one != nullptr; one = one->next_)
      if (one->owner_ == held->owner_)
        return false;
    held->next_ = head;
  } while (!attachments_.compare_exchange_weak(head, held.get(), std::memory_order_acq_rel, std::memory_order_acquire));
  held.release(); // NOLINT(bugprone-unused-return-value): the list owns it now
  return true;
}

std::string to_string(const request_id& id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (int digit = 0; digit < 16; ++digit) {
    const auto shift = static_cast<unsigned>(60 - 4 * digit);
    text[static_cast<std::size_t>(digit)] = digits[(id.high >> shift) & 0xF];
    text[static_cast<std::size_t>(digit) + 16] = digits[(id.low >> shift) & 0xF];
  }
  return text;
}

std::optional<request_id> parse_request_id(std::string_view text) noexcept {
  if (text.size() != 32)
    return std::nullopt;
  auto parse_half = [](std::string_view half, std::uint64_t& value) {
    const auto [end, failure] = std::from_chars(half.data(), half.data() + half.size(), value, 16);
    return failure == std::errc{} && end == half.data() + half.size();
  };
  request_id id;
  if (!parse_half(text.substr(0, 16), id.high) || !parse_half(text.substr(16), id.low))
    return std::nullopt;
  return id;
}

std::size_t snapshot_complete::size_in_bytes() const noexcept {
  auto bytes = sizeof(snapshot_complete);
  for (const auto& collection : collections)
    bytes += sizeof(collection) + collection.size();
  return bytes;
}

std::string to_string(const lane_id& id) {
  return id.collection ? id.sink + "/" + *id.collection : id.sink;
}

} // namespace weir
