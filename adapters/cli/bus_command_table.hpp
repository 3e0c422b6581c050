#pragma once

#include "subcommand_line.hpp"

#include <array>
#include <string_view>

/// The commands of `weir bus`, as their help shows them.
namespace weir::cli::bus_table {

inline constexpr option_row bus{
  "--bus", "URL", "The bus, as in postgres://localhost/app; a password is better kept in ~/.pgpass"};
inline constexpr option_row channel{
  "--channel", "NAME", "The server's channel: buses on the same one hear each other (weir_bus)"};

inline constexpr std::array publish_options{
  bus,
  channel,
  option_row{"--key", "KEY", "The key of each hint"},
  option_row{"--json", "", "Say what was published as one JSON object"},
};
inline constexpr std::array subscribe_options{
  bus,
  channel,
  option_row{"--count", "N", "End after so many hints"},
  option_row{
    "--policy", "POLICY", "What a full buffer does: drop-newest, drop-oldest, conflate, last-by-key or end (drop-newest)"},
  option_row{"--buffer", "N", "How many hints wait to be printed: 1 to 1048576 (1024)"},
  option_row{"--json", "", "Print each record as a JSON object"},
};
inline constexpr std::array stat_options{
  bus,
  channel,
  option_row{"--for", "DURATION", "How long to listen, as in 30s (6s)"},
  option_row{"--json", "", "Print one JSON object"},
};

inline constexpr std::array commands{
  command_row{"publish", "Publish standard input, line by line", publish_options, R"(Example:
  echo 42 | weir bus publish --bus postgres://localhost/app changed/orders

Each line is a hint's payload, its bytes as they are; with the key 5800 bytes at most. Waits where the server is not there.
Ctrl-C or SIGTERM reads no further. Ends with code 1 when nobody knows whether the server has every hint.)"},
  command_row{"subscribe", "Print hints as they come, until a signal", subscribe_options, R"(Example:
  weir bus subscribe --bus postgres://localhost/app changed/orders
  weir bus subscribe --bus postgres://localhost/app changed/orders --json --count 10 | jq .

Prints each payload and a line feed. What is lost, and that a bus is gone, is said on standard error, where it happened; with
--json it is an object among the others. What was published before is not heard.)"},
  command_row{"stat", "Print who publishes, how long hints take, and how full the server's queue is", stat_options, R"(Example:
  weir bus stat --bus postgres://localhost/app
  weir bus stat --bus postgres://localhost/app --for 1min --json

Listens for a while. Buses that say that they are there less often than that may be missing.)",
    false},
};

} // namespace weir::cli::bus_table
