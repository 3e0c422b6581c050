#pragma once

#include <weir/bus.hpp>
#include <weir/spawn.hpp>

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

/// The suite that every bus adapter passes. A program that links it says where its buses live.
namespace bus_suite {

using namespace std::chrono_literals;

/// A hub, or a server and a channel of its own: buses that are opened here hear each other.
class bus_place {
public:
  bus_place();
  virtual ~bus_place() = default;
  bus_place(const bus_place&) = delete;
  bus_place& operator=(const bus_place&) = delete;

  virtual weir::bus open() = 0;

  caf::actor_system& system() noexcept { return system_; }

private:
  caf::actor_system_config config_;
  caf::actor_system system_;
};

std::unique_ptr<bus_place> make_place();

/// Long enough for anything that comes at all.
inline constexpr auto long_enough = 20s;

/// The next record, on this thread. Fails with timed_out.
weir::result<weir::bus_record> next(weir::subscription& from, std::chrono::milliseconds at_most = long_enough);

/// "one two -3(buffer_full)": payloads, losses with their count and cause, "gone"; until `hints` hints have come and everything
/// that is there was read.
std::string heard(weir::subscription& from, std::size_t hints);

/// The same for what comes up to a hint with that payload, which is not in it.
std::string heard_before(weir::subscription& from, const std::string& last);

/// "1 2 3".
std::string numbers(std::uint64_t first, std::uint64_t last);

weir::subscription subscribed(weir::bus& to, const std::string& topic, weir::subscription_options how = {});

} // namespace bus_suite
