#include "../core/seeds.hpp"
#include "history.hpp"
#include "reading.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

using namespace git_tests;
using weir::errc;
using weir::read_limit;
using state = weir::git::history_reader::state;

namespace {

constexpr read_limit unlimited{1'000'000, 1u << 30};

weir_test::history_options small_history(std::uint64_t seed) {
  weir_test::history_options options;
  options.commits = 150;
  options.seed = seed;
  options.changes_per_commit = 6;
  options.files = 80;
  return options;
}

std::string time_in(const weir::batch& one) {
  for (const auto& change : one.envelopes->envelopes())
    if (change.payload)
      return change.payload->substr(change.payload->rfind(":\"") + 2, 20);
  return {};
}

} // namespace

TEST_CASE("a generated history reads the same as commit by commit, and adds up to its tree") {
  for (const auto seed : core_tests::seeds(3)) {
    CAPTURE(core_tests::replay(seed));
    scratch_directory directory;
    weir_test::make_history(directory.path(), small_history(seed));
    const auto expected = read_slowly(directory.path(), "HEAD");
    core_tests::random_source random{seed};
    const read_limit limit{random.between(1, 40), random.between(200, 20'000)};
    opened_history history{options_for(directory.path())};
    const auto read = transactions_of(history.read_to_head(limit));
    check_equal(read, expected, 1, first_epoch);
    file_table files;
    apply(files, read);
    CHECK(files == read_tree(directory.path(), "HEAD"));
  }
}

TEST_CASE("a large history adds up to its tree") {
  for (const auto seed : core_tests::seeds(1)) {
    CAPTURE(core_tests::replay(seed));
    scratch_directory directory;
    weir_test::history_options options;
    options.seed = seed;
    const auto made = weir_test::make_history(directory.path(), options);
    CHECK(made.merges > 0);
    CHECK(made.empty_commits > 0);
    CHECK(made.extra_roots > 0);
    CHECK(made.type_changes > 0);
    CHECK(made.submodules > 0);
    CHECK(made.file_to_directory > 0);
    CHECK(made.directory_to_file > 0);
    opened_history history{options_for(directory.path())};
    const auto read = transactions_of(history.read_to_head());
    CHECK(read.size() == 2000);
    file_table files;
    apply(files, read);
    CHECK(files == read_tree(directory.path(), "HEAD"));
  }
}

TEST_CASE("object ids may have 32 bytes") {
  scratch_directory directory;
  auto options = small_history(5);
  options.commits = 30;
  options.sha256 = true;
  weir_test::make_history(directory.path(), options);
  opened_history history{options_for(directory.path())};
  const auto read = transactions_of(history.read_to_head());
  check_equal(read, read_slowly(directory.path(), "HEAD"), 1, first_epoch);
  CHECK(read.back().at.stamp.bytes().size() == 32);
}

TEST_CASE("times are the committer's, in UTC") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  repository.commit({{"a", "100644", "1"}});
  opened_history history{options_for(directory.path())};
  const auto batches = history.read_to_head();
  REQUIRE(batches.size() == 1);
  CHECK(batches[0].at->time == 1'700'000'000'000'000'000);
  CHECK(time_in(batches[0]) == "2023-11-14T22:13:20Z");
  CHECK(read_slowly(directory.path(), "HEAD").at(0).time == "2023-11-14T22:13:20Z");
}

TEST_CASE("limits cut batches, and transactions only where nothing else helps") {
  scratch_directory directory;
  weir_test::make_history(directory.path(), small_history(7));
  opened_history whole{options_for(directory.path())};
  const auto expected = transactions_of(whole.read_to_head(unlimited));
  for (const std::size_t changes : {std::size_t{1}, std::size_t{3}, std::size_t{64}}) {
    CAPTURE(changes);
    opened_history history{options_for(directory.path())};
    const auto batches = history.read_to_head({changes, unlimited.bytes});
    for (const auto& one : batches)
      CHECK(one.changes <= changes);
    const auto read = transactions_of(batches);
    REQUIRE(read.size() == expected.size());
    for (std::size_t index = 0; index < read.size(); ++index)
      CHECK(read[index].changes == expected[index].changes);
  }
  opened_history history{options_for(directory.path())};
  const auto batches = history.read_to_head({unlimited.changes, 2000});
  for (const auto& one : batches) {
    std::size_t bytes = 0;
    for (const auto& change : one.envelopes->envelopes())
      bytes += change.size_in_bytes();
    CHECK((bytes <= 2000 || one.changes == 1));
  }
  CHECK(transactions_of(batches).size() == expected.size());
}

TEST_CASE("a commit of very many files comes in parts, and in bounded batches") {
  scratch_directory directory;
  auto options = small_history(1);
  options.commits = 2;
  options.first_commit_files = 20'000;
  weir_test::make_history(directory.path(), options);
  opened_history history{options_for(directory.path())};
  const auto batches = history.read_to_head();
  CHECK(batches.size() >= 20'000 / 512);
  CHECK_FALSE(batches[0].at->ends_transaction);
  for (const auto& one : batches)
    CHECK(one.changes <= 512);
  const auto read = transactions_of(batches);
  REQUIRE(read.size() == 2);
  CHECK(read[0].changes.size() >= 20'000);
  file_table files;
  apply(files, read);
  CHECK(files == read_tree(directory.path(), "HEAD"));
}

TEST_CASE("small commits share a batch, and empty ones count") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  std::string script;
  for (int number = 0; number < 10; ++number)
    repository.commit(
      number % 2 == 0 ? std::vector<file_change>{{"a", "100644", std::to_string(number)}} : std::vector<file_change>{});
  // All output at once, so that what is ready does not depend on how fast git is.
  scratch_directory other;
  auto options = options_for(directory.path());
  options.program = fake_git(
    other, "case $verb in diff-tree) all=$(mktemp); real_git \"$@\" > $all; cat $all; rm $all;; *) real_git \"$@\";; esac");
  opened_history history{options};
  const auto batches = history.read_to_head({4, unlimited.bytes});
  REQUIRE(batches.size() >= 3); // whether its end is there with the last of its output, that is up to git
  CHECK(batches[0].envelopes->parts().size() == 4);
  CHECK(batches[0].changes == 2);
  CHECK(batches[0].envelopes->parts()[1].count == 0);
  CHECK(batches[1].envelopes->parts().size() == 4);
  CHECK(transactions_of(batches).size() == 10);
}

TEST_CASE("what is ready is returned, however long git takes for more") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  for (int number = 0; number < 3; ++number)
    repository.commit({{"a", "100644", std::to_string(number)}, {"b", "100644", std::to_string(number)}});
  scratch_directory other;
  auto options = options_for(directory.path());
  // Two commits and a half, and then nothing for ever.
  options.program =
    fake_git(other, "case $verb in diff-tree) real_git \"$@\" | head -c 700; exec sleep 600;; *) real_git \"$@\";; esac");
  opened_history history{options};
  std::vector<weir::batch> batches;
  while (transactions_of(batches).size() < 2) {
    auto got = history.read();
    REQUIRE(got);
    REQUIRE(got.value().is == state::ready);
    batches.push_back(got.value().live);
  }
  CHECK(transactions_of(batches).size() == 2);
  auto nothing = history.reader.value().read({}, std::chrono::milliseconds{1});
  REQUIRE(nothing);
  CHECK(nothing.value().is == state::waiting);
}

TEST_CASE("a history is resumed behind any of its commits") {
  scratch_directory directory;
  auto generated = small_history(11);
  generated.commits = 40;
  weir_test::make_history(directory.path(), generated);
  const auto expected = read_slowly(directory.path(), "HEAD");
  opened_history whole{options_for(directory.path())};
  const auto read = transactions_of(whole.read_to_head());
  for (std::size_t index = 0; index < expected.size(); ++index) {
    CAPTURE(index);
    auto confirmed = read[index].at;
    confirmed.epoch = 4;
    opened_history history{options_for(directory.path()), confirmed};
    const auto rest = transactions_of(history.read_to_head());
    check_equal(rest, {expected.begin() + static_cast<std::ptrdiff_t>(index) + 1, expected.end()}, confirmed.seq + 1, 4);
  }
}

TEST_CASE("a position before the root reads everything; one inside of a commit is refused") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto root = repository.commit({{"a", "100644", "1"}});
  weir::position before;
  before.epoch = 3;
  opened_history history{options_for(directory.path()), before};
  const auto read = transactions_of(history.read_to_head());
  REQUIRE(read.size() == 1);
  CHECK(read[0].at.epoch == 3);
  auto inside = position_of(directory.path(), root);
  inside.ends_transaction = false;
  opened_history refused{options_for(directory.path()), inside};
  REQUIRE_FALSE(refused.reader);
  CHECK(refused.reader.error() == errc::invalid_argument);
}

TEST_CASE("following goes on with new commits; not following does not") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  repository.commit({{"a", "100644", "1"}});
  auto options = options_for(directory.path());
  opened_history until_now{options};
  options.follow = true;
  options.ref = "main";
  opened_history history{options};
  auto batches = history.read_to_head();
  CHECK(batches.size() == 1);
  CHECK(history.read_to_head().empty());
  const auto second = repository.commit({{"a", "", ""}, {"b", "100644", "1"}});
  repository.commit({});
  const auto beside = repository.commit({{"c", "100644", "1"}}, {second});
  const auto third = repository.commit({{"d", "100644", "1"}}, {second});
  repository.commit({{"c", "100644", "1"}}, {third, beside});
  std::ranges::move(history.read_to_head(), std::back_inserter(batches));
  check_equal(transactions_of(batches), read_slowly(directory.path(), "main"), 1, first_epoch);
  CHECK(history.read_to_head().empty());
  CHECK(transactions_of(until_now.read_to_head()).size() == 1);
  CHECK(until_now.read_to_head().empty());
}

TEST_CASE("a rewritten history opens an epoch where it forks, and goes on from there") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto root = repository.commit({{"a", "100644", "1"}});
  const auto second = repository.commit({{"a", "100644", "2"}});
  const auto third = repository.commit({{"a", "100644", "3"}});

  const auto set_back = [&] { repository.reset(second); };
  const auto amend = [&] { repository.commit({{"a", "100644", "4"}}, {second}); };
  const auto replace_root = [&] {
    git(directory.path(), {"update-ref", "-d", "refs/heads/main"});
    repository.commit({{"z", "100644", "1"}});
  };
  const auto merge_it_from_beside = [&] {
    const auto other = repository.commit({{"b", "100644", "1"}}, {second});
    repository.commit({{"a", "100644", "3"}}, {other, third});
  };
  const std::vector<std::pair<std::function<void()>, std::uint64_t>> rewrites{
    {set_back, 2}, {amend, 2}, {replace_root, 0}, {merge_it_from_beside, 2}};

  for (std::size_t rewrite = 0; rewrite < rewrites.size(); ++rewrite)
    for (const bool while_following : {true, false}) {
      CAPTURE(rewrite);
      CAPTURE(while_following);
      repository.reset(third);
      auto options = options_for(directory.path());
      options.follow = while_following;
      auto confirmed = position_of(directory.path(), third, 2);
      std::optional<opened_history> history;
      if (while_following) {
        history.emplace(options, confirmed);
        CHECK(history->read_to_head().empty());
        rewrites[rewrite].first();
      } else {
        rewrites[rewrite].first();
        history.emplace(options, confirmed);
      }
      const auto fork = rewrites[rewrite].second;
      const auto opened = history->read_batch();
      CHECK(*opened.at == place(3, fork));
      CHECK(opened.at->stamp == (fork == 0 ? weir::stamp{} : position_of(directory.path(), second).stamp));
      CHECK(opened.at->time == (fork == 0 ? 0 : position_of(directory.path(), second).time));
      CHECK(opened.at->ends_transaction);
      CHECK(opened.changes == 0);
      REQUIRE(opened.envelopes->parts().size() == 1);
      CHECK(opened.envelopes->parts()[0].count == 0);
      if (while_following)
        repository.commit({{"n", "100644", "1"}});
      auto expected = read_slowly(directory.path(), "main");
      expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(fork));
      check_equal(transactions_of(history->read_to_head()), expected, fork + 1, 3);
      // As the next run begins, with that alone confirmed.
      opened_history again{options_for(directory.path()), opened.at};
      check_equal(transactions_of(again.read_to_head()), expected, fork + 1, 3);
    }
  CHECK(root != second);
}

TEST_CASE("a position that is not this history's opens an epoch") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  repository.commit({{"a", "100644", "1"}});
  const auto head = repository.commit({{"a", "100644", "2"}});
  const auto good = position_of(directory.path(), head);
  auto unknown = good;
  unknown.stamp = weir::stamp_of_commit(std::string(40, '1')).value();
  auto other_size = good;
  other_size.stamp = weir::stamp_of_commit(std::string(64, '1')).value();
  auto none = good;
  none.stamp = {};
  auto other_place = good; // as when a shallow clone was deepened
  other_place.seq = 7;
  auto no_commit = good;
  no_commit.stamp = weir::stamp_of_commit(git_line(directory.path(), {"rev-parse", "HEAD^{tree}"})).value();
  for (const auto& confirmed : {unknown, other_size, none, other_place, no_commit}) {
    opened_history history{options_for(directory.path()), confirmed};
    const auto opened = history.read_batch();
    CHECK(*opened.at == place(good.epoch + 1, 0));
    CHECK(opened.changes == 0);
    check_equal(transactions_of(history.read_to_head()), read_slowly(directory.path(), "HEAD"), 1, good.epoch + 1);
  }
  opened_history history{options_for(directory.path()), good};
  CHECK(history.read_to_head().empty());
}

TEST_CASE("what a destination holds is numbered alike again only where the history still has it") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  std::vector<std::string> commits;
  for (const auto* content : {"1", "2", "3", "4"})
    commits.push_back(repository.commit({{"file", "100644", content}}));
  const auto options = options_for(repository.path());
  const auto place_of = [&](std::size_t number, std::uint64_t epoch) {
    return position_of(repository.path(), commits[number], epoch);
  };
  // Where it ends, and how many changes came.
  std::uint64_t changes = 0;
  const auto end_of = [&](const weir::resume_point& where) {
    opened_history history{options, where};
    const auto read = history.read_to_head();
    changes = 0;
    for (const auto& one : read)
      changes += one.changes;
    return *read.back().at;
  };
  // Held and not confirmed: it comes again, under the same numbers.
  CHECK(end_of({{}, place_of(2, 1)}) == place(1, 4));
  CHECK(changes == 4);
  CHECK(end_of({place_of(0, 1), place_of(2, 1)}) == place(1, 4));
  CHECK(changes == 3);
  // A destination that is behind does not matter here.
  CHECK(end_of({place_of(1, 2), place_of(2, 1)}) == place(2, 4));
  CHECK(changes == 2);
  // An epoch that was opened, and never confirmed: whatever it was, this one is another.
  CHECK(end_of({place_of(1, 1), place_of(3, 2)}) == place(3, 4));
  CHECK(changes == 4); // where it forked is not known any more
  CHECK(end_of({{}, place_of(3, 7)}) == place(8, 4));
  CHECK(changes == 4);
  // The history that it was numbered from is gone, though what was confirmed of it is not.
  const auto held = place_of(3, 1);
  repository.reset(commits[1]);
  for (const auto* content : {"5", "6"})
    commits.push_back(repository.commit({{"file", "100644", content}}));
  CHECK(end_of({place_of(1, 1), held}) == place(2, 4));
  CHECK(changes == 2);
  CHECK(end_of({{}, held}) == place(2, 4));
  CHECK(changes == 4);
  auto other = held;
  other.stamp = {};
  CHECK(end_of({{}, other}) == place(2, 4)); // made by who knows whom
  auto higher = held;
  higher.seq = 40;
  CHECK(end_of({{}, higher}) == place(2, 4));
}

TEST_CASE("a history that is rewritten while it is followed, and pruned, opens an epoch") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto root = repository.commit({{"file", "100644", "1"}});
  repository.commit({{"file", "100644", "2"}});
  auto options = options_for(repository.path());
  options.follow = true;
  opened_history history{options};
  CHECK(*history.read_to_head().back().at == place(1, 2));
  repository.reset(root);
  repository.commit({{"file", "100644", "3"}});
  git(repository.path(), {"reflog", "expire", "--expire=now", "--all"});
  git(repository.path(), {"gc", "--quiet", "--prune=now"});
  CHECK(*history.read_batch().at == place(2, 0)); // where it forks is not known any more
  const auto rest = transactions_of(history.read_to_head());
  check_equal(rest, read_slowly(repository.path(), "HEAD"), 1, 2);
}

TEST_CASE("deepening a shallow clone moves every commit, and so opens an epoch") {
  scratch_directory directory;
  small_repository repository{directory / "whole"};
  for (int number = 0; number < 5; ++number)
    repository.commit({{"a", "100644", std::to_string(number)}});
  const auto url = "file://" + (directory / "whole").string();
  git(directory.path(), {"clone", "--quiet", "--bare", "--depth=2", url, "shallow"});
  opened_history before{options_for(directory / "shallow")};
  const auto read = transactions_of(before.read_to_head());
  REQUIRE(read.size() == 2);
  CHECK(read[1].at.seq == 2);
  git(directory / "shallow", {"fetch", "--quiet", "--unshallow"});
  opened_history after{options_for(directory / "shallow"), read[1].at};
  CHECK(*after.read_batch().at == place(first_epoch + 1, 0));
  const auto rest = transactions_of(after.read_to_head());
  check_equal(rest, read_slowly(directory / "shallow", "HEAD"), 1, first_epoch + 1);
}

TEST_CASE("when git fails on the way, that is said with its own words") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  repository.commit({{"a", "100644", "1"}});
  repository.commit({{"d/a", "100644", "2"}});
  repository.commit({{"d/a", "100644", "3"}});
  const auto tree = git_line(directory.path(), {"rev-parse", "HEAD~1:d"});
  const auto object = directory / ("objects/" + tree.substr(0, 2) + "/" + tree.substr(2));
  REQUIRE(std::filesystem::remove(object));
  opened_history history{options_for(directory.path())};
  auto got = history.read();
  while (got && got.value().is == state::ready)
    got = history.read();
  REQUIRE_FALSE(got);
  CHECK(got.error() == errc::source_failed);
  CHECK(got.error().fact_of("stderr").find(tree) != std::string_view::npos);
  CHECK(got.error().fact_of("status") == "128");
}

TEST_CASE("output that breaks off is no end of the history") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  for (int number = 0; number < 3; ++number)
    repository.commit({{"a", "100644", std::to_string(number)}});
  scratch_directory other;
  auto options = options_for(directory.path());
  const auto last_error = [&](const std::string& script) {
    options.program = fake_git(other, "case $verb in " + script + ";; *) real_git \"$@\";; esac");
    opened_history history{options};
    auto got = history.read();
    while (got && got.value().is == state::ready)
      got = history.read();
    REQUIRE_FALSE(got);
    return got.error();
  };
  // Killed, with words and without; ended well inside of a token, and between two commits; not git's words at all.
  auto failed = last_error("diff-tree) real_git \"$@\" | head -c 300; echo 'fatal: tired' >&2; exit 3");
  CHECK(failed == errc::source_failed);
  CHECK(failed.fact_of("stderr") == "fatal: tired");
  CHECK(failed.fact_of("status") == "3");
  failed = last_error("diff-tree) kill -KILL $$");
  CHECK(failed == errc::source_failed);
  CHECK(failed.fact_of("status") == "137");
  CHECK(last_error("diff-tree) real_git \"$@\" | head -c 300") == errc::corrupt);
  failed = last_error("rev-list) real_git \"$@\" | head -n 2");
  CHECK(failed == errc::source_failed);
  CHECK(failed.sentence().find("ended before") != std::string::npos);
  failed = last_error("rev-list) real_git \"$@\" | head -n 2; echo 'error: no' >&2; exit 1");
  CHECK(failed.fact_of("stderr") == "error: no");
  CHECK(last_error("diff-tree) echo hello; yes") == errc::corrupt);
  CHECK(last_error("rev-list) real_git \"$@\" | sed 2d") == errc::corrupt); // a commit is left out
}
