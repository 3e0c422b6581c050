#include "snapshot_reader.hpp"

#include "hex.hpp"

#include <chrono>
#include <utility>

namespace weir::git {

namespace {

constexpr std::chrono::hours no_hurry{1};

} // namespace

snapshot_reader::snapshot_reader(repository from, const git_options& options)
  : repository_{std::move(from)},
    collection_{options.collection} {}

result<snapshot_chunk> snapshot_reader::read(const snapshot_query& query) {
  for (const auto& wanted : query.collections)
    if (wanted != collection_)
      return error{
        errc::unknown_collection, "this repository's files are the collection " + collection_, {{"collection", wanted}}};
  snapshot_chunk chunk;
  chunk.walked = query.after.value_or("");
  chunk.last = query.collections.empty() || query.as_of.seq == 0;
  if (chunk.last)
    return chunk;
  const bool goes_on = stream_ && commit_ == commit_of(query.as_of) && walked_ == chunk.walked;
  if (!goes_on) {
    auto begun = begin(query.as_of);
    if (!begun)
      return std::move(begun).error();
  }
  std::size_t bytes = 0;
  for (;;) {
    auto found = is_held_ ? result<bool>{true} : next_file();
    is_held_ = false;
    if (!found) {
      stream_.reset();
      return std::move(found).error();
    }
    chunk.last = !found.value();
    if (chunk.last)
      break;
    const auto& file = parser_->file();
    if (query.after && file.path <= *query.after)
      continue;
    const auto size = sizeof(envelope) + collection_.size() + file.path.size() + payload_.size_of(file.mode, file.blob);
    is_held_ = !chunk.rows.empty() && (chunk.rows.size() >= query.limit.changes || bytes + size > query.limit.bytes);
    if (is_held_)
      break;
    envelope row;
    row.collection = collection_;
    row.key = file.path;
    row.payload = payload_.of(file.mode, file.blob);
    bytes += size;
    chunk.rows.push_back(std::move(row));
  }
  if (!chunk.rows.empty())
    chunk.walked = chunk.rows.back().key;
  walked_ = chunk.walked;
  return chunk;
}

result<void> snapshot_reader::begin(const position& as_of) {
  stream_.reset();
  is_held_ = false;
  last_path_.clear();
  commit_ = commit_of(as_of);
  auto exists = repository_.has_commit(commit_);
  if (!exists)
    return std::move(exists).error();
  if (!exists.value())
    return error{errc::not_found, "the commit to read the files of is not in the repository", {{"commit", commit_}}};
  auto started = repository_.files(commit_);
  if (!started)
    return std::move(started).error();
  stream_ = std::move(started).value();
  parser_.emplace(commit_.size());
  payload_ = entry_payload{commit_, as_of.time};
  return success();
}

/// False: there are no more, and git has ended well.
result<bool> snapshot_reader::next_file() {
  for (;;) {
    const auto step = parser_->next();
    if (step == tree_parser::step::file) {
      // Chunks resume behind a key: in a tree out of order they would lose files.
      if (parser_->file().path <= last_path_)
        return error{errc::corrupt, "a tree's files are not in path order", {{"commit", commit_}, {"path", last_path_}}};
      last_path_ = parser_->file().path;
      return true;
    }
    if (step == tree_parser::step::need_input) {
      auto* const room = parser_->input().prepare();
      auto got = stream_->read(room, parser_->input().room(), no_hurry);
      if (!got)
        return std::move(got).error();
      parser_->input().filled(got.value().size);
      if (got.value().is == child_pipeline::readiness::end)
        parser_->finish_input();
      continue;
    }
    if (step == tree_parser::step::malformed && !parser_->has_finished_input())
      return parser_->failure();
    auto ended = repository_.finish(std::move(*stream_));
    stream_.reset();
    if (!ended)
      return std::move(ended).error();
    if (step == tree_parser::step::malformed)
      return parser_->failure();
    return false;
  }
}

} // namespace weir::git
