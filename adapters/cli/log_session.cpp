#include "log_session.hpp"

#include <weir/cli/files.hpp>
#include <weir/cli/log_report.hpp>
#include <weir/cli/plain_text.hpp>
#include <weir/sqlite_log.hpp>

#include "command_system.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace weir::cli {

namespace {

using opening = sqlite::log_options::opening;

result<std::shared_ptr<log_store>> open_store(const std::filesystem::path& file, log_access wanted) {
  const auto open = [&](opening how) { return sqlite::open_log({.path = file, .how = how}); };
  if (wanted != log_access::read)
    return open(wanted == log_access::create ? opening::create_if_missing : opening::must_exist);
  return read_somehow(open);
}

/// Why no topic can be chosen among them, which are not exactly one.
error unclear_topic(const std::vector<topic_description>& all) {
  std::string names;
  for (const auto& one : all)
    names += (names.empty() ? "" : ", ") + in_quotes(one.name);
  if (names.empty())
    return error{errc::unknown_topic, "the log has no topic yet: \"weir log create\" makes one"};
  return error{errc::invalid_argument, fmt::format("the log has several topics, and --topic says which: {}", names)};
}

} // namespace

exit_code tell_failure(const log_arguments& given, const error& why) {
  write_all(STDERR_FILENO, failure_text(given.command, why));
  return code_of(why);
}

result<log_session> log_session::open(const std::filesystem::path& file, log_access wanted) {
  auto store = open_store(file, wanted);
  if (!store)
    return std::move(store).error();
  return log_session{std::make_unique<command_system>(), std::move(store).value()};
}

log_session::log_session(std::unique_ptr<command_system> made, std::shared_ptr<log_store> store) noexcept
  : system_{std::move(made)},
    store_{std::move(store)} {}

log_session::~log_session() = default;
log_session::log_session(log_session&&) noexcept = default;

caf::actor_system& log_session::system() noexcept {
  return system_->get();
}

task<result<std::shared_ptr<log_topic>>> choose_topic(
  self me, std::shared_ptr<log_store> store, std::optional<std::string> name) {
  std::optional<error> refusal;
  if (!name) {
    auto listing = store->topics(me);
    auto all = co_await std::move(listing);
    if (all && all.value().size() == 1)
      name = all.value().front().name;
    else
      refusal = all ? unclear_topic(all.value()) : std::move(all).error();
  }
  if (refusal) {
    result<std::shared_ptr<log_topic>> refused = std::move(*refusal);
    co_return refused;
  }
  auto finding = store->find_topic(me, *name);
  auto found = co_await std::move(finding);
  co_return found;
}

} // namespace weir::cli
