#include <weir/log.hpp>

namespace weir {

task<result<std::int64_t>> log_topic::offset_at(self, std::uint32_t, std::chrono::nanoseconds) {
  result<std::int64_t> refused = error{errc::unsupported, "this store can't find entries by time", {{"topic", known_.name}}};
  co_return refused;
}

task<result<checkpoint>> log_topic::commit_together(self, checkpoint_commit, log_effect) {
  result<checkpoint> refused =
    error{errc::unsupported, "this store can't commit a consumer's effect with its checkpoint", {{"topic", known_.name}}};
  co_return refused;
}

} // namespace weir
