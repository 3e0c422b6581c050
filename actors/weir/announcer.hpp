#pragma once

#include <weir/announcements.hpp>
#include <weir/bus.hpp>
#include <weir/condition.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weir {

/// Where a sink announces what it has committed.
struct announce_options {
  bus to;
  std::string topic = {}; ///< as check_announced_topic() says: "changed/{collection}"
  announce_per per = announce_per::key;
};

/// Tells replicas what was committed, in the background: whoever commits never waits for it. Where the bus is full, what waits
/// grows together; where nobody can be told any more, that is said. Belongs to one actor.
class announcer {
public:
  /// @param on_failing is told why something can't be announced
  announcer(announce_options how, std::function<void(const error&)> on_failing);

  /// What was committed before this process began was perhaps not announced: of these collections, and where the topic does not
  /// name them, of whatever.
  void begin(const std::vector<std::string>& collections);

  void add(const lane_item& committed);

  /// Nothing more comes.
  void end();

  /// Publishes what comes, until end() and everything was published, or nothing goes for two seconds after it.
  static task<> run(self me, std::shared_ptr<announcer> of);

private:
  result<void> publish_all();
  void tell_faults();

  bus to_;
  announcements waiting_;
  std::function<void(const error&)> on_failing_;
  condition changed_;
  bool is_over_ = false;
};

} // namespace weir
