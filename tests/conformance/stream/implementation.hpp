#pragma once

#include <weir/stream.hpp>

#include "actors/simulation.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stream_suite {

/// What every stream can be opened with.
struct stream_options {
  std::vector<weir::lane_id> lanes = {"a"};
  std::optional<weir::position> floor = {};
  weir::lane_bound bound = {};
  std::uint64_t budget = 64u << 20;
  std::vector<std::string> collections = {};
  std::optional<std::uint32_t> max_attempts = {};
  weir::dead_letter_policy dead_letters = weir::dead_letter_policy::stop_lane;
};

/// A stream that the suite runs against. The suite is a library of test cases; a program that links it defines
/// new_implementation(), and thereby says which one.
class implementation {
public:
  virtual ~implementation() = default;
  virtual const char* name() const noexcept = 0;

  /// Whether a lane that is full makes its publisher wait.
  virtual bool holds_up_publishers() const noexcept = 0;

  /// Opens an empty stream in that world.
  virtual weir::result<weir::stream> open(actor_tests::simulation& world, const stream_options& wanted) = 0;
};

/// A fresh one for each test, sharing nothing with those before.
std::unique_ptr<implementation> new_implementation();

/// Whether the running test can't be shown, because it needs a publisher that waits for a lane: then it is listed as skipped,
/// by its name.
bool no_lane_fills_up();

/// One stream in one simulated world.
class bench {
public:
  explicit bench(actor_tests::simulation& world) : world_{&world}, implementation_{new_implementation()} {}

  weir::stream open(const stream_options& wanted = {}) {
    auto opened = implementation_->open(*world_, wanted);
    REQUIRE(opened.has_value());
    return std::move(opened).value();
  }
  weir::result<weir::stream> try_open(const stream_options& wanted) { return implementation_->open(*world_, wanted); }

  actor_tests::simulation& world() const noexcept { return *world_; }

private:
  actor_tests::simulation* world_;
  std::unique_ptr<implementation> implementation_;
};

} // namespace stream_suite
