#include <weir/bootstrap.hpp>
#include <weir/detail/feed_state.hpp>

#include <utility>

namespace weir {

namespace {

constexpr int tries = 16; // against a trim that is always faster

bool is_at_or_below(const snapshot_info& snapshot, const std::vector<std::int64_t>& offsets) noexcept {
  for (std::size_t shard = 0; shard < offsets.size(); ++shard)
    if (snapshot.offsets[shard] > offsets[shard])
      return false;
  return true;
}

std::optional<error> find_fault(
  const std::optional<cursor>& through, const log_topic& topic, const std::vector<shard_bounds>& there) {
  if (!through)
    return std::nullopt;
  if (auto fits = check_source(*through, topic.description().origin()); !fits)
    return std::move(fits).error();
  for (std::size_t shard = 0; shard < there.size(); ++shard)
    if (through->offsets[shard] >= there[shard].head)
      return error{errc::ahead_of_head, "the cursor is beyond the shard's head",
        {{"topic", through->topic}, {"shard", std::to_string(shard)}, {"requested", std::to_string(through->offsets[shard])},
          {"head", std::to_string(there[shard].head)}}};
  return std::nullopt;
}

} // namespace

bootstrap::bootstrap(std::shared_ptr<log_topic> from, std::optional<cursor> through, std::chrono::seconds pin_for)
  : from_{std::move(from)},
    through_{std::move(through)},
    pin_for_{pin_for} {}

task<result<snapshot_info>> bootstrap::open(self me) {
  std::optional<error> why;
  for (int one = 0; one < tries && !pin_; ++one) {
    auto asking = from_->bounds(me);
    auto there = co_await std::move(asking);
    why = there ? find_fault(through_, *from_, there.value()) : std::optional{there.error()};
    if (why)
      break;
    std::vector<std::int64_t> all;
    for (const auto& shard : there.value())
      all.push_back(shard.earliest - 1);
    auto pinning = from_->pin(me, std::move(all), pin_for_);
    auto pinned = co_await std::move(pinning);
    if (pinned)
      pin_ = pinned.value();
    else
      why = std::move(pinned).error();
    if (why && *why != errc::cursor_expired)
      break;
  }
  if (!pin_) {
    result<snapshot_info> failed = std::move(*why);
    co_return failed;
  }
  auto listing = from_->snapshots(me);
  auto all = co_await std::move(listing);
  if (!all) {
    result<snapshot_info> failed = std::move(all).error();
    co_return failed;
  }
  for (const auto& one : all.value())
    if (!through_ || is_at_or_below(one, through_->offsets))
      chosen_ = one;
  if (!chosen_) {
    auto closing = close(me);
    auto closed = co_await std::move(closing);
    (void)closed;
    result<snapshot_info> failed = error{errc::no_snapshot, "the topic has no usable snapshot at or below the cursor",
      {{"topic", from_->description().name}, {"through", through_ ? to_text(*through_) : "head"}}};
    co_return failed;
  }
  result<snapshot_info> found = *chosen_;
  co_return found;
}

task<result<std::optional<std::string>>> bootstrap::next_chunk(self me) {
  result<std::optional<std::string>> outcome = std::optional<std::string>{};
  if (!chosen_ || next_chunk_ == chosen_->chunks)
    co_return outcome;
  auto reading = from_->read_chunk(me, chosen_->id, next_chunk_);
  auto chunk = co_await std::move(reading);
  if (!chunk) {
    outcome = std::move(chunk).error();
    co_return outcome;
  }
  digest_ = snapshot_digest(digest_, chunk.value());
  ++next_chunk_;
  if (next_chunk_ == chosen_->chunks && digest_ != chosen_->digest)
    outcome = error{errc::snapshot_corrupt, "the snapshot is not what was stored: its digest is another",
      {{"topic", from_->description().name}, {"snapshot", std::to_string(chosen_->id)}}};
  else
    outcome = std::optional{std::move(chunk).value()};
  co_return outcome;
}

result<feed> bootstrap::take_feed(feed_options how) {
  if (!chosen_ || next_chunk_ != chosen_->chunks)
    return error{errc::invalid_argument, "a bootstrap's feed begins behind its last chunk, and all of them are read first"};
  auto state = std::make_shared<detail::feed_state>(from_, from_->description().cursor_at(chosen_->offsets), std::move(how));
  state->pin = std::exchange(pin_, std::nullopt);
  chosen_.reset();
  return feed{std::move(state)};
}

task<result<void>> bootstrap::close(self me) {
  const auto held = std::exchange(pin_, std::nullopt);
  if (!held)
    co_return success();
  auto unpinning = from_->unpin(me, *held);
  auto done = co_await std::move(unpinning);
  co_return done;
}

} // namespace weir
