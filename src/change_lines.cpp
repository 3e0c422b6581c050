#include <weir/batch_parts.hpp>
#include <weir/change_lines.hpp>

#include <span>

namespace weir {

void change_lines::go_on(const std::optional<log_line>& last) {
  last_ = last ? std::optional{last->place} : std::nullopt;
  told_ = reached_ = last ? std::optional{last->at} : std::nullopt;
}

result<void> change_lines::append(std::string& out, const batch& live, std::vector<line_end>* ends) {
  const auto note = [&](const change_place& place, const envelope* change) {
    if (ends != nullptr)
      ends->push_back({out.size(), place, change});
  };
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
      told_ = part.at;
      told_->ends_transaction = part.at.ends_transaction && changes.empty();
      append_event(out, log_event::epoch, *told_, pipeline_);
      last_ = place_of(log_event::epoch, *told_);
      note(*last_, nullptr);
    }
    auto index = part.first_index;
    for (const auto& change : changes) {
      const change_place place{part.at.epoch, part.at.seq, index};
      if (repeated_ == repeats::write || !last_ || place > *last_) {
        told_ = part.at;
        told_->ends_transaction = part.at.ends_transaction && &change == &changes.back();
        append_change(out, *told_, index, change, pipeline_);
        last_ = place;
        note(place, &change);
      }
      ++index;
    }
    return true;
  });
  if (!reached_ || !covers(*reached_, *live.at))
    reached_ = live.at;
  return success();
}

void change_lines::append_position(std::string& out, std::vector<line_end>* ends) {
  if (!reached_ || (told_ && covers(*told_, *reached_)))
    return;
  told_ = reached_;
  append_event(out, log_event::position, *told_, pipeline_);
  last_ = place_of(log_event::position, *told_);
  if (ends != nullptr)
    ends->push_back({out.size(), *last_, nullptr});
}

} // namespace weir
