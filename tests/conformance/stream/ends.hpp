#pragma once

#include <weir/stream.hpp>

#include "actors/script.hpp"
#include "conformance/stream/implementation.hpp"
#include "core/lane_items.hpp"

#include <doctest/doctest.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace doctest {

template <>
struct StringMaker<std::vector<std::uint64_t>> {
  static String convert(const std::vector<std::uint64_t>& all) {
    std::string text = "{";
    for (const auto one : all)
      text += (text.size() > 1 ? ", " : "") + std::to_string(one);
    return String{(text + "}").c_str()};
  }
};

template <>
struct StringMaker<std::optional<weir::errc>> {
  static String convert(const std::optional<weir::errc>& code) {
    return String{code ? std::string{name_of(*code)}.c_str() : "success"};
  }
};

template <>
struct StringMaker<weir::errc> {
  static String convert(weir::errc code) { return String{std::string{name_of(code)}.c_str()}; }
};

template <>
struct StringMaker<std::optional<weir::position>> {
  static String convert(const std::optional<weir::position>& at) {
    return String{at ? (to_string(*at) + (at->ends_transaction ? "" : " (open)")).c_str() : "none"};
  }
};

} // namespace doctest

namespace stream_suite {

using actor_tests::pending;
using actor_tests::script;
using actor_tests::simulation;
using outcome = weir::result<void>;

/// A delivery as a test sees it, without its block: the lease itself stays in its actor, under this handle.
struct arrival {
  std::size_t handle = 0;
  std::uint64_t sequence = 0;
  std::uint32_t attempt = 0;
  weir::lane_item item;

  /// Of a live item; 0 for others.
  std::uint64_t seq() const {
    const auto* at = position_of(item);
    return at != nullptr ? at->seq : 0;
  }
};
using arrivals = weir::result<std::vector<arrival>>;

/// An actor that publishes when a test says so, to one lane or to several.
class publisher {
public:
  publisher(simulation& world, const weir::stream& over, std::vector<weir::lane_id> lanes = {"a"});

  /// Lets everything happen that can; it must then have completed.
  outcome publish(weir::lane_item item);
  outcome try_publish(weir::lane_item item);
  std::vector<outcome> publish_all(weir::lane_item item);
  weir::result<std::uint64_t> attach();

  // Only begun.
  pending<outcome> begin_publish(weir::lane_item item, std::size_t which = 0);
  pending<outcome> begin_publish_until(weir::lane_item item, weir::deadline until, std::size_t which = 0);
  pending<std::vector<outcome>> begin_publish_all(weir::lane_item item);
  pending<weir::result<std::uint64_t>> begin_attach(std::size_t which = 0);

  /// Lets go of the ends, in good order; the actor lives on.
  void drop_ends();
  void kill() { script_.kill(); }
  const weir::actor_ref& ref() const { return script_.actor().ref(); }

private:
  struct belongings;
  belongings* mine_; // the actor's
  script script_;

  publisher(simulation& world, std::shared_ptr<belongings> mine);
};

/// An actor that receives from one lane when a test says so, and holds its leases.
class subscriber {
public:
  subscriber(simulation& world, const weir::stream& over, const weir::lane_id& lane = "a", weir::window granted = {});
  subscriber(simulation& world, weir::consumer<weir::lane_item> end);

  /// Lets everything happen that can; it must then have completed.
  weir::result<arrival> receive();
  arrivals receive_some(std::size_t max_items, std::size_t max_bytes);
  weir::result<arrival> try_receive();
  weir::result<std::uint64_t> attach();
  outcome ack(std::size_t handle);
  outcome nack(std::size_t handle, std::chrono::milliseconds after = std::chrono::milliseconds{0});
  outcome ack_through(std::size_t handle);
  void drop(std::size_t handle);
  bool is_empty();

  /// Everything that can be received without being waited for, with its leases held.
  std::vector<arrival> receive_all();
  /// Receives so many, and acknowledges them; their positions' seqs.
  std::vector<std::uint64_t> take(std::size_t count);

  // Only begun.
  pending<weir::result<arrival>> begin_receive(weir::deadline until = weir::deadline::never());
  pending<weir::result<std::uint64_t>> begin_attach();
  pending<outcome> begin_ack(std::size_t handle);
  pending<outcome> begin_ack_through(std::size_t handle);
  pending<outcome> begin_nack(std::size_t handle, std::chrono::milliseconds after);
  pending<bool> begin_drop(std::size_t handle);

  void drop_end();
  void kill() { script_.kill(); }
  void request_stop() { script_.request_stop(); }
  const weir::actor_ref& ref() const { return script_.actor().ref(); }

private:
  struct belongings;
  belongings* mine_; // the actor's
  script script_;

  subscriber(simulation& world, std::shared_ptr<belongings> mine);
};

/// What the watermark says now.
weir::watermark_reading read_watermark(simulation& world, const weir::stream& over);

/// The figures of one lane.
weir::lane_figures figures_of(const weir::stream& over, const weir::lane_id& lane = "a");

/// The code of what went wrong; absent when nothing did.
template <class T>
std::optional<weir::errc> fault(const weir::result<T>& ended) {
  return ended ? std::nullopt : std::optional{ended.error().code()};
}

inline std::vector<std::uint64_t> seqs(const std::vector<arrival>& all) {
  std::vector<std::uint64_t> found;
  for (const auto& one : all)
    found.push_back(one.seq());
  return found;
}

using numbers = std::vector<std::uint64_t>;

} // namespace stream_suite
