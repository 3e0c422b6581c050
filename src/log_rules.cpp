#include <weir/log_rules.hpp>

#include <algorithm>

namespace weir::log_rules {

namespace {

std::string text(std::uint64_t number) {
  return std::to_string(number);
}

std::string text(std::int64_t number) {
  return std::to_string(number);
}

/// The newest usable snapshot's id, for whoever can't go on from his cursor.
std::string best_of(const std::vector<snapshot_info>& snapshots) {
  return snapshots.empty() ? "none" : text(snapshots.back().id);
}

} // namespace

result<void> check_layout(std::uint32_t shards, std::optional<std::uint64_t> dedupe_horizon) {
  if (shards < 1 || shards > max_shards)
    return error{errc::invalid_argument, "a topic has 1 to 4096 shards", {{"shards", text(std::uint64_t{shards})}}};
  if (dedupe_horizon && (*dedupe_horizon < 1 || *dedupe_horizon > std::uint64_t{1} << 40))
    return error{
      errc::invalid_argument, "a topic remembers 1 to 2^40 dedupe keys", {{"dedupe_horizon", text(*dedupe_horizon)}}};
  return success();
}

result<void> check_shard(std::uint32_t shard, std::uint32_t shards) {
  if (shard >= shards)
    return error{errc::invalid_argument, "the topic has no shard of that number",
      {{"shard", text(std::uint64_t{shard})}, {"shards", text(std::uint64_t{shards})}}};
  return success();
}

result<void> check_offsets(const std::vector<std::int64_t>& offsets, std::uint32_t shards) {
  if (offsets.size() != shards)
    return error{errc::invalid_argument, "there must be one offset for each shard",
      {{"given", text(std::uint64_t{offsets.size()})}, {"shards", text(std::uint64_t{shards})}}};
  for (std::size_t shard = 0; shard < offsets.size(); ++shard)
    if (offsets[shard] < -1)
      return error{errc::invalid_argument, "an offset is -1 or more",
        {{"shard", text(std::uint64_t{shard})}, {"offset", text(offsets[shard])}}};
  return success();
}

result<void> check_append(
  const std::vector<new_entry>& entries, bool has_expected_head, std::uint32_t shards, std::size_t largest) {
  if (entries.empty())
    return error{errc::invalid_argument, "an append has at least one entry"};
  for (std::size_t index = 0; index < entries.size(); ++index) {
    const auto& one = entries[index];
    if (!one.shard || *one.shard >= shards)
      return error{errc::invalid_argument, "the topic has no shard of that number",
        {{"entry", text(std::uint64_t{index})}, {"shard", one.shard ? text(std::uint64_t{*one.shard}) : "none"},
          {"shards", text(std::uint64_t{shards})}}};
    if (one.size_in_bytes() > largest)
      return error{errc::entry_too_large, "the entry is larger than the store takes",
        {{"entry", text(std::uint64_t{index})}, {"size", text(std::uint64_t{one.size_in_bytes()})},
          {"largest", text(std::uint64_t{largest})}}};
    if (has_expected_head && one.shard != entries.front().shard)
      return error{errc::invalid_argument, "an append that expects a head is for one shard",
        {{"entry", text(std::uint64_t{index})}, {"shard", text(std::uint64_t{*one.shard})}}};
  }
  return success();
}

error dedupe_conflict(std::size_t entry, const entry_place& first) {
  return error{errc::dedupe_conflict, "the topic holds another entry under that dedupe key",
    {{"entry", text(std::uint64_t{entry})}, {"first_shard", text(std::uint64_t{first.shard})},
      {"first_offset", text(first.offset)}}};
}

error head_moved(std::uint32_t shard, std::int64_t expected, std::int64_t head) {
  return error{errc::head_moved, "the shard's head is not the expected one",
    {{"shard", text(std::uint64_t{shard})}, {"expected", text(expected)}, {"head", text(head)}}};
}

error corrupt_entry(std::string_view topic, std::uint32_t shard, std::int64_t offset, std::string_view why) {
  return error{errc::corrupt_entry, "the entry is not what was appended: " + std::string{why},
    {{"topic", std::string{topic}}, {"shard", text(std::uint64_t{shard})}, {"offset", text(offset)}}};
}

result<void> check_same_layout(std::uint32_t shards, std::uint64_t dedupe_horizon, std::string_view topic,
  std::uint32_t asked_shards, std::optional<std::uint64_t> asked_horizon) {
  if (shards != asked_shards)
    return error{errc::layout_mismatch, "the topic has another number of shards, and keeps it",
      {{"topic", std::string{topic}}, {"shards", text(std::uint64_t{shards})}, {"asked", text(std::uint64_t{asked_shards})}}};
  if (asked_horizon && dedupe_horizon != *asked_horizon)
    return error{errc::layout_mismatch, "the topic remembers another number of dedupe keys, and keeps it",
      {{"topic", std::string{topic}}, {"dedupe_horizon", text(dedupe_horizon)}, {"asked", text(*asked_horizon)}}};
  return success();
}

result<void> check_after(std::string_view topic, std::uint32_t shard, std::int64_t after, const shard_bounds& there,
  const std::vector<snapshot_info>& snapshots) {
  if (after < there.earliest - 1)
    return error{errc::cursor_expired, "what follows the cursor is not retained any more",
      {{"topic", std::string{topic}}, {"shard", text(std::uint64_t{shard})}, {"requested", text(after)},
        {"earliest", text(there.earliest)}, {"best_snapshot", best_of(snapshots)}}};
  if (after >= there.head)
    return error{errc::ahead_of_head, "the cursor is beyond the shard's head",
      {{"topic", std::string{topic}}, {"shard", text(std::uint64_t{shard})}, {"requested", text(after)},
        {"head", text(there.head)}}};
  return success();
}

result<void> check_trim(std::string_view topic, const std::vector<std::int64_t>& through, bool force,
  const std::vector<shard_bounds>& there, const std::vector<snapshot_info>& snapshots) {
  for (std::size_t shard = 0; shard < through.size(); ++shard)
    if (through[shard] >= there[shard].head)
      return error{errc::ahead_of_head, "a trim ends before the shard's head",
        {{"topic", std::string{topic}}, {"shard", text(std::uint64_t{shard})}, {"requested", text(through[shard])},
          {"head", text(there[shard].head)}}};
  const auto removes_nothing = [&] {
    for (std::size_t shard = 0; shard < through.size(); ++shard)
      if (through[shard] >= there[shard].earliest)
        return false;
    return true;
  };
  const auto is_covered = [&](const snapshot_info& one) { return covers(one, through); };
  if (force || removes_nothing() || std::ranges::any_of(snapshots, is_covered))
    return success();
  return error{errc::not_covered, "no snapshot covers what would be trimmed; make one, or force it",
    {{"topic", std::string{topic}}, {"best_snapshot", best_of(snapshots)}}};
}

bool is_usable(const snapshot_info& snapshot, const std::vector<shard_bounds>& there) noexcept {
  for (std::size_t shard = 0; shard < there.size(); ++shard)
    if (snapshot.offsets[shard] < there[shard].earliest - 1)
      return false;
  return true;
}

result<void> check_chunk(std::size_t size) {
  if (size < 1 || size > max_snapshot_chunk)
    return error{errc::invalid_argument, "a snapshot's chunk has 1 byte to 4 MiB", {{"size", text(std::uint64_t{size})}}};
  return success();
}

error no_snapshot(std::string_view topic, std::uint64_t id) {
  return error{
    errc::no_snapshot, "the topic has no snapshot of that number", {{"topic", std::string{topic}}, {"snapshot", text(id)}}};
}

error no_chunk(std::string_view topic, std::uint64_t id, std::uint64_t chunk, std::uint64_t chunks) {
  return error{errc::no_snapshot, "the snapshot has no chunk of that number",
    {{"topic", std::string{topic}}, {"snapshot", text(id)}, {"chunk", text(chunk)}, {"chunks", text(chunks)}}};
}

error snapshot_trimmed(std::string_view topic, std::uint64_t id) {
  return error{errc::snapshot_trimmed, "what follows the snapshot is not retained any more, and it went with it",
    {{"topic", std::string{topic}}, {"snapshot", text(id)}}};
}

error checkpoint_conflict(
  std::string_view consumer, std::optional<std::uint64_t> expected, std::optional<std::uint64_t> actual) {
  const auto shown = [](std::optional<std::uint64_t> revision) { return revision ? text(*revision) : std::string{"none"}; };
  return error{errc::checkpoint_conflict, "the checkpoint is not the expected one: somebody else has committed",
    {{"consumer", std::string{consumer}}, {"expected", shown(expected)}, {"actual", shown(actual)}}};
}

error unknown_topic(std::string_view topic, const std::vector<std::string>& known) {
  std::string names;
  for (const auto& one : known)
    names += (names.empty() ? "" : ", ") + one;
  return error{errc::unknown_topic, "the store has no topic of that name",
    {{"topic", std::string{topic}}, {"known", known.empty() ? "none" : names}}};
}

bool is_nothing_yet(const error& why) noexcept {
  return (why == errc::not_found || why == errc::not_a_log) && why.fact_of("holds") == "nothing";
}

std::string pin_name(std::uint64_t id) {
  return "pin " + text(id);
}

result<std::int64_t> pin_end(std::int64_t now, std::chrono::seconds at_most) {
  using namespace std::chrono_literals;
  if (at_most < 1s || at_most > 24h * 30)
    return error{errc::invalid_argument, "a pin lasts a second to 30 days", {{"seconds", text(std::int64_t{at_most.count()})}}};
  return now + std::chrono::nanoseconds{at_most}.count();
}

chain_digest fingerprint(std::string_view key, std::string_view payload) noexcept {
  return siphash(siphash({}, key), payload);
}

} // namespace weir::log_rules
