#include <weir/configure.hpp>
#include <weir/spawn.hpp>

#include "history.hpp"
#include "reading.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>

using namespace git_tests;
using weir::errc;

namespace {

struct running_system {
  running_system() { weir::configure(config); }
  caf::actor_system_config config;
  caf::actor_system system{config};
};

using source_ptr = std::shared_ptr<weir::git_source>;

constexpr std::optional<weir::position> from_the_root;
constexpr std::size_t everything = 1'000'000;

void wait_for(const std::filesystem::path& file) {
  while (!std::filesystem::exists(file))
    std::this_thread::yield();
}

source_ptr make_source(const weir::git_options& options) {
  auto made = weir::git_source::make(options);
  REQUIRE(made);
  return std::move(made).value();
}

using batches = std::vector<weir::batch>;

/// sync_wait() gives back a result of what its coroutine returns; a result inside of a result needs a name.
template <class T>
struct answer {
  weir::result<T> it;
};

/// Runs a coroutine to its end, and returns its value; fails the test case on any error.
template <class F, class... Args>
auto value_of(running_system& running, F function, Args... args) {
  auto waited = weir::sync_wait(running.system, function, std::move(args)...);
  REQUIRE(waited);
  if (!waited.value().it)
    FAIL(waited.value().it.error().to_string());
  return std::move(waited).value().it.value();
}

weir::task<answer<batches>> open_and_read(
  weir::self me, source_ptr from, std::optional<weir::position> confirmed, std::size_t at_most) {
  batches read;
  weir::resume_point where{confirmed};
  auto opening = from->open(me, where);
  auto opened = co_await std::move(opening);
  if (!opened)
    co_return answer<batches>{std::move(opened).error()};
  while (read.size() < at_most) {
    auto reading = from->read(me, {});
    auto got = co_await std::move(reading);
    if (!got)
      co_return answer<batches>{std::move(got).error()};
    if (!got.value())
      break;
    CHECK(got.value()->bad.empty());
    read.push_back(std::move(got.value()->live));
  }
  co_return answer<batches>{std::move(read)};
}

weir::task<answer<batches>> read_more(weir::self me, source_ptr from, std::size_t batch_count) {
  batches read;
  while (read.size() < batch_count) {
    auto reading = from->read(me, {});
    auto got = co_await std::move(reading);
    if (!got)
      co_return answer<batches>{std::move(got).error()};
    read.push_back(std::move(got.value()->live));
  }
  co_return answer<batches>{std::move(read)};
}

weir::task<answer<file_table>> read_files(weir::self me, source_ptr from, weir::position as_of) {
  file_table files;
  std::optional<std::string> after;
  for (bool last = false; !last;) {
    weir::snapshot_query query{{"files"}, after, as_of, {10, 1u << 20}};
    auto asking = from->snapshot(me, std::move(query));
    auto chunk = co_await std::move(asking);
    if (!chunk)
      co_return answer<file_table>{std::move(chunk).error()};
    for (const auto& row : chunk.value().rows)
      files[row.key] = row.payload->substr(9, 6) + " " + row.payload->substr(25, 40);
    after = chunk.value().walked;
    last = chunk.value().last;
  }
  co_return answer<file_table>{std::move(files)};
}

weir::task<bool> confirms(weir::self me, source_ptr from, weir::position at) {
  auto confirming = from->confirm(me, at);
  auto confirmed = co_await std::move(confirming);
  co_return confirmed.has_value();
}

weir::task<> open_only(weir::self me, source_ptr from) {
  auto opening = from->open(me, {});
  auto opened = co_await std::move(opening);
  CHECK(opened);
}

/// Reads until it is asked to stop, and leaves what it saw then.
weir::task<> read_until_stopped(weir::self me, source_ptr from, std::shared_ptr<std::atomic<int>> ended_with) {
  auto reading = from->read(me, {});
  auto got = co_await std::move(reading);
  *ended_with = got ? -1 : static_cast<int>(got.error().code());
}

} // namespace

TEST_CASE("a git source reads a history to its end, and goes on where it was confirmed") {
  scratch_directory directory;
  weir_test::history_options generated;
  generated.commits = 120;
  generated.seed = 31;
  weir_test::make_history(directory.path(), generated);
  const auto expected = read_slowly(directory.path(), "HEAD");
  running_system running;
  auto source = make_source(options_for(directory.path()));
  const auto all = transactions_of(value_of(running, open_and_read, source, from_the_root, everything));
  check_equal(all, expected, 1, first_epoch);
  CHECK(weir::sync_wait(running.system, confirms, source, all[70].at).value());

  auto later = make_source(options_for(directory.path()));
  const auto rest = transactions_of(value_of(running, open_and_read, later, std::optional{all[70].at}, everything));
  check_equal(rest, {expected.begin() + 71, expected.end()}, 72, first_epoch);
  CHECK(value_of(running, read_files, later, all.back().at) == read_tree(directory.path(), "HEAD"));
}

TEST_CASE("a following git source waits for commits, sees them, and sees a rewritten history") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto root = repository.commit({{"a", "100644", "1"}});
  auto options = options_for(directory.path());
  options.follow = true;
  options.collection = "tree";
  running_system running;
  auto source = make_source(options);
  const auto first = value_of(running, open_and_read, source, from_the_root, std::size_t{1});
  CHECK(transactions_of(first, "tree").size() == 1);

  std::string second;
  std::thread committer{[&] { second = repository.commit({{"b", "100644", "1"}}); }};
  const auto next = value_of(running, read_more, source, std::size_t{1});
  committer.join();
  CHECK(weir::commit_of(*next[0].at) == second);
  CHECK(*next[0].at == place(first_epoch, 2));

  repository.commit({{"c", "100644", "1"}}, {root});
  const auto rewritten = value_of(running, read_more, source, std::size_t{1});
  CHECK(*rewritten[0].at == place(first_epoch + 1, 1));
  CHECK(rewritten[0].changes == 0);
  const auto behind = value_of(running, read_more, source, std::size_t{1});
  CHECK(*behind[0].at == place(first_epoch + 1, 2));
  CHECK(behind[0].changes == 1);
}

TEST_CASE("a waiting read ends with cancelled when it is asked to stop") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto root = repository.commit({{"a", "100644", "1"}});
  auto options = options_for(directory.path());
  options.follow = true;
  running_system running;
  auto source = make_source(options);
  value_of(running, open_and_read, source, std::optional{position_of(directory.path(), root)}, std::size_t{0});
  auto ended_with = std::make_shared<std::atomic<int>>(0);
  const auto reader = weir::spawn(running.system, read_until_stopped, source, ended_with);
  reader.request_stop();
  CHECK(reader.wait());
  CHECK(*ended_with == static_cast<int>(errc::cancelled));
}

TEST_CASE("a read that waits for a slow git can be stopped, and does not hold up a snapshot") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto root = repository.commit({{"a", "100644", "1"}});
  scratch_directory other;
  auto options = options_for(directory.path());
  options.program = fake_git(
    other, "case $verb in diff-tree) : > " + (other / "begun").string() + "; exec sleep 600;; *) real_git \"$@\";; esac");
  running_system running;
  auto source = make_source(options);
  value_of(running, open_and_read, source, from_the_root, std::size_t{0});
  auto ended_with = std::make_shared<std::atomic<int>>(0);
  const auto reader = weir::spawn(running.system, read_until_stopped, source, ended_with);
  wait_for(other / "begun");
  CHECK(value_of(running, read_files, source, position_of(directory.path(), root)).size() == 1);
  reader.request_stop();
  CHECK(reader.wait());
  CHECK(*ended_with == static_cast<int>(errc::cancelled));
}

TEST_CASE("dropping a source whose git hangs ends the git and the threads") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  repository.commit({{"a", "100644", "1"}});
  scratch_directory other;
  auto options = options_for(directory.path());
  options.program =
    fake_git(other, "echo $$ > " + (other / "id").string() + "; : > " + (other / "begun").string() + "; exec sleep 600");
  running_system running;
  {
    auto source = make_source(options);
    // Hangs in the very first question; the actor is killed, and the source dropped with it.
    const auto opener = weir::spawn(running.system, open_only, source);
    wait_for(other / "begun");
    opener.kill();
    CHECK_FALSE(opener.wait());
  }
  std::string id;
  std::ifstream{other / "id"} >> id;
  CHECK_FALSE(std::filesystem::exists("/proc/" + id));
}

TEST_CASE("what open() can't read is an error, not an end") {
  scratch_directory directory;
  running_system running;
  auto source = make_source(options_for(directory / "missing"));
  auto opened = weir::sync_wait(running.system, open_and_read, source, from_the_root, std::size_t{1});
  REQUIRE(opened);
  REQUIRE_FALSE(opened.value().it);
  CHECK(opened.value().it.error() == errc::not_found);
}
