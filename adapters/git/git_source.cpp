#include <weir/git.hpp>
#include <weir/worker.hpp>

#include "child_pipeline.hpp"
#include "hex.hpp"
#include "history_reader.hpp"
#include "repository.hpp"
#include "snapshot_reader.hpp"

#include <chrono>
#include <utility>

namespace weir {

namespace {

using namespace std::chrono_literals;

/// How often the ref is looked at, at the end of the history.
constexpr auto follow_interval = 250ms;

/// How long one call to the worker waits for git before it looks whether it was asked to stop.
constexpr auto patience = 200ms;

result<void> check_values(const git_options& options) {
  const std::pair<const char*, const std::string*> named[] = {
    {"repository", &options.repository},
    {"ref", &options.ref},
    {"collection", &options.collection},
    {"program", &options.program},
  };
  for (const auto& [name, value] : named)
    if (value->empty() || value->find('\0') != std::string::npos)
      return error{errc::invalid_argument, std::string{"the option "} + name + " of a git source is empty, or holds a NUL byte",
        {{"option", name}}};
  return success();
}

} // namespace

result<void> check(const git_options& options) {
  auto checked = check_values(options);
  if (!checked)
    return checked;
  const git::interruption never;
  auto opened = git::repository::open(options, never);
  if (!opened)
    return std::move(opened).error();
  auto head = opened.value().head();
  if (!head)
    return std::move(head).error();
  return success();
}

std::string commit_of(const position& at) {
  return git::to_hex(at.stamp.bytes());
}

result<stamp> stamp_of_commit(std::string_view commit) {
  if ((commit.size() != 40 && commit.size() != 64) || !git::is_hex(commit))
    return error{errc::invalid_argument, "a commit id is 40 or 64 hexadecimal digits", {{"commit", std::string{commit}}}};
  return stamp::from(git::from_hex(commit));
}

/// The workers come last, so that their threads end before what they use. A snapshot has one of its own: a read that waits for
/// git must not hold it up.
struct git_source::parts {
  explicit parts(git_options given) : options{std::move(given)} {}

  git_options options;
  git::interruption interrupted;
  std::optional<git::history_reader> history;
  std::optional<git::snapshot_reader> files;
  worker reading{"git"};
  worker listing{"git-snapshot"};

  result<void> open(const resume_point& from) {
    auto opened = git::repository::open(options, interrupted);
    if (!opened)
      return std::move(opened).error();
    auto made = git::history_reader::open(opened.value(), options, from);
    if (!made)
      return std::move(made).error();
    history = std::move(made).value();
    files.emplace(std::move(opened).value(), options);
    return success();
  }
};

result<std::unique_ptr<git_source>> git_source::make(git_options options) {
  auto checked = check_values(options);
  if (!checked)
    return std::move(checked).error();
  return std::unique_ptr<git_source>{new git_source{std::make_unique<parts>(std::move(options))}};
}

git_source::git_source(std::unique_ptr<parts> made) noexcept : parts_{std::move(made)} {}

git_source::~git_source() {
  parts_->interrupted.raise();
}

task<result<void>> git_source::open(self, resume_point from) {
  auto call = parts_->reading.run([mine = parts_.get(), from] { return mine->open(from); });
  co_return co_await call;
}

task<result<std::optional<reading>>> git_source::read(self me, read_limit limit) {
  auto* const mine = parts_.get();
  while (!me.stop_token().stop_requested()) {
    auto call = mine->reading.run([mine, limit] { return mine->history->read(limit, patience); });
    auto read = co_await call;
    if (!read)
      co_return std::move(read).error();
    if (read.value().is == git::history_reader::state::ready)
      co_return std::optional{reading{std::move(read.value().live), {}}};
    if (read.value().is == git::history_reader::state::waiting)
      continue;
    if (!mine->options.follow)
      co_return std::optional<reading>{};
    auto pause = me.sleep(follow_interval);
    auto slept = co_await pause;
    if (!slept)
      co_return std::move(slept).error();
  }
  co_return error{errc::cancelled, "the git source was asked to stop"};
}

task<result<void>> git_source::confirm(self, position) {
  auto nothing_to_do = success(); // a repository keeps its history whether it was read or not
  co_return nothing_to_do;
}

task<result<snapshot_chunk>> git_source::snapshot(self, snapshot_query query) {
  auto* const mine = parts_.get();
  auto call = mine->listing.run([mine, query] { return mine->files->read(query); });
  co_return co_await call;
}

} // namespace weir
