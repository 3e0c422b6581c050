#pragma once

#include <weir/error.hpp>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace weir {

inline constexpr std::size_t max_bus_topic = 256;   ///< bytes
inline constexpr std::size_t max_hint_bytes = 5800; ///< of key and payload together

/// The one rule for topics of buses: 1 to 256 bytes of UTF-8 without NUL. Fails with bad_topic, which says what is wrong and at
/// which byte.
result<void> check_bus_topic(std::string_view topic);

/// Whether a bus carries that much. Fails with too_large.
result<void> check_hint_size(std::string_view key, std::string_view payload);

/// Which bus published something. Drawn by chance when the bus is opened.
struct bus_id {
  std::uint64_t number = 0;

  friend auto operator<=>(const bus_id&, const bus_id&) = default;
};

/// 16 hexadecimal digits.
std::string to_string(bus_id id);

/// Where a hint stands in what its bus published.
struct hint_place {
  bus_id publisher;
  std::uint64_t number = 0;      ///< of all, from 1
  std::uint64_t on_topic = 0;    ///< of those on its topic, from 1
  std::int64_t published_at = 0; ///< by the publisher's clock, nanoseconds since 1970
};

/// A message on a bus. Immutable; copies share it.
class hint {
public:
  hint(std::string topic, std::string key, std::string payload, hint_place at)
    : parts_{std::make_shared<const parts>(parts{std::move(topic), std::move(key), std::move(payload), at})} {}

  const std::string& topic() const noexcept { return parts_->topic; }
  const std::string& key() const noexcept { return parts_->key; }
  const std::string& payload() const noexcept { return parts_->payload; }
  const hint_place& at() const noexcept { return parts_->at; }
  bus_id publisher() const noexcept { return parts_->at.publisher; }

private:
  struct parts {
    std::string topic;
    std::string key;
    std::string payload;
    hint_place at;
  };

  std::shared_ptr<const parts> parts_;
};

enum class loss_cause : std::uint8_t {
  buffer_full, ///< the subscription's own buffer
  conflated,   ///< a newer hint took its place
  link_gap,    ///< this bus did not hear for a while
  publisher,   ///< accepted by its bus, and never sent or not heard
  undecodable, ///< heard, and not understood
  several,     ///< more than one of these
};

std::string_view name_of(loss_cause cause) noexcept;

/// Hints are missing here.
struct lost {
  std::uint64_t count = 0;
  bool is_exact = true;                 ///< otherwise there were at least so many
  std::optional<bus_id> publisher = {}; ///< absent: of several, or nobody knows
  loss_cause cause = loss_cause::several;

  /// Both, at one place.
  void add(const lost& other);

  friend bool operator==(const lost&, const lost&) = default;
};

/// A bus was closed, or is silent: what it said about keys is void.
struct gone {
  bus_id publisher;

  friend bool operator==(const gone&, const gone&) = default;
};

/// What a subscription yields.
using bus_record = std::variant<hint, lost, gone>;

} // namespace weir
