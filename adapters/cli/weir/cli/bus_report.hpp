#pragma once

#include <weir/bus.hpp>
#include <weir/cli/exit_code.hpp>
#include <weir/error.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// What the commands of `weir bus` say, as text for people and as JSON: whole lines, each with its line feed. Pure.
namespace weir::cli {

/// {"type":"hint","topic","key","payload","publisher","number","on_topic","time"}, {"type":"lost","count","exact","publisher",
/// "cause"} or {"type":"gone","publisher"}. What is no UTF-8 is key_base64 and payload_base64; an empty key is left out.
std::string record_json(const bus_record& one);

/// "lost 3 hints (buffer_full)", "lost an unknown number of hints of … (link_gap)", "… is gone"; for a hint, nothing.
std::string loss_text(const bus_record& one);

/// How publishing went.
struct publish_report {
  std::uint64_t published = 0;   ///< hints that were accepted
  std::uint64_t unconfirmed = 0; ///< of these: refused by the server, or nobody knows whether it has them
  std::optional<error> failure = {};
};

std::string published_text(const publish_report& done);
std::string published_json(const publish_report& done);

/// What a bus has heard in a time.
/// @param own the bus that has listened: it is left out
std::string stat_text(const bus_stats& heard, bus_id own, std::chrono::milliseconds time);
std::string stat_json(const bus_stats& heard, bus_id own, std::chrono::milliseconds time);

/// "weir bus COMMAND: SENTENCE (code=…, fact=…)".
std::string bus_failure_text(std::string_view command, const error& why);

/// 2 where the server refuses, or is not what a bus needs; otherwise 1.
exit_code code_of_bus(const error& why) noexcept;

} // namespace weir::cli
