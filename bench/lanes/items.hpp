#pragma once

#include <weir/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace weir_bench {

/// What the cases carry: item number n is a live batch at position (1, n) with one of a few hundred blocks that were built
/// before, in turn. What is measured is the way, for Weir and its peers alike, and not the making of changes.
class item_pool {
public:
  explicit item_pool(std::size_t payload_bytes, std::size_t envelopes_per_block = 1)
    : payload_bytes_{payload_bytes},
      envelopes_per_block_{envelopes_per_block} {
    for (std::size_t index = 0; index < block_count; ++index) {
      std::vector<weir::envelope> envelopes;
      for (std::size_t number = 0; number < envelopes_per_block; ++number)
        envelopes.push_back(
          {"files", "key-" + std::to_string(number), weir::operation::upsert, std::string(payload_bytes, 'x'), {}});
      blocks_.push_back(weir::make_block(std::move(envelopes)));
    }
  }

  weir::batch make(std::uint64_t number, std::int64_t due_ns = 0) const {
    weir::batch made;
    auto& at = made.at.emplace();
    at.epoch = 1;
    at.seq = number;
    at.time = due_ns;
    made.changes = envelopes_per_block_;
    made.envelopes = block_of(number);
    return made;
  }

  /// Payload bytes of that batch that do not lie where they lay when it was published.
  std::uint64_t bytes_moved(const weir::batch& delivered) const noexcept {
    return delivered.envelopes == block_of(delivered.at->seq) ? 0 : payload_bytes_ * delivered.changes;
  }

  std::size_t payload_bytes() const noexcept { return payload_bytes_; }

private:
  static constexpr std::size_t block_count = 256;

  const weir::block_ptr& block_of(std::uint64_t number) const noexcept { return blocks_[number % block_count]; }

  std::size_t payload_bytes_;
  std::size_t envelopes_per_block_;
  std::vector<weir::block_ptr> blocks_;
};

} // namespace weir_bench
