#pragma once

#include <weir/batch.hpp>
#include <weir/error.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weir {

enum class announce_per : std::uint8_t {
  key,   ///< one hint for each key that changed
  batch, ///< one hint for each batch that changed anything
};

/// A hint to be published: look again.
struct announcement {
  std::string topic = {};
  std::string key = {};     ///< of the record that changed; empty: any of the collection may have
  std::string payload = {}; ///< the position up to which the sink has committed, as text; empty in a backfill

  friend bool operator==(const announcement&, const announcement&) = default;
};

/// Where changes of a collection are announced: a bus's topic, in which "{collection}" stands for the collection's name. Fails
/// with bad_topic.
result<void> check_announced_topic(std::string_view pattern);

/// What a sink has committed, and nobody was told yet: however often a key changed, it waits once. Where too many keys wait,
/// one hint without a key takes the place of all of its topic: it says more, not less. Where too many topics wait, so it is
/// with each of those behind them. The first hint of each topic has no key either: what was committed just before a crash was
/// perhaps not announced, and begin() says it at once. Pure.
class announcements {
public:
  struct bounds {
    std::size_t keys = 4096;       ///< that wait, of all topics together
    std::size_t bytes = 1U << 20U; ///< of the keys that wait
    std::size_t topics = 1024;     ///< that wait with their keys, or are known
    std::size_t names = 1U << 18U; ///< of topics that wait for room, to be told without keys then
  };

  /// @param pattern a valid one
  announcements(std::string pattern, announce_per per) : announcements{std::move(pattern), per, bounds{}} {}
  announcements(std::string pattern, announce_per per, bounds most);

  /// What was committed before this process began was perhaps not announced: of these collections, and where the pattern does
  /// not name them, of whatever. Those that find no room wait for it.
  void begin(const std::vector<std::string>& collections);

  /// An item was committed.
  void add(const lane_item& committed);

  /// Anything of the collection may have changed.
  void add_all(std::string_view collection, const std::string& payload = {});

  /// The next one; absent: nothing waits.
  std::optional<announcement> front() const;

  /// That one was published.
  void pop();

  /// Topics that no bus takes, or whose names alone were too many to wait.
  std::uint64_t dropped() const noexcept { return dropped_; }

  /// Why: of each collection once (the fact "collection"), with bad_topic or bus_full.
  std::vector<error> take_faults() { return std::exchange(faults_, {}); }

private:
  struct waiting {
    std::optional<std::string> whole = {}; ///< the payload of a hint without a key, which goes first
    std::deque<std::string> keys = {};     ///< in the order in which they came
    std::unordered_map<std::string, std::string> payloads = {};
  };

  void add_batch(const batch& one);
  void add_key(std::string_view collection, const std::string& key, const std::string& payload);
  waiting* topic_of(std::string_view collection);
  waiting& wait_on(std::string topic);
  void begin_more();
  void drop(std::string_view collection, error why);
  void forget_keys(waiting& in);

  std::string pattern_;
  announce_per per_;
  bounds most_;
  std::deque<std::string> order_; // of the topics that wait
  std::unordered_map<std::string, waiting> topics_;
  std::unordered_set<std::string> known_;
  std::set<std::string> to_begin_; // topics that wait for room
  std::size_t keys_ = 0;
  std::size_t bytes_ = 0;
  std::uint64_t dropped_ = 0;
  std::vector<error> faults_;
  std::unordered_set<std::string> told_; // collections
};

} // namespace weir
