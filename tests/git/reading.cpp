#include "reading.hpp"

#include <weir/batch_parts.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <fstream>
#include <utility>

namespace git_tests {

namespace {

constexpr std::chrono::minutes long_enough{5};

/// The payload's members, taken apart with no more than find().
std::string member_of(const std::string& payload, const std::string& name) {
  const auto begin = payload.find("\"" + name + "\":\"");
  REQUIRE(begin != std::string::npos);
  const auto at = begin + name.size() + 4;
  return payload.substr(at, payload.find('"', at) - at);
}

} // namespace

opened_history::opened_history(const weir::git_options& options, const weir::resume_point& where)
  : reader{open(options, where)} {}

weir::result<weir::git::history_reader> opened_history::open(
  const weir::git_options& options, const weir::resume_point& where) const {
  auto from = weir::git::repository::open(options, interrupted_);
  if (!from)
    return std::move(from).error();
  return weir::git::history_reader::open(std::move(from).value(), options, where);
}

std::vector<weir::batch> opened_history::read_to_head(const weir::read_limit& limit) {
  std::vector<weir::batch> batches;
  for (;;) {
    auto got = read(limit);
    if (!got)
      FAIL(got.error().to_string());
    REQUIRE(got.value().is != weir::git::history_reader::state::waiting);
    if (got.value().is == weir::git::history_reader::state::at_head)
      return batches;
    batches.push_back(std::move(got.value().live));
  }
}

weir::result<weir::git::history_reader::outcome> opened_history::read(const weir::read_limit& limit) {
  if (!reader)
    FAIL(reader.error().to_string());
  return reader.value().read(limit, long_enough);
}

weir::batch opened_history::read_batch() {
  auto got = read();
  if (!got)
    FAIL(got.error().to_string());
  REQUIRE(got.value().is == weir::git::history_reader::state::ready);
  return std::move(got.value().live);
}

std::vector<transaction> transactions_of(const std::vector<weir::batch>& batches, const std::string& collection) {
  std::vector<transaction> read;
  std::optional<weir::position> last;
  for (const auto& one : batches) {
    REQUIRE(one.at);
    REQUIRE(one.envelopes);
    REQUIRE_FALSE(one.request);
    REQUIRE(weir::check_parts(one));
    REQUIRE(one.changes == one.envelopes->envelopes().size());
    REQUIRE(one.envelopes->parts().back().at == *one.at);
    REQUIRE(one.envelopes->parts().back().at.ends_transaction == one.at->ends_transaction);
    weir::for_each_part(one, [&](const weir::transaction_part& part, auto envelopes) {
      if (last)
        REQUIRE(weir::may_follow(*last, part.at));
      const bool goes_on = last && !last->ends_transaction;
      if (goes_on) {
        REQUIRE(part.at == *last);
        REQUIRE(part.first_index == read.back().changes.size());
        REQUIRE(part.count > 0);
      } else {
        REQUIRE(part.first_index == 0);
        read.push_back({part.at, {}});
      }
      // Only a batch's boundary cuts.
      if (!part.at.ends_transaction)
        REQUIRE(part.begin + part.count == one.envelopes->envelopes().size());
      for (const auto& change : envelopes) {
        REQUIRE(change.collection == collection);
        REQUIRE(change.headers.empty());
        REQUIRE(change.payload.has_value() == (change.operation == weir::operation::upsert));
        if (!change.payload) {
          read.back().changes.push_back({change.key, "", ""});
          continue;
        }
        const auto& text = *change.payload;
        read.back().changes.push_back({change.key, member_of(text, "mode"), member_of(text, "blob")});
        REQUIRE(member_of(text, "commit") == weir::commit_of(part.at));
        REQUIRE(text
                == R"({"mode":")" + member_of(text, "mode") + R"(","blob":")" + member_of(text, "blob") + R"(","commit":")"
                     + member_of(text, "commit") + R"(","time":")" + member_of(text, "time") + R"("})");
      }
      last = part.at;
      return true;
    });
  }
  return read;
}

void check_equal(const std::vector<transaction>& read, const std::vector<expected_commit>& expected, std::uint64_t first_seq,
  std::uint64_t epoch) {
  REQUIRE(read.size() == expected.size());
  for (std::size_t index = 0; index < read.size(); ++index) {
    CAPTURE(index);
    CHECK(read[index].at.epoch == epoch);
    CHECK(read[index].at.seq == first_seq + index);
    CHECK(read[index].at.time % 1'000'000'000 == 0);
    REQUIRE(weir::commit_of(read[index].at) == expected[index].id);
    REQUIRE(read[index].changes == expected[index].changes);
  }
}

void apply(file_table& files, const std::vector<transaction>& read) {
  for (const auto& one : read)
    for (const auto& change : one.changes)
      if (change.mode.empty())
        files.erase(change.path);
      else
        files[change.path] = change.mode + " " + change.blob;
}

weir::git_options options_for(const std::filesystem::path& repository) {
  weir::git_options options;
  options.repository = repository.string();
  return options;
}

weir::position place(std::uint64_t epoch, std::uint64_t seq) {
  weir::position made;
  made.epoch = epoch;
  made.seq = seq;
  return made;
}

weir::position position_of(const std::filesystem::path& repository, const std::string& commit, std::uint64_t epoch) {
  weir::position made;
  made.epoch = epoch;
  made.seq = std::stoull(git_line(repository, {"rev-list", "--first-parent", "--count", commit}));
  made.stamp = weir::stamp_of_commit(commit).value();
  made.time = std::stoll(git_line(repository, {"log", "-1", "--format=%ct", commit})) * 1'000'000'000;
  return made;
}

std::string fake_git(const scratch_directory& in, const std::string& script) {
  const auto path = in / "fake-git";
  std::ofstream{path} << "#!/bin/sh\n"
                         "real_git() { command git \"$@\"; }\n"
                         "for word; do case $word in rev-parse|rev-list|diff-tree|ls-tree) verb=$word; break;; esac; done\n"
                      << script << "\n";
  std::filesystem::permissions(path, std::filesystem::perms::owner_all);
  return path.string();
}

} // namespace git_tests
