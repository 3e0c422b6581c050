#include <weir/sqlite.hpp>
#include <weir/worker.hpp>

#include "sqlite_store.hpp"

namespace weir {

sqlite_sink::sqlite_sink(sqlite_sink_options options)
  : store_{std::make_shared<sqlite_store>(std::move(options))},
    files_{std::make_unique<worker>("weir.sqlite")} {}

sqlite_sink::~sqlite_sink() = default;

task<result<sink_state>> sqlite_sink::open(self) {
  auto store = store_;
  auto call = files_->run([store] { return store->open(); });
  auto opened = co_await call;
  co_return opened;
}

task<result<void>> sqlite_sink::begin_backfill(self, request asked, std::uint64_t epoch) {
  auto store = store_;
  auto call = files_->run([store, wanted = std::move(asked), epoch] { return store->begin_backfill(wanted, epoch); });
  auto begun = co_await call;
  co_return begun;
}

task<result<write_outcome>> sqlite_sink::write(self, std::vector<lane_item> items) {
  auto store = store_;
  auto call = files_->run([store, given = std::move(items)] { return store->write(given); });
  auto written = co_await call;
  co_return written;
}

task<result<void>> sqlite_sink::flush(self) {
  auto store = store_;
  auto call = files_->run([store] { return store->flush(); });
  auto flushed = co_await call;
  co_return flushed;
}

task<result<void>> sqlite_sink::close(self) {
  auto store = store_;
  auto call = files_->run([store] { store->close(); });
  co_await call;
  auto closed = success();
  co_return closed;
}

result<sink_state> check(const sqlite_sink_options& options) {
  return sqlite_store::check(options);
}

} // namespace weir
