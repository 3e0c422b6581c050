#include <weir/cli/entry_text.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/cli/print.hpp>

#include "log_commands.hpp"
#include "log_session.hpp"

#include <fmt/format.h>

/// The commands that are about a topic as a whole: create, head, trim.
namespace weir::cli {

namespace {

task<result<exit_code>> create_topic(
  self me, std::shared_ptr<log_store> store, std::string name, topic_layout layout, std::string file, bool json) {
  auto finding = store->find_topic(me, name);
  auto found = co_await std::move(finding);
  if (found) {
    result<exit_code> refused =
      error{errc::invalid_argument, fmt::format("the topic {} is there already in {}", in_quotes(name), printable(file))};
    co_return refused;
  }
  auto opening = store->open_topic(me, name, layout);
  auto opened = co_await std::move(opening);
  if (!opened) {
    result<exit_code> failed = std::move(opened).error();
    co_return failed;
  }
  const auto& made = opened.value()->description();
  result<exit_code> done = print(json ? created_json(made, file) : created_text(made, file), exit_code::done);
  co_return done;
}

/// Where one topic stands, as a line of the report.
task<result<std::string>> standing_of(self me, std::shared_ptr<log_topic> topic, bool json) {
  topic_standing one{topic->description(), {}, {}};
  auto asking = topic->bounds(me);
  auto bounds = co_await std::move(asking);
  if (!bounds) {
    result<std::string> failed = std::move(bounds).error();
    co_return failed;
  }
  one.bounds = std::move(bounds).value();
  std::vector<std::int64_t> before;
  for (const auto& shard : one.bounds)
    before.push_back(shard.earliest - 1);
  auto measuring = topic->lag(me, std::move(before));
  auto retained = co_await std::move(measuring);
  if (!retained) {
    result<std::string> failed = std::move(retained).error();
    co_return failed;
  }
  one.retained = std::move(retained).value();
  result<std::string> text = json ? standing_json(one) : standing_text(one);
  co_return text;
}

/// All topics, or the named one.
task<result<exit_code>> show_heads(self me, std::shared_ptr<log_store> store, std::optional<std::string> only, bool json) {
  std::vector<std::string> names;
  if (only) {
    names.push_back(*only);
  } else {
    auto listing = store->topics(me);
    auto all = co_await std::move(listing);
    if (!all) {
      result<exit_code> failed = std::move(all).error();
      co_return failed;
    }
    for (const auto& one : all.value())
      names.push_back(one.name);
  }
  std::string text;
  for (const auto& name : names) {
    auto finding = store->find_topic(me, name);
    auto found = co_await std::move(finding);
    if (!found) {
      result<exit_code> failed = std::move(found).error();
      co_return failed;
    }
    auto looking = standing_of(me, found.value(), json);
    auto line = co_await std::move(looking);
    if (!line) {
      result<exit_code> failed = std::move(line).error();
      co_return failed;
    }
    text += line.value();
  }
  result<exit_code> done = print(text, exit_code::done);
  co_return done;
}

task<result<exit_code>> trim_topic(self me, std::shared_ptr<log_topic> topic, log_trim asked, bool json) {
  const auto& known = topic->description();
  auto through = place_in(known.origin(), asked.through);
  if (!through) {
    result<exit_code> refused = std::move(through).error();
    co_return refused;
  }
  auto asking = topic->bounds(me);
  auto before = co_await std::move(asking);
  if (!before) {
    result<exit_code> failed = std::move(before).error();
    co_return failed;
  }
  auto trimming = topic->trim(me, {std::move(through).value(), asked.force, asked.budget});
  auto trimmed = co_await std::move(trimming);
  if (!trimmed) {
    result<exit_code> failed = std::move(trimmed).error();
    co_return failed;
  }
  const auto text =
    json ? trimmed_json(known, before.value(), trimmed.value()) : trimmed_text(known, before.value(), trimmed.value());
  result<exit_code> done = print(text, exit_code::done);
  co_return done;
}

} // namespace

exit_code run_command(const log_arguments& given, const log_create& asked) {
  auto session = log_session::open(given.file, log_access::create);
  if (!session)
    return tell_failure(given, session.error());
  const topic_layout layout{asked.shards, asked.dedupe_horizon};
  const auto done =
    session.value().run(nullptr, &create_topic, given.topic.value_or("main"), layout, given.file.native(), given.json);
  return done ? done.value() : tell_failure(given, done.error());
}

exit_code run_command(const log_arguments& given, const log_head&) {
  auto session = log_session::open(given.file, log_access::read);
  if (!session)
    return tell_failure(given, session.error());
  const auto done = session.value().run(nullptr, &show_heads, given.topic, given.json);
  return done ? done.value() : tell_failure(given, done.error());
}

exit_code run_command(const log_arguments& given, const log_trim& asked) {
  return run_on_topic(given, log_access::write, nullptr, &trim_topic, asked, given.json);
}

} // namespace weir::cli
