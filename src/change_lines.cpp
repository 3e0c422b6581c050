#include <weir/batch_parts.hpp>
#include <weir/change_lines.hpp>

#include <span>

namespace weir {

result<void> change_lines::append(std::string& out, const batch& live) {
  if (!live.at)
    return error{errc::position_missing, "a live batch without a position"};
  if (auto sound = check_parts(live); !sound)
    return sound;
  const auto has_parts = live.envelopes && !live.envelopes->parts().empty();
  const auto is_empty = !live.envelopes || live.envelopes->envelopes().empty();
  if (!has_parts && !is_empty && !live.at->ends_transaction)
    return error{errc::source_failed, "the source cuts a transaction and does not say at which change",
      {{"epoch", std::to_string(live.at->epoch)}, {"seq", std::to_string(live.at->seq)}}};

  for_each_part(live, [&](const transaction_part& part, std::span<const envelope> changes) {
    if (last_ && part.at.epoch > last_->epoch) {
      append_epoch_event(out, part.at);
      last_ = change_place{part.at.epoch, part.at.seq, std::nullopt};
    }
    auto index = part.first_index;
    for (const auto& change : changes) {
      const change_place place{part.at.epoch, part.at.seq, index};
      if (repeated_ == repeats::write || !last_ || place > *last_) {
        append_change(out, part.at, index, change);
        last_ = place;
      }
      ++index;
    }
    return true;
  });
  return success();
}

} // namespace weir
