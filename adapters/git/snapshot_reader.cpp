#include "snapshot_reader.hpp"

#include "hex.hpp"

#include <algorithm>
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
  auto taken = take_walk(query, chunk.walked);
  if (!taken)
    return std::move(taken).error();
  auto& on = taken.value();
  std::size_t bytes = 0;
  for (;;) {
    auto found = on.is_held ? result<bool>{true} : next_file(on);
    on.is_held = false;
    if (!found)
      return std::move(found).error();
    chunk.last = !found.value();
    if (chunk.last)
      break;
    const auto& file = on.parser.file();
    if (query.after && file.path <= *query.after)
      continue;
    const auto size = sizeof(envelope) + collection_.size() + file.path.size() + on.payload.size_of(file.mode, file.blob);
    on.is_held = !chunk.rows.empty() && (chunk.rows.size() >= query.limit.changes || bytes + size > query.limit.bytes);
    if (on.is_held)
      break;
    envelope row;
    row.collection = collection_;
    row.key = file.path;
    row.payload = on.payload.of(file.mode, file.blob);
    bytes += size;
    chunk.rows.push_back(std::move(row));
  }
  if (!chunk.rows.empty())
    chunk.walked = chunk.rows.back().key;
  if (chunk.last)
    return chunk;
  on.walked = chunk.walked;
  if (kept_.size() == kept_walks)
    kept_.erase(kept_.begin());
  kept_.push_back(std::move(taken).value());
  return chunk;
}

/// Out of the kept ones: a walk that ends or fails is not put back. Those of other commits are over: what is asked for only
/// becomes newer.
result<snapshot_reader::walk> snapshot_reader::take_walk(const snapshot_query& query, const std::string& walked) {
  const auto commit = commit_of(query.as_of);
  std::erase_if(kept_, [&](const walk& one) { return one.commit != commit; });
  const auto found = std::ranges::find(kept_, walked, &walk::walked);
  if (found == kept_.end())
    return begin_walk(query.as_of);
  auto taken = std::move(*found);
  kept_.erase(found);
  return taken;
}

result<snapshot_reader::walk> snapshot_reader::begin_walk(const position& as_of) const {
  auto commit = commit_of(as_of);
  auto exists = repository_.has_commit(commit);
  if (!exists)
    return std::move(exists).error();
  if (!exists.value())
    return error{errc::not_found, "the commit to read the files of is not in the repository", {{"commit", commit}}};
  auto started = repository_.files(commit);
  if (!started)
    return std::move(started).error();
  const auto id_size = commit.size();
  entry_payload payload{commit, as_of.time};
  return walk{std::move(commit), {}, {}, std::move(started).value(), tree_parser{id_size}, std::move(payload)};
}

/// False: there are no more, and git has ended well.
result<bool> snapshot_reader::next_file(walk& on) const {
  for (;;) {
    const auto step = on.parser.next();
    if (step == tree_parser::step::file) {
      // Chunks resume behind a key: in a tree out of order they would lose files.
      if (on.parser.file().path <= on.last_path)
        return error{errc::corrupt, "a tree's files are not in path order", {{"commit", on.commit}, {"path", on.last_path}}};
      on.last_path = on.parser.file().path;
      return true;
    }
    if (step == tree_parser::step::need_input) {
      auto* const room = on.parser.input().prepare();
      auto got = on.stream.read(room, on.parser.input().room(), no_hurry);
      if (!got)
        return std::move(got).error();
      on.parser.input().filled(got.value().size);
      if (got.value().is == child_pipeline::readiness::end)
        on.parser.finish_input();
      continue;
    }
    if (step == tree_parser::step::malformed && !on.parser.has_finished_input())
      return on.parser.failure();
    auto ended = repository_.finish(std::move(on.stream));
    if (!ended)
      return std::move(ended).error();
    if (step == tree_parser::step::malformed)
      return on.parser.failure();
    return false;
  }
}

} // namespace weir::git
