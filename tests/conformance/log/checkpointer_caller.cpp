#include "conformance/log/checkpointer_caller.hpp"

namespace log_suite {

using weir::result;
using weir::self;
using weir::task;

namespace {

using keeper = weir::checkpointer*;

task<result<std::optional<weir::checkpoint>>> claim_now(self me, keeper of) {
  auto claiming = of->claim(me);
  co_return co_await std::move(claiming);
}

task<result<void>> commit_now(self me, keeper of, weir::cursor at, std::string metadata) {
  auto committing = of->commit(me, std::move(at), std::move(metadata));
  co_return co_await std::move(committing);
}

task<result<void>> commit_together_now(self me, keeper of, weir::cursor at, weir::log_effect effect, std::string metadata) {
  auto committing = of->commit_together(me, std::move(at), std::move(effect), std::move(metadata));
  co_return co_await std::move(committing);
}

task<std::optional<weir::checkpoint>> stored_now(self, keeper of) {
  auto known = of->stored();
  co_return std::move(known);
}

} // namespace

checkpointer_caller::checkpointer_caller(log_caller& in, std::shared_ptr<weir::log_topic> of, std::string consumer)
  : topic_{of},
    keeps_{std::make_shared<weir::checkpointer>(std::move(of), std::move(consumer))},
    performer_{in.system()} {}

result<std::optional<weir::checkpoint>> checkpointer_caller::claim() {
  return performer_.perform(&claim_now, keeps_.get());
}

result<void> checkpointer_caller::commit_cursor(weir::cursor at, std::string metadata) {
  return performer_.perform(&commit_now, keeps_.get(), std::move(at), std::move(metadata));
}

result<void> checkpointer_caller::commit(offsets at, std::string metadata) {
  return commit_cursor(topic_->description().cursor_at(std::move(at)), std::move(metadata));
}

result<void> checkpointer_caller::commit_together(offsets at, weir::log_effect effect, std::string metadata) {
  return performer_.perform(
    &commit_together_now, keeps_.get(), topic_->description().cursor_at(std::move(at)), std::move(effect), std::move(metadata));
}

std::optional<weir::checkpoint> checkpointer_caller::stored() {
  return performer_.perform(&stored_now, keeps_.get());
}

} // namespace log_suite
