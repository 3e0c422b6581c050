#pragma once

#include <weir/digest_chain.hpp>
#include <weir/position.hpp>

#include <cstdint>
#include <optional>

namespace weir {

/// How a log source finds a place again: which log, and the digest of the entry there (and so of all before it). 32 bytes; all
/// zero in the digest before the first entry.
struct log_stamp {
  std::uint64_t store = 0;
  std::uint64_t topic_epoch = 0;
  chain_digest digest = {};

  friend bool operator==(const log_stamp&, const log_stamp&) = default;

  bool is_of_same_log(const log_stamp& other) const noexcept {
    return store == other.store && topic_epoch == other.topic_epoch;
  }

  stamp to_stamp() const;
  static std::optional<log_stamp> from(const stamp& bytes) noexcept;
};

} // namespace weir
