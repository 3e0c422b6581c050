#pragma once

#include <weir/durable.hpp>

#include "conformance/durable/relayed_log.hpp"
#include "conformance/stream/ends.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace durable_suite {

/// Where a durable stream is kept, across the processes that a test starts and kills. The suite is a library of test cases; a
/// program that links it defines new_place(), and thereby says which adapter.
class durable_place {
public:
  virtual ~durable_place() = default;
  virtual const char* name() const noexcept = 0;

  /// The log, as a new process opens it.
  virtual std::shared_ptr<weir::log_store> open() = 0;

  /// Where its threads answer; null where it has none.
  virtual caf::actor_system* elsewhere() = 0;
};

/// An empty one.
std::unique_ptr<durable_place> new_place();

/// One process that has the stream open: a world of its own, until it is killed or ends.
class process {
public:
  process(durable_place& at, std::uint64_t seed, weir::durable::options wanted);
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  actor_tests::simulation& world() noexcept { return *world_; }
  weir::stream& stream() noexcept { return opened_->stream; }
  const weir::durable::opened& opened() const noexcept { return *opened_; }

  /// What the world's calls of the log pass.
  relay& log() noexcept { return *through_; }

  /// At once and for good: whatever it has not done by now never happens. Its ends must not be used any more.
  void kill() { through_->cut(); }

  /// Lets go of the stream in good order: everything that it still does is done.
  void leave();

private:
  std::shared_ptr<relay> through_;
  std::unique_ptr<actor_tests::simulation> world_;
  std::optional<weir::durable::opened> opened_;
};

/// One process after the other, each with a stream of its own in an empty log: `body(place, process)`, once for each seed.
template <class F>
void for_each_process(std::uint64_t count, const weir::durable::options& wanted, F body) {
  for (const auto seed : core_tests::seeds(count)) {
    INFO(core_tests::replay(seed));
    const auto at = new_place();
    process only{*at, seed, wanted};
    body(*at, only);
  }
}

inline weir::durable::options lanes(std::vector<weir::lane_id> names) {
  weir::durable::options wanted;
  wanted.lanes = std::move(names);
  return wanted;
}

inline stream_suite::numbers up_to(std::uint64_t last, std::uint64_t first = 1) {
  stream_suite::numbers all;
  for (auto one = first; one <= last; ++one)
    all.push_back(one);
  return all;
}

/// Why a process can't open the stream, and has started nothing; absent where it can. `prepare` sees its relay before.
std::optional<weir::error> refusal_of(
  durable_place& at, weir::durable::options wanted, const std::function<void(relay&)>& prepare = [](relay&) {});

/// Somebody else writes into a topic, whose layout is used where it is new.
void write_foreign(
  durable_place& at, const std::string& topic, weir::topic_layout layout, const std::vector<std::string>& payloads);

/// What the log itself says.
weir::shard_bounds bounds_of(durable_place& at, const std::string& topic = "stream");
std::vector<weir::checkpoint> checkpoints_of(durable_place& at, const std::string& topic = "stream");

} // namespace durable_suite
