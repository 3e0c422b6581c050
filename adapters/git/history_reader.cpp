#include "history_reader.hpp"

#include "hex.hpp"

#include <utility>

namespace weir::git {

namespace {

error out_of_step(const std::string& commit) {
  return error{errc::corrupt, "git printed a commit whose first parent is not the commit before", {{"commit", commit}}};
}

} // namespace

history_reader::history_reader(repository from, const git_options& options)
  : repository_{std::move(from)},
    collection_{options.collection},
    follow_{options.follow} {}

result<history_reader> history_reader::open(repository from, const git_options& options, const resume_point& where) {
  history_reader opened{std::move(from), options};
  auto head = opened.repository_.head();
  if (!head)
    return std::move(head).error();
  opened.head_ = std::move(head).value();
  if (where.confirmed) {
    auto resumed = opened.resume(*where.confirmed);
    if (!resumed)
      return std::move(resumed).error();
  }
  if (!where.held)
    return opened;
  const auto& held = *where.held;
  if (held.epoch == opened.read_.epoch && !opened.is_rewritten_ && !covers(opened.read_, held)) {
    auto is_there = opened.has_on_line(held);
    if (!is_there)
      return std::move(is_there).error();
    opened.is_rewritten_ = !is_there.value();
  } else if (held.epoch > opened.read_.epoch) { // opened, and never confirmed: nobody knows any more where it forked
    opened.is_rewritten_ = true;
    opened.read_ = {.epoch = held.epoch};
    opened.read_id_.clear();
  }
  return opened;
}

/// Whether that commit is the ref's line's commit of that number.
result<bool> history_reader::has_on_line(const position& held) const {
  const auto commit = to_hex(held.stamp.bytes());
  auto depth = repository_.depth_of(head_);
  if (!depth)
    return std::move(depth).error();
  if (commit.size() != head_.size() || held.seq == 0 || depth.value() < held.seq)
    return false;
  auto there = repository_.ancestor_of(head_, depth.value() - held.seq);
  if (!there)
    return std::move(there).error();
  return there.value() == commit;
}

/// Whether the confirmed commit lies on the ref's line shows at the first commit behind it, in begin_commit().
result<void> history_reader::resume(const position& confirmed) {
  if (!confirmed.ends_transaction)
    return error{
      errc::invalid_argument, "a history is resumed behind a whole commit", {{"seq", std::to_string(confirmed.seq)}}};
  read_ = confirmed;
  read_id_ = to_hex(confirmed.stamp.bytes());
  if (confirmed.seq == 0 && read_id_.empty())
    return success();
  is_rewritten_ = read_id_.size() != head_.size();
  if (is_rewritten_)
    return success();
  auto exists = repository_.has_commit(read_id_);
  if (!exists)
    return std::move(exists).error();
  is_rewritten_ = !exists.value();
  if (is_rewritten_)
    return success();
  // A commit keeps its place for ever, but in a shallow clone: deepening that moves everything.
  auto depth = repository_.depth_of(read_id_);
  if (!depth)
    return std::move(depth).error();
  is_rewritten_ = depth.value() != confirmed.seq;
  return success();
}

result<history_reader::outcome> history_reader::read(const read_limit& limit, std::chrono::milliseconds patience) {
  if (!stream_ && !is_rewritten_ && read_id_ == head_ && follow_) {
    auto head = repository_.head();
    if (!head)
      return std::move(head).error();
    head_ = std::move(head).value();
  }
  if (!stream_ && !is_rewritten_) {
    if (read_id_ == head_)
      return outcome{state::at_head, {}};
    auto begun = begin_stream();
    if (!begun)
      return std::move(begun).error();
  }
  if (!is_rewritten_) {
    auto advanced = advance(limit, patience);
    if (!advanced)
      return std::move(advanced).error();
    if (advanced.value())
      return outcome{state::ready, std::move(*advanced.value())};
    if (!is_rewritten_)
      return outcome{state::waiting, {}};
  }
  auto opened = open_epoch();
  if (!opened)
    return std::move(opened).error();
  return outcome{state::ready, std::move(opened).value()};
}

result<void> history_reader::begin_stream() {
  if (!read_id_.empty()) { // rewritten and pruned, git would not know it any more
    auto exists = repository_.has_commit(read_id_);
    if (!exists)
      return std::move(exists).error();
    is_rewritten_ = !exists.value();
    if (is_rewritten_)
      return success();
  }
  auto started = repository_.changes(read_id_.empty() ? std::nullopt : std::optional{read_id_}, head_);
  if (!started)
    return std::move(started).error();
  stream_ = std::move(started).value();
  parser_.emplace(head_.size());
  is_behind_first_ = false;
  return success();
}

/// Absent: nothing is ready yet, or the history turned out to be rewritten.
result<std::optional<batch>> history_reader::advance(const read_limit& limit, std::chrono::milliseconds patience) {
  for (;;) {
    const auto step = std::exchange(is_held_, false) ? change_parser::step::change : parser_->next();
    if (step == change_parser::step::change) {
      if (!takes_change(limit)) {
        is_held_ = true;
        return batch_.take_all();
      }
    } else if (step == change_parser::step::commit) {
      auto begun = begin_commit();
      if (!begun)
        return std::move(begun).error();
      if (!begun.value())
        return std::nullopt;
      if (batch_.has_whole_transactions() && batch_.is_full_for(0, limit))
        return batch_.take_whole();
    } else if (step == change_parser::step::need_input) {
      auto* const room = parser_->input().prepare();
      // What is there already is waited for no longer than git's next write: not at all.
      const auto wait = batch_.has_whole_transactions() ? std::chrono::milliseconds::zero() : patience;
      auto got = stream_->read(room, parser_->input().room(), wait);
      if (!got)
        return std::move(got).error();
      if (got.value().is == child_pipeline::readiness::data)
        parser_->input().filled(got.value().size);
      else if (got.value().is == child_pipeline::readiness::end)
        parser_->finish_input();
      else if (batch_.has_whole_transactions())
        return batch_.take_whole();
      else
        return std::nullopt;
    } else if (step == change_parser::step::end) {
      auto ended = end_stream();
      if (!ended)
        return std::move(ended).error();
      if (is_rewritten_)
        return std::nullopt;
      return batch_.take_whole();
    } else {
      if (!parser_->has_finished_input())
        return parser_->failure();
      // What git says about itself explains more than what is missing from its output.
      auto ended = repository_.finish(std::move(*stream_));
      stream_.reset();
      if (!ended)
        return std::move(ended).error();
      return parser_->failure();
    }
  }
}

/// False: the stream does not go on where we are.
result<bool> history_reader::begin_commit() {
  const auto& next = parser_->commit();
  if (next.first_parent != read_id_) {
    if (is_behind_first_)
      return out_of_step(std::string{next.id});
    is_rewritten_ = true;
    stream_.reset();
    return false;
  }
  if (is_behind_first_)
    batch_.end();
  is_behind_first_ = true;
  auto made = stamp::from(from_hex(next.id));
  if (!made)
    return std::move(made).error();
  read_id_ = next.id;
  ++read_.seq;
  read_.stamp = made.value();
  read_.time = nanoseconds_of(next.time);
  read_.ends_transaction = true;
  payload_ = entry_payload{read_id_, read_.time};
  batch_.begin(read_);
  return true;
}

bool history_reader::takes_change(const read_limit& limit) {
  const auto& change = parser_->change();
  const auto payload_size = change.is_delete ? 0 : payload_.size_of(change.mode, change.blob);
  const auto size = sizeof(envelope) + collection_.size() + change.path.size() + payload_size;
  if (batch_.is_full_for(size, limit))
    return false;
  envelope made;
  made.collection = collection_;
  made.key = change.path;
  if (change.is_delete)
    made.operation = operation::erase;
  else
    made.payload = payload_.of(change.mode, change.blob);
  batch_.add(std::move(made));
  return true;
}

/// Behind the last commit, or behind nothing at all where the ref was set back to an ancestor.
result<void> history_reader::end_stream() {
  auto ended = repository_.finish(std::move(*stream_));
  stream_.reset();
  if (!ended)
    return std::move(ended).error();
  if (!is_behind_first_) {
    is_rewritten_ = true;
    return success();
  }
  if (read_id_ != head_)
    return error{errc::source_failed, "git ended before it came to the ref's newest commit", {{"commit", head_}}};
  batch_.end();
  return success();
}

result<batch> history_reader::open_epoch() {
  auto fork = find_fork();
  if (!fork)
    return std::move(fork).error();
  read_ = fork.value();
  read_id_ = to_hex(read_.stamp.bytes());
  is_rewritten_ = false;
  batch_.begin(read_);
  batch_.end();
  return batch_.take_whole();
}

/// In a new epoch, the last commit of the ref's line that was read already; before the root where there is none, and where the
/// commits are not numbered as they were.
result<position> history_reader::find_fork() const {
  position fork{read_.epoch + 1, 0, {}, 0, true};
  if (read_.seq == 0 || read_id_.size() != head_.size())
    return fork;
  auto exists = repository_.has_commit(read_id_);
  if (!exists)
    return std::move(exists).error();
  if (!exists.value())
    return fork;
  auto read_depth = repository_.depth_of(read_id_);
  auto depth = repository_.depth_of(head_);
  auto is_new = repository_.commits_beside(head_, read_id_);
  for (const auto* asked : {&read_depth, &depth, &is_new})
    if (!*asked)
      return asked->error();
  if (read_depth.value() != read_.seq || depth.value() == is_new.value())
    return fork;
  auto id = repository_.ancestor_of(head_, is_new.value());
  if (!id)
    return std::move(id).error();
  auto time = repository_.time_of(id.value());
  if (!time)
    return std::move(time).error();
  auto made = stamp::from(from_hex(id.value()));
  if (!made)
    return std::move(made).error();
  fork.seq = depth.value() - is_new.value();
  fork.stamp = made.value();
  fork.time = nanoseconds_of(time.value());
  return fork;
}

} // namespace weir::git
