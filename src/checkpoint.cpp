#include <weir/checkpoint.hpp>
#include <weir/log_rules.hpp>
#include <weir/topic_name.hpp>

namespace weir {

namespace {

std::optional<error> find_fault(const checkpoint_commit& wanted, const std::vector<shard_bounds>& bounds) {
  if (auto named = check_topic_name(wanted.consumer); !named)
    return error{
      errc::invalid_argument, "a consumer is named as a topic is: " + named.error().sentence(), named.error().facts()};
  if (wanted.metadata.size() > max_checkpoint_metadata)
    return error{errc::invalid_argument, "a checkpoint keeps at most 4096 bytes of metadata",
      {{"consumer", wanted.consumer}, {"given", std::to_string(wanted.metadata.size())}}};
  if (wanted.offsets.size() != bounds.size())
    return error{errc::invalid_argument, "a checkpoint has one offset for each shard of its topic",
      {{"consumer", wanted.consumer}, {"given", std::to_string(wanted.offsets.size())},
        {"shards", std::to_string(bounds.size())}}};
  return std::nullopt;
}

error misplaced(
  errc code, const char* sentence, const checkpoint_commit& wanted, std::size_t shard, const shard_bounds& there) {
  return error{code, sentence,
    {{"consumer", wanted.consumer}, {"shard", std::to_string(shard)}, {"requested", std::to_string(wanted.offsets[shard])},
      {"earliest", std::to_string(there.earliest)}, {"head", std::to_string(there.head)}}};
}

} // namespace

result<checkpoint> next_checkpoint(const std::optional<checkpoint>& stored, checkpoint_commit wanted,
  const std::vector<shard_bounds>& bounds, std::int64_t time) {
  if (auto fault = find_fault(wanted, bounds))
    return std::move(*fault);
  const auto actual = stored ? std::optional{stored->revision} : std::nullopt;
  if (wanted.expected != actual)
    return log_rules::checkpoint_conflict(wanted.consumer, wanted.expected, actual);
  for (std::size_t shard = 0; shard < bounds.size(); ++shard) {
    const auto offset = wanted.offsets[shard];
    if (offset < -1)
      return misplaced(errc::invalid_argument, "an offset is -1 or more", wanted, shard, bounds[shard]);
    if (offset >= bounds[shard].head)
      return misplaced(errc::ahead_of_head, "the checkpoint is beyond the shard's head", wanted, shard, bounds[shard]);
    if (offset < bounds[shard].earliest - 1)
      return misplaced(
        errc::cursor_expired, "what follows the checkpoint is not retained any more", wanted, shard, bounds[shard]);
    if (stored && !wanted.may_go_back && offset < stored->offsets[shard])
      return error{errc::checkpoint_regress, "the checkpoint would go back",
        {{"consumer", wanted.consumer}, {"shard", std::to_string(shard)}, {"stored", std::to_string(stored->offsets[shard])},
          {"requested", std::to_string(offset)}}};
  }
  return checkpoint{
    std::move(wanted.consumer), std::move(wanted.offsets), std::move(wanted.metadata), actual.value_or(0) + 1, time, false};
}

} // namespace weir
