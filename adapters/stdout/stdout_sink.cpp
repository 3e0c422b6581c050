#include <weir/stdout.hpp>
#include <weir/worker.hpp>

#include "descriptor_log.hpp"

namespace weir {

stdout_sink::stdout_sink(stdout_sink_options options)
  : log_{std::make_shared<descriptor_log>(options.descriptor)},
    files_{std::make_unique<worker>("weir.stdout")} {}

stdout_sink::~stdout_sink() {
  log_->stop(); // the worker waits for the call that is running
}

task<result<sink_state>> stdout_sink::open(self) {
  auto log = log_;
  auto call = files_->run([log] { return log->open(); });
  auto opened = co_await call;
  if (!opened)
    co_return std::move(opened).error();
  co_return sink_state{};
}

task<result<write_outcome>> stdout_sink::write(self, std::vector<lane_item> items) {
  auto log = log_;
  auto call = files_->run([log, given = std::move(items)] { return log->write(given); });
  auto written = co_await call;
  if (!written)
    co_return std::move(written).error();
  co_return write_outcome{};
}

task<result<void>> stdout_sink::flush(self) {
  auto log = log_;
  auto call = files_->run([log] { return log->flush(); });
  auto flushed = co_await call;
  co_return flushed;
}

} // namespace weir
