#include <weir/jsonl.hpp>
#include <weir/worker.hpp>

#include "jsonl_feed.hpp"

#include <chrono>

namespace weir {

namespace {

/// How long the thread waits for input before the coroutine looks whether it was asked to stop.
constexpr std::chrono::milliseconds patience{200};

} // namespace

jsonl_source::jsonl_source(jsonl_source_options options)
  : feed_{std::make_shared<jsonl_feed>(std::move(options))},
    files_{std::make_unique<worker>("weir.jsonl.in")} {}

jsonl_source::~jsonl_source() {
  feed_->stop(); // the worker waits for the call that is running
}

task<result<void>> jsonl_source::open(self, resume_point from) {
  auto feed = feed_;
  auto call = files_->run([feed, from] { return feed->open(from); });
  auto opened = co_await call;
  co_return opened;
}

task<result<std::optional<reading>>> jsonl_source::read(self me, read_limit limit) {
  const auto stop = me.stop_token();
  while (!stop.stop_requested()) {
    auto feed = feed_;
    auto call = files_->run([feed, limit] { return feed->next(limit, patience); });
    auto turn = co_await call;
    if (!turn)
      co_return std::move(turn).error();
    if (turn.value().brought || turn.value().has_ended)
      co_return std::move(turn).value().brought;
  }
  co_return error{errc::cancelled, "the source was asked to stop while it waited for lines"};
}

task<result<void>> jsonl_source::confirm(self, position) {
  result<void> nothing_to_do = success();
  co_return nothing_to_do;
}

result<void> check(const jsonl_source_options& options) {
  return jsonl_feed::check(options);
}

} // namespace weir
