#pragma once

#include <weir/digest_chain.hpp>
#include <weir/error.hpp>
#include <weir/log_entry.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// How an embedded store keeps entries that were stored together: their records one behind the other, and a head of 32 bytes
/// for each. A head says by itself where its record is, so that a damaged entry takes no other one along. All numbers are
/// little endian:
///
///     begin   4 bytes   of the record, in the block's records
///     length  4 bytes   of the record
///     time    8 bytes   when the entry was stored
///     digest 16 bytes   of the chain, up to and with this entry
inline constexpr std::size_t log_head_size = 32;

/// Collects entries into one block.
class log_block_builder {
public:
  /// The block begins at that offset, behind an entry of that digest.
  log_block_builder(std::int64_t first, const chain_digest& before) : first_{first}, last_{before} {}

  /// Returns the entry's offset.
  std::int64_t add(const new_entry& given, std::int64_t time);

  std::int64_t first() const noexcept { return first_; }
  std::int64_t count() const noexcept { return static_cast<std::int64_t>(heads_.size() / log_head_size); }
  bool empty() const noexcept { return heads_.empty(); }
  std::size_t size_in_bytes() const noexcept { return heads_.size() + records_.size(); }

  const std::string& heads() const noexcept { return heads_; }
  const std::string& records() const noexcept { return records_; }
  const chain_digest& last() const noexcept { return last_; }

private:
  std::int64_t first_;
  chain_digest last_;
  std::string heads_;
  std::string records_;
};

/// Reads a stored block, which may be damaged anywhere. Sees the bytes that it was given; they must live as long as it does.
class log_block_view {
public:
  struct head {
    std::uint32_t begin = 0;
    std::uint32_t length = 0;
    std::int64_t time = 0;
    chain_digest digest = {};
  };

  log_block_view(std::int64_t first, std::string_view heads, std::string_view records) noexcept
    : first_{first},
      heads_{heads},
      records_{records} {}

  std::int64_t first() const noexcept { return first_; }

  /// Behind the last entry that has a whole head.
  std::int64_t end() const noexcept { return first_ + static_cast<std::int64_t>(heads_.size() / log_head_size); }

  head head_of(std::int64_t offset) const noexcept;

  /// The record; empty when its head names bytes that are not there.
  std::string_view record_of(std::int64_t offset) const noexcept;

  /// The digest that the entry's own bytes and the one before it amount to, whatever its head says.
  chain_digest digest_after(const chain_digest& before, std::int64_t offset) const noexcept;

private:
  std::int64_t first_;
  std::string_view heads_;
  std::string_view records_;
};

/// Reads entries of a shard one after the other and verifies each against the one before it. Behind a damaged entry, which may
/// be damaged in its bytes or in its digest, the next one is verified against all that it may have been: damage of one entry
/// makes no other one corrupt.
class log_verifier {
public:
  /// Begins behind an entry whose stored digest is this.
  explicit log_verifier(const chain_digest& before) noexcept { resume_after(before); }

  /// Passes an entry by, without decoding it: one before the first that is wanted.
  void pass(const log_block_view& block, std::int64_t offset) noexcept { (void)is_next(block, offset); }

  /// Passes an entry that is known to be lost, behind which the chain goes on from its stored digest.
  void resume_after(const chain_digest& stored) noexcept;

  /// The digest before the entry, if the entry fits to it.
  std::optional<chain_digest> before(const log_block_view& block, std::int64_t offset) const noexcept;

  /// The entry, or why it is not what was appended.
  result<entry> read(const log_block_view& block, std::int64_t offset);

private:
  static constexpr std::size_t most = 8;

  bool is_next(const log_block_view& block, std::int64_t offset) noexcept;

  // What is stored with the entry before, and behind damage also what its bytes amount to, after each of what was before it.
  std::array<chain_digest, most> before_;
  std::size_t count_ = 1;
};

} // namespace weir
