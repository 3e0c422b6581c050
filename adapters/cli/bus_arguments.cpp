#include <weir/cli/bus_arguments.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/hint.hpp>

#include "bus_command_table.hpp"
#include "command_line.hpp"

#include <boost/outcome/try.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace weir::cli {

namespace {

constexpr auto description = "Publishes and prints hints: small messages to every replica, of which none is lost silently.";

constexpr auto footer = R"(Example:
  weir bus subscribe --bus postgres://localhost/app changed/orders &
  echo 42 | weir bus publish --bus postgres://localhost/app changed/orders

Exit codes:
  0    done
  1    failed while running: the server is gone, or nobody knows whether it has a hint
  2    the command line is wrong, or names a server that refuses or can't carry a bus
  130  ended on the spot by a second Ctrl-C (143 by a second SIGTERM))";

constexpr command_family family{"weir bus", description, footer, bus_table::commands, "TOPIC", "The topic",
  "the TOPIC is missing, as in \"{} changed/orders\"", false};

constexpr std::array<std::string_view, 5> policies{"drop-newest", "drop-oldest", "conflate", "last-by-key", "end"};
constexpr std::array values{
  drop_policy::drop_newest, drop_policy::drop_oldest, drop_policy::conflate, drop_policy::last_by_key, drop_policy::end};

result<bus_place> read_place(const given_options& given) {
  auto url = given.text("--bus");
  if (!url)
    return given_options::mistake("--bus URL is missing, as in --bus postgres://localhost/app");
  if (const auto valid = check_bus_url(*url); !valid)
    return given_options::mistake("--bus: {}; expected a URL such as postgres://localhost/app", valid.error().sentence());
  bus_place where{std::move(*url)};
  if (auto channel = given.text("--channel")) {
    if (const auto valid = check_bus_channel(*channel); !valid)
      return given_options::mistake("--channel {}: {}", in_quotes(*channel), valid.error().sentence());
    where.channel = std::move(*channel);
  }
  return where;
}

result<bus_subscribe> read_subscribe(const given_options& given) {
  bus_subscribe read;
  BOOST_OUTCOME_TRY(read.count, given.number("--count", 1, std::uint64_t{1} << 62U));
  BOOST_OUTCOME_TRY(const auto buffer, given.number("--buffer", 1, std::uint64_t{1} << 20U));
  read.buffer = static_cast<std::size_t>(buffer.value_or(read.buffer));
  if (const auto policy = given.text("--policy")) {
    const auto found = std::ranges::find(policies, std::string_view{*policy});
    if (found == policies.end())
      return given_options::mistake("--policy takes {}; {} is none", one_of(policies), in_quotes(*policy));
    read.policy = values.at(static_cast<std::size_t>(found - policies.begin()));
  }
  return read;
}

result<void> read_request(const given_command& read, bus_arguments& into) {
  const auto& given = read.options;
  BOOST_OUTCOME_TRY(into.where, read_place(given));
  if (read.row->has_operand)
    if (const auto valid = check_bus_topic(read.operand); !valid)
      return given_options::mistake("the topic {}: {}", in_quotes(read.operand), valid.error().sentence());
  if (into.command == "publish") {
    const auto key = given.text("--key").value_or("");
    if (const auto valid = check_hint_size(key, {}); !valid)
      return given_options::mistake("--key: {}", valid.error().sentence());
    into.what = bus_publish{read.operand, key};
  } else if (into.command == "subscribe") {
    BOOST_OUTCOME_TRY(auto asked, read_subscribe(given));
    asked.topic = read.operand;
    into.what = std::move(asked);
  } else {
    bus_stat asked;
    BOOST_OUTCOME_TRY(const auto time, given.duration("--for"));
    if (time)
      asked.time = std::chrono::duration_cast<std::chrono::milliseconds>(*time);
    into.what = asked;
  }
  return success();
}

} // namespace

std::variant<bus_arguments, early_end> parse_bus_arguments(std::span<const std::string> given) {
  auto parsed = parse_subcommand(family, given);
  if (auto* end = std::get_if<early_end>(&parsed))
    return std::move(*end);
  const auto& read = std::get<given_command>(parsed);
  bus_arguments asked{std::string{read.row->name}, {}, read.options.has("--json"), {}};
  if (const auto complete = read_request(read, asked); !complete)
    return misused(fmt::format("{} {}", family.name, asked.command), complete.error().sentence());
  return asked;
}

} // namespace weir::cli
