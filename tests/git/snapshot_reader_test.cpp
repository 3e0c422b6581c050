#include "history.hpp"
#include "reading.hpp"
#include "snapshot_reader.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

using namespace git_tests;
using weir::errc;
using weir::read_limit;
using weir::snapshot_query;

namespace {

constexpr std::size_t no_limit = 1u << 30;

class opened_snapshot {
public:
  explicit opened_snapshot(const weir::git_options& options)
    : reader{weir::git::repository::open(options, interrupted_).value(), options} {}

private:
  weir::git::interruption interrupted_;

public:
  weir::git::snapshot_reader reader;
};

weir_test::history_options some_history() {
  weir_test::history_options options;
  options.commits = 60;
  options.seed = 21;
  options.files = 150;
  return options;
}

/// Checks a chunk's rows, and adds them to the table.
void take(file_table& files, const weir::snapshot_chunk& chunk, const weir::position& as_of) {
  for (const auto& row : chunk.rows) {
    const auto& text = row.payload.value();
    CHECK(row.collection == "files");
    CHECK(row.operation == weir::operation::upsert);
    CHECK(text.find("\"commit\":\"" + weir::commit_of(as_of) + "\",\"time\":\"") != std::string::npos);
    const auto mode = text.substr(9, 6);
    const auto blob = text.substr(25, 40);
    CHECK(text.starts_with("{\"mode\":\"" + mode + "\",\"blob\":\"" + blob + "\","));
    CHECK(files.emplace(row.key, mode + " " + blob).second);
  }
}

file_table read_all(
  opened_snapshot& from, const weir::position& as_of, const read_limit& limit, std::optional<std::string> after = {}) {
  file_table files;
  for (;;) {
    auto chunk = from.reader.read({{"files"}, after, as_of, limit});
    REQUIRE(chunk);
    CHECK(chunk.value().rows.size() <= limit.changes);
    CHECK((chunk.value().last || !chunk.value().rows.empty()));
    for (const auto& row : chunk.value().rows)
      CHECK((!after || row.key > *after));
    take(files, chunk.value(), as_of);
    if (chunk.value().last)
      return files;
    CHECK(chunk.value().walked == chunk.value().rows.back().key);
    after = chunk.value().walked;
  }
}

} // namespace

TEST_CASE("a snapshot is the commit's tree, in chunks of any size") {
  scratch_directory directory;
  weir_test::make_history(directory.path(), some_history());
  opened_snapshot opened{options_for(directory.path())};
  for (const char* ref : {"HEAD", "HEAD~20"}) {
    const auto as_of = position_of(directory.path(), git_line(directory.path(), {"rev-parse", ref}));
    const auto expected = read_tree(directory.path(), ref);
    REQUIRE(expected.size() > 40);
    for (const std::size_t changes :
      {std::size_t{1}, std::size_t{7}, expected.size() - 1, expected.size(), expected.size() + 1})
      CHECK(read_all(opened, as_of, {changes, no_limit}) == expected);
    CHECK(read_all(opened, as_of, {no_limit, 1}) == expected);
    CHECK(read_all(opened, as_of, {no_limit, 3000}) == expected);
  }
}

TEST_CASE("a snapshot resumes behind any key, and may move to a later commit from chunk to chunk") {
  scratch_directory directory;
  weir_test::make_history(directory.path(), some_history());
  const auto before = position_of(directory.path(), git_line(directory.path(), {"rev-parse", "HEAD~10"}));
  const auto now = position_of(directory.path(), git_line(directory.path(), {"rev-parse", "HEAD"}));
  const auto old_tree = read_tree(directory.path(), "HEAD~10");
  const auto tree = read_tree(directory.path(), "HEAD");
  opened_snapshot opened{options_for(directory.path())};
  for (auto from = tree.begin(); from != tree.end();
    std::advance(from, std::min<std::ptrdiff_t>(5, std::distance(from, tree.end())))) {
    CHECK(read_all(opened, now, {1000, no_limit}, from->first) == file_table{std::next(from), tree.end()});
    // The first part as of then, the rest as of now.
    auto first =
      opened.reader.read({{"files"}, {}, before, {1 + static_cast<std::size_t>(std::distance(tree.begin(), from)), no_limit}});
    REQUIRE(first);
    file_table files;
    take(files, first.value(), before);
    files.merge(read_all(opened, now, {9, no_limit}, first.value().walked));
    file_table expected{old_tree.begin(), old_tree.upper_bound(first.value().walked)};
    expected.insert(tree.upper_bound(first.value().walked), tree.end());
    CHECK(files == expected);
  }
  CHECK(read_all(opened, now, {9, no_limit}, "\xff\xff\xff\xff").empty());
}

TEST_CASE("keys come in the order of their bytes") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto commit = repository.commit(
    {{"a/b", "100644", "1"}, {"a.b", "100644", "1"}, {"a0", "160000", std::string(40, '1')}, {"a-", "120000", "1"},
      {"ab/\xff", "100644", "1"}, {"ab/\x01", "100644", "1"}, {"\x80", "100644", "1"}, {"\x7f", "100644", "1"}});
  opened_snapshot opened{options_for(directory.path())};
  auto chunk = opened.reader.read({{"files"}, {}, position_of(directory.path(), commit), {}});
  REQUIRE(chunk);
  CHECK(chunk.value().last);
  std::vector<std::string> keys;
  for (const auto& row : chunk.value().rows)
    keys.push_back(row.key);
  CHECK(keys.size() == 8);
  CHECK(std::ranges::is_sorted(keys));
}

TEST_CASE("git is started once as long as the commit stays the same") {
  scratch_directory directory;
  weir_test::make_history(directory.path(), some_history());
  scratch_directory other;
  auto options = options_for(directory.path());
  options.program = fake_git(other, "test \"$verb\" != ls-tree || echo x >> " + (other / "log").string() + "; real_git \"$@\"");
  const auto starts = [&] {
    std::ostringstream text;
    text << std::ifstream{other / "log"}.rdbuf();
    return text.str().size() / 2;
  };
  opened_snapshot opened{options};
  const auto before = position_of(directory.path(), git_line(directory.path(), {"rev-parse", "HEAD~1"}));
  const auto now = position_of(directory.path(), git_line(directory.path(), {"rev-parse", "HEAD"}));
  read_all(opened, now, {3, no_limit});
  CHECK(starts() == 1);
  auto chunk = opened.reader.read({{"files"}, {}, before, {3, no_limit}});
  REQUIRE(chunk);
  CHECK(starts() == 2);
  chunk = opened.reader.read({{"files"}, chunk.value().walked, before, {3, no_limit}});
  CHECK(starts() == 2);
  chunk = opened.reader.read({{"files"}, chunk.value().walked, now, {3, no_limit}});
  CHECK(starts() == 3);
  chunk = opened.reader.read({{"files"}, "x", now, {3, no_limit}}); // another key than the one that was walked to
  CHECK(starts() == 4);

  // Two sinks that are filled in turns.
  std::optional<std::string> one;
  std::optional<std::string> other_one = "a";
  for (int turn = 0; turn < 5; ++turn)
    for (auto* after : {&one, &other_one}) {
      chunk = opened.reader.read({{"files"}, *after, now, {3, no_limit}});
      REQUIRE(chunk);
      *after = chunk.value().walked;
    }
  CHECK(starts() == 6);
}

TEST_CASE("before the root there is nothing; other collections and lost commits are refused") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  auto as_of = position_of(directory.path(), repository.commit({{"a", "100644", "1"}}));
  opened_snapshot opened{options_for(directory.path())};
  auto nothing = opened.reader.read({{"files"}, "b", weir::position{}, {}});
  REQUIRE(nothing);
  CHECK(nothing.value().last);
  CHECK(nothing.value().rows.empty());
  CHECK(nothing.value().walked == "b");
  auto unknown = opened.reader.read({{"files", "other"}, {}, as_of, {}});
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error() == errc::unknown_collection);
  CHECK(unknown.error().fact_of("collection") == "other");
  as_of.stamp = weir::stamp_of_commit(std::string(40, '1')).value();
  auto lost = opened.reader.read({{"files"}, {}, as_of, {}});
  REQUIRE_FALSE(lost);
  CHECK(lost.error() == errc::not_found);
  CHECK(lost.error().fact_of("commit") == std::string(40, '1'));
}

TEST_CASE("a tree out of order, and a git that fails or breaks off, are told apart from an end") {
  scratch_directory directory;
  small_repository repository{directory.path()};
  const auto commit = repository.commit({{"a", "100644", "1"}, {"b", "100644", "2"}});
  const std::string id(20, '\x11');
  const auto entry = [&](const std::string& name) { return "100644 " + name + std::string(1, '\0') + id; };
  auto tree = git(directory.path(), {"hash-object", "-t", "tree", "--literally", "-w", "--stdin"}, entry("b") + entry("a"));
  tree.pop_back();
  auto wrong = git(directory.path(), {"commit-tree", tree, "-m", "x"});
  wrong.pop_back();
  opened_snapshot opened{options_for(directory.path())};
  auto refused = opened.reader.read({{"files"}, {}, position_of(directory.path(), wrong), {}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::corrupt);
  CHECK(opened.reader.read({{"files"}, {}, position_of(directory.path(), commit), {}}));

  scratch_directory other;
  const auto error_with = [&](const std::string& script) {
    auto options = options_for(directory.path());
    options.program = fake_git(other, "case $verb in ls-tree) " + script + ";; *) real_git \"$@\";; esac");
    opened_snapshot failing{options};
    auto chunk = failing.reader.read({{"files"}, {}, position_of(directory.path(), commit), {}});
    REQUIRE_FALSE(chunk);
    return chunk.error();
  };
  CHECK(error_with("real_git \"$@\" | head -c 60") == errc::corrupt);
  CHECK(error_with("real_git \"$@\"; echo sorry >&2; exit 9") == errc::source_failed);
  CHECK(error_with("real_git \"$@\"; echo sorry >&2; exit 9").fact_of("stderr") == "sorry");
  CHECK(error_with("yes") == errc::corrupt);
}
