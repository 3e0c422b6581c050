#include <weir/checkpointer.hpp>

#include <utility>

namespace weir {

result<checkpoint_commit> checkpointer::commit_of(const cursor& at, std::string metadata) const {
  if (auto fits = check_source(at, topic_->description().origin()); !fits)
    return std::move(fits).error();
  return checkpoint_commit{
    consumer_, at.offsets, std::move(metadata), stored_ ? std::optional{stored_->revision} : std::nullopt};
}

task<result<std::optional<checkpoint>>> checkpointer::claim(self me) {
  auto reading = topic_->read_checkpoint(me, consumer_);
  auto found = co_await std::move(reading);
  if (!found)
    co_return found;
  stored_ = found.value();
  if (!stored_ || stored_->expired)
    co_return found;
  auto committing =
    topic_->commit_checkpoint(me, checkpoint_commit{consumer_, stored_->offsets, stored_->metadata, stored_->revision});
  auto committed = co_await std::move(committing);
  if (!committed) {
    result<std::optional<checkpoint>> failed = std::move(committed).error();
    co_return failed;
  }
  stored_ = std::move(committed).value();
  result<std::optional<checkpoint>> claimed = stored_;
  co_return claimed;
}

task<result<void>> checkpointer::commit(self me, cursor at, std::string metadata) {
  auto wanted = commit_of(at, std::move(metadata));
  if (!wanted) {
    result<void> refused = std::move(wanted).error();
    co_return refused;
  }
  auto committing = topic_->commit_checkpoint(me, std::move(wanted).value());
  auto committed = co_await std::move(committing);
  if (!committed) {
    result<void> failed = std::move(committed).error();
    co_return failed;
  }
  stored_ = std::move(committed).value();
  co_return success();
}

task<result<void>> checkpointer::commit_together(self me, cursor at, log_effect effect, std::string metadata) {
  auto wanted = commit_of(at, std::move(metadata));
  if (!wanted) {
    result<void> refused = std::move(wanted).error();
    co_return refused;
  }
  auto committing = topic_->commit_together(me, std::move(wanted).value(), std::move(effect));
  auto committed = co_await std::move(committing);
  if (!committed) {
    result<void> failed = std::move(committed).error();
    co_return failed;
  }
  stored_ = std::move(committed).value();
  co_return success();
}

} // namespace weir
