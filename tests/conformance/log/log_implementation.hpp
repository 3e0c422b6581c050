#pragma once

#include <weir/error.hpp>
#include <weir/log.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

/// What a program provides so that the suite tests its log.
namespace log_suite {

/// The time that a store under test goes by: it stands still until a test moves it.
class test_clock {
public:
  std::int64_t now() const noexcept { return now_; }
  void advance(std::chrono::nanoseconds by) noexcept { now_ += by.count(); }
  void go_back(std::chrono::nanoseconds by) noexcept { now_ -= by.count(); }

private:
  std::atomic<std::int64_t> now_{1'700'000'000'000'000'000};
};

/// What is damaged of an entry that is stored.
enum class damaged : std::uint8_t {
  payload,   ///< one bit of what was appended
  digest,    ///< of what it is verified by
  time,      ///< one bit
  place,     ///< where its bytes are: they are taken from elsewhere
  exchanged, ///< it and the next one in its block
  cut,       ///< it and what follows it in its block are gone
};

/// One store, which a test opens, closes and opens again.
class log_place {
public:
  log_place() = default;
  virtual ~log_place() = default;
  log_place(const log_place&) = delete;
  log_place& operator=(const log_place&) = delete;

  /// Opens the store; created the first time. Where nothing survives the process, a store that was let go of is empty again. A
  /// second one at the same time is another connection to the same, where the adapter has such.
  virtual std::shared_ptr<weir::log_store> open() = 0;

  /// What open() can do twice at a time, as two processes would.
  virtual bool is_shared() const noexcept { return false; }

  /// Changes what is stored of the entry, behind the store's back; false where that can't be done.
  virtual bool damage(const std::string& /*topic*/, std::uint32_t /*shard*/, std::int64_t /*offset*/, damaged /*what*/) {
    return false;
  }

  /// The same for a snapshot's chunk.
  virtual bool damage_chunk(const std::string& /*topic*/, std::uint64_t /*snapshot*/, std::uint64_t /*chunk*/) { return false; }

  /// Removes what is stored of the entry, and of those that were stored together with it.
  virtual bool lose(const std::string& /*topic*/, std::uint32_t /*shard*/, std::int64_t /*offset*/) { return false; }

  /// A consumer's own effect, for commit_together(): writes something down inside of the store's transaction.
  virtual weir::log_effect effect(std::string /*what*/) { return {}; }

  /// What was written down so, and committed.
  virtual std::vector<std::string> effects() { return {}; }

  test_clock clock;
};

struct place_options {
  std::size_t largest_entry = 1 << 20;
};

/// The adapter's name, and a new place of it.
const char* implementation_name() noexcept;
std::unique_ptr<log_place> new_place(place_options how = {});

} // namespace log_suite
