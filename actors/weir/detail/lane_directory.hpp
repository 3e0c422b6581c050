#pragma once

#include <weir/batch.hpp>
#include <weir/detail/lane_ends.hpp>
#include <weir/detail/stream_actors.hpp>
#include <weir/error.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace weir::detail {

/// Which lanes a stream has. Any thread.
class lane_directory {
public:
  struct lane {
    std::uint64_t key = 0;
    std::shared_ptr<const owned_actor> actor; // shared with the lane's ends: a retired lane is stopped with the last of them
    std::shared_ptr<lane_gauge> gauge;
  };

  explicit lane_directory(std::vector<std::string> collections) : collections_{collections.begin(), collections.end()} {}

  result<void> add(const lane_id& id, lane added);
  result<lane> take(const lane_id& id);
  result<lane> find(const lane_id& id) const;
  std::map<lane_id, lane> all() const;

  /// Requests are refused from here on.
  void close();

  /// Why nobody could serve the request: no lane of that sink, a collection that the stream does not carry, or closed.
  std::optional<error> find_fault(const request& asked) const;

private:
  error unknown(const lane_id& id) const;

  mutable std::mutex mutex_;
  std::map<lane_id, lane> lanes_;
  std::set<std::string, std::less<>> collections_; // empty: any
  bool closed_ = false;
};

} // namespace weir::detail
