#pragma once

#include <weir/batch.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weir {

/// The backfills that sinks have asked for and that are not done: at most one waiting and one running for each (sink,
/// collection), so that asking never has to wait. At least once: a request stays until it is acknowledged, and is due again
/// when its server goes away.
///
/// A newer request for a pair replaces one that still waits; one that already runs is left to end (its sink ignores the old
/// id), and the newer one waits behind it.
class request_set {
public:
  struct lent {
    std::uint64_t ticket;  ///< names this delivery; every delivery of a request has its own
    std::uint32_t attempt; ///< 1 the first time
    request asked;
  };

  /// Adds a request. Never refuses: the set is bounded by its keys.
  void add(request asked);

  /// Lends the oldest request that waits and of whose pairs none is running.
  std::optional<lent> next();

  /// The request is served. False when the ticket is stale (returned, or served before).
  bool acknowledge(std::uint64_t ticket);

  /// The request is due again, before anything newer, unless newer requests have taken over all of its pairs.
  bool give_back(std::uint64_t ticket);

  /// Everything lent is due again: the server went away.
  void return_all();

  /// The sink's lane was retired: its requests go; what runs is forgotten when it ends.
  void forget(const std::string& sink);

  /// The same for one collection of a sink whose collections have lanes of their own.
  void forget(const std::string& sink, const std::string& collection);

  /// Everything that is not done, oldest first.
  std::vector<request> all() const;

  bool empty() const noexcept { return waiting_.empty() && running_.empty(); }
  std::size_t waiting() const noexcept { return waiting_.size(); }
  std::size_t running() const noexcept { return running_.size(); }

private:
  struct entry {
    request asked;
    std::uint64_t age; // the lower, the older
    std::uint32_t attempts = 0;
  };

  bool is_running(const std::string& sink, const std::string& collection) const;
  void drop_pairs_of(const request& newer);

  std::uint64_t next_age_ = 1;
  std::uint64_t next_ticket_ = 1;
  std::map<std::uint64_t, entry> waiting_; // by age
  std::map<std::uint64_t, entry> running_; // by ticket
};

} // namespace weir
