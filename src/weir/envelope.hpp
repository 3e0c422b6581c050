#pragma once

#include <weir/position.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

enum class operation : std::uint8_t { upsert, erase };

/// One change of one key. Keys and payloads are bytes, not text; std::string holds them as they came.
struct envelope {
  std::string collection = {}; ///< index, table
  std::string key = {};
  weir::operation operation = weir::operation::upsert;
  std::optional<std::string> payload = {};                       ///< absent on erase
  std::vector<std::pair<std::string, std::string>> headers = {}; ///< usually empty

  /// What it holds in memory, in bytes: its strings' lengths and its own fixed size.
  std::size_t size_in_bytes() const noexcept;
};

/// A transaction's share of a block: the envelopes [begin, begin + count) belong to `at`, and the first of them is the
/// transaction's change number `first_index` (above 0 where a batch boundary cut it before).
struct transaction_part {
  position at = {};
  std::size_t begin = 0;
  std::size_t count = 0;
  std::uint64_t first_index = 0;
};

/// Something that lives exactly as long as a block, and ends with it: a byte budget's charge, for one.
class block_attachment {
public:
  explicit block_attachment(const void* owner) noexcept : owner_{owner} {}
  virtual ~block_attachment() = default;
  block_attachment(const block_attachment&) = delete;
  block_attachment& operator=(const block_attachment&) = delete;

private:
  friend class block;
  const void* owner_;
  block_attachment* next_ = nullptr;
};

/// The envelopes of one batch: immutable, shared by every lane that carries the batch, copied by none.
class block {
public:
  explicit block(std::vector<envelope> envelopes, std::vector<transaction_part> parts = {});
  ~block();
  block(const block&) = delete;
  block& operator=(const block&) = delete;

  const std::vector<envelope>& envelopes() const noexcept { return envelopes_; }

  /// Which envelopes belong to which transaction, in order. Empty where the source does not say (then the batch's position
  /// stands for all), and in snapshots.
  const std::vector<transaction_part>& parts() const noexcept { return parts_; }

  std::size_t size_in_bytes() const noexcept { return bytes_; }

  /// Attaches one thing per owner, from any thread. False when that owner's is there already: then `held` is ended at once.
  bool attach(std::unique_ptr<block_attachment> held) const noexcept;

  bool has_attachment_of(const void* owner) const noexcept {
    for (auto* one = attachments_.load(std::memory_order_acquire); one != nullptr; one = one->next_)
      if (one->owner_ == owner)
        return true;
    return false;
  }

private:
  std::vector<envelope> envelopes_;
  std::vector<transaction_part> parts_;
  std::size_t bytes_;
  mutable std::atomic<block_attachment*> attachments_{nullptr};
};

using block_ptr = std::shared_ptr<const block>;

inline block_ptr make_block(std::vector<envelope> envelopes, std::vector<transaction_part> parts = {}) {
  return std::make_shared<const block>(std::move(envelopes), std::move(parts));
}

} // namespace weir
