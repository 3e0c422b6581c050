#include <weir/cli/entry_text.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/print.hpp>
#include <weir/detail/stream_topics.hpp>

#include "log_commands.hpp"
#include "log_session.hpp"

#include <fmt/format.h>

namespace weir::cli {

namespace {

/// A checkpoint with how much is behind it, as a line of the report.
task<result<std::string>> described(self me, std::shared_ptr<log_topic> topic, checkpoint one, bool json) {
  auto measuring = topic->lag(me, one.offsets);
  auto behind = co_await std::move(measuring);
  if (!behind) {
    result<std::string> failed = std::move(behind).error();
    co_return failed;
  }
  const auto& known = topic->description();
  result<std::string> text = json ? checkpoint_json(known, one, behind.value()) : checkpoint_text(known, one, behind.value());
  co_return text;
}

task<result<exit_code>> list_checkpoints(self me, std::shared_ptr<log_topic> topic, bool json) {
  auto listing = topic->checkpoints(me);
  auto all = co_await std::move(listing);
  if (!all) {
    result<exit_code> failed = std::move(all).error();
    co_return failed;
  }
  std::string text;
  for (const auto& one : all.value()) {
    auto describing = described(me, topic, one, json);
    auto line = co_await std::move(describing);
    if (!line) {
      result<exit_code> failed = std::move(line).error();
      co_return failed;
    }
    text += line.value();
  }
  result<exit_code> done = print(text, exit_code::done);
  co_return done;
}

error no_consumer(const std::string& name, const std::vector<checkpoint>& all) {
  std::string names;
  for (const auto& one : all)
    names += (names.empty() ? "" : ", ") + in_quotes(one.consumer);
  return error{errc::invalid_argument, fmt::format("there is no consumer {}; {}", in_quotes(name),
                                         names.empty() ? "there is none at all" : "there are: " + names)};
}

task<result<exit_code>> drop_consumer(self me, std::shared_ptr<log_topic> topic, std::string consumer, bool json) {
  auto listing = topic->checkpoints(me);
  auto all = co_await std::move(listing);
  if (!all) {
    result<exit_code> failed = std::move(all).error();
    co_return failed;
  }
  const auto found = std::ranges::find(all.value(), consumer, &checkpoint::consumer);
  if (found == all.value().end()) {
    result<exit_code> refused = no_consumer(consumer, all.value());
    co_return refused;
  }
  auto describing = described(me, topic, *found, json);
  auto line = co_await std::move(describing);
  auto dropping = topic->drop_checkpoint(me, consumer, found->revision);
  auto dropped = co_await std::move(dropping);
  if (!dropped) {
    result<exit_code> failed = std::move(dropped).error();
    co_return failed;
  }
  // What it was, so that a slip can be undone with --set.
  const auto text = line ? line.value() : std::string{};
  result<exit_code> done = print(json ? text : "dropped " + text, exit_code::done);
  co_return done;
}

task<result<exit_code>> set_consumer(self me, std::shared_ptr<log_topic> topic, log_checkpoint_set asked, bool json) {
  const auto is_lane = detail::lane_of(asked.consumer).has_value();
  if (is_lane) {
    result<exit_code> refused = error{errc::wrong_owner, "a lane's place is its stream's alone to set; dropped, it begins anew",
      {{"topic", topic->description().name}, {"consumer", asked.consumer}}};
    co_return refused;
  }
  auto place = place_in(topic->description().origin(), asked.to);
  if (!place) {
    result<exit_code> refused = std::move(place).error();
    co_return refused;
  }
  auto reading = topic->read_checkpoint(me, asked.consumer);
  auto before = co_await std::move(reading);
  if (!before) {
    result<exit_code> failed = std::move(before).error();
    co_return failed;
  }
  const bool is_new = !before.value();
  checkpoint_commit wanted{asked.consumer, std::move(place).value(), {}, {}, true};
  if (!is_new)
    wanted.expected = before.value()->revision;
  auto committing = topic->commit_checkpoint(me, std::move(wanted));
  auto committed = co_await std::move(committing);
  if (!committed) {
    result<exit_code> failed = std::move(committed).error();
    co_return failed;
  }
  auto describing = described(me, topic, committed.value(), json);
  auto line = co_await std::move(describing);
  const auto text = line ? line.value() : std::string{};
  result<exit_code> done = print(json ? text : (is_new ? "new: " : "") + text, exit_code::done);
  co_return done;
}

} // namespace

exit_code run_command(const log_arguments& given, const log_checkpoint_list&) {
  return run_on_topic(given, log_access::read, nullptr, &list_checkpoints, given.json);
}

exit_code run_command(const log_arguments& given, const log_checkpoint_drop& asked) {
  return run_on_topic(given, log_access::write, nullptr, &drop_consumer, asked.consumer, given.json);
}

exit_code run_command(const log_arguments& given, const log_checkpoint_set& asked) {
  return run_on_topic(given, log_access::write, nullptr, &set_consumer, asked, given.json);
}

} // namespace weir::cli
