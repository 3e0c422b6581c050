#include <weir/jsonl.hpp>
#include <weir/worker.hpp>

#include "jsonl_log.hpp"

namespace weir {

jsonl_sink::jsonl_sink(jsonl_sink_options options)
  : log_{std::make_shared<jsonl_log>(std::move(options))},
    files_{std::make_unique<worker>("weir.jsonl.out")} {}

jsonl_sink::~jsonl_sink() = default;

task<result<sink_state>> jsonl_sink::open(self) {
  auto log = log_;
  auto call = files_->run([log] { return log->open(); });
  auto opened = co_await call;
  co_return opened;
}

task<result<write_outcome>> jsonl_sink::write(self, std::vector<lane_item> items) {
  auto log = log_;
  auto call = files_->run([log, given = std::move(items)] { return log->write(given); });
  auto written = co_await call;
  if (!written)
    co_return std::move(written).error();
  co_return write_outcome{};
}

task<result<void>> jsonl_sink::flush(self) {
  auto log = log_;
  auto call = files_->run([log] { return log->flush(); });
  auto flushed = co_await call;
  co_return flushed;
}

result<sink_state> check(const jsonl_sink_options& options) {
  return jsonl_log::check(options);
}

} // namespace weir
