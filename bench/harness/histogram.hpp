#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace weir_bench {

/// Counts durations in logarithmic buckets, in the manner of HdrHistogram: 128 buckets for each power of two, so that a
/// percentile is at most 0.8 % above the true one. Records in constant time and never allocates after its construction.
/// Callers record from the moment an item was due, not from the moment somebody got round to it: a stall then counts for
/// everything that it delayed.
class latency_histogram {
public:
  latency_histogram() : counts_(bucket_count) {}

  void record(std::int64_t nanoseconds) noexcept {
    const auto value = nanoseconds > 0 ? static_cast<std::uint64_t>(nanoseconds) : 0;
    ++counts_[bucket_of(value)];
    ++total_;
    largest_ = std::max(largest_, value);
  }

  std::uint64_t count() const noexcept { return total_; }
  std::uint64_t largest() const noexcept { return largest_; }

  /// The smallest value that at least this share of what was recorded does not exceed; 0 when nothing was.
  std::uint64_t percentile(double share) const noexcept {
    const auto wanted = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(share * static_cast<double>(total_) + 0.5));
    std::uint64_t seen = 0;
    for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
      seen += counts_[bucket];
      if (seen >= wanted)
        return std::min(upper_end_of(bucket), largest_);
    }
    return largest_;
  }

private:
  static constexpr int sub_bits = 7;
  static constexpr std::size_t sub_count = std::size_t{1} << sub_bits;
  static constexpr std::size_t bucket_count = (64 - sub_bits + 1) * sub_count;

  // Below sub_count every value has its own bucket; above, a power of two is cut into sub_count equal parts.
  static std::size_t bucket_of(std::uint64_t value) noexcept {
    if (value < sub_count)
      return static_cast<std::size_t>(value);
    const auto shift = static_cast<int>(std::bit_width(value)) - 1 - sub_bits;
    return (static_cast<std::size_t>(shift) + 1) * sub_count + static_cast<std::size_t>((value >> shift) - sub_count);
  }

  static std::uint64_t upper_end_of(std::size_t bucket) noexcept {
    if (bucket < sub_count)
      return bucket;
    const auto shift = bucket / sub_count - 1;
    return ((bucket % sub_count + sub_count + 1) << shift) - 1;
  }

  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0;
  std::uint64_t largest_ = 0;
};

} // namespace weir_bench
