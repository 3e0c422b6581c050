#pragma once

#include <weir/git.hpp>

#include "history_reader.hpp"
#include "repository_fixture.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace git_tests {

/// In which a history begins that nothing was confirmed of.
inline constexpr std::uint64_t first_epoch = 1;

/// A history_reader with what it needs to live.
class opened_history {
  weir::git::interruption interrupted_; // outlives the reader

public:
  explicit opened_history(const weir::git_options& options, const std::optional<weir::position>& confirmed = {})
    : opened_history{options, weir::resume_point{confirmed}} {}
  opened_history(const weir::git_options& options, const weir::resume_point& where);

  /// Reads until the ref's newest commit, or for one batch. Fails the test case on an error.
  std::vector<weir::batch> read_to_head(const weir::read_limit& limit = {});
  weir::result<weir::git::history_reader::outcome> read(const weir::read_limit& limit = {});

  /// Waits for the next batch. Fails the test case where there is none.
  weir::batch read_batch();

  weir::result<weir::git::history_reader> reader;

private:
  weir::result<weir::git::history_reader> open(const weir::git_options& options, const weir::resume_point& where) const;
};

/// One transaction, put together again from its parts.
struct transaction {
  weir::position at;
  std::vector<expected_change> changes;
};

/// Checks what holds for every sequence of batches (positions follow one another, parts are sound, a cut transaction counts on
/// and only its last part ends it, payloads fit their commit), and returns the transactions. A last one may be unfinished.
std::vector<transaction> transactions_of(const std::vector<weir::batch>& batches, const std::string& collection = "files");

/// Checks that the transactions are these commits, numbered from `first_seq`.
void check_equal(const std::vector<transaction>& read, const std::vector<expected_commit>& expected, std::uint64_t first_seq,
  std::uint64_t epoch);

/// Applies the changes to the table, as a sink would.
void apply(file_table& files, const std::vector<transaction>& read);

weir::git_options options_for(const std::filesystem::path& repository);

/// A position by its numbers alone, to compare with.
weir::position place(std::uint64_t epoch, std::uint64_t seq);

/// The position of a commit, as its source gives it.
weir::position position_of(
  const std::filesystem::path& repository, const std::string& commit, std::uint64_t epoch = first_epoch);

/// A program that stands in for git: a shell script which gets git's arguments, with the subcommand in $verb and the real git
/// as `real_git`.
std::string fake_git(const scratch_directory& in, const std::string& script);

} // namespace git_tests
