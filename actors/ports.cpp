#include <weir/sink.hpp>
#include <weir/source.hpp>

namespace weir {

task<result<snapshot_chunk>> source::snapshot(self, snapshot_query) {
  error refusal{
    errc::unsupported, "this source has no snapshots; only what it reads from its beginning can fill a destination"};
  co_return std::move(refusal);
}

task<result<void>> sink::begin_backfill(self, request, std::uint64_t) {
  auto nothing_to_do = success();
  co_return nothing_to_do;
}

task<result<void>> sink::close(self) {
  auto nothing_to_do = success();
  co_return nothing_to_do;
}

} // namespace weir
